//! Copies between layouts, and casts into a region.

use crate::compile::Unit;
use crate::gpu::Gpu;
use crate::text::{Collapsed, copy_text, divisor, put_text, transpose_text};
use forerun_base::{DType, Layout, Result};
use std::sync::{Arc, OnceLock};

/// A copy between two layouts of one shape.
pub(crate) struct Mover {
    how: How,
    size: usize,
}

enum How {
    /// Both sides are contiguous; the number of bytes.
    Bytes(usize),
    /// Through tiles; the words without the two addresses.
    Tiles { unit: Arc<Unit>, words: Vec<u64>, grid: usize },
    /// One element or vector at a time.
    Strided {
        space: Collapsed,
        kind: Kind,
        pack: usize,
        bytes: [usize; 2],
        packed: Arc<Unit>,
        plain: OnceLock<Arc<Unit>>,
    },
}

/// The elements to copy.
#[derive(Clone, Copy)]
enum Kind {
    /// Elements of this many bytes.
    Plain(usize),
    /// Elements of a dtype, or a scalar of the target's dtype, cast to the target's dtype.
    Cast(Option<DType>, DType),
}

impl Kind {
    fn text(self, rank: usize, pack: usize, narrow: bool) -> String {
        match self {
            Kind::Plain(size) => copy_text(size, rank, pack, narrow),
            Kind::Cast(from, to) => put_text(from, to, rank, pack, narrow),
        }
    }
}

/// Smaller copies do not use tiles.
const WORTH_TILES: usize = 4096;

impl Mover {
    /// A copy of elements of this many bytes.
    pub(crate) fn new(gpu: &Gpu, size: usize, from: &Layout, to: &Layout) -> Mover {
        if from.is_dense() && to.is_dense() {
            let elements = from.shape.size();
            return Mover { how: How::Bytes(elements * size), size: elements };
        }
        Mover::transposing(gpu, size, from, to)
            .unwrap_or_else(|| Mover::strided(gpu, Kind::Plain(size), [size, size], from, to))
    }

    /// A copy with a cast; of a scalar if there is no source dtype.
    pub(super) fn casting(gpu: &Gpu, from: Option<(DType, &Layout)>, to_dtype: DType, to: &Layout) -> Mover {
        match from {
            Some((dtype, layout)) if dtype == to_dtype => Mover::new(gpu, dtype.size(), layout, to),
            Some((dtype, layout)) => {
                let sizes = [dtype.size(), to_dtype.size()];
                Mover::strided(gpu, Kind::Cast(Some(dtype), to_dtype), sizes, layout, to)
            }
            None => {
                let zero = vec![0; to.shape.rank()];
                let nowhere = Layout::strided(to.shape, &zero);
                Mover::strided(gpu, Kind::Cast(None, to_dtype), [1, to_dtype.size()], &nowhere, to)
            }
        }
    }

    fn strided(gpu: &Gpu, kind: Kind, bytes: [usize; 2], from: &Layout, to: &Layout) -> Mover {
        let space = Collapsed::new(from.shape, &[*from, *to]);
        let scalar = matches!(kind, Kind::Cast(None, _));
        let mut pack = 16 / bytes[0].max(bytes[1]);
        let fits = |strides: &[isize], pack: usize| {
            let (last, outer) = (strides[strides.len() - 1], &strides[..strides.len() - 1]);
            last == 1 && outer.iter().all(|s| s % pack as isize == 0)
        };
        let packs = |pack: usize| {
            space.inner().is_multiple_of(pack)
                && (scalar || fits(&space.strides[0], pack))
                && fits(&space.strides[1], pack)
        };
        while pack > 1 && !packs(pack) {
            pack /= 2;
        }
        let packed = gpu.compiler.unit(kind.text(space.rank(), pack, space.is_narrow()));
        let size = from.shape.size();
        Mover { how: How::Strided { space, kind, pack, bytes, packed, plain: OnceLock::new() }, size }
    }

    /// A copy through tiles, if the sides are contiguous along different dimensions.
    pub(super) fn transposing(gpu: &Gpu, size: usize, from: &Layout, to: &Layout) -> Option<Mover> {
        let space = Collapsed::new(from.shape, &[*from, *to]);
        let last = space.rank() - 1;
        let turned = space.rank() > 1 && space.strides[1][last] == 1 && space.strides[0][last] != 1;
        let row = (0..last).find(|&d| space.strides[0][d] == 1)?;
        let (rows, columns) = (space.extents[row], space.extents[last]);
        let elements = from.shape.size();
        if !turned || rows < 8 || columns < 8 || elements < WORTH_TILES {
            return None;
        }
        let tiles = (columns.div_ceil(32), rows.div_ceil(32));
        let signed = |value: isize| value as i64 as u64;
        let mut words = vec![0, 0, rows as u64, columns as u64];
        words.extend([signed(space.strides[0][last]), signed(space.strides[1][row]), tiles.0 as u64, tiles.1 as u64]);
        let mut matrices = 1;
        for d in (0..last).filter(|&d| d != row) {
            matrices *= space.extents[d];
            words.extend([space.extents[d] as u64, signed(space.strides[0][d]), signed(space.strides[1][d])]);
        }
        words.push(0);
        let unit = gpu.compiler.unit(transpose_text(size, space.rank() - 2));
        Some(Mover { how: How::Tiles { unit, words, grid: tiles.0 * tiles.1 * matrices }, size: elements })
    }

    pub(crate) fn is_ready(&self) -> bool {
        match &self.how {
            How::Bytes(_) => true,
            How::Tiles { unit, .. } => unit.is_ready(),
            How::Strided { packed, .. } => packed.is_ready(),
        }
    }

    /// Enqueues the copy; `from` is the address of the source, or the bits of a scalar.
    ///
    /// # Safety
    /// Both addresses must be valid for the elements of their layouts until the stream has completed the copy.
    pub(crate) unsafe fn run(&self, gpu: &Gpu, from: u64, to: u64) -> Result<()> {
        if self.size == 0 {
            return Ok(());
        }
        match &self.how {
            // SAFETY: both layouts are dense, and the caller guarantees their elements.
            How::Bytes(bytes) => unsafe { gpu.copy_within(from, to, *bytes) },
            How::Tiles { unit, words, grid } => {
                let mut words = words.clone();
                (words[0], words[1]) = (from, to);
                // SAFETY: the caller guarantees the addresses; the words match the kernel's source.
                unsafe { gpu.launch_kernel(unit, *grid, 256, &words) }
            }
            How::Strided { space, kind, pack, bytes, packed, plain } => {
                let scalar = matches!(kind, Kind::Cast(None, _));
                let aligned = |address: u64, size: usize| address.is_multiple_of((size * pack) as u64);
                let narrow = space.is_narrow();
                let (pack, unit) = if (scalar || aligned(from, bytes[0])) && aligned(to, bytes[1]) {
                    (*pack, packed)
                } else {
                    (1, plain.get_or_init(|| gpu.compiler.unit(kind.text(space.rank(), 1, narrow))))
                };
                let mut words = vec![self.size as u64, from, to];
                for (d, &extent) in space.extents.iter().enumerate() {
                    words.push(extent as u64);
                    words.push(if narrow { divisor(extent) } else { extent as u64 });
                    words.extend([space.strides[0][d] as i64 as u64, space.strides[1][d] as i64 as u64]);
                }
                // SAFETY: the caller guarantees the addresses; the words match the kernel's source.
                unsafe { gpu.launch_kernel(unit, Gpu::grid(self.size, 256 * pack), 256, &words) }
            }
        }
    }
}
