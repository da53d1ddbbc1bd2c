//! The copy of the sources that gets the new ops. Both stages make the same one, so that it is built once.
//!
//! Invariant: the copy is built in the workspace's target folder, where earlier stages have left everything that does
//! not depend on the catalogue; it shares that, and nothing else.

use super::{family, row};
use crate::command::{cargo, run};
use crate::{families, generated, sdist, tree};
use std::collections::BTreeSet;
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The manifest of the catalogue's crate, and that of the extension module.
const MANIFEST: &str = "crates/ops/Cargo.toml";
const EXTENSION: &str = "crates/python/Cargo.toml";

/// Where a file there is a family.
const FAMILIES: &[&str] = &["crates/ops/src/family", "crates/cpu/src/family", "crates/cuda/src/family"];

/// A hand-written change: lines of a file.
pub(super) struct Change {
    path: &'static str,
    /// What the lines go before; `None` if they are the whole file.
    before: Option<&'static str>,
    lines: &'static str,
}

impl Change {
    /// A new file.
    pub(super) const fn new(path: &'static str, lines: &'static str) -> Change {
        Change { path, before: None, lines }
    }

    /// New lines of a file.
    pub(super) const fn before(path: &'static str, next: &'static str, lines: &'static str) -> Change {
        Change { path, before: Some(next), lines }
    }

    /// The file with the lines.
    fn text(&self, root: &Path) -> Result<String, String> {
        let Some(next) = self.before else { return Ok(self.lines.to_owned()) };
        let text = tree::read(&root.join(self.path))?;
        let (above, below) = text.split_once(next).ok_or(format!("{} has no {next}", self.path))?;
        Ok(format!("{above}{}{next}{below}", self.lines))
    }
}

/// The files of a stage: these, those of crates, and what makes the copy.
pub(super) fn covered(files: &[&str], crates: &[&str]) -> Result<BTreeSet<PathBuf>, String> {
    let mut found: BTreeSet<PathBuf> = files.iter().map(PathBuf::from).collect();
    let stage = ["new_op/copy.rs", "new_op/family.rs", "new_op/row.rs"].map(|file| format!("xtask/src/test/{file}"));
    found.extend(stage.into_iter().map(PathBuf::from));
    found.extend(["xtask/src/families.rs", "xtask/src/generated.rs"].map(PathBuf::from));
    for room in crates {
        sdist::walk(&tree::root(), &Path::new("crates").join(room), &mut found)?;
    }
    Ok(found)
}

/// The copy.
pub(super) struct Copy {
    folder: PathBuf,
}

impl Copy {
    /// Makes the copy with all changes, and its generated files.
    pub(super) fn make() -> Result<Copy, String> {
        let copy = Copy { folder: tree::target().join("new-op") };
        copy.fill(&tree::root())?;
        generated::write(&copy.folder)?;
        Ok(copy)
    }

    /// Fails unless generated files contain texts.
    pub(super) fn shows(&self, texts: &[(&str, &str)]) -> Result<(), String> {
        for (path, text) in texts {
            if !tree::read(&self.folder.join(path))?.contains(text) {
                return Err(format!("{path} does not show {text}"));
            }
        }
        Ok(())
    }

    /// Runs a command inside the copy, with its package.
    pub(super) fn within(&self, mut command: Command) -> Command {
        command.current_dir(&self.folder).env("CARGO_TARGET_DIR", tree::target());
        command.env("PYTHONPATH", self.folder.join("python"));
        command
    }

    /// Runs cargo in the copy.
    pub(super) fn cargo(&self, args: &[&str]) -> Result<(), String> {
        run(self.within(cargo(args)).arg("--quiet"))
    }

    /// Compiles the device's text of an op; `kernels` is where the compiler lies.
    pub(super) fn compiles(&self, op: &str, kernels: &str) -> Result<(), String> {
        let texts = ["run", "--quiet", "--package", "forerun-cuda", "--example", "texts", "--", "sm_90", op];
        run(self.within(cargo(&texts)).env("FORERUN_CUDA_PATH", kernels))
    }

    /// Builds the extension module and puts it beside the package's Python files.
    pub(super) fn build_package(&self) -> Result<(), String> {
        self.cargo(&["build", "--package", "forerun-python"])?;
        let built = tree::target().join("debug").join(format!("{DLL_PREFIX}new_op{DLL_SUFFIX}"));
        let place = self.folder.join("python/forerun/_forerun.abi3.so");
        fs::copy(&built, place).map(drop).map_err(|e| format!("{}: {e}", built.display()))
    }

    /// Crates of two checkouts have the same name in a target folder, so cargo uses either for the other. For crates that do
    /// not depend on ops that is intended. The catalogue gets a version of its own, which changes its name and that of all
    /// crates that depend on it. The file name of a shared library has no version, so the extension module gets another name.
    fn fill(&self, root: &Path) -> Result<(), String> {
        // Every file there is a family, including those left from an earlier copy.
        for folder in FAMILIES {
            let _ = fs::remove_dir_all(self.folder.join(folder));
        }
        let changes: Vec<&Change> = row::CHANGES.iter().chain(family::CHANGES).collect();
        let changed: Vec<&str> = changes.iter().map(|change| change.path).chain([MANIFEST, EXTENSION]).collect();
        for folder in ["crates", "docs", "python", "tests/python"] {
            mirror(&root.join(folder), &self.folder.join(folder), &changed)?;
        }
        for change in changes {
            write(&self.folder.join(change.path), &change.text(root)?)?;
        }
        families::write(&self.folder)?;
        let read = |path: &str| tree::read(&root.join(path));
        let manifest = read("Cargo.toml")?;
        let members =
            manifest.lines().find(|line| line.starts_with("members = ")).ok_or("Cargo.toml names no members")?;
        let place = |path: &str| self.folder.join(path);
        write(&place("Cargo.toml"), &manifest.replacen(members, "members = [\"crates/*\"]", 1))?;
        write(&place("Cargo.lock"), &read("Cargo.lock")?)?;
        write(&place("pyproject.toml"), &read("pyproject.toml")?)?;
        write(&place(MANIFEST), &with_version(&read(MANIFEST)?, &manifest)?)?;
        write(&place(EXTENSION), &read(EXTENSION)?.replacen("name = \"_forerun\"", "name = \"new_op\"", 1))
    }
}

/// The catalogue's manifest with another version, compatible for dependents but with different file names.
fn with_version(manifest: &str, workspace: &str) -> Result<String, String> {
    let version = workspace.split("\nversion = \"").nth(1).and_then(|rest| rest.split('"').next());
    let version = version.ok_or("Cargo.toml names no version")?;
    let (before, after) =
        manifest.split_once("version.workspace = true").ok_or("the catalogue has a version of its own")?;
    Ok(format!("{before}version = \"{version}+row\"{after}"))
}

/// Mirrors a folder, including timestamps, by which cargo decides what to rebuild; without files that are written
/// separately.
fn mirror(from: &Path, to: &Path, own: &[&str]) -> Result<(), String> {
    let told = |e: std::io::Error| format!("{}: {e}", from.display());
    fs::create_dir_all(to).map_err(told)?;
    for entry in fs::read_dir(from).map_err(told)? {
        let path = entry.map_err(told)?.path();
        let place = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            mirror(&path, &place, own)?;
        } else if !own.iter().any(|own| path.ends_with(own)) {
            fs::copy(&path, &place).map_err(told)?;
            let time = path.metadata().and_then(|facts| facts.modified()).map_err(told)?;
            let made = fs::File::options().write(true).open(&place).map_err(told)?;
            made.set_modified(time).map_err(told)?;
        }
    }
    Ok(())
}

/// Writes a file unless it already has this content, because cargo rebuilds newer files.
fn write(path: &Path, content: &str) -> Result<(), String> {
    if fs::read_to_string(path).is_ok_and(|there| there == content) {
        return Ok(());
    }
    fs::write(path, content).map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_added_and_nothing_else() {
        for change in row::CHANGES.iter().chain(family::CHANGES).filter(|change| change.before.is_some()) {
            let text = tree::read(&tree::root().join(change.path)).unwrap();
            let longer = change.text(&tree::root()).unwrap();
            assert_eq!(longer.replacen(change.lines, "", 1), text);
            assert_eq!(longer.len(), text.len() + change.lines.len());
        }
        assert!(Change::before("Cargo.toml", "no such line", "").text(&tree::root()).is_err());
    }

    #[test]
    fn the_catalogue_gets_its_own_version() {
        let workspace = "[workspace.package]\nversion = \"1.2.3\"\n";
        let told = with_version("name = \"a\"\nversion.workspace = true\n", workspace).unwrap();
        assert_eq!(told, "name = \"a\"\nversion = \"1.2.3+row\"\n");
        assert!(
            with_version("version = \"1\"", workspace).is_err()
                && with_version("version.workspace = true", "").is_err()
        );
    }
}
