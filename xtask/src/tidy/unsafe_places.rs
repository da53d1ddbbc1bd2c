//! Where `unsafe` may occur: only in the listed files.
//!
//! Clippy checks that each block documents why it is sound.

use super::repository::Repository;
use crate::rust_text;

/// Every `unsafe` outside the list, and every entry of the list without one.
pub(super) fn check(repository: &Repository) -> Vec<String> {
    let mut places = Vec::new();
    for source in repository.rust() {
        let code = rust_text::code(&source.text);
        let first = rust_text::words(&code).find(|(_, word, _)| *word == "unsafe");
        places.extend(first.map(|(line, ..)| (source.path.clone(), line, "`unsafe` stands here".to_owned())));
    }
    repository.only_in_listed("unsafe", &places)
}

#[cfg(test)]
mod tests {
    use super::super::repository::{INVARIANTS, planted};
    use super::*;

    const PAGE: (&str, &str) = (INVARIANTS, "<!-- unsafe:begin -->\n- `crates/cpu/src/simd/`\n<!-- unsafe:end -->");

    #[test]
    fn listed_places_pass() {
        let repository =
            planted(&[("crates/cpu/src/simd/a.rs", "unsafe {}"), ("crates/cpu/src/b.rs", "// unsafe")], &[PAGE]);
        assert_eq!(check(&repository), [""; 0]);
    }

    #[test]
    fn an_unlisted_place_and_a_stale_entry_are_found() {
        let found = check(&planted(&[("crates/cpu/src/b.rs", "fn f() {\n unsafe {}\n}")], &[PAGE]));
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("crates/cpu/src/b.rs:2:"), "{found:?}");
        assert!(found[1].contains("nothing there needs it"), "{found:?}");
    }
}
