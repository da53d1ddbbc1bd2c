//! Environment variables: the sources read exactly those that `docs/settings.md` documents.
//!
//! Names that begin with `FORERUN_TEST_` control the tests and are not documented there.

use super::repository::Repository;
use std::collections::BTreeMap;

const PAGE: &str = "docs/settings.md";
const PREFIX: &str = "FORERUN_";
const FOR_TESTS: &str = "FORERUN_TEST_";

/// Every variable that is read but not documented, or documented but not read.
pub(super) fn check(repository: &Repository) -> Vec<String> {
    let Some(page) = repository.document(PAGE) else { return vec![format!("{PAGE} does not exist")] };
    let mut read = BTreeMap::new();
    // In the C interface such names are constants of the header.
    let ours =
        |path: &str| path.starts_with("python/") || path.starts_with("crates/") && !path.starts_with("crates/capi/");
    for source in repository.sources.iter().filter(|source| ours(&source.path)) {
        for (line, name) in variables(&source.text) {
            read.entry(name).or_insert_with(|| format!("{}:{line}", source.path));
        }
    }
    let explained: BTreeMap<_, _> = variables(&page.text).map(|(line, name)| (name, line)).collect();
    let unexplained = read.iter().filter(|(name, _)| !explained.contains_key(*name));
    let mut found: Vec<String> =
        unexplained.map(|(name, place)| format!("{place}: {PAGE} does not explain {name}")).collect();
    let unread = explained.iter().filter(|(name, _)| !read.contains_key(*name));
    found.extend(unread.map(|(name, line)| format!("{PAGE}:{line}: nothing reads {name}")));
    found
}

fn variables(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().flat_map(|(index, line)| {
        line.match_indices(PREFIX).filter_map(move |(at, _)| {
            let part_of_a_name = line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            let tail = &line[at..];
            let end =
                tail.find(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit() && c != '_').unwrap_or(tail.len());
            let name = &tail[..end];
            let ours = !part_of_a_name && end > PREFIX.len() && !name.starts_with(FOR_TESTS);
            ours.then_some((index + 1, name))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::repository::planted;
    use super::*;

    fn found(source: &str, page: &str) -> Vec<String> {
        check(&planted(&[("crates/engine/src/a.rs", source)], &[(PAGE, page)]))
    }

    #[test]
    fn read_and_documented_settings_agree() {
        assert_eq!(found("env(\"FORERUN_ENGINE\"); env(\"FORERUN_TEST_TASKS\")", "| `FORERUN_ENGINE` |"), [""; 0]);
    }

    #[test]
    fn both_kinds_of_disagreement_are_found() {
        let both = found("env(\"FORERUN_SECRET\")", "| `FORERUN_ENGINE` |");
        assert_eq!(both.len(), 2, "{both:?}");
        assert!(
            both[0].contains("does not explain FORERUN_SECRET") && both[1].contains("nothing reads FORERUN_ENGINE")
        );
    }
}
