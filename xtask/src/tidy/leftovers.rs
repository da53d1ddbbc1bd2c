//! Leftovers: unfinished bodies, debugging prints, notes to oneself.

use super::repository::Repository;
use crate::rust_text;

const MACROS: &[&str] = &["dbg", "todo", "unimplemented"];
const NOTES: &[&str] = &["FIXME", "TODO", "XXX"];

/// Every leftover macro in Rust, and every note to oneself in a comment of Rust or Python.
pub(super) fn check(repository: &Repository) -> Vec<String> {
    let mut found = Vec::new();
    for source in &repository.sources {
        let notes = if source.is_rust() {
            let code = rust_text::code(&source.text);
            let called =
                rust_text::words(&code).filter(|(_, word, rest)| MACROS.contains(word) && rest.starts_with('!'));
            found.extend(called.map(|(line, word, _)| format!("{}:{line}: `{word}!` is left behind", source.path)));
            rust_text::comments(&source.text)
        } else if source.is_python() {
            let comments = source.text.lines().map(|line| line.split_once('#').map_or("", |(_, comment)| comment));
            comments.collect::<Vec<_>>().join("\n")
        } else {
            continue;
        };
        let notes = rust_text::words(&notes)
            .filter(|(_, word, _)| NOTES.contains(word))
            .map(|(line, word, _)| (line, word.to_owned()))
            .collect::<Vec<_>>();
        found.extend(notes.into_iter().map(|(line, word)| format!("{}:{line}: `{word}` is left behind", source.path)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::repository::planted;
    use super::*;

    #[test]
    fn leftovers_are_found() {
        let rust = ("crates/a/src/a.rs", "fn f() {\n todo!()\n}\n// TODO: more\nfn g() { dbg!(1); }");
        let python = ("python/forerun/a.py", "x = 1  # FIXME\n");
        let found = check(&planted(&[rust, python], &[]));
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found.iter().any(|line| line.starts_with("crates/a/src/a.rs:2: `todo!`")), "{found:?}");
    }

    #[test]
    fn names_and_strings_pass() {
        let rust = ("crates/a/src/a.rs", "fn todo() { let x = \"TODO dbg!(1)\"; todo() }");
        assert_eq!(check(&planted(&[rust], &[])), [""; 0]);
    }
}
