//! The workspace's root, target folder, and source files as text.
//!
//! Reads the file system and nothing else; other modules interpret the text.

use std::fs;
use std::path::{Path, PathBuf};

/// The folders that contain the project's code.
const SOURCE_FOLDERS: &[&str] = &["benches", "crates", "examples", "python", "site", "tests", "tour", "xtask"];

/// One source file: its path from the root, with `/` as separator, and its text.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The path from the root.
    pub(crate) path: String,
    /// The whole text.
    pub(crate) text: String,
}

impl Source {
    /// Creates a source from its parts.
    pub(crate) fn new(path: impl Into<String>, text: impl Into<String>) -> Source {
        Source { path: path.into(), text: text.into() }
    }

    /// Whether this is Rust.
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether this is Python.
    pub(crate) fn is_python(&self) -> bool {
        self.path.ends_with(".py") || self.path.ends_with(".pyi")
    }

    /// The crate's folder name, if the file is in `crates/`.
    pub(crate) fn crate_name(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// The last part of the path.
    pub(crate) fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// The root of the workspace.
///
/// Taken from cargo at run time: the path at compile time may be that of another checkout that shares the target
/// folder.
pub(crate) fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into());
    let here = PathBuf::from(here);
    here.parent().unwrap_or(&here).to_path_buf()
}

/// The folder of all build products.
pub(crate) fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}

/// Every source file and manifest of the workspace, sorted by path.
pub(crate) fn sources(root: &Path) -> Result<Vec<Source>, String> {
    let mut found = Vec::new();
    for folder in SOURCE_FOLDERS {
        let folder = root.join(folder);
        if folder.is_dir() {
            walk(root, &folder, &mut found)?;
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// The text of a file, or why it cannot be read.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<Source>) -> Result<(), String> {
    let unreadable = |e| format!("{}: {e}", folder.display());
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') || name == "target" || name == "__pycache__" {
            continue;
        }
        if path.is_dir() {
            walk(root, &path, found)?;
        } else if [".rs", ".py", ".pyi", ".toml"].iter().any(|end| name.ends_with(end)) {
            let from_root = path.strip_prefix(root).unwrap_or(&path);
            let parts: Vec<_> = from_root.iter().map(|part| part.to_string_lossy()).collect();
            found.push(Source::new(parts.join("/"), read(&path)?));
        }
    }
    Ok(())
}
