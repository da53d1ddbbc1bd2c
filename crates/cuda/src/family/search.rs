//! Binary search in sorted arrays.

use crate::gpu::{Gpu, Raised};
use crate::run::{CheckedCall, DeviceKernel, Job, Plan, are_real, checked};
use crate::text::{define, ordered, routine_text};
use forerun_base::{DType, Error, ErrorKind, Result};
use forerun_ops::search::Side;
use forerun_ops::{Given, Routine, Search};
use forerun_plan::RoutineCall;

const TEXT: &str = include_str!("../kernels/search.cuh");

/// Bytes for the flags whether edges increase or decrease.
const NOTE: usize = 16;

impl DeviceKernel for Search {
    fn plan(&self, call: &RoutineCall) -> Plan {
        let text = |part: usize| routine_text(&[ordered(call.inputs[0].0), define("PART", part)].concat(), &[TEXT]);
        match self {
            Search::Sorted => Plan { texts: vec![text(1)], scratch: 0, steps: sorted },
            Search::Digitize => Plan { texts: vec![text(1), text(0)], scratch: NOTE, steps: digitize },
            Search::Among | Search::Interp => unreachable!("{} runs on the host", call.routine.name()),
        }
    }

    fn runs(&self, given: &[Given]) -> bool {
        match self {
            Search::Sorted | Search::Digitize => are_real(given),
            // Shortcuts of the host; on a device, frontends use other ops with the same result.
            Search::Among | Search::Interp => false,
        }
    }

    fn complaint(&self, _: &RoutineCall, _: Raised) -> Error {
        Error::new(ErrorKind::Value, "bins must be monotonic")
    }

    fn checked_calls(&self, _: Routine) -> Vec<CheckedCall> {
        let call = |dtype: DType| checked(&[(dtype, &[9]), (dtype, &[4])], Side { right: false });
        DType::ALL.map(call).into()
    }

    fn left_to_host(&self) -> Option<&'static str> {
        Some("complex numbers")
    }
}

fn find(job: &Job<'_>, note: u64) -> Result<()> {
    let (numbers, values, io) = (job.call.inputs[0].1.size(), job.call.inputs[1].1.size(), &job.io);
    let words = [values as u64, io.inputs[0], note, numbers as u64, io.inputs[1], io.outputs[0]];
    // Edges are checked even if there are no values.
    let grid = Gpu::grid(values, 256).max(1);
    job.blocks(0, grid, 256, &[&words[..], &[job.attributes::<Side>().right as u64, io.status]].concat())
}

fn sorted(job: &Job<'_>) -> Result<()> {
    find(job, 0)
}

fn digitize(job: &Job<'_>) -> Result<()> {
    job.clear(job.scratch, NOTE)?;
    let pairs = job.call.inputs[0].1.size().saturating_sub(1);
    job.each(1, pairs, &[pairs as u64, job.io.inputs[0], job.scratch])?;
    find(job, job.scratch)
}
