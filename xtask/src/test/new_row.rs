//! What a new pointwise op takes: a copy of the rooms gets one more row, and no other source changes. Then everything that is
//! made from rows must have it.
//!
//! Invariant: the copy is built in the workspace's target folder, where the stages before have left all that does not depend on
//! rows; it shares that, and nothing else.

use crate::command::{cargo, run, run_and_read};
use crate::{sdist, tree};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The table that gets the row, and the manifest of its crate.
const TABLE: &str = "crates/ops/src/pointwise.rs";
const MANIFEST: &str = "crates/ops/Cargo.toml";

/// The row goes before this one.
const NEXT: &str = "            (Add, \"add\", 2,";

const ROW: &str = r#"            (Softcap, "softcap", 2, Float, "The first, bent so that it stays within the second.", |a, b| b.mul(math::tanh(a.div(b)));
                |g, y| [g * (1.0 - (y / b) * (y / b)), g * (y / b - (a / b) * (1.0 - (y / b) * (y / b)))]; 8,
                npx [] "np.array([1.0, -9.0]), 2.0" => "array([ 0.9242343, -1.9995064])")
"#;

/// Its value, through the whole engine; that the gradient is that of the value, a test says that goes through all rows.
const TEST: &str = r#"//! The new row has its body's value.

mod common;

use forerun_array::{Arg, ops};
use forerun_base::{Loc, Scalar};
use forerun_ops::Point;

#[test]
fn the_new_row_is_computed() {
    let x = common::array(&[2], &[1.0, -9.0]);
    let made = ops::pointwise(Point::Softcap, &[Arg::Array(&x), Arg::Scalar(Scalar::Float(2.0))], Loc::default()).unwrap();
    let wanted = [1.0f64, -9.0].map(|x| 2.0 * (x / 2.0).tanh());
    assert!(common::values(&made).iter().zip(wanted).all(|(made, wanted)| (made - wanted).abs() < 1e-12));
}
"#;

/// What is printed from the rows, and what of the new one it must show.
const PRINTED: &[(&[&str], &str)] = &[
    (&["--package", "forerun-ops", "--example", "reference"], "`softcap(x1, x2)`"),
    (&["--package", "forerun-ops", "--example", "rows"], "\"name\": \"softcap\", \"arity\": 2"),
    (&["--package", "forerun-ops", "--example", "samples"], "\"op\": \"softcap\""),
    (
        &["--package", "forerun-ops", "--example", "pointwise", "--", "npx"],
        "def softcap(x1: ArrayLike, x2: ArrayLike, /) -> ndarray:",
    ),
];

/// Tests that go through all rows: every instruction set and dtype; machine code; gradients against finite differences.
const TESTED: &[&str] = &["--test", "pointwise", "--test", "jit", "--test", "gradients", "--test", "new_row"];

/// The crates that a row goes through, and this stage itself: what it looks at, from the root.
pub(super) fn covered() -> Result<BTreeSet<PathBuf>, String> {
    let mut found = BTreeSet::from([PathBuf::from("xtask/src/test/new_row.rs")]);
    for room in ["array", "base", "cpu", "cuda", "grad", "ops", "plan"] {
        sdist::walk(&tree::root(), &Path::new("crates").join(room), &mut found)?;
    }
    Ok(found)
}

/// Adds the row to a copy and looks at all that follows; `kernels` is where the device's compiler lies.
pub(super) fn check(kernels: &str) -> Result<(), String> {
    let copy = tree::target().join("new-row");
    fill(&tree::root(), &copy)?;
    for (example, shown) in PRINTED {
        let (good, text) = run_and_read(inside(&copy, &["run", "--quiet"]).args(*example))?;
        if !good || !text.contains(shown) {
            return Err(format!("{} does not show {shown}", example.join(" ")));
        }
    }
    // Scripts and samples; then, in one go, whatever else is tested row by row.
    run(&mut inside(&copy, &["test", "--quiet", "--package", "forerun-ops", "--lib"]))?;
    run(inside(&copy, &["test", "--quiet", "--workspace"]).args(TESTED))?;
    let texts = ["run", "--quiet", "--package", "forerun-cuda", "--example", "texts", "--", "sm_90", "softcap"];
    run(inside(&copy, &texts).env("FORERUN_CUDA_PATH", kernels))
}

/// Cargo in the copy.
fn inside(copy: &Path, args: &[&str]) -> Command {
    let mut command = cargo(args);
    command.current_dir(copy).env("CARGO_TARGET_DIR", tree::target());
    command
}

/// Crates of two checkouts have one name in a target folder, and cargo takes either for the other. For what the row does not
/// change that is as it should be. The catalogue gets a version of its own, and with it a name, as does all that is built on it.
fn fill(root: &Path, copy: &Path) -> Result<(), String> {
    mirror(&root.join("crates"), &copy.join("crates"))?;
    let read = |path: &str| tree::read(&root.join(path));
    let manifest = read("Cargo.toml")?;
    let members = manifest.lines().find(|line| line.starts_with("members = ")).ok_or("Cargo.toml names no members")?;
    write(&copy.join("Cargo.toml"), &manifest.replacen(members, "members = [\"crates/*\"]", 1))?;
    write(&copy.join("Cargo.lock"), &read("Cargo.lock")?)?;
    write(&copy.join(MANIFEST), &with_version(&read(MANIFEST)?, &manifest)?)?;
    write(&copy.join(TABLE), &with_row(&read(TABLE)?)?)?;
    write(&copy.join("crates/grad/tests/new_row.rs"), TEST)
}

/// The catalogue's manifest with a version that is the workspace's to whoever asks for one, and another to whoever names files.
fn with_version(manifest: &str, workspace: &str) -> Result<String, String> {
    let version = workspace.split("\nversion = \"").nth(1).and_then(|rest| rest.split('"').next());
    let version = version.ok_or("Cargo.toml names no version")?;
    let (before, after) =
        manifest.split_once("version.workspace = true").ok_or("the catalogue has a version of its own")?;
    Ok(format!("{before}version = \"{version}+row\"{after}"))
}

fn with_row(table: &str) -> Result<String, String> {
    let (before, after) = table.split_once(NEXT).ok_or("the row `add` is not where it was")?;
    Ok(format!("{before}{ROW}{NEXT}{after}"))
}

/// Makes a folder like another, times included, since by them cargo tells what to build again; but for what is written by itself.
fn mirror(from: &Path, to: &Path) -> Result<(), String> {
    let told = |e: std::io::Error| format!("{}: {e}", from.display());
    fs::create_dir_all(to).map_err(told)?;
    for entry in fs::read_dir(from).map_err(told)? {
        let path = entry.map_err(told)?.path();
        let place = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            mirror(&path, &place)?;
        } else if ![TABLE, MANIFEST].iter().any(|own| path.ends_with(own)) {
            fs::copy(&path, &place).map_err(told)?;
            let time = path.metadata().and_then(|facts| facts.modified()).map_err(told)?;
            let made = fs::File::options().write(true).open(&place).map_err(told)?;
            made.set_modified(time).map_err(told)?;
        }
    }
    Ok(())
}

/// Writes a file unless it has this content: what is newer is built again.
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
    fn one_row_more_and_nothing_else() {
        let table = tree::read(&tree::root().join(TABLE)).unwrap();
        let longer = with_row(&table).unwrap();
        assert_eq!(longer.replacen(ROW, "", 1), table);
        assert_eq!(longer.matches("(Softcap, ").count(), 1);
        assert!(with_row("").is_err());
    }

    #[test]
    fn the_catalogue_is_told_apart() {
        let workspace = "[workspace.package]\nversion = \"1.2.3\"\n";
        let told = with_version("name = \"a\"\nversion.workspace = true\n", workspace).unwrap();
        assert_eq!(told, "name = \"a\"\nversion = \"1.2.3+row\"\n");
        assert!(
            with_version("version = \"1\"", workspace).is_err()
                && with_version("version.workspace = true", "").is_err()
        );
    }
}
