//! Every module is documented: a Rust file opens with `//!`, a Python file with a docstring.

use super::repository::Repository;

/// Every file without module documentation.
pub(super) fn check(repository: &Repository) -> Vec<String> {
    let mut found = Vec::new();
    for source in &repository.sources {
        let first = source.text.trim_start();
        if source.is_rust() && !first.starts_with("//!") {
            found.push(format!("{}: does not open with `//!`", source.path));
        }
        // Comment lines may precede the docstring, for example to declare the peers of a benchmark.
        let below_comments = first.lines().find(|line| !line.starts_with('#') && !line.trim().is_empty());
        let documented = below_comments.is_none_or(|line| line.starts_with("\"\"\"") || line.starts_with("r\"\"\""));
        if source.path.ends_with(".py") && !documented {
            found.push(format!("{}: does not open with a docstring", source.path));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::repository::planted;
    use super::*;

    #[test]
    fn files_without_a_doc_are_found() {
        let bad = [("crates/a/src/a.rs", "use std::fmt;\n//! late"), ("python/forerun/a.py", "import numpy\n")];
        assert_eq!(check(&planted(&bad, &[])).len(), 2);
        let good = [("crates/a/src/a.rs", "//! x"), ("benches/python/a.py", "# peers: numpy\n\"\"\"X.\"\"\"\n")];
        assert_eq!(check(&planted(&good, &[])), [""; 0]);
    }
}
