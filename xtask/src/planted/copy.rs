//! A copy of the working tree to plant faults in: all files that git does not ignore, with a separate target folder.
//!
//! Invariant: a written file is newer than what was built from it, so that builds always see a fault and its removal.

use crate::command::program;
use crate::tree;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The copy.
pub(super) struct Copy {
    folder: PathBuf,
}

impl Copy {
    /// Updates `target/planted` to the working tree; earlier build products stay.
    pub(super) fn fresh() -> Result<Copy, String> {
        let folder = tree::target().join("planted");
        let files = files()?;
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        remove_others(&folder, &folder, &files)?;
        let copy = Copy { folder };
        for file in &files {
            let from = tree::root().join(file);
            copy.write(file, &fs::read(&from).map_err(|e| format!("{}: {e}", from.display()))?)?;
        }
        Ok(copy)
    }

    /// The folder of the copy.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a file unless it already has this content, because cargo rebuilds newer files.
    pub(super) fn write(&self, file: &str, content: &[u8]) -> Result<(), String> {
        let path = self.folder.join(file);
        if fs::read(&path).is_ok_and(|there| there == content) {
            return Ok(());
        }
        let told = |e: std::io::Error| format!("{}: {e}", path.display());
        fs::create_dir_all(path.parent().unwrap_or(&self.folder)).map_err(told)?;
        fs::write(&path, content).map_err(told)
    }
}

/// Existing files that git does not ignore, from the root.
fn files() -> Result<BTreeSet<String>, String> {
    let listed = program("git", &["ls-files", "--cached", "--others", "--exclude-standard"]).output();
    let listed = listed.map_err(|e| format!("git: {e}"))?;
    let names = String::from_utf8_lossy(&listed.stdout).lines().map(str::to_owned).collect::<Vec<_>>();
    Ok(names.into_iter().filter(|name| tree::root().join(name).is_file()).collect())
}

/// Removes sources that the working tree no longer has; build products and caches stay.
fn remove_others(root: &Path, folder: &Path, files: &BTreeSet<String>) -> Result<(), String> {
    let told = |e: std::io::Error| format!("{}: {e}", folder.display());
    for entry in fs::read_dir(folder).map_err(told)? {
        let path = entry.map_err(told)?.path();
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        if path.is_dir() && name != "target" {
            remove_others(root, &path, files)?;
        } else if path.is_file()
            && [".rs", ".py", ".toml"].iter().any(|end| name.ends_with(end))
            && !files.contains(&name)
        {
            fs::remove_file(&path).map_err(told)?;
        }
    }
    Ok(())
}
