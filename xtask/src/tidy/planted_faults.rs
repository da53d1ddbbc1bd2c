//! Planted faults: the table still matches the sources. A fault whose lines are gone would silently break nothing.

use super::repository::{INVARIANTS, Repository};
use crate::planted::{Fault, TABLE, faults, invariants};

/// Every fault whose invariant is not listed, whose file is missing, or whose lines do not occur exactly once.
pub(super) fn check(repository: &Repository) -> Vec<String> {
    let Some(table) = repository.documents.iter().find(|document| document.path == TABLE) else { return Vec::new() };
    let faults = match faults(&table.text) {
        Ok(faults) => faults,
        Err(message) => return vec![message],
    };
    let rows = repository.document(INVARIANTS).map(|page| invariants(&page.text)).unwrap_or_default();
    faults.iter().flat_map(|fault| [unlisted(fault, &rows), misplaced(fault, repository)]).flatten().collect()
}

fn unlisted(fault: &Fault, rows: &[&str]) -> Option<String> {
    let count = rows.iter().filter(|row| row.contains(&fault.invariant)).count();
    (count != 1).then(|| format!("{TABLE}:{}: {count} invariants say `{}`", fault.line, fault.invariant))
}

fn misplaced(fault: &Fault, repository: &Repository) -> Option<String> {
    let Some(source) = repository.sources.iter().chain(&repository.documents).find(|source| source.path == fault.file)
    else {
        return Some(format!("{TABLE}:{}: there is no {}", fault.line, fault.file));
    };
    fault.planted_in(&source.text).err()
}

#[cfg(test)]
mod tests {
    use super::super::repository::planted;
    use super::*;

    const PAGE: (&str, &str) = (INVARIANTS, "| invariant | check |\n|---|---|\n| a is b | c |\n");
    const FAULT: (&str, &str) = (TABLE, "= a is\nin crates/a/src/a.rs\nrun x\n-let b;\n");

    #[test]
    fn a_matching_fault_passes_and_a_stale_one_is_found() {
        assert_eq!(check(&planted(&[("crates/a/src/a.rs", "let b;\n")], &[PAGE, FAULT])), [""; 0]);
        for text in ["let c;\n", "let b;\nlet b;\n"] {
            assert_eq!(check(&planted(&[("crates/a/src/a.rs", text)], &[PAGE, FAULT])).len(), 1, "{text}");
        }
        let found = check(&planted(&[], &[(INVARIANTS, ""), FAULT]));
        assert_eq!(
            found,
            ["tests/planted.txt:1: 0 invariants say `a is`", "tests/planted.txt:1: there is no crates/a/src/a.rs"]
        );
    }
}
