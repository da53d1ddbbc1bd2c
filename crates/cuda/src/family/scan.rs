//! Cumulative ops. Lines are split into the same runs as on the host, and ops that the host does not split are computed
//! sequentially, so the bits equal the host's.

use crate::run::{CheckedCall, DeviceKernel, Job, Plan, checked};
use crate::text::{computed, define, routine_text};
use forerun_base::{DType, Kind, Result};
use forerun_ops::{AlongAxis, Routine, Scan};
use forerun_plan::RoutineCall;

const TEXT: &str = include_str!("../kernels/scan.cuh");
/// Elements per run, as on the host.
const RUN: usize = 512;
/// From this many lines on, each line has a thread.
const MANY: usize = 8192;

/// The algorithm of a scan.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// Split into runs.
    Cut,
    /// One thread per line.
    Lines,
    /// One block per line.
    Staged,
}

fn way(routine: Scan, call: &RoutineCall) -> Way {
    let [outer, count, inner] = call.extents(0);
    let float = call.inputs[0].0.kind() == Kind::Float;
    match routine {
        Scan::CumSum | Scan::ArgCumMax | Scan::ArgCumMin => Way::Cut,
        // Integers wrap, so products may be split anywhere.
        Scan::CumProd if !float || count <= RUN => Way::Cut,
        Scan::CumProd | Scan::Linear if outer * inner >= MANY || count <= RUN => Way::Lines,
        Scan::CumProd | Scan::Linear => Way::Staged,
    }
}

impl DeviceKernel for Scan {
    fn plan(&self, call: &RoutineCall) -> Plan {
        let (kind, largest, linear) = match self {
            Scan::CumSum => (0, 0, 0),
            Scan::CumProd => (1, 0, 0),
            Scan::Linear => (1, 0, 1),
            Scan::ArgCumMax => (2, 1, 0),
            Scan::ArgCumMin => (2, 0, 0),
        };
        let dtype = call.inputs[0].0;
        let text = |part: usize| {
            let names = [("KIND", kind), ("LARGEST", largest), ("LINEAR", linear), ("PART", part)];
            let defines: String = names.into_iter().map(|(name, value)| define(name, value)).collect();
            routine_text(&[computed(dtype), defines].concat(), &[TEXT])
        };
        let [outer, count, inner] = call.extents(0);
        let runs = count.div_ceil(RUN);
        // A partial result is an element, or an element and its index.
        let fold = if kind == 2 { 16 } else { dtype.size() };
        match way(*self, call) {
            Way::Cut if runs <= 1 => Plan { texts: vec![text(2)], scratch: 0, steps: whole },
            Way::Cut => {
                Plan { texts: vec![text(0), text(1), text(2)], scratch: 2 * outer * runs * inner * fold, steps: cut }
            }
            Way::Lines if linear == 0 => Plan { texts: vec![text(2)], scratch: 0, steps: whole },
            Way::Lines => Plan { texts: vec![text(3)], scratch: 0, steps: whole },
            Way::Staged => Plan { texts: vec![text(4)], scratch: 0, steps: staged },
        }
    }

    fn checked_calls(&self, routine: Routine) -> Vec<CheckedCall> {
        let inputs = routine.row().inputs.len();
        // Products and minima differ from sums and maxima in one function, so check them only in the dtypes that use
        // it.
        let own = |dtype: &DType| !matches!(self, Scan::CumProd | Scan::ArgCumMin) || dtype.carrier() == *dtype;
        let call = |dtype: DType, dims: &[usize]| checked(&[(dtype, dims); 2][..inputs], AlongAxis { axis: 0 });
        let calls = |dtype: DType| [&[700][..], &[7], &[700, 10_000]].map(|dims| call(dtype, dims));
        DType::ALL.into_iter().filter(own).flat_map(calls).collect()
    }

    fn left_to_host(&self) -> Option<&'static str> {
        Some("complex numbers")
    }
}

fn words(job: &Job<'_>, units: usize, run: usize, [folds, before]: [u64; 2]) -> [u64; 10] {
    let ([_, count, inner], io) = (job.extents(0), &job.io);
    let factors = if job.call.routine == Routine::Scan(Scan::Linear) { io.inputs[1] } else { 0 };
    let runs = count.div_ceil(run.max(1));
    let [units, count, inner, run, runs] = [units, count, inner, run, runs].map(|n| n as u64);
    [units, io.inputs[0], io.outputs[0], count, inner, run, runs, folds, before, factors]
}

/// Lines of a single run.
fn whole(job: &Job<'_>) -> Result<()> {
    let [outer, count, inner] = job.extents(0);
    if outer * count * inner == 0 {
        return Ok(());
    }
    let lines = outer * inner;
    job.blocks(0, lines.div_ceil(128).min(1 << 20), 128, &words(job, lines, count, [0; 2]))
}

fn cut(job: &Job<'_>) -> Result<()> {
    let [outer, count, inner] = job.extents(0);
    if outer * count * inner == 0 {
        return Ok(());
    }
    let (lines, runs) = (outer * inner, count.div_ceil(RUN));
    let kind = matches!(job.call.routine, Routine::Scan(Scan::ArgCumMax | Scan::ArgCumMin));
    let fold = if kind { 16 } else { job.call.inputs[0].0.size() };
    let places = [job.scratch, job.scratch + (lines * runs * fold) as u64];
    let grid = |units: usize| units.div_ceil(128).min(1 << 20);
    job.blocks(0, grid(lines * runs), 128, &words(job, lines * runs, RUN, places))?;
    job.blocks(1, grid(lines), 128, &words(job, lines, RUN, places))?;
    job.blocks(2, grid(lines * runs), 128, &words(job, lines * runs, RUN, places))
}

fn staged(job: &Job<'_>) -> Result<()> {
    let [outer, count, inner] = job.extents(0);
    if outer * count * inner == 0 {
        return Ok(());
    }
    job.blocks(0, outer * inner, 128, &words(job, outer * inner, count, [0; 2]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use forerun_base::Shape;

    fn launches(routine: Scan, dtype: DType, dims: &[usize]) -> (usize, usize) {
        let inputs = vec![(dtype, Shape::of(dims)); if routine == Scan::Linear { 2 } else { 1 }];
        let out = Routine::Scan(routine).infer(&inputs, &[0]).unwrap();
        let call = RoutineCall { routine: Routine::Scan(routine), inputs, out, encoded: [0].into() };
        let plan = routine.plan(&call);
        (plan.texts.len(), plan.scratch)
    }

    #[test]
    fn long_lines_are_cut_where_no_bit_shows_it() {
        // Two runs for each of three lines: their totals, and the totals before them.
        assert_eq!(launches(Scan::CumSum, DType::F32, &[600, 3]), (3, 2 * 2 * 3 * 4));
        assert_eq!(launches(Scan::CumProd, DType::I64, &[600, 3]), (3, 2 * 2 * 3 * 8));
        assert_eq!(launches(Scan::ArgCumMax, DType::I8, &[600]), (3, 2 * 2 * 16));
        assert_eq!(launches(Scan::CumSum, DType::F32, &[512, 3]), (1, 0));
        assert_eq!(launches(Scan::CumProd, DType::F32, &[600, 3]), (1, 0));
        assert_eq!(launches(Scan::Linear, DType::F32, &[600, 10_000]), (1, 0));
    }
}
