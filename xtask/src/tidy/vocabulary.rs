//! One noun per concept: identifiers in Rust use the words of the glossary in ARCHITECTURE.md and none of their
//! synonyms.

use super::repository::Repository;
use crate::rust_text;

/// The synonym, its parts joined by `_`; the word to use; and the reason.
const SYNONYMS: &[(&str, &str, &str)] = &[
    ("tensor", "array", "the user's handle has one name in every language"),
    ("ndarray", "array", "the user's handle has one name in every language"),
    ("storage", "buffer", "bytes on a device"),
    ("dag", "plan", "a segment becomes a plan; tasks only know their edges"),
    ("subgraph", "segment", "a run of records that is planned together"),
    ("backlog", "window", "records submitted and not yet planned"),
    ("queue_depth", "window", "records submitted and not yet planned"),
    ("call_site", "loc", "the user's source line that submitted an op"),
    ("callsite", "loc", "the user's source line that submitted an op"),
    ("src_loc", "loc", "the user's source line that submitted an op"),
    ("sync_point", "blocker", "a call that must wait for a value"),
    ("syncpoint", "blocker", "a call that must wait for a value"),
    ("op_node", "record", "one submitted op"),
    ("work_item", "task", "the engine's unit"),
];

/// Every identifier that contains a synonym. Foreign names are allowed in imports, where they should be renamed.
pub(super) fn check(repository: &Repository) -> Vec<String> {
    let mut found = Vec::new();
    for source in repository.rust().filter(|source| source.path.starts_with("crates/")) {
        let code = rust_text::code(&source.text);
        let imports: Vec<bool> = code.lines().map(imports_foreign).collect();
        for (line, word, _) in rust_text::words(&code).filter(|(line, ..)| !imports[line - 1]) {
            let parts = format!("_{}_", parts_of(word));
            let synonym = SYNONYMS.iter().find(|(synonym, ..)| {
                parts.contains(&format!("_{synonym}_")) || parts.contains(&format!("_{synonym}s_"))
            });
            if let Some((_, instead, reason)) = synonym {
                found.push(format!("{}:{line}: `{word}`: say `{instead}` ({reason})", source.path));
            }
        }
    }
    found
}

/// Whether a line imports from another project.
fn imports_foreign(line: &str) -> bool {
    let root = line.trim_start().strip_prefix("use ").map(|path| path.split("::").next().unwrap_or_default());
    root.is_some_and(|root| !matches!(root, "crate" | "self" | "super") && !root.starts_with("forerun"))
}

/// `QueueDepth` and `QUEUE_DEPTH` as `queue_depth`.
fn parts_of(word: &str) -> String {
    let mut out = String::with_capacity(word.len() + 4);
    let mut after_lower = false;
    for c in word.chars() {
        if c.is_uppercase() && after_lower {
            out.push('_');
        }
        after_lower = c.is_lowercase() || c.is_ascii_digit();
        out.extend(c.to_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::repository::planted;
    use super::*;

    #[test]
    fn synonyms_are_found_in_every_case() {
        for word in ["tensor", "MyTensor", "input_tensors", "QUEUE_DEPTH", "queueDepth", "SyncPoint"] {
            let found = check(&planted(&[("crates/array/src/a.rs", &format!("let {word} = 1;"))], &[]));
            assert_eq!(found.len(), 1, "{word}: {found:?}");
        }
    }

    #[test]
    fn own_imports_are_checked() {
        assert_eq!(check(&planted(&[("crates/nn/src/a.rs", "use crate::tensor::Kind;")], &[])).len(), 1);
    }

    #[test]
    fn other_words_strings_and_comments_pass() {
        let imported = "use safetensors::tensor::TensorInfo as Info;";
        assert_eq!(check(&planted(&[("crates/nn/src/a.rs", imported)], &[])), [""; 0]);
        let text = "// tensor\nlet extensor = \"tensor\"; let depth = queue.len(); fn dagger() {}";
        assert_eq!(check(&planted(&[("crates/array/src/a.rs", text)], &[])), [""; 0]);
    }
}
