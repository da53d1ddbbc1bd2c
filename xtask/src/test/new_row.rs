//! What a new pointwise op takes: a copy of the rooms gets one more row, and nothing else changes. Then everything that is
//! made from rows must have it.

use crate::command::{cargo, run, run_and_read};
use crate::tree;
use std::fs;
use std::path::Path;
use std::process::Command;

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
        &["--package", "forerun-python", "--example", "pointwise", "--", "npx"],
        "def softcap(x1: ArrayLike, x2: ArrayLike, /) -> ndarray:",
    ),
];

/// Tests that go through all rows: their scripts and samples; every instruction set and dtype; machine code; gradients
/// against finite differences.
const TESTED: &[&[&str]] = &[
    &["--package", "forerun-ops", "--lib"],
    &["--package", "forerun-cpu", "--test", "pointwise", "--test", "jit"],
    &["--package", "forerun-grad", "--test", "gradients", "--test", "new_row"],
];

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
    for tests in TESTED {
        run(inside(&copy, &["test", "--quiet"]).args(*tests))?;
    }
    let texts = ["run", "--quiet", "--package", "forerun-cuda", "--example", "texts", "--", "sm_90", "softcap"];
    run(inside(&copy, &texts).env("FORERUN_CUDA_PATH", kernels))
}

/// Cargo in the copy. It builds in a folder of its own: crates of two checkouts have one name in a target folder, so either
/// would be taken for the other.
fn inside(copy: &Path, args: &[&str]) -> Command {
    let mut command = cargo(args);
    command.current_dir(copy).env("CARGO_TARGET_DIR", copy.join("target"));
    command
}

fn fill(root: &Path, copy: &Path) -> Result<(), String> {
    mirror(&root.join("crates"), &copy.join("crates"))?;
    let manifest = tree::read(&root.join("Cargo.toml"))?;
    let members = manifest.lines().find(|line| line.starts_with("members = ")).ok_or("Cargo.toml names no members")?;
    write(&copy.join("Cargo.toml"), manifest.replacen(members, "members = [\"crates/*\"]", 1).as_bytes())?;
    write(&copy.join("Cargo.lock"), tree::read(&root.join("Cargo.lock"))?.as_bytes())?;
    let table = "crates/ops/src/pointwise.rs";
    write(&copy.join(table), with_row(&tree::read(&root.join(table))?)?.as_bytes())?;
    write(&copy.join("crates/grad/tests/new_row.rs"), TEST.as_bytes())
}

fn with_row(table: &str) -> Result<String, String> {
    let (before, after) = table.split_once(NEXT).ok_or("the row `add` is not where it was")?;
    Ok(format!("{before}{ROW}{NEXT}{after}"))
}

/// Makes a folder like another, but for the table, which is written by itself so that its time stays when it is the same.
fn mirror(from: &Path, to: &Path) -> Result<(), String> {
    let told = |e: std::io::Error| format!("{}: {e}", from.display());
    for entry in fs::read_dir(from).map_err(told)? {
        let path = entry.map_err(told)?.path();
        let place = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            mirror(&path, &place)?;
        } else if !path.ends_with("ops/src/pointwise.rs") {
            write(&place, &fs::read(&path).map_err(told)?)?;
        }
    }
    Ok(())
}

/// Writes a file unless it has this content: what is newer is built again.
fn write(path: &Path, content: &[u8]) -> Result<(), String> {
    if fs::read(path).is_ok_and(|there| there == content) {
        return Ok(());
    }
    let told = |e: std::io::Error| format!("{}: {e}", path.display());
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(told)?;
    fs::write(path, content).map_err(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_row_more_and_nothing_else() {
        let table = tree::read(&tree::root().join("crates/ops/src/pointwise.rs")).unwrap();
        let longer = with_row(&table).unwrap();
        assert_eq!(longer.replacen(ROW, "", 1), table);
        assert_eq!(longer.matches("(Softcap, ").count(), 1);
        assert!(with_row("").is_err());
    }
}
