//! Modes: the Python test files that run again in the engine's other modes exist.

use super::repository::Repository;
use crate::test::{MODES, mode_files};

/// Every file of the list that does not exist, or is listed twice.
pub(super) fn check(repository: &Repository) -> Vec<String> {
    let Some(list) = repository.documents.iter().find(|document| document.path == MODES) else { return Vec::new() };
    let files = match mode_files(&list.text) {
        Ok(files) => files,
        Err(message) => return vec![message],
    };
    let twice = files.iter().enumerate().filter(|(at, file)| files[..*at].contains(file));
    let twice = twice.map(|(_, file)| format!("{MODES}: {file} is listed twice"));
    let missing = files.iter().filter(|file| !repository.sources.iter().any(|source| source.path == **file));
    missing.map(|file| format!("{MODES}: there is no {file}")).chain(twice).collect()
}

#[cfg(test)]
mod tests {
    use super::super::repository::planted;
    use super::*;

    #[test]
    fn a_missing_file_is_found() {
        let there = ("tests/python/test_a.py", "");
        assert_eq!(check(&planted(&[there], &[(MODES, "test_a.py: waits\n")])), [""; 0]);
        for list in ["test_a.py: waits\ntest_b.py: waits\n", "test_a.py: waits\ntest_a.py: waits\n", "test_a.py\n"] {
            assert_eq!(check(&planted(&[there], &[(MODES, list)])).len(), 1, "{list}");
        }
    }
}
