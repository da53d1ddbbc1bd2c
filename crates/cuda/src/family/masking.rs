//! Selection by a mask: builds a list of the true positions, then processes them.

use super::unique::{CHUNK, count_bytes, count_flags, flag_texts};
use crate::gpu::Raised;
use crate::run::{CheckedCall, DeviceKernel, Job, Plan, checked};
use crate::text::{define, moved, routine_text};
use forerun_base::{DType, Error, ErrorKind, Result};
use forerun_ops::masking::{Chosen, Compression};
use forerun_ops::{AlongAxis, Given, Masking, Routine};
use forerun_plan::RoutineCall;

const TEXT: &str = include_str!("../kernels/choose.cuh");

/// The index of the mask among the inputs, and the expected number of true elements.
fn mask_and_count(routine: Masking, call: &RoutineCall) -> (usize, usize) {
    let axis = call.routine.axis(&call.encoded).unwrap_or(0) as usize;
    match routine {
        Masking::Nonzero => (0, call.out.1[1]),
        Masking::Compress => (1, call.out.1[axis]),
        Masking::Fill => (1, call.inputs[2].1[axis]),
    }
}

impl DeviceKernel for Masking {
    fn plan(&self, call: &RoutineCall) -> Plan {
        let (mask, count) = mask_and_count(*self, call);
        let mut texts = flag_texts(&define("LISTING", 1), TEXT);
        let part = match self {
            Masking::Nonzero => 0,
            Masking::Compress => 1,
            Masking::Fill => 2,
        };
        let defines = [moved(call.inputs[0].0), define("LISTING", 0), define("PART", part)].concat();
        texts.push(routine_text(&defines, &[TEXT]));
        Plan { texts, scratch: count_bytes(call.inputs[mask].1.size()) + 8 * count.max(1), steps }
    }

    fn runs(&self, _: &[Given]) -> bool {
        true
    }

    fn complaint(&self, call: &RoutineCall, raised: Raised) -> Error {
        let ((_, count), found) = (mask_and_count(*self, call), raised.index);
        let text = match self {
            Masking::Nonzero | Masking::Compress => format!("the mask is true {found} times, not {count}"),
            Masking::Fill => {
                format!("cannot assign {count} input values to the {found} places where the mask is true")
            }
        };
        Error::new(ErrorKind::Value, text)
    }

    fn checked_calls(&self, _: Routine) -> Vec<CheckedCall> {
        let mask = DType::Bool;
        let call = |dtype: DType| match self {
            Masking::Nonzero => checked(&[(mask, &[9])], Chosen { count: 3 }),
            Masking::Compress => checked(&[(dtype, &[9, 2]), (mask, &[9])], Compression { axis: 0, count: 3 }),
            Masking::Fill => checked(&[(dtype, &[9, 2]), (mask, &[9]), (dtype, &[3, 2])], AlongAxis { axis: 0 }),
        };
        DType::ALL.map(call).into()
    }
}

fn steps(job: &Job<'_>) -> Result<()> {
    let Routine::Masking(routine) = job.call.routine else { unreachable!("a choice") };
    let (mask, count) = mask_and_count(routine, job.call);
    let (size, io) = (job.call.inputs[mask].1.size(), &job.io);
    let list = job.scratch + count_bytes(size) as u64;
    count_flags(job, size, Some(count), &[io.inputs[mask], count as u64, list])?;
    let there = job.scratch + 8 * size.div_ceil(CHUNK) as u64;
    let (shape, out) = (job.call.inputs[0].1, io.outputs[0]);
    if routine == Masking::Nonzero {
        let mut words = vec![count as u64, list, there, out, shape.rank() as u64];
        words.extend(shape.iter().map(|extent| *extent as u64));
        return job.each(3, count, &words);
    }
    let first = job.call.routine.axis(&job.call.encoded).unwrap_or(0) as usize;
    let rank = job.call.inputs[1].1.rank();
    let outer: usize = shape[..first].iter().product();
    let inner: usize = shape[first + rank..].iter().product();
    let other = if routine == Masking::Fill {
        job.copy_base()?;
        io.inputs[2]
    } else {
        io.inputs[0]
    };
    let elements = outer * count * inner;
    let [moved, count, size, inner] = [elements, count, size, inner].map(|n| n as u64);
    job.each(3, elements, &[moved, list, there, out, other, count, size, inner])
}
