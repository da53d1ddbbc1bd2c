//! Generated files, which are committed, and the commands that write them. The lists of families are written first,
//! because the other generators are compiled with them.
//!
//! Invariant: a generator prints the whole file to its standard output and writes no file.

use crate::command::{cargo, say};
use crate::families::{self, FOLDERS};
use crate::notices::{self, NOTICES};
use crate::tree;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A generated file: what prints it (a crate, one of its examples and that one's arguments), and its path from the root.
type Generated = (&'static str, &'static str);

/// Every generated file of the project.
const GENERATED: &[Generated] = &[
    ("ops pointwise", "python/forerun/_pointwise.py"),
    ("ops pointwise npx", "python/forerun/_pointwise_npx.py"),
    ("ops routines np", "python/forerun/np/_routines.py"),
    ("ops routines np.linalg", "python/forerun/np/linalg/_routines.py"),
    ("ops routines npx", "python/forerun/_routines_npx.py"),
    ("ops rust_methods unary", "crates/array/src/methods/unary.rs"),
    ("ops rust_methods binary", "crates/array/src/methods/binary.rs"),
    ("ops rust_methods methods", "crates/array/src/methods/routines.rs"),
    ("ops rust_methods linalg", "crates/array/src/functions/linalg/routines.rs"),
    ("ops samples", "tests/python/samples.json"),
    ("ops catalogue", "docs/catalogue.json"),
    ("ops reference", "docs/reference.md"),
    ("cuda fallbacks", "docs/conformance/fallbacks.md"),
];

/// Writes every generated file.
pub(crate) fn write_all(root: &Path) -> Result<(), String> {
    write(root)?;
    fs::write(root.join(NOTICES), notices::print(root)?).map_err(|e| format!("{NOTICES}: {e}"))?;
    say!("gen: {NOTICES}");
    Ok(())
}

/// Writes the files that are generated from the catalogue.
pub(crate) fn write(root: &Path) -> Result<(), String> {
    families::write(root)?;
    for (generator, path) in GENERATED {
        let file = root.join(path);
        fs::write(&file, print(root, generator)?).map_err(|e| format!("{}: {e}", file.display()))?;
        say!("gen: {path}");
    }
    Ok(())
}

/// Fails when a generated file differs from what its generator prints.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let mut differing = differing(root, GENERATED, |generator| print(root, generator))?;
    for folder in FOLDERS {
        if families::print(root, folder)?.as_bytes() != fs::read(root.join(folder.list)).unwrap_or_default() {
            differing.push(folder.list);
        }
    }
    if notices::print(root)?.as_bytes() != fs::read(root.join(NOTICES)).unwrap_or_default() {
        differing.push(NOTICES);
    }
    if differing.is_empty() {
        say!("gen: {} files up to date", GENERATED.len() + FOLDERS.len() + 1);
        return Ok(());
    }
    Err(format!("out of date, run `cargo xtask gen`: {}", differing.join(", ")))
}

fn differing(
    root: &Path,
    generated: &[Generated],
    print: impl Fn(&str) -> Result<Vec<u8>, String>,
) -> Result<Vec<&'static str>, String> {
    let mut found = Vec::new();
    for (generator, path) in generated {
        let committed = fs::read(root.join(path)).unwrap_or_default();
        if print(generator)? != committed {
            found.push(*path);
        }
    }
    Ok(found)
}

fn print(root: &Path, generator: &str) -> Result<Vec<u8>, String> {
    let output = command(root, generator).output().map_err(|e| e.to_string())?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(format!("{generator}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// The command that runs a generator of a checkout.
fn command(root: &Path, generator: &str) -> Command {
    let mut words = generator.split(' ');
    let package = format!("forerun-{}", words.next().unwrap_or_default());
    let mut command = cargo(&["run", "--quiet", "--package", &package, "--example"]);
    command.args(words.next()).arg("--").args(words);
    command.current_dir(root).env("CARGO_TARGET_DIR", tree::target());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_file_is_found() {
        let folder = std::env::temp_dir().join(format!("forerun-generated-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("fresh"), "fresh").unwrap();
        fs::write(folder.join("stale"), "old").unwrap();
        let generated: &[Generated] = &[("fresh", "fresh"), ("new", "stale"), ("new", "missing")];
        let found = differing(&folder, generated, |generator| Ok(generator.into())).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, ["stale", "missing"]);
    }
}
