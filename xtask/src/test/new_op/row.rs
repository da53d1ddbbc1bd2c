//! Checks that a new pointwise op is one row: a copy of the sources gets one more row, and everything that is generated from
//! rows must include it.

use super::copy::{self, Change};
use crate::command::{cargo, run};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The table that gets the row.
const TABLE: &str = "crates/ops/src/pointwise.rs";

/// The row is inserted before this one.
const NEXT: &str = "            Add { name: \"add\",";

const ROW: &str = r#"            Softcap { name: "softcap", class: Float, ulp: 8, doc: "The first, bent so that it stays within the second.",
                body: |a, b| b.mul(math::tanh(a.div(b))),
                gradient: |g, y| [g * (1.0 - (y / b) * (y / b)), g * (y / b - (a / b) * (1.0 - (y / b) * (y / b)))],
                python: npx, example: "np.array([1.0, -9.0]), 2.0" => "array([ 0.9242343, -1.9995064])" }
"#;

/// Tests its values through the whole engine; another test checks the gradients of all rows.
const TEST: &str = r#"//! The new row has the values of its body.

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

/// Generated files, and what they must contain of the new op.
const SHOWN: &[(&str, &str)] = &[
    ("docs/reference.md", "`softcap(x1, x2)`"),
    ("docs/catalogue.json", "\"name\": \"softcap\", \"tier\": \"pointwise\", \"inputs\": [\"x1\", \"x2\"]"),
    ("tests/python/samples.json", "\"op\": \"softcap\""),
    ("crates/array/src/methods/binary.rs", "    Softcap softcap try_softcap;"),
    ("python/forerun/_pointwise_npx.py", "def softcap(x1: ArrayLike, x2: ArrayLike, /) -> ndarray:"),
];

/// Tests over all rows: every instruction set and dtype, machine code, gradients against finite differences.
const TESTED: &[&str] = &["--test", "pointwise", "--test", "jit", "--test", "gradients", "--test", "new_row"];

/// The changes to the copy.
pub(super) const CHANGES: &[Change] =
    &[Change::before(TABLE, NEXT, ROW), Change::new("crates/grad/tests/new_row.rs", TEST)];

/// The inputs of the stage, from the root.
pub(crate) fn covered() -> Result<BTreeSet<PathBuf>, String> {
    copy::covered(&[], &["array", "base", "cpu", "cuda", "grad", "ops", "plan"])
}

/// Adds the row to a copy and checks everything that depends on it; `kernels` is the path of the device compiler, and
/// `assembler` that of `ptxas`.
pub(crate) fn check(kernels: &str, assembler: &str) -> Result<(), String> {
    let copy = copy::Copy::make()?;
    copy.shows(SHOWN)?;
    copy.cargo(&["test", "--package", "forerun-ops", "--lib"])?;
    copy.cargo(&[&["test", "--workspace"], TESTED].concat())?;
    copy.compiles("softcap", kernels)?;
    let ptx = ["run", "--package", "forerun-cuda", "--example", "ptx", "--", assembler, "sm_90", "softcap"];
    run(&mut copy.within(cargo(&ptx)))
}
