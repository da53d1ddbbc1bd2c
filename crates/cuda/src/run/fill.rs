//! Fills: values computed from parameters alone.

use super::kernel::Run;
use crate::compile::Unit;
use crate::gpu::{DeviceIo, Gpu};
use crate::text::fill_text;
use forerun_base::Result;
use forerun_plan::{Fill, FillKind};
use std::sync::Arc;

/// A fill.
pub(super) struct Filler {
    unit: Arc<Unit>,
    pack: usize,
    size: usize,
    bytes: usize,
    kind: FillKind,
    /// The last two extents, for `eye`.
    matrix: Option<(usize, usize)>,
}

impl Filler {
    pub(super) fn new(gpu: &Gpu, fill: &Fill) -> Filler {
        let (text, pack) = fill_text(fill.kind, fill.dtype);
        let rank = fill.shape.rank();
        let size = fill.shape.size();
        Filler {
            unit: gpu.compiler.unit(text),
            pack,
            size,
            bytes: size * fill.dtype.size(),
            kind: fill.kind,
            matrix: (rank >= 2).then(|| (fill.shape[rank - 2], fill.shape[rank - 1])),
        }
    }
}

impl Run for Filler {
    unsafe fn run(&self, gpu: &Gpu, io: DeviceIo<'_>) -> Result<()> {
        if self.size == 0 {
            return Ok(());
        }
        if self.kind == FillKind::Eye && self.matrix.is_none() {
            // SAFETY: the elements of the output, which the caller guarantees.
            return unsafe { gpu.set_bytes(io.outputs[0], 0, self.bytes) };
        }
        let scalar = |n: usize| io.scalars.get(n).copied().unwrap_or(0);
        let (rows, columns) = self.matrix.unwrap_or((1, 1));
        let aligned = io.outputs[0].is_multiple_of((self.bytes / self.size * self.pack) as u64);
        let (rows, columns) = (rows as u64, columns as u64);
        let words = [self.size as u64, io.outputs[0], scalar(0), scalar(1), rows, columns, aligned as u64];
        // SAFETY: the caller guarantees the addresses; the words match the kernel's source.
        unsafe { gpu.launch_kernel(&self.unit, Gpu::grid(self.size, 256 * self.pack), 256, &words) }
    }

    fn is_ready(&self) -> bool {
        self.unit.is_ready()
    }
}
