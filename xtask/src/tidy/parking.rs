//! Which files may park a thread: only the listed ones, in the engine and in accelerators.

use super::repository::{INVARIANTS, Repository};
use crate::rust_text;

/// Functions that put a thread to sleep; as bare words these also occur as names of modules and fields.
const SLEEPERS: &[&str] =
    &["epoll_wait", "nanosleep", "park", "park_timeout", "recv", "recv_timeout", "sem_wait", "sleep", "usleep"];

/// Names that have no other use.
const BEDS: &[&str] = &["Barrier", "Condvar", "SYS_futex", "WaitOnAddress", "pthread_cond_wait"];

/// Crates that may contain such files: the engine, and the devices it drives.
const FOLDERS: &[&str] = &["crates/engine/src/", "crates/sim/src/", "crates/cuda/src/"];

/// Every shipped file outside the list that can park, and every entry of the list that cannot.
pub(super) fn check(repository: &Repository) -> Vec<String> {
    let mut places = Vec::new();
    for (source, code) in repository.shipped() {
        let first = rust_text::words(&code)
            .find(|(_, word, rest)| BEDS.contains(word) || SLEEPERS.contains(word) && rest.starts_with('('));
        places.extend(first.map(|(line, word, _)| (source.path.clone(), line, format!("`{word}` can park a thread"))));
    }
    let mut found = repository.only_in_listed("park", &places);
    let listed = repository.listed("park").unwrap_or_default();
    let strangers = listed.iter().filter(|entry| !FOLDERS.iter().any(|folder| entry.starts_with(folder)));
    found.extend(strangers.map(|entry| format!("{INVARIANTS} lets {entry} park, but only the engine may")));
    found
}

#[cfg(test)]
mod tests {
    use super::super::repository::planted;
    use super::*;

    fn page(entry: &str) -> String {
        format!("<!-- park:begin -->\n- `{entry}`\n<!-- park:end -->")
    }

    #[test]
    fn listed_files_and_tests_may_park() {
        let funnel = ("crates/engine/src/wait.rs", "fn f() { thread::park() }");
        let tested = ("crates/array/src/a.rs", "mod sleep;\n#[cfg(test)]\nmod tests { fn f() { rx.recv() } }");
        let repository = planted(&[funnel, tested], &[(INVARIANTS, &page("crates/engine/src/wait.rs"))]);
        assert_eq!(check(&repository), [""; 0]);
    }

    #[test]
    fn a_sleep_elsewhere_is_found() {
        let funnel = ("crates/engine/src/wait.rs", "fn f() { thread::park() }");
        let planted_sleep = ("crates/array/src/a.rs", "fn f() {\n std::thread::sleep(d);\n}");
        let repository = planted(&[funnel, planted_sleep], &[(INVARIANTS, &page("crates/engine/src/wait.rs"))]);
        let found = check(&repository);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/array/src/a.rs:2: `sleep`"), "{found:?}");
    }

    #[test]
    fn the_list_itself_stays_inside_the_engine() {
        let stranger = ("crates/array/src/a.rs", "fn f() { x.recv() }");
        let found = check(&planted(&[stranger], &[(INVARIANTS, &page("crates/array/src/a.rs"))]));
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("only the engine may"), "{found:?}");
    }
}
