//! A public type name has one meaning in the whole workspace, so that a search for it finds one definition.

use super::repository::Repository;
use crate::rust_text;
use std::collections::{BTreeMap, BTreeSet};

/// Names that several crates define, and why they cannot be renamed. An unneeded entry is a violation.
const SHARED: &[(&str, &str)] =
    &[("Complex", "`linear` depends on no other crate and uses the complex type of its solver")];

const KINDS: &[&str] = &["enum", "struct", "trait", "type", "union"];

/// Every public type name that two files define.
pub(super) fn check(repository: &Repository) -> Vec<String> {
    let mut files: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (source, code) in repository.shipped() {
        let words: Vec<&str> = rust_text::words(&code).map(|(_, word, _)| word).collect();
        for window in words.windows(3) {
            if window[0] == "pub" && KINDS.contains(&window[1]) && window[2].starts_with(char::is_uppercase) {
                files.entry(window[2].to_owned()).or_default().insert(source.path.clone());
            }
        }
    }
    let shared = |name: &str| SHARED.iter().any(|(known, _)| *known == name);
    let mut found = Vec::new();
    for (name, paths) in files.iter().filter(|(name, paths)| paths.len() > 1 && !shared(name)) {
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        found.push(format!("`{name}` is defined in {}: rename all but one", paths.join(" and in ")));
    }
    // Test repositories have a few files; only the real one has enough crates to need the exceptions.
    if repository.paths.contains("crates/forerun/src/lib.rs") {
        let unused = SHARED.iter().filter(|(name, _)| files.get(*name).is_none_or(|paths| paths.len() < 2));
        found.extend(unused.map(|(name, _)| format!("`{name}` is defined once: its exception is no longer needed")));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::repository::planted;
    use super::*;

    #[test]
    fn a_duplicate_public_type_name_is_found() {
        let (a, b) = (("crates/a/src/a.rs", "pub struct Plan;"), ("crates/b/src/b.rs", "pub enum Plan { A }"));
        assert_eq!(check(&planted(&[a, b], &[])).len(), 1);
        assert_eq!(check(&planted(&[a, ("crates/b/src/b.rs", "pub(crate) struct Plan;")], &[])), [""; 0]);
        assert_eq!(check(&planted(&[a, ("crates/b/src/b.rs", "pub use a::Plan; // pub struct Plan;")], &[])), [""; 0]);
    }

    #[test]
    fn an_unneeded_exception_is_found() {
        let repository = planted(&[("crates/forerun/src/lib.rs", "pub struct Half;")], &[]);
        assert_eq!(check(&repository).len(), SHARED.len());
    }
}
