//! Where Rust calls Python code: only in the module that handles the end of daemon threads.

use super::repository::Repository;

const CRATE: &str = "python";
const PLACE: &str = "crates/python/src/pycall.rs";

/// Methods of PyO3 that run Python code.
const CALLS: &[&str] = &[
    ".call(",
    ".call0(",
    ".call1(",
    ".call_method(",
    ".call_method0(",
    ".call_method1(",
    ".getattr(",
    ".hasattr(",
    ".import(",
    ".repr()",
    ".str()",
    ".try_iter(",
];

/// Every such call elsewhere in the Python bindings.
pub(super) fn check(repository: &Repository) -> Vec<String> {
    let mut found = Vec::new();
    for (source, code) in repository.shipped() {
        if source.crate_name() != Some(CRATE) || source.path == PLACE {
            continue;
        }
        for (index, line) in code.lines().enumerate() {
            for call in CALLS.iter().filter(|call| line.contains(**call)) {
                let path = &source.path;
                found.push(format!("{path}:{}: `{call}` runs Python code, which only {PLACE} may", index + 1));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::repository::planted;
    use super::*;

    #[test]
    fn a_call_elsewhere_is_found() {
        let text = "fn f() {\n    x.call_method0(\"copy\")\n}";
        let found = check(&planted(&[("crates/python/src/a.rs", text)], &[]));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/python/src/a.rs:2: `.call_method0(`"), "{found:?}");
    }

    #[test]
    fn the_module_itself_and_other_crates_may() {
        let text = "fn f() { x.call1(y) }";
        assert_eq!(check(&planted(&[(PLACE, text), ("crates/grad/src/a.rs", text)], &[])), [""; 0]);
        assert_eq!(check(&planted(&[("crates/python/src/a.rs", "fn f() { pycall::call(x, y) }")], &[])), [""; 0]);
    }
}
