//! Gather and scatter along one axis.

use crate::gpu::Raised;
use crate::run::{CheckedCall, DeviceKernel, Job, Plan, are_real, beyond, checked};
use crate::text::{computed, define, indices, moved, routine_text};
use forerun_base::{DType, Error, Kind, Result};
use forerun_ops::{AlongAxis, AxisIndexing, Given, Routine};
use forerun_plan::RoutineCall;

const TEXT: &str = include_str!("../kernels/along.cuh");
/// Warps that keep a large device busy.
const WARPS: usize = 4096;
/// From this many adjacent lines on, neighbouring lines are lanes of a warp.
const SIDE: usize = 16;

impl DeviceKernel for AxisIndexing {
    fn plan(&self, call: &RoutineCall) -> Plan {
        let (dtype, named) = (call.inputs[0].0, indices(call.inputs[1].0));
        let [_, _, inner] = call.extents(0);
        // Elements that are only moved are identified by their size.
        let (part, elements) = match self {
            AxisIndexing::Take => (0, moved(dtype)),
            AxisIndexing::Put => (1 + (inner >= SIDE) as usize, moved(dtype)),
            AxisIndexing::Add if any_order(dtype) => (3, moved(dtype)),
            AxisIndexing::Add => (1 + (inner >= SIDE) as usize, computed(dtype)),
        };
        let adds = define("ADD", (*self == AxisIndexing::Add) as usize);
        let text = routine_text(&[elements, named, define("PART", part), adds].concat(), &[TEXT]);
        let steps = match part {
            0 => take,
            3 => add_whole,
            _ => update,
        };
        Plan { texts: vec![text], scratch: 0, steps }
    }

    fn runs(&self, given: &[Given]) -> bool {
        *self != AxisIndexing::Add || are_real(given)
    }

    fn complaint(&self, call: &RoutineCall, raised: Raised) -> Error {
        let axis = call.axis(0);
        beyond(raised.index, axis, call.inputs[0].1[axis])
    }

    fn checked_calls(&self, routine: Routine) -> Vec<CheckedCall> {
        let indices = DType::ALL.into_iter().filter(|dtype| dtype.kind() == Kind::Int).map(|index| (DType::F32, index));
        let elements = DType::ALL.into_iter().map(|dtype| (dtype, DType::I64));
        let inputs = routine.row().inputs.len();
        let call = |dims: &[usize], (dtype, index): (DType, DType)| {
            checked(&[(dtype, dims), (index, dims), (dtype, dims)][..inputs], AlongAxis { axis: 0 })
        };
        indices.chain(elements).flat_map(|dtypes| [call(&[8, 40], dtypes), call(&[8, 3], dtypes)]).collect()
    }

    fn left_to_host(&self) -> Option<&'static str> {
        (*self == AxisIndexing::Add).then_some("complex numbers")
    }
}

/// Whether the device has atomic adds for this dtype and the order of additions does not matter.
fn any_order(dtype: DType) -> bool {
    dtype.kind() == Kind::Int && dtype.size() >= 4
}

fn add_whole(job: &Job<'_>) -> Result<()> {
    job.copy_base()?;
    let ([_, extent, inner], [_, count, _]) = (job.extents(0), job.extents(1));
    let (size, io) = (job.call.inputs[1].1.size(), &job.io);
    let [extent, count, inner] = [extent, count, inner].map(|n| n as u64);
    let words = [size as u64, io.inputs[2], io.inputs[1], io.outputs[0], io.status, extent, count, inner];
    job.each(0, size, &words)
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
    // Each part of the positions reads all indices, so use only as many parts as keep the device busy.
    let parts = (WARPS / (outer * tiles)).clamp(1, extent.max(1)).next_power_of_two();
    let units = outer * tiles * parts;
    let io = &job.io;
    let [extent, count, inner, tiles] = [extent, count, inner, tiles].map(|n| n as u64);
    let mut words = vec![units as u64, io.inputs[2], io.inputs[1], io.outputs[0], io.status];
    words.extend([extent, count, inner, parts as u64 - 1, tiles]);
    job.blocks(0, units.div_ceil(4), 128, &words)
}
