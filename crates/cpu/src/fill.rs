//! Fills: values computed from parameters alone.
//!
//! Invariant: element `i` depends only on `i` and the immediates, not on the split into pieces.

use crate::philox::{BATCH, Draw, DrawRange};
use crate::pointwise::Shared;
use crate::simd::{Isa, Set, by_set, with_features};
use forerun_base::{BFloat16, Complex, DType, Float16, Scalar, Team};
use forerun_plan::{Executable, Fill, FillKind, Io};

/// Elements per piece: a multiple of a batch of random blocks.
const PIECE: usize = 64 * 1024;
const _: () = assert!(PIECE.is_multiple_of(4 * BATCH));

/// The number of counter blocks that `size` elements use; 0 if the fill is not random.
pub fn blocks_for(kind: FillKind, dtype: DType, size: usize) -> u64 {
    draw_of(kind, dtype).map_or(0, |draw| size.div_ceil(draw.per_block()) as u64)
}

fn draw_of(kind: FillKind, dtype: DType) -> Option<Draw> {
    match (kind, dtype) {
        (FillKind::Normal, DType::F64) => Some(Draw::Normal64),
        (FillKind::Normal, _) => Some(Draw::Normal32),
        (FillKind::Uniform, DType::F64) => Some(Draw::Uniform64),
        (FillKind::Uniform, _) => Some(Draw::Uniform32),
        _ => None,
    }
}

/// A compiled fill.
pub(crate) struct Filler {
    fill: Fill,
    isa: Isa,
    size: usize,
}

impl Filler {
    pub(crate) fn new(isa: Isa, fill: &Fill) -> Filler {
        assert!(
            draw_of(fill.kind, fill.dtype).is_none() || matches!(fill.dtype, DType::F32 | DType::F64),
            "random numbers are drawn as floats, not as {}",
            fill.dtype
        );
        Filler { fill: fill.clone(), isa, size: fill.shape.size() }
    }

    /// # Safety
    /// As for [`Executable::run`], for elements `start .. end`.
    unsafe fn piece(&self, io: Io<'_>, start: usize, end: usize) {
        let count = end - start;
        // SAFETY: the caller's promise, for these elements.
        unsafe {
            let to = io.outputs[0].add(start * self.fill.dtype.size());
            match self.fill.kind {
                FillKind::Full => full(io.scalars[0], self.fill.dtype.size(), to, count),
                FillKind::Arange => arange(self.isa, self.fill.dtype, [io.scalars[0], io.scalars[1]], start, to, count),
                FillKind::Eye => self.eye(io.scalars[0] as i64, start, to, count),
                FillKind::Normal | FillKind::Uniform => {
                    by_set!(self.isa, set => self.random(set, io, start, to, count))
                }
            }
        }
    }

    unsafe fn random<S: Set>(&self, set: S, io: Io<'_>, start: usize, to: *mut u8, count: usize) {
        let Some(draw) = draw_of(self.fill.kind, self.fill.dtype) else { return };
        let (key, first) = (io.scalars[0], io.scalars[1]);
        set.vectorize(DrawRange { draw, key, first, start, count, to, set })
    }

    unsafe fn eye(&self, diagonal: i64, start: usize, to: *mut u8, count: usize) {
        let size = self.fill.dtype.size();
        let rank = self.fill.shape.rank();
        // SAFETY: the caller guarantees `count` elements.
        unsafe { std::ptr::write_bytes(to, 0, count * size) };
        if rank < 2 {
            return;
        }
        let (rows, columns) = (self.fill.shape[rank - 2], self.fill.shape[rank - 1]);
        let one = Scalar::Int(1).to_bits(self.fill.dtype);
        let first_row = start / columns;
        for row in first_row..=(start + count - 1) / columns {
            let column = (row % rows) as i64 + diagonal;
            if column < 0 || column >= columns as i64 {
                continue;
            }
            let at = row * columns + column as usize;
            if at >= start && at < start + count {
                // SAFETY: within the `count` elements from `start` on.
                unsafe { full(one, size, to.add((at - start) * size), 1) };
            }
        }
    }
}

impl Executable for Filler {
    unsafe fn run(&self, io: Io<'_>, team: &dyn Team) {
        if self.size == 0 {
            return;
        }
        if self.size <= PIECE || team.width() == 1 {
            // SAFETY: the caller upholds the same contract.
            return unsafe { self.piece(io, 0, self.size) };
        }
        let shared = Shared(io);
        team.split(self.size.div_ceil(PIECE), &|i| {
            // SAFETY: pieces do not overlap, and the caller's guarantee covers each.
            unsafe { self.piece(shared.get(), i * PIECE, self.size.min((i + 1) * PIECE)) }
        });
    }
}

/// # Safety
/// `count` elements of `size` bytes must be writable.
pub(crate) unsafe fn full(bits: u64, size: usize, to: *mut u8, count: usize) {
    // SAFETY: guaranteed by the caller; the sizes match the types.
    unsafe {
        match size {
            1 => std::ptr::write_bytes(to, bits as u8, count),
            2 => std::slice::from_raw_parts_mut(to.cast::<std::mem::MaybeUninit<u16>>(), count)
                .fill(std::mem::MaybeUninit::new(bits as u16)),
            4 => std::slice::from_raw_parts_mut(to.cast::<std::mem::MaybeUninit<u32>>(), count)
                .fill(std::mem::MaybeUninit::new(bits as u32)),
            8 => std::slice::from_raw_parts_mut(to.cast::<std::mem::MaybeUninit<u64>>(), count)
                .fill(std::mem::MaybeUninit::new(bits)),
            // A complex128 number with imaginary part 0.
            _ => std::slice::from_raw_parts_mut(to.cast::<std::mem::MaybeUninit<[u64; 2]>>(), count)
                .fill(std::mem::MaybeUninit::new([bits, 0])),
        }
    }
}

/// # Safety
/// `count` elements of the dtype must be writable.
unsafe fn arange(isa: Isa, dtype: DType, bits: [u64; 2], first: usize, to: *mut u8, count: usize) {
    with_features(
        isa,
        #[inline(always)]
        // SAFETY: the caller upholds the same contract.
        || unsafe { arange_in(dtype, bits, first, to, count) },
    );
}

/// # Safety
/// `count` elements of the dtype must be writable.
#[inline(always)]
unsafe fn arange_in(dtype: DType, [start, step]: [u64; 2], first: usize, to: *mut u8, count: usize) {
    let (real, real_step) = (f64::from_bits(start), f64::from_bits(step));
    let float = |i: f64| real + i * real_step;
    let whole = (start as i64).wrapping_add((first as i64).wrapping_mul(step as i64));
    let (step, first) = (step as i64, first as f64);
    // SAFETY: the caller guarantees `count` elements of the dtype. Positions are exact as doubles, and so is adding
    // eight to one.
    unsafe {
        match dtype {
            DType::F16 => march(to, count, first, |i, k| i + k as f64, |i| Float16::from_f64(float(i))),
            DType::BF16 => march(to, count, first, |i, k| i + k as f64, |i| BFloat16::from_f64(float(i))),
            DType::F32 => march(to, count, first, |i, k| i + k as f64, |i| float(i) as f32),
            DType::F64 => march(to, count, first, |i, k| i + k as f64, float),
            DType::C64 => march(to, count, first, |i, k| i + k as f64, |i| Complex { re: float(i) as f32, im: 0.0 }),
            DType::C128 => march(to, count, first, |i, k| i + k as f64, |i| Complex { re: float(i), im: 0.0 }),
            DType::I8 | DType::U8 => march(to, count, whole, |v, k| advance(v, k, step), |v| v as i8),
            DType::I16 | DType::U16 => march(to, count, whole, |v, k| advance(v, k, step), |v| v as i16),
            DType::I32 | DType::U32 => march(to, count, whole, |v, k| advance(v, k, step), |v| v as i32),
            DType::I64 | DType::U64 => march(to, count, whole, |v, k| advance(v, k, step), |v| v),
            DType::Bool => march(to, count, whole, |v, k| advance(v, k, step), |v| v != 0),
        }
    }
}

#[inline(always)]
fn advance(value: i64, places: usize, step: i64) -> i64 {
    value.wrapping_add((places as i64).wrapping_mul(step))
}

/// Writes `value(state)` for consecutive states; `after` advances a state by a number of elements. Eight states at a
/// time let the compiler vectorize the loop.
///
/// # Safety
/// `count` elements must be writable.
#[inline(always)]
unsafe fn march<S: Copy, T>(
    to: *mut u8,
    count: usize,
    first: S,
    after: impl Fn(S, usize) -> S,
    value: impl Fn(S) -> T,
) {
    let to = to.cast::<T>();
    let mut states: [S; 8] = std::array::from_fn(|k| after(first, k));
    let whole = count - count % 8;
    for i in (0..whole).step_by(8) {
        // SAFETY: eight elements below `count`. One block write prevents the compiler from emitting scattered writes.
        unsafe { to.add(i).cast::<[T; 8]>().write_unaligned(states.map(&value)) };
        states = states.map(|state| after(state, 8));
    }
    for i in whole..count {
        // SAFETY: below `count`.
        unsafe { to.add(i).write(value(states[i - whole])) };
    }
}
