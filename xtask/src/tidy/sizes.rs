//! File sizes: only the listed tables are longer than the limit.

use super::repository::Repository;

const MOST_LINES: usize = 600;

/// Every file over the limit that is not a listed table, and every listed table within it.
pub(super) fn check(repository: &Repository) -> Vec<String> {
    let code = repository.sources.iter().filter(|source| source.is_rust() || source.is_python());
    let long = code.map(|source| (source, source.text.lines().count())).filter(|(_, lines)| *lines > MOST_LINES);
    let places: Vec<_> =
        long.map(|(source, lines)| (source.path.clone(), lines, format!("more than {MOST_LINES} lines"))).collect();
    repository.only_in_listed("tables", &places)
}

#[cfg(test)]
mod tests {
    use super::super::repository::{INVARIANTS, planted};
    use super::*;

    const PAGE: (&str, &str) = (INVARIANTS, "<!-- tables:begin -->\n- `crates/ops/src/rows.rs`\n<!-- tables:end -->");

    #[test]
    fn a_long_file_is_found_unless_it_is_a_table() {
        let long = "//! x\n".repeat(MOST_LINES + 1);
        let table = ("crates/ops/src/rows.rs", long.as_str());
        assert_eq!(check(&planted(&[table, ("crates/ops/src/a.rs", "//! x")], &[PAGE])), [""; 0]);
        let found = check(&planted(&[table, ("python/forerun/a.py", &long)], &[PAGE]));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("python/forerun/a.py:601:"), "{found:?}");
    }
}
