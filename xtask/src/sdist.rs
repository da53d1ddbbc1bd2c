//! The source distribution, from which `pip` builds a wheel where none is published for a machine.
//!
//! Invariant: it contains every file that a build reads. This is checked without a build: its list of files is compared
//! with the tree's, and included files must be part of it.

use crate::command::{cargo, run, say};
use crate::python::Environment;
use crate::tree;
use crate::wheel::MATURIN;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The folders that a build reads.
const FOLDERS: &[&str] = &["crates", "python"];

/// A folder in them from which the wheel is not built.
const OTHER: &str = "crates/capi";

/// The files in the root that it reads.
const FILES: &[&str] =
    &["Cargo.lock", "Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "THIRD-PARTY.txt", "pyproject.toml"];

/// Packs the sources into `target/wheels`, and fails when a file is missing from the package.
pub(crate) fn build() -> Result<(), String> {
    let builder = Environment::with("tools", &[MATURIN])?;
    let (folder, unpacked) = (tree::target().join("wheels"), tree::target().join("sdist"));
    // An older package must not be mistaken for the new one.
    for old in packages(&folder) {
        fs::remove_file(&old).map_err(|e| format!("{}: {e}", old.display()))?;
    }
    if unpacked.exists() {
        fs::remove_dir_all(&unpacked).map_err(|e| format!("{}: {e}", unpacked.display()))?;
    }
    run(&mut builder.tool("maturin", &["sdist", "--out", &folder.to_string_lossy()]))?;
    let package = packages(&folder).pop().ok_or("maturin made no package")?;
    let (from, to) = (package.to_string_lossy(), unpacked.to_string_lossy());
    run(&mut builder.python(&["-m", "tarfile", "--extract", &from, &to]))?;
    let name = package.file_name().unwrap_or_default().to_string_lossy();
    let inside = unpacked.join(name.trim_end_matches(".tar.gz"));
    let missing = missing(&tree::root(), &inside)?;
    if !missing.is_empty() {
        return Err(format!("{name}: {} files are missing: {}", missing.len(), missing.join(", ")));
    }
    // Cargo checks the manifests without building.
    let read = cargo(&["metadata", "--no-deps", "--offline", "--format-version", "1"]).current_dir(&inside).output();
    let read = read.map_err(|e| e.to_string())?;
    if !read.status.success() {
        return Err(format!("{name}: {}", String::from_utf8_lossy(&read.stderr)));
    }
    say!("{}", package.display());
    Ok(())
}

/// The files that a build reads and a package lacks.
fn missing(root: &Path, package: &Path) -> Result<Vec<String>, String> {
    let mut wanted: BTreeSet<PathBuf> = FILES.iter().map(PathBuf::from).collect();
    for folder in FOLDERS {
        walk(root, Path::new(folder), &mut wanted)?;
    }
    wanted.retain(|path| !path.starts_with(OTHER));
    for path in wanted.clone().iter().filter(|path| path.extension().is_some_and(|end| end == "rs")) {
        wanted.extend(included(path, &tree::read(&root.join(path))?));
    }
    let missing = wanted.iter().filter(|path| !package.join(path).is_file());
    Ok(missing.map(|path| path.to_string_lossy().into_owned()).collect())
}

/// The files that a source includes by path, from the root.
pub(crate) fn included(source: &Path, text: &str) -> Vec<PathBuf> {
    let taken = ["include_str!(\"", "include_bytes!(\"", "include!(\"", "#[path = \""];
    let paths = taken.iter().flat_map(|mark| text.split(mark).skip(1).filter_map(|rest| rest.split('"').next()));
    let beside = source.parent().unwrap_or(source);
    paths.map(|path| plain(&beside.join(path))).collect()
}

/// Removes `..` from a path.
fn plain(path: &Path) -> PathBuf {
    let mut made = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(made.pop()),
            part => made.push(part),
        }
    }
    made
}

/// The files of a folder, without build products.
pub(crate) fn walk(root: &Path, folder: &Path, found: &mut BTreeSet<PathBuf>) -> Result<(), String> {
    let unreadable = |e| format!("{}: {e}", folder.display());
    for entry in fs::read_dir(root.join(folder)).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = folder.join(&name);
        if name.starts_with('.') || name == "__pycache__" || name.ends_with(".egg-info") || name.ends_with(".so") {
            continue;
        }
        if entry.path().is_dir() {
            walk(root, &path, found)?;
        } else {
            found.insert(path);
        }
    }
    Ok(())
}

fn packages(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.to_string_lossy().ends_with(".tar.gz")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_files_are_named() {
        let folder = std::env::temp_dir().join(format!("forerun-sdist-{}", std::process::id()));
        let put = |path: &str, text: &str| {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for side in ["tree", "package"] {
            FILES.iter().for_each(|file| put(&format!("{side}/{file}"), ""));
            put(&format!("{side}/python/a/b.py"), "");
            put(&format!("{side}/crates/a/src/lib.rs"), "const A: &str = include_str!(\"../../../docs/a.md\");");
        }
        put("tree/python/a/__pycache__/b.pyc", "");
        put("tree/python/a/_b.so", "");
        put("tree/docs/a.md", "");
        put("tree/crates/capi/src/lib.rs", "");
        put("tree/crates/a/src/a.cuh", "");
        let found = missing(&folder.join("tree"), &folder.join("package")).unwrap();
        assert_eq!(found, ["crates/a/src/a.cuh", "docs/a.md"]);
        put("package/crates/a/src/a.cuh", "");
        put("package/docs/a.md", "");
        fs::remove_file(folder.join("package/README.md")).unwrap();
        let found = missing(&folder.join("tree"), &folder.join("package")).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, ["README.md"]);
    }
}
