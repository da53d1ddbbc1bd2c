//! Elements named along an axis, line by line.

use super::job::{Job, Plan, extents};
use crate::text::{computed, define, indices, moved, routine_text};
use forerun_base::Result;
use forerun_ops::Along;
use forerun_plan::RoutineCall;

const TEXT: &str = include_str!("../../kernels/along.cuh");
/// Warps that keep a large device busy.
const WARPS: usize = 4096;
/// Lines side by side from which on neighbours are lanes of a warp.
const SIDE: usize = 16;

pub(super) fn plan(routine: Along, call: &RoutineCall) -> Plan {
    let (dtype, named) = (call.inputs[0].0, indices(call.inputs[1].0));
    let [_, _, inner] = extents(call, 0);
    // Elements that are only moved are known by their size.
    let (part, elements) = match routine {
        Along::Take => (0, moved(dtype)),
        Along::Put => (1 + (inner >= SIDE) as usize, moved(dtype)),
        Along::Add => (1 + (inner >= SIDE) as usize, computed(dtype)),
    };
    let adds = define("ADD", (routine == Along::Add) as usize);
    let text = routine_text(&[elements, named, define("PART", part), adds].concat(), &[TEXT]);
    Plan { texts: vec![text], scratch: 0, steps: if routine == Along::Take { take } else { update } }
}

fn take(job: &Job<'_>) -> Result<()> {
    let ([_, extent, inner], [_, count, _]) = (job.extents(0), job.extents(1));
    let (size, io) = (job.call.out.1.size(), &job.io);
    let [extent, count, inner] = [extent, count, inner].map(|n| n as u64);
    let words = [size as u64, io.inputs[0], io.inputs[1], io.outputs[0], io.status, extent, count, inner];
    job.each(0, size, &words)
}

fn update(job: &Job<'_>) -> Result<()> {
    job.copy_base()?;
    let ([outer, extent, inner], [_, count, _]) = (job.extents(0), job.extents(1));
    if outer * count * inner == 0 {
        return Ok(());
    }
    let tiles = if inner >= SIDE { inner.div_ceil(32) } else { inner };
    // Each part of the positions reads all indices, so there are no more parts than keep the device busy.
    let parts = (WARPS / (outer * tiles)).clamp(1, extent.max(1)).next_power_of_two();
    let units = outer * tiles * parts;
    let io = &job.io;
    let [extent, count, inner, tiles] = [extent, count, inner, tiles].map(|n| n as u64);
    let mut words = vec![units as u64, io.inputs[2], io.inputs[1], io.outputs[0], io.status];
    words.extend([extent, count, inner, parts as u64 - 1, tiles]);
    job.blocks(0, units.div_ceil(4), 128, &words)
}
