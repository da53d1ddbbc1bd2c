//! Prints `docs/conformance/fallbacks.md`: the ops that a CUDA device leaves to the host.

use forerun_base::Shape;
use forerun_cuda::runs;
use forerun_ops::samples::{Sample, Value, names, samples};
use forerun_ops::{Given, Routine};

const OPENING: &str = "# Ops that CUDA devices leave to the host

This page is made from the catalogue by `cargo xtask gen`: do not edit it.

An op without a kernel for the device is run by the host between two transfers; the program does not wait for it. Pointwise and structured ops all have
kernels; composite ones are made of those. Of the routines these have none; for `partition`, `argpartition`, `quantile`, `among`, `interp`,
`bincount`, `histogram` and `random_order` the Python face submits ops of the device that do the same:
";

const CLOSING: &str = "
Others have theirs but for some inputs:

| routine | left to the host |
|---|---|
| `fft`, `rfft`, `irfft` | where cuFFT is not found |
| `sort`, `argsort`, `argtop`, `groups`, `group_starts`, `row_order` | arrays of 2^31 elements and more |
| `random_multinomial` | one probability |
| `softmax_rows`, `log_softmax_rows`, `layer_norm_rows` | few rows of more than 4096 elements, which are reduced by other kernels of the device |
| all but `take_along_axis`, `put_along_axis`, `nonzero`, `compress`, `fill_chosen`, `positions`, `put`, `fft`, `irfft` | complex numbers |

Results have the host's bits, but for those that depend on mathematical functions of the device (`random_gamma`, within 64 units of the last place
where it was tried; counts drawn by rejection were equal where they were tried) and those that add in another order (Fourier transforms, linear algebra).
";

fn main() {
    let (all, samples) = (names().count(), samples());
    let left: Vec<Routine> = Routine::all().into_iter().filter(|routine| !somewhere(*routine, &samples)).collect();
    println!("{OPENING}\n| routine | what |\n|---|---|");
    left.iter().for_each(|routine| println!("| `{}` | {} |", routine.name(), routine.row().doc));
    println!("\n{} of {all} ops, {:.1} %.", left.len(), 100.0 * left.len() as f64 / all as f64);
    print!("{CLOSING}");
}

/// Whether a device runs one of the routine's samples.
fn somewhere(routine: Routine, samples: &[Sample]) -> bool {
    samples.iter().filter(|sample| sample.op == routine.name() && sample.error.is_none()).any(|sample| {
        sample.dtypes.iter().any(|dtype| {
            let input = |input: &forerun_ops::samples::Input| (input.dtype.unwrap_or(*dtype), Shape::of(&input.shape));
            let given: Vec<Given> = sample.inputs.iter().map(input).collect();
            let words = sample.args.iter().find_map(|(name, value)| match value {
                Value::Ints(words) if *name == "words" => Some(words.clone()),
                _ => None,
            });
            routine.infer(&given, &words.unwrap_or_default()).is_ok() && runs(routine, &given)
        })
    })
}
