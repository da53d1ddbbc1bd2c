//! `lib.rs` and `mod.rs` only list and re-export, so that a reader sees the structure of the crate at a glance.

use super::repository::Repository;
use crate::rust_text;

const FURNITURE: &[&str] = &["enum", "fn", "impl", "macro_rules", "static", "struct", "trait", "union"];

/// Every definition in such a file.
pub(super) fn check(repository: &Repository) -> Vec<String> {
    let mut found = Vec::new();
    let lists = repository.rust().filter(|source| matches!(source.file_name(), "lib.rs" | "mod.rs"));
    for source in lists.filter(|source| !source.path.contains("/tests/")) {
        let code = rust_text::shipped(&rust_text::code(&source.text));
        if let Some((line, word, _)) = rust_text::words(&code).find(|(_, word, _)| FURNITURE.contains(word)) {
            found.push(format!("{}:{line}: `{word}`: this file only lists and re-exports", source.path));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::repository::planted;
    use super::*;

    #[test]
    fn a_definition_in_a_list_is_found() {
        for text in ["//! x\nfn f() {}", "//! x\npub struct A;", "//! x\nimpl A {}"] {
            assert_eq!(check(&planted(&[("crates/a/src/lib.rs", text)], &[])).len(), 1, "{text}");
        }
        let list = "//! A fn.\nmod a;\npub use a::A;\n#[cfg(test)]\nmod tests { fn f() {} }";
        assert_eq!(check(&planted(&[("crates/a/src/lib.rs", list), ("crates/a/src/a.rs", "fn f() {}")], &[])), [""; 0]);
    }
}
