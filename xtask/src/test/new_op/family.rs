//! Checks that a new family of routines is three files and a reference for its tests: a copy of the sources gets one with a
//! gradient, host and device kernels and a Python function. Everything that is generated from families must include it.

use super::copy::{self, Change};
use crate::command::run;
use crate::python::Environment;
use std::collections::BTreeSet;
use std::path::PathBuf;

const DECLARED: &str = r#"//! Floats times a number.

use crate::gradient::Needs;
use crate::routine::{Attributes, Family, Flows, Given, GradientBuilder, attributes, family, mistyped};
use crate::samples::{Sample, call, x};
use forerun_base::DType::{F32, F64, I32};
use forerun_base::Result;

family! {
    /// Damped floats.
    Damp {
        /// Multiply floats by a number.
        ///
        /// Examples
        /// --------
        /// >>> from forerun import np, npx
        /// >>> npx.damp_evenly(np.array([1.0, -9.0]), 0.25)
        /// array([ 0.25, -2.25])
        Evenly {
            name: "damp_evenly",
            inputs: [x],
            attributes: Damping,
            fallible: false,
            doc: "floats times a number",
            python: npx,
            parameters: "x: ArrayLike, factor: float",
            inputs_as: Given,
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
    fn infer(self, given: &[Given], _: &[i64]) -> Result<Given> {
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

/// Tests its values through the whole engine, with attributes passed by name, as frontends do.
const TEST: &str = r#"//! The new family has the values of its kernel.

mod common;

use forerun_array::ops;
use forerun_base::Loc;
use forerun_ops::Routine;
use forerun_ops::samples::Value;

#[test]
fn the_new_family_is_computed() {
    let x = common::array(&[2], &[1.0, -9.0]);
    let routine = Routine::from_name("damp_evenly").unwrap();
    let encoded = routine.encode(&[("factor", Value::Float(0.25))]).unwrap();
    let made = ops::routine_encoded(routine, &[&x], &encoded, Loc::default()).unwrap();
    assert_eq!(common::values(&made), [0.25, -2.25]);
}
"#;

/// The changes to the copy: the declaration, the kernels, the NumPy reference for the samples, and a test.
pub(super) const CHANGES: &[Change] = &[
    Change::new("crates/ops/src/family/damp.rs", DECLARED),
    Change::new("crates/cpu/src/family/damp.rs", ON_HOST),
    Change::new("crates/cuda/src/family/damp.rs", ON_DEVICE),
    Change::before(
        "tests/python/routines.py",
        "    \"sort\": ordered(",
        "    \"damp_evenly\": lambda x, factor: x * factor,\n",
    ),
    Change::new("crates/grad/tests/new_family.rs", TEST),
];

/// Generated files, and what they must contain of the new op.
const SHOWN: &[(&str, &str)] = &[
    ("docs/reference.md", "`damp_evenly(x, factor)` | float32, float64 | yes |"),
    ("docs/catalogue.json", "\"name\": \"damp_evenly\", \"tier\": \"routine\", \"inputs\": [\"x\"]"),
    ("tests/python/samples.json", "\"op\": \"damp_evenly\", \"routine\": true"),
    ("crates/array/src/methods/routines.rs", "damp_evenly, try_damp_evenly(&self, factor: f64) -> Array"),
    ("python/forerun/_routines_npx.py", "def damp_evenly(x: ArrayLike, factor: float) -> ndarray:"),
];

/// Tests over all families: samples on the host, gradients against finite differences.
const TESTED: &[&str] = &["--test", "samples", "--test", "gradients", "--test", "new_family"];

/// The inputs of the stage, from the root.
pub(crate) fn covered() -> Result<BTreeSet<PathBuf>, String> {
    let files = ["tests/python/routines.py", "tests/python/test_samples.py"];
    let crates = ["array", "base", "cpu", "cuda", "forerun", "grad", "nn", "ops", "plan", "python"];
    copy::covered(&files, &crates)
}

/// Adds the family to a copy and checks everything that depends on it; `kernels` is the path of the device compiler.
pub(crate) fn check(kernels: &str, environment: &Environment) -> Result<(), String> {
    let copy = copy::Copy::make()?;
    copy.shows(SHOWN)?;
    copy.cargo(&["test", "--package", "forerun-ops", "--lib"])?;
    copy.cargo(&[&["test", "--workspace"], TESTED].concat())?;
    copy.compiles("damp_evenly", kernels)?;
    copy.build_package()?;
    // The samples, by the routine and by the Python function, and the example of the function.
    let samples = ["-m", "pytest", "--quiet", "tests/python/test_samples.py", "-k", "damp_evenly"];
    run(&mut copy.within(environment.python(&samples)))?;
    let example = ["-m", "pytest", "--quiet", "--doctest-modules", "python/forerun/_routines_npx.py"];
    run(&mut copy.within(environment.python(&example)))
}
