//! Groups of equal neighbours, sorted rows, and prefix counts of flags.

use super::order::MOST_ELEMENTS;
use crate::gpu::Raised;
use crate::run::{CheckedCall, DeviceKernel, Job, Plan, are_real, checked};
use crate::text::{computed, define, ordered, routine_text};
use forerun_base::{DType, Error, ErrorKind, Result};
use forerun_ops::unique::{Equality, Groups};
use forerun_ops::{Given, Routine, Unique};
use forerun_plan::RoutineCall;

const TEXT: &str = include_str!("../kernels/unique.cuh");
const ROWS: &str = include_str!("../kernels/row_order.cuh");
const FLAGS: &str = include_str!("../kernels/flags.cuh");

/// Flags per chunk.
pub(super) const CHUNK: usize = 2048;
/// Rows that a block sorts in shared memory.
const NEAR: usize = 1024;

/// The kernels that count the flags of a source and distribute the counts.
pub(super) fn flag_texts(defines: &str, text: &str) -> Vec<String> {
    let part = |n: usize| {
        // The kernel that adds the counts of chunks does not depend on the flags.
        let texts = if n == 1 { vec![FLAGS] } else { vec![text, FLAGS] };
        routine_text(&[if n == 1 { "" } else { defines }, &define("PART", n)].concat(), &texts)
    };
    (0..3).map(part).collect()
}

/// Bytes for the counts of this many flags.
pub(super) fn count_bytes(flags: usize) -> usize {
    (8 * (flags.div_ceil(CHUNK) + 1)).next_multiple_of(512)
}

/// Counts flags, checks the expected number if given, and distributes the counts. Uses the first three kernels; `words`
/// are their additional arguments.
pub(super) fn count_flags(job: &Job<'_>, flags: usize, must: Option<usize>, own: &[u64]) -> Result<()> {
    let chunks = flags.div_ceil(CHUNK);
    let must = must.map_or(0, |count| count as u64 + 1);
    let words = [&[flags as u64, job.scratch, chunks as u64, job.io.status, must], own].concat();
    let grid = chunks.min(1 << 20);
    job.blocks(0, grid, 256, &words)?;
    job.blocks(1, 1, 1024, &words)?;
    job.blocks(2, grid, 256, &words)
}

impl DeviceKernel for Unique {
    fn plan(&self, call: &RoutineCall) -> Plan {
        let (dtype, shape) = call.inputs[0];
        match self {
            Unique::Groups => {
                let texts = flag_texts(&[computed(dtype), define("GROUPS", 1)].concat(), TEXT);
                Plan { texts, scratch: count_bytes(shape[0]), steps: groups }
            }
            Unique::Starts => {
                Plan { texts: vec![routine_text(&define("GROUPS", 0), &[TEXT])], scratch: 0, steps: starts }
            }
            Unique::RowOrder => {
                let text = |part: usize| routine_text(&[ordered(dtype), define("PART", part)].concat(), &[ROWS]);
                Plan { texts: (0..3).map(text).collect(), scratch: 4 * padded(shape[0]), steps: row_order }
            }
        }
    }

    fn runs(&self, given: &[Given]) -> bool {
        are_real(given) && given[0].1.size() < MOST_ELEMENTS
    }

    fn complaint(&self, call: &RoutineCall, _: Raised) -> Error {
        let count = call.out.1.size();
        let text = format!("the group numbers do not describe {count} consecutive groups");
        Error::new(ErrorKind::Value, text)
    }

    fn checked_calls(&self, _: Routine) -> Vec<CheckedCall> {
        let call = |dtype: DType| match self {
            Unique::Groups => checked(&[(dtype, &[9])], Equality { equal_nan: false }),
            Unique::Starts => checked(&[(DType::I64, &[4])], Groups { count: 2 }),
            Unique::RowOrder => checked(&[(dtype, &[9, 2])], ()),
        };
        DType::ALL.map(call).into()
    }

    fn left_to_host(&self) -> Option<&'static str> {
        Some("arrays of 2^31 elements and more; complex numbers")
    }
}

fn groups(job: &Job<'_>) -> Result<()> {
    let (shape, io) = (job.call.inputs[0].1, &job.io);
    let width: usize = shape[1..].iter().product();
    count_flags(
        job,
        shape[0],
        None,
        &[io.inputs[0], width as u64, io.outputs[0], job.attributes::<Equality>().equal_nan as u64],
    )
}

fn starts(job: &Job<'_>) -> Result<()> {
    let (size, count, io) = (job.call.inputs[0].1.size(), job.call.out.1.size(), &job.io);
    job.each(0, size, &[size as u64, io.inputs[0], io.outputs[0], count as u64, io.status])
}

fn padded(rows: usize) -> usize {
    rows.next_power_of_two().max(NEAR)
}

fn row_order(job: &Job<'_>) -> Result<()> {
    let (shape, io) = (job.call.inputs[0].1, &job.io);
    let (rows, padded) = (shape[0], padded(shape[0]));
    let words = |size: usize, stride: usize| {
        [rows as u64, job.scratch, io.inputs[0], shape[1] as u64, io.outputs[0], size as u64, stride as u64]
    };
    if rows == 0 {
        return Ok(());
    }
    job.blocks(0, padded / NEAR, NEAR / 2, &words(0, 0))?;
    let mut size = 2 * NEAR;
    while size <= padded {
        let mut stride = size / 2;
        while stride >= NEAR {
            job.blocks(1, padded / 2 / 256, 256, &words(size, stride))?;
            stride /= 2;
        }
        job.blocks(0, padded / NEAR, NEAR / 2, &words(size, 0))?;
        size *= 2;
    }
    job.each(2, rows, &words(0, 0))
}
