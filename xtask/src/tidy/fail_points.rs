//! Fail points: every site of the table is used somewhere, and every use names a site.

use super::repository::Repository;
use std::collections::BTreeMap;

const TABLE: &str = "crates/base/src/fail.rs";
/// The beginning of a row of the table.
const ROW: &str = "    site(\"";
/// The beginning of a use, in Rust and in Python.
const MARKS: &[&str] = &["fail_point!(\"", "_fail.point(\""];

/// Every unused site, and every use of an unknown site.
pub(super) fn check(repository: &Repository) -> Vec<String> {
    let Some(table) = repository.sources.iter().find(|source| source.path == TABLE) else { return Vec::new() };
    let sites: BTreeMap<&str, usize> = names(&table.text, ROW).map(|(line, name)| (name, line)).collect();
    let mut marked: BTreeMap<&str, String> = BTreeMap::new();
    for source in repository.sources.iter().filter(|source| is_shipped(&source.path)) {
        for (line, name) in MARKS.iter().flat_map(|mark| names(&source.text, mark)) {
            marked.entry(name).or_insert_with(|| format!("{}:{line}", source.path));
        }
    }
    let unmarked = sites.iter().filter(|(name, _)| !marked.contains_key(*name));
    let mut found: Vec<String> =
        unmarked.map(|(name, line)| format!("{TABLE}:{line}: no fail point uses `{name}`")).collect();
    let unknown = marked.iter().filter(|(name, _)| !sites.contains_key(*name));
    found.extend(unknown.map(|(name, place)| format!("{place}: the table of sites has no `{name}`")));
    found
}

fn is_shipped(path: &str) -> bool {
    let rust = path.starts_with("crates/") && path.contains("/src/") && !path.starts_with("crates/base/src/fail");
    rust || path.starts_with("python/forerun/")
}

/// The text between `before` and the next quotation mark, with its line.
fn names<'a>(text: &'a str, before: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    text.lines().enumerate().filter_map(move |(index, line)| {
        let (_, rest) = line.split_once(before)?;
        rest.split_once('"').map(|(name, _)| (index + 1, name))
    })
}

#[cfg(test)]
mod tests {
    use super::super::repository::planted;
    use super::*;

    const TWO: &str = "pub const SITES: &[Site] = &[\n    site(\"a.b\", X, \"\"),\n    site(\"c\", X, \"\"),\n];";

    #[test]
    fn table_and_uses_agree() {
        let rust = ("crates/cpu/src/a.rs", "fn f() { fail_point!(\"a.b\", e => return e); }");
        let python = ("python/forerun/a.py", "_fail.point(\"c\")");
        assert_eq!(check(&planted(&[(TABLE, TWO), rust, python], &[])), [""; 0]);
    }

    #[test]
    fn both_kinds_of_disagreement_are_found() {
        let rust = ("crates/cpu/src/a.rs", "fail_point!(\"a.b\");\nfail_point!(\"new\");");
        let found = check(&planted(&[(TABLE, TWO), rust], &[]));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("crates/base/src/fail.rs:3: no fail point uses `c`"), "{found:?}");
        assert!(found[1].starts_with("crates/cpu/src/a.rs:2: the table of sites has no `new`"), "{found:?}");
    }
}
