//! Checks what a new op requires: a copy of the crates gets one more pointwise row, and one more family of routines in
//! three files, and no other source is edited by hand. Everything that is generated from rows and families must then
//! include them.
//!
//! Invariant: the copy is built in the workspace's target folder, where earlier stages have left everything that does
//! not depend on the catalogue; it shares that, and nothing else.

use crate::command::{cargo, run, run_and_read};
use crate::{families, sdist, tree};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The table that gets the row, and the manifest of its crate.
const TABLE: &str = "crates/ops/src/pointwise.rs";
const MANIFEST: &str = "crates/ops/Cargo.toml";

/// The row is inserted before this one.
const NEXT: &str = "            (Add, \"add\", 2,";

const ROW: &str = r#"            (Softcap, "softcap", 2, Float, "The first, bent so that it stays within the second.", |a, b| b.mul(math::tanh(a.div(b)));
                |g, y| [g * (1.0 - (y / b) * (y / b)), g * (y / b - (a / b) * (1.0 - (y / b) * (y / b)))]; 8,
                npx [] "np.array([1.0, -9.0]), 2.0" => "array([ 0.9242343, -1.9995064])")
"#;

/// The files of the family: its declaration, its host kernel and its device kernel.
const FAMILY: &[(&str, &str)] = &[
    ("crates/ops/src/family/damp.rs", DECLARED),
    ("crates/cpu/src/family/damp.rs", ON_HOST),
    ("crates/cuda/src/family/damp.rs", ON_DEVICE),
];

const DECLARED: &str = r#"//! Floats times a number.

use crate::gradient::Needs;
use crate::routine::{Attributes, Family, Flows, Given, GradientBuilder, attributes, family, mistyped};
use crate::samples::{Sample, call, x};
use forerun_base::DType::{F32, F64, I32};
use forerun_base::Result;

family! {
    /// Damped floats.
    Damp {
        Evenly {
            name: "damp_evenly",
            inputs: [x],
            attributes: Damping,
            fallible: false,
            doc: "floats times a number",
        }
    }
}

attributes! {
    /// The attributes of `damp_evenly`.
    Damping {
        /// The number.
        factor: f64,
    }
}

impl Family for Damp {
    fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
        Damping::read(attributes)?;
        match given[0].0 {
            F32 | F64 => Ok(given[0]),
            dtype => mistyped(format!("not defined for {dtype}")),
        }
    }

    fn cost(self, given: &[Given], _: &Given, _: &[i64]) -> usize {
        given[0].1.size()
    }

    fn needs(self, _: usize) -> Option<Needs> {
        Some(Needs::NOTHING)
    }

    fn gradient<B: GradientBuilder>(self, b: &B, attributes: &[i64]) -> Flows<B> {
        Ok(vec![Some(b.routine(self, &[b.grad()], Damping::read(attributes)?)?)])
    }

    fn samples() -> Vec<Sample> {
        let damp = || call("damp_evenly").with("factor", 0.5);
        vec![damp().on([x([3, 4])]).of([F32, F64]), damp().on([x([3])]).of([I32]).fails("damp_evenly: not defined")]
    }
}
"#;

const ON_HOST: &str = r#"//! Floats times a number.

use crate::routine::call::{Args, Body, Element, HostKernel};
use forerun_base::{DType, Result};
use forerun_ops::Damp;
use forerun_ops::damp::Damping;
use forerun_plan::RoutineCall;
use std::ops::Mul;

impl HostKernel for Damp {
    fn body(&self) -> Body {
        |args, _| match args.dtype(0) {
            DType::F32 => damp(args, |factor| factor as f32),
            _ => damp(args, |factor| factor),
        }
    }

    fn scratch(&self, _: &RoutineCall, _: usize) -> usize {
        0
    }
}

fn damp<T: Element + Mul<Output = T>>(args: &Args<'_>, round: fn(f64) -> T) -> Result<()> {
    let factor = round(args.attributes::<Damping>().factor);
    args.output::<T>().iter_mut().zip(args.input::<T>(0)).for_each(|(to, x)| *to = *x * factor);
    Ok(())
}
"#;

const ON_DEVICE: &str = r#"//! Floats times a number.

use crate::run::{DeviceKernel, Plan};
use crate::text::{computed, routine_text};
use forerun_ops::Damp;
use forerun_ops::damp::Damping;
use forerun_plan::RoutineCall;

const TEXT: &str = "extern \"C\" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    const T by = (T)scalar<double>(p.w[3]);
    EACH(i, p.w[0]) ((T*)p.w[2])[i] = ((T*)p.w[1])[i] * by;
}
";

impl DeviceKernel for Damp {
    fn plan(&self, call: &RoutineCall) -> Plan {
        let texts = vec![routine_text(&computed(call.inputs[0].0), &[TEXT])];
        Plan {
            texts,
            scratch: 0,
            steps: |job| {
                let (size, factor) = (job.call.out.1.size(), job.attributes::<Damping>().factor);
                job.each(0, size, &[size as u64, job.io.inputs[0], job.io.outputs[0], factor.to_bits()])
            },
        }
    }
}
"#;

/// Tests their values through the whole engine; another test checks the gradients of all rows and families. Attributes
/// are passed by name, as frontends do.
const TEST: &str = r#"//! The new row and the new family have the values of their bodies.

mod common;

use forerun_array::{Arg, ops};
use forerun_base::{Loc, Scalar};
use forerun_ops::samples::Value;
use forerun_ops::{Point, Routine};

#[test]
fn the_new_row_is_computed() {
    let x = common::array(&[2], &[1.0, -9.0]);
    let made = ops::pointwise(Point::Softcap, &[Arg::Array(&x), Arg::Scalar(Scalar::Float(2.0))], Loc::default()).unwrap();
    let wanted = [1.0f64, -9.0].map(|x| 2.0 * (x / 2.0).tanh());
    assert!(common::values(&made).iter().zip(wanted).all(|(made, wanted)| (made - wanted).abs() < 1e-12));
}

#[test]
fn the_new_family_is_computed() {
    let x = common::array(&[2], &[1.0, -9.0]);
    let routine = Routine::from_name("damp_evenly").unwrap();
    let encoded = routine.encode(&[("factor", Value::Float(0.25))]).unwrap();
    let made = ops::routine_encoded(routine, &[&x], &encoded, Loc::default()).unwrap();
    assert_eq!(common::values(&made), [0.25, -2.25]);
}
"#;

/// The output that is generated from the catalogue, and what it must contain of the new ops.
const PRINTED: &[(&[&str], &str)] = &[
    (&["--package", "forerun-ops", "--example", "reference"], "`damp_evenly(x, factor)` | float32, float64 | yes |"),
    (&["--package", "forerun-ops", "--example", "samples"], "\"op\": \"damp_evenly\", \"routine\": true"),
    (&["--package", "forerun-ops", "--example", "reference"], "`softcap(x1, x2)`"),
    (&["--package", "forerun-ops", "--example", "rows"], "\"name\": \"softcap\", \"arity\": 2"),
    (&["--package", "forerun-ops", "--example", "samples"], "\"op\": \"softcap\""),
    (
        &["--package", "forerun-ops", "--example", "pointwise", "--", "npx"],
        "def softcap(x1: ArrayLike, x2: ArrayLike, /) -> ndarray:",
    ),
];

/// Tests over all rows and families: every instruction set and dtype, machine code, gradients against finite
/// differences.
const TESTED: &[&str] = &["--test", "pointwise", "--test", "jit", "--test", "gradients", "--test", "new_row"];

/// The crates that an op involves, and this stage itself: its inputs, from the root.
pub(super) fn covered() -> Result<BTreeSet<PathBuf>, String> {
    let mut found = BTreeSet::from(["xtask/src/test/new_row.rs", "xtask/src/families.rs"].map(PathBuf::from));
    for room in ["array", "base", "cpu", "cuda", "grad", "ops", "plan"] {
        sdist::walk(&tree::root(), &Path::new("crates").join(room), &mut found)?;
    }
    Ok(found)
}

/// Adds the row and the family to a copy and checks everything that depends on them; `kernels` is the path of the
/// device compiler.
pub(super) fn check(kernels: &str) -> Result<(), String> {
    let copy = tree::target().join("new-row");
    fill(&tree::root(), &copy)?;
    for (example, shown) in PRINTED {
        let (good, text) = run_and_read(inside(&copy, &["run", "--quiet"]).args(*example))?;
        if !good || !text.contains(shown) {
            return Err(format!("{} does not show {shown}", example.join(" ")));
        }
    }
    // Scripts and samples first, then, in one command, all other tests over rows.
    run(&mut inside(&copy, &["test", "--quiet", "--package", "forerun-ops", "--lib"]))?;
    run(inside(&copy, &["test", "--quiet", "--workspace"]).args(TESTED))?;
    for name in ["softcap", "damp_evenly"] {
        let texts = ["run", "--quiet", "--package", "forerun-cuda", "--example", "texts", "--", "sm_90", name];
        run(inside(&copy, &texts).env("FORERUN_CUDA_PATH", kernels))?;
    }
    Ok(())
}

/// Cargo in the copy.
fn inside(copy: &Path, args: &[&str]) -> Command {
    let mut command = cargo(args);
    command.current_dir(copy).env("CARGO_TARGET_DIR", tree::target());
    command
}

/// Crates of two checkouts have the same name in a target folder, so cargo uses either for the other. For crates that
/// do not depend on ops that is intended. The catalogue gets a version of its own, which changes its name and that of
/// all crates that depend on it.
fn fill(root: &Path, copy: &Path) -> Result<(), String> {
    // Every file there is a family, including those left from an earlier copy.
    for folder in FAMILY.iter().filter_map(|(path, _)| Path::new(path).parent()) {
        let _ = fs::remove_dir_all(copy.join(folder));
    }
    mirror(&root.join("crates"), &copy.join("crates"))?;
    for (path, text) in FAMILY {
        write(&copy.join(path), text)?;
    }
    families::write(copy)?;
    let read = |path: &str| tree::read(&root.join(path));
    let manifest = read("Cargo.toml")?;
    let members = manifest.lines().find(|line| line.starts_with("members = ")).ok_or("Cargo.toml names no members")?;
    write(&copy.join("Cargo.toml"), &manifest.replacen(members, "members = [\"crates/*\"]", 1))?;
    write(&copy.join("Cargo.lock"), &read("Cargo.lock")?)?;
    write(&copy.join(MANIFEST), &with_version(&read(MANIFEST)?, &manifest)?)?;
    write(&copy.join(TABLE), &with_row(&read(TABLE)?)?)?;
    write(&copy.join("crates/grad/tests/new_row.rs"), TEST)
}

/// The catalogue's manifest with another version, compatible for dependents but with different file names.
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

/// Mirrors a folder, including timestamps, by which cargo decides what to rebuild; without files that are written
/// separately.
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
