//! Kernels with index arrays: `take` and `scatter_add`.
//!
//! A device cannot validate indices before it writes without a synchronization, so an invalid index raises a status.
//! Rows that it would read come from the nearest end, and rows that it would change stay as they are. The reader of the
//! status fails the result.

use super::kernel::Run;
use super::mover::Mover;
use crate::compile::Unit;
use crate::gpu::{DeviceIo, Gpu};
use crate::text::{Collapsed, scatter_text, take_text};
use forerun_base::{Layout, Result, Shape};
use forerun_plan::Rows;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// A range of dimensions of a layout, as a layout.
fn part(layout: &Layout, dims: Range<usize>) -> Layout {
    Layout::strided(Shape::of(&layout.shape[dims.clone()]), &layout.strides()[dims])
}

/// Argument words of a walk: its rank, then extents and strides.
const WALK: usize = 17;

pub(super) fn walk(layout: &Layout) -> [u64; WALK] {
    let space = Collapsed::new(layout.shape, &[*layout]);
    let mut words = [0; WALK];
    words[0] = space.rank() as u64;
    for d in 0..space.rank() {
        words[1 + 2 * d] = space.extents[d] as u64;
        words[2 + 2 * d] = space.strides[0][d] as i64 as u64;
    }
    words
}

/// A take.
pub(super) struct Gatherer {
    rows: Rows,
    size: usize,
    pack: usize,
    narrow: bool,
    words: Vec<u64>,
    packed: Arc<Unit>,
    plain: OnceLock<Arc<Unit>>,
}

impl Gatherer {
    pub(super) fn new(gpu: &Gpu, rows: &Rows) -> Gatherer {
        let (base, axis) = (&rows.base, rows.axis);
        let (before, after) = (part(base, 0..axis), part(base, axis + 1..base.shape.rank()));
        let count = rows.indices.layout.shape.size();
        let each = after.shape.size();
        let size = before.shape.size() * count * each;
        let stride = base.strides()[axis];
        let mut pack = 16 / rows.dtype.size();
        let fits = |pack: usize| {
            let whole = |s: &isize| s % pack as isize == 0;
            after.is_dense() && each.is_multiple_of(pack) && whole(&stride) && before.strides().iter().all(whole)
        };
        while pack > 1 && !fits(pack) {
            pack /= 2;
        }
        let narrow = size <= 1 << 30;
        let mut words = vec![size as u64, 0, 0, 0, 0, count as u64, base.shape[axis] as u64, each as u64];
        words.push(stride as i64 as u64);
        for layout in [&before, &after, &rows.indices.layout] {
            words.extend(walk(layout));
        }
        let packed = gpu.compiler.unit(take_text(rows.dtype.size(), rows.indices.dtype, rows.beyond, pack, narrow));
        Gatherer { rows: rows.clone(), size, pack, narrow, words, packed, plain: OnceLock::new() }
    }
}

impl Run for Gatherer {
    unsafe fn run(&self, gpu: &Gpu, io: DeviceIo<'_>) -> Result<()> {
        if self.size == 0 {
            return Ok(());
        }
        let rows = &self.rows;
        let bytes = (self.pack * rows.dtype.size()) as u64;
        let aligned = io.inputs[0].is_multiple_of(bytes) && io.outputs[0].is_multiple_of(bytes);
        let text = || take_text(rows.dtype.size(), rows.indices.dtype, rows.beyond, 1, self.narrow);
        let (pack, unit) =
            if aligned { (self.pack, &self.packed) } else { (1, self.plain.get_or_init(|| gpu.compiler.unit(text()))) };
        let mut words = self.words.clone();
        words[1..5].copy_from_slice(&[io.inputs[0], io.inputs[1], io.outputs[0], io.status]);
        // SAFETY: the caller guarantees the addresses; the words match the kernel's source.
        unsafe { gpu.launch_kernel(unit, Gpu::grid(self.size, 256 * pack), 256, &words) }
    }

    fn is_ready(&self) -> bool {
        self.packed.is_ready()
    }
}

/// A scatter_add.
pub(super) struct Adder {
    base: Mover,
    size: usize,
    unit: Arc<Unit>,
    units: usize,
    words: Vec<u64>,
}

/// Warps that keep a large device busy.
const WARPS: usize = 4096;

impl Adder {
    pub(super) fn new(gpu: &Gpu, rows: &Rows) -> Adder {
        let shape = rows.base.shape;
        let outers: usize = shape[..rows.axis].iter().product();
        let row: usize = shape[rows.axis + 1..].iter().product();
        let count = rows.indices.layout.shape.size();
        let tiles = row.div_ceil(32);
        // Each part of the positions reads all indices, so use only as many parts as keep the device busy.
        let parts = (WARPS / (outers * tiles).max(1)).clamp(1, shape[rows.axis].max(1)).next_power_of_two();
        let units = outers * tiles * parts;
        let mut words = vec![units as u64, 0, 0, 0, 0, count as u64, shape[rows.axis] as u64, row as u64];
        words.extend([parts as u64 - 1, tiles as u64]);
        words.extend(walk(&rows.indices.layout));
        Adder {
            base: Mover::new(gpu, rows.dtype.size(), &rows.base, &Layout::dense(shape)),
            size: outers * count * row,
            unit: gpu.compiler.unit(scatter_text(rows.dtype, rows.indices.dtype, rows.beyond)),
            units,
            words,
        }
    }
}

impl Run for Adder {
    unsafe fn run(&self, gpu: &Gpu, io: DeviceIo<'_>) -> Result<()> {
        if io.inputs[0] != io.outputs[0] {
            // SAFETY: the caller guarantees the base, and an output of its shape.
            unsafe { self.base.run(gpu, io.inputs[0], io.outputs[0])? };
        }
        if self.size == 0 {
            return Ok(());
        }
        let mut words = self.words.clone();
        words[1..5].copy_from_slice(&[io.inputs[2], io.inputs[1], io.outputs[0], io.status]);
        // SAFETY: the caller guarantees the addresses; the words match the kernel's source.
        unsafe { gpu.launch_kernel(&self.unit, self.units.div_ceil(4), 128, &words) }
    }

    fn is_ready(&self) -> bool {
        self.unit.is_ready()
    }
}
