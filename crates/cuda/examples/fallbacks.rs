//! Prints `docs/conformance/fallbacks.md`: the ops that a CUDA device leaves to the host.

use forerun_base::Shape;
use forerun_cuda::{left_to_host, runs};
use forerun_ops::samples::{Input, Sample, names, samples};
use forerun_ops::{Given, Routine};

const OPENING: &str = "# Ops that CUDA devices leave to the host

This page is generated from the catalogue by `cargo xtask gen`; do not edit it.

The host runs ops without a device kernel between two transfers; the program does not wait for them. The routines below have no device
kernel. All pointwise ops and all other structured ops have one, and composites submit such ops. Instead of `partition`, `argpartition`,
`quantile`, `among`, `interp`, `bincount`, `histogram` and `random_order`, the Python package submits device ops with the same result:
";

const EXCEPTIONS: &str = "
These routines have device kernels, except for some inputs:

| routine | left to the host |
|---|---|";

const CLOSING: &str = "
Results are bitwise equal to the host's, with two exceptions: results that depend on math functions of the device (`random_gamma` was within 64 ulp
in the tests; counts drawn by rejection were equal), and results that add in another order (Fourier transforms, linear algebra).
";

fn main() {
    let (all, samples) = (names().count(), samples());
    let (run, left): (Vec<Routine>, Vec<Routine>) =
        Routine::all().into_iter().partition(|routine| runs_somewhere(*routine, &samples));
    println!("{OPENING}\n| routine | what |\n|---|---|");
    left.iter().for_each(|routine| println!("| `{}` | {} |", routine.name(), routine.row().doc));
    println!("\n{} of {all} ops, {:.1} %.\n{EXCEPTIONS}", left.len(), 100.0 * left.len() as f64 / all as f64);
    let mut exceptions: Vec<(&str, Vec<String>)> = Vec::new();
    for (routine, text) in run.into_iter().filter_map(|routine| Some((routine, left_to_host(routine)?))) {
        let name = format!("`{}`", routine.name());
        match exceptions.iter_mut().find(|(other, _)| *other == text) {
            Some((_, names)) => names.push(name),
            None => exceptions.push((text, vec![name])),
        }
    }
    exceptions.iter().for_each(|(text, names)| println!("| {} | {text} |", names.join(", ")));
    print!("{CLOSING}");
}

/// Whether the device runs any sample of the routine.
fn runs_somewhere(routine: Routine, samples: &[Sample]) -> bool {
    samples.iter().filter(|sample| sample.op == routine.name()).any(|sample| {
        sample.dtypes.iter().any(|dtype| {
            let input = |input: &Input| (input.dtype.unwrap_or(*dtype), Shape::of(&input.shape));
            let given: Vec<Given> = sample.inputs.iter().map(input).collect();
            runs(routine, &given)
        })
    })
}
