//! Concatenations, and updates of a region.

use super::kernel::Run;
use super::mover::Mover;
use crate::gpu::{DeviceIo, Gpu};
use forerun_base::{Layout, Result};
use forerun_plan::{Concat, Update};

/// A concatenation: one copy per input, with its offset in the output in bytes.
pub(super) struct Joiner {
    parts: Vec<(Mover, u64)>,
}

impl Joiner {
    pub(super) fn new(gpu: &Gpu, concat: &Concat) -> Joiner {
        let whole = Layout::dense(concat.shape);
        let size = concat.dtype.size();
        let mut before = 0;
        let parts = concat.inputs.iter().map(|layout| {
            let part = Layout::strided(layout.shape, whole.strides());
            let first = before * whole.strides()[concat.axis] as usize;
            before += layout.shape[concat.axis];
            (Mover::new(gpu, size, layout, &part), (first * size) as u64)
        });
        Joiner { parts: parts.collect() }
    }
}

impl Run for Joiner {
    unsafe fn run(&self, gpu: &Gpu, io: DeviceIo<'_>) -> Result<()> {
        let mut parts = self.parts.iter().zip(io.inputs);
        // SAFETY: the caller guarantees the inputs, and the output has a region for each.
        parts.try_for_each(|((mover, first), &from)| unsafe { mover.run(gpu, from, io.outputs[0] + first) })
    }

    fn is_ready(&self) -> bool {
        self.parts.iter().all(|(mover, _)| mover.is_ready())
    }
}

/// An update of a region.
pub(super) struct Overwrite {
    bytes: usize,
    size: usize,
    scalar: bool,
    mover: Mover,
}

impl Overwrite {
    pub(super) fn new(gpu: &Gpu, update: &Update) -> Overwrite {
        let from = update.value.as_ref().map(|value| (value.dtype, &value.layout));
        Overwrite {
            bytes: update.size * update.dtype.size(),
            size: update.dtype.size(),
            scalar: from.is_none(),
            mover: Mover::casting(gpu, from, update.dtype, &update.region),
        }
    }
}

impl Run for Overwrite {
    unsafe fn run(&self, gpu: &Gpu, io: DeviceIo<'_>) -> Result<()> {
        let (base, out) = (io.inputs[0], io.outputs[0]);
        if base != out && self.bytes > 0 {
            // SAFETY: base and output are dense and of equal size, which the caller guarantees.
            unsafe { gpu.copy_within(base, out, self.bytes)? };
        }
        let to = out.wrapping_add(io.scalars[0].wrapping_mul(self.size as u64));
        // SAFETY: the caller guarantees the value, and a region that lies within the output.
        unsafe { self.mover.run(gpu, if self.scalar { io.scalars[1] } else { io.inputs[1] }, to) }
    }

    fn is_ready(&self) -> bool {
        self.mover.is_ready()
    }
}
