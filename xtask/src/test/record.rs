//! The record of passed stages. For a stage that depends on a part of the sources only, `tests/passed.txt` has a hash
//! of the content with which it last passed. The stage runs again when that content has changed. A stage that passes
//! updates its line, which is committed with the change. The git history is not used, because a fresh clone may have
//! none.
//!
//! Invariant: only a stage that passed writes a line, never a person.

use crate::tree;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const RECORD: &str = "tests/passed.txt";

/// A stage, and a hash of its inputs.
pub(super) struct Covered {
    stage: &'static str,
    content: u64,
}

impl Covered {
    /// A stage that depends on these files, given from the root.
    pub(super) fn new(stage: &'static str, files: &BTreeSet<PathBuf>) -> Result<Covered, String> {
        Ok(Covered { stage, content: content(&tree::root(), files)? })
    }

    /// Whether it passed with the current content.
    pub(super) fn has_passed(&self) -> bool {
        let record = fs::read_to_string(tree::root().join(RECORD)).unwrap_or_default();
        record.lines().any(|line| line == self.line())
    }

    /// Records that it has passed.
    pub(super) fn passed(&self) -> Result<(), String> {
        let path = tree::root().join(RECORD);
        let record = fs::read_to_string(&path).unwrap_or_default();
        fs::write(&path, with(&record, self.stage, &self.line())).map_err(|e| format!("{}: {e}", path.display()))
    }

    fn line(&self) -> String {
        format!("{}: {:016x}", self.stage, self.content)
    }
}

/// The record with the stage's line replaced.
fn with(record: &str, stage: &str, line: &str) -> String {
    let others = record.lines().filter(|other| !other.starts_with(&format!("{stage}: ")));
    let mut lines: Vec<&str> = others.chain([line]).collect();
    lines.sort();
    lines.join("\n") + "\n"
}

/// A hash of the files' names and contents.
fn content(root: &Path, files: &BTreeSet<PathBuf>) -> Result<u64, String> {
    let mut sum = Sum::default();
    for file in files {
        let bytes = fs::read(root.join(file)).map_err(|e| format!("{}: {e}", file.display()))?;
        for part in [file.to_string_lossy().replace('\\', "/").as_bytes(), &bytes] {
            sum.add(&part.len().to_le_bytes());
            sum.add(part);
        }
    }
    Ok(sum.0)
}

/// FNV-1a, which is the same on every machine and in every release; the hash of the standard library is not.
struct Sum(u64);

impl Default for Sum {
    fn default() -> Sum {
        Sum(0xcbf2_9ce4_8422_2325)
    }
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_moved_or_new_file_changes_the_hash() {
        let folder = std::env::temp_dir().join(format!("forerun-record-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let of = |files: &[(&str, &str)]| {
            files.iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
            content(&folder, &files.iter().map(|(name, _)| PathBuf::from(name)).collect()).unwrap()
        };
        let seen = [
            of(&[("a", "x"), ("b", "y")]),
            of(&[("a", "x"), ("b", "z")]),
            of(&[("a", "x"), ("c", "y")]),
            of(&[("a", "x"), ("b", "y"), ("c", "")]),
            of(&[("a", "xb"), ("b", "y")]),
        ];
        assert_eq!(of(&[("a", "x"), ("b", "y")]), seen[0]);
        assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), seen.len());
        fs::remove_dir_all(&folder).unwrap();
        assert!(content(&folder, &BTreeSet::from([PathBuf::from("a")])).is_err());
    }

    #[test]
    fn a_stage_has_one_line() {
        let first = with("", "loom", "loom: 1");
        assert_eq!(with(&first, "a new row", "a new row: 2"), "a new row: 2\nloom: 1\n");
        assert_eq!(with("a new row: 2\nloom: 1\n", "loom", "loom: 3"), "a new row: 2\nloom: 3\n");
    }
}
