//! Kernels with index arrays: `take` and `scatter_add`.
//!
//! Invariant: all indices are checked before anything is written. If several indices refer to one row, a single thread
//! adds their updates in order, so the bits do not depend on the team.

use crate::copy::Copy;
use crate::gather::Walk;
use crate::place::{PIECE, WORTH_SPLITTING, spread};
use crate::pointwise::Shared;
use forerun_base::{BFloat16, Complex, DType, Error, ErrorKind, Float16, Layout, Result, Shape, Team};
use forerun_ops::{Beyond, Num};
use forerun_plan::{Executable, Io, Rows};
use std::ops::Range;

/// Indices read at a time.
const TILE: usize = 512;

/// An index array and its axis.
struct Named {
    walk: Walk,
    dtype: DType,
    count: usize,
    axis: usize,
    extent: usize,
    beyond: Beyond,
}

impl Named {
    fn new(rows: &Rows) -> Named {
        Named {
            walk: Walk::new(&rows.indices.layout),
            dtype: rows.indices.dtype,
            count: rows.indices.layout.shape.size(),
            axis: rows.axis,
            extent: rows.base.shape[rows.axis],
            beyond: rows.beyond,
        }
    }

    /// Calls `each(i, index)` for a range of indices.
    ///
    /// # Safety
    /// `indices` must be the address of the first index.
    #[inline(always)]
    unsafe fn each(&self, indices: *const u8, range: Range<usize>, mut each: impl FnMut(usize, i64)) {
        if range.is_empty() {
            return;
        }
        let size = self.dtype.size();
        // SAFETY: as below; contiguous indices are read in place.
        if let Some(at) = unsafe { self.walk.in_place(indices, size, range.start, range.len()) } {
            // SAFETY: indices of the range.
            unsafe {
                if self.dtype == DType::I32 {
                    let narrow = at.cast::<i32>();
                    (0..range.len()).for_each(|i| each(range.start + i, narrow.add(i).read() as i64));
                } else {
                    let words = at.cast::<i64>();
                    (0..range.len()).for_each(|i| each(range.start + i, words.add(i).read()));
                }
            }
            return;
        }
        let mut words = [0i64; TILE];
        for first in range.clone().step_by(TILE) {
            let count = TILE.min(range.end - first);
            // SAFETY: indices of the layout, which the caller guarantees; a tile has room for either dtype.
            unsafe { self.walk.gather(indices, self.dtype.size(), first, count, words.as_mut_ptr().cast()) };
            if self.dtype == DType::I32 {
                let narrow = words.as_ptr().cast::<i32>();
                // SAFETY: `count` narrow indices were just written there.
                (0..count).for_each(|i| each(first + i, unsafe { narrow.add(i).read() } as i64));
            } else {
                (0..count).for_each(|i| each(first + i, words[i]));
            }
        }
    }

    /// Calls `each(i, position)` for a range of indices, which must have been checked.
    ///
    /// # Safety
    /// As for [`Named::each`].
    #[inline(always)]
    unsafe fn positions(&self, indices: *const u8, range: Range<usize>, mut each: impl FnMut(usize, usize)) {
        // SAFETY: the caller upholds the same contract.
        unsafe {
            match self.beyond {
                Beyond::Raise => {
                    self.each(indices, range, |i, index| {
                        each(i, if index < 0 { (index + self.extent as i64) as usize } else { index as usize })
                    });
                }
                beyond => self.each(indices, range, |i, index| {
                    if let Some(position) = beyond.position(index, self.extent) {
                        each(i, position);
                    }
                }),
            }
        }
    }

    /// Returns an error for the first index out of range.
    ///
    /// # Safety
    /// As for [`Named::each`].
    unsafe fn check(&self, indices: *const u8) -> Result<()> {
        if !self.beyond.may_fail() {
            return Ok(());
        }
        // The check has no branch: an index is out of range if one of two differences is negative. The offending index
        // is located only on failure. If a difference overflows, the other one is negative.
        let n = self.extent as i64;
        let least = if self.beyond == Beyond::Refuse { 0 } else { n };
        let mut signs = 0;
        // SAFETY: the caller upholds the same contract.
        unsafe {
            self.each(indices, 0..self.count, |_, index| {
                signs |= index.wrapping_add(least) | (n - 1).wrapping_sub(index);
            });
        }
        let wrong = signs < 0;
        if !wrong {
            return Ok(());
        }
        let mut bad = None;
        // SAFETY: the caller upholds the same contract.
        unsafe {
            self.each(indices, 0..self.count, |_, index| {
                if bad.is_none() && self.beyond.position(index, self.extent).is_none() {
                    bad = Some(index);
                }
            });
        }
        let (axis, extent) = (self.axis, self.extent);
        bad.map_or(Ok(()), |index| {
            let text = format!("index {index} is out of bounds for axis {axis} with size {extent}");
            Err(Error::new(ErrorKind::Index, text))
        })
    }
}

/// Copies the selected rows, `apart` bytes apart in the source. All values of an iteration stay in registers: a general
/// loop over rows takes three times as long.
///
/// # Safety
/// This many indices must be readable and elements writable; indices must be at least `-extent` and less than `extent`.
#[inline(always)]
unsafe fn pick<I: std::marker::Copy + Into<i64>, T: std::marker::Copy>(
    indices: *const I,
    count: usize,
    extent: i64,
    (from, apart): (*const u8, isize),
    to: *mut T,
) {
    // SAFETY: guaranteed by the caller.
    let one = |i: usize| unsafe {
        let index: i64 = indices.add(i).read().into();
        // A negative index counts from the end.
        let position = index + (extent & (index >> 63));
        let value = from.offset(position as isize * apart).cast::<T>().read_unaligned();
        to.add(i).write_unaligned(value);
    };
    let whole = count - count % 4;
    for i in (0..whole).step_by(4) {
        (i..i + 4).for_each(one);
    }
    (whole..count).for_each(one);
}

/// A range of dimensions of a layout, as a layout.
fn part(layout: &Layout, dims: Range<usize>) -> Layout {
    Layout::strided(Shape::of(&layout.shape[dims.clone()]), &layout.strides()[dims])
}

/// A compiled take.
pub(crate) struct Gatherer {
    named: Named,
    /// The dimensions before the axis.
    outer: Walk,
    outers: usize,
    /// The distance between consecutive positions.
    stride: isize,
    /// The dimensions after the axis, which one index selects.
    row: Copy,
    /// Bytes of a contiguous row; 0 if rows are not contiguous.
    plain: usize,
    size: usize,
}

/// A range of indices with the offsets of their rows: elements before the first in the input, and bytes before the
/// first in the output.
struct Span {
    range: Range<usize>,
    before: isize,
    to: usize,
    /// Bytes per row.
    bytes: usize,
}

impl Gatherer {
    pub(crate) fn new(rows: &Rows) -> Gatherer {
        let (base, axis, size) = (&rows.base, rows.axis, rows.dtype.size());
        let row = part(base, axis + 1..base.shape.rank());
        Gatherer {
            named: Named::new(rows),
            outer: Walk::new(&part(base, 0..axis)),
            outers: base.shape[..axis].iter().product(),
            stride: base.strides()[axis],
            plain: if row.is_dense() { row.shape.size() * size } else { 0 },
            row: Copy::to_dense(&row),
            size,
        }
    }

    /// Calls `copy(from, to)` for the rows of a range of indices.
    ///
    /// # Safety
    /// As for [`Executable::run`], for these rows.
    #[inline(always)]
    unsafe fn each(&self, io: Io<'_>, span: Span, copy: impl Fn(*const u8, *mut u8)) {
        // SAFETY: indices were checked, so every row belongs to the input; rows of the output do not overlap.
        unsafe {
            self.named.positions(io.inputs[1], span.range, |i, position| {
                let offset = span.before + position as isize * self.stride;
                copy(io.inputs[0].offset(offset * self.size as isize), io.outputs[0].add(span.to + i * span.bytes));
            });
        }
    }

    /// Copies rows with the size of `T`.
    ///
    /// # Safety
    /// As for [`Executable::run`], for these rows.
    unsafe fn elements<T: std::marker::Copy>(&self, io: Io<'_>, span: Span) {
        let Named { dtype, beyond, extent, .. } = self.named;
        // SAFETY: the indices of the range were checked, so every row belongs to the input; rows of the output do not
        // overlap. Rows may consist of elements narrower than `T`, hence the unaligned accesses.
        unsafe {
            let adjacent = self.named.walk.in_place(io.inputs[1], dtype.size(), span.range.start, span.range.len());
            let (Beyond::Raise, Some(indices)) = (beyond, adjacent) else {
                return self.each(io, span, |from, to| {
                    to.cast::<T>().write_unaligned(from.cast::<T>().read_unaligned());
                });
            };
            let from = io.inputs[0].offset(span.before * self.size as isize);
            let to = io.outputs[0].add(span.to + span.range.start * span.bytes).cast::<T>();
            let apart = self.stride * self.size as isize;
            match dtype {
                DType::I32 => pick(indices.cast::<i32>(), span.range.len(), extent as i64, (from, apart), to),
                _ => pick(indices.cast::<i64>(), span.range.len(), extent as i64, (from, apart), to),
            }
        }
    }

    /// Copies rows `first .. last` of the output.
    ///
    /// # Safety
    /// As for [`Executable::run`], for these rows.
    unsafe fn rows(&self, io: Io<'_>, first: usize, last: usize) {
        let (count, bytes) = (self.named.count, self.row.size() * self.size);
        let mut at = first;
        while at < last {
            let (outer, index) = (at / count, at % count);
            let end = count.min(index + last - at);
            let mut before = 0;
            self.outer.runs(outer, 1, |offset, _, _, _| before = offset);
            let span = Span { range: index..end, before, to: outer * count * bytes, bytes };
            // SAFETY: guaranteed by the caller for these rows. Rows of common lengths use constant sizes.
            unsafe {
                match self.plain {
                    0 => self.each(io, span, |from, to| self.row.run(from, to, self.size, 0, self.row.slices().0)),
                    1 => self.elements::<u8>(io, span),
                    2 => self.elements::<u16>(io, span),
                    4 => self.elements::<u32>(io, span),
                    8 => self.elements::<u64>(io, span),
                    16 => self.elements::<[u64; 2]>(io, span),
                    32 => self.each(io, span, |from, to| std::ptr::copy_nonoverlapping(from, to, 32)),
                    64 => self.each(io, span, |from, to| std::ptr::copy_nonoverlapping(from, to, 64)),
                    plain => self.each(io, span, |from, to| std::ptr::copy_nonoverlapping(from, to, plain)),
                }
            }
            at += end - index;
        }
    }
}

impl Executable for Gatherer {
    unsafe fn check(&self, io: Io<'_>) -> Result<()> {
        // SAFETY: the caller upholds the same contract.
        unsafe { self.named.check(io.inputs[1]) }
    }

    unsafe fn run(&self, io: Io<'_>, team: &dyn Team) {
        let (rows, each) = (self.outers * self.named.count, self.row.size());
        if rows * each == 0 {
            return;
        }
        let per_piece = (PIECE / each).max(1);
        let shared = Shared(io);
        let piece = |i: usize| {
            // SAFETY: pieces have disjoint rows, and the caller's guarantee covers each.
            unsafe { self.rows(shared.get(), i * per_piece, rows.min((i + 1) * per_piece)) }
        };
        let pieces = rows.div_ceil(per_piece);
        if rows * each >= WORTH_SPLITTING { team.split(pieces, &piece) } else { (0..pieces).for_each(piece) }
    }
}

/// A compiled `scatter_add`.
pub(crate) struct Adder {
    named: Named,
    /// The base, used if it is not the output itself.
    base: Copy,
    dtype: DType,
    outers: usize,
    row: usize,
}

impl Adder {
    pub(crate) fn new(rows: &Rows) -> Adder {
        let shape = rows.base.shape;
        Adder {
            named: Named::new(rows),
            base: Copy::to_dense(&rows.base),
            dtype: rows.dtype,
            outers: shape[..rows.axis].iter().product(),
            row: shape[rows.axis + 1..].iter().product(),
        }
    }

    /// Adds to the rows at these positions.
    ///
    /// # Safety
    /// As for [`Executable::run`], for these rows; `T` must be the type of the dtype.
    unsafe fn add<T: std::marker::Copy>(
        &self,
        io: Io<'_>,
        outers: Range<usize>,
        positions: Range<usize>,
        sum: impl Fn(T, T) -> T,
    ) {
        let (count, row) = (self.named.count, self.row);
        let (updates, out) = (io.inputs[2].cast::<T>(), io.outputs[0].cast::<T>());
        for outer in outers {
            // SAFETY: indices were checked, so every row belongs to the output; nobody else adds to these rows.
            unsafe {
                self.named.positions(io.inputs[1], 0..count, |i, position| {
                    if positions.contains(&position) {
                        let from = std::slice::from_raw_parts(updates.add((outer * count + i) * row), row);
                        let to = out.add((outer * self.named.extent + position) * row);
                        let to = std::slice::from_raw_parts_mut(to, row);
                        to.iter_mut().zip(from).for_each(|(to, from)| *to = sum(*to, *from));
                    }
                });
            }
        }
    }

    unsafe fn add_part(&self, io: Io<'_>, outers: Range<usize>, positions: Range<usize>) {
        // SAFETY: the caller upholds the same contract.
        unsafe {
            match self.dtype {
                DType::Bool => self.add(io, outers, positions, <bool as Num>::add),
                // Wrapping arithmetic is the same with and without a sign.
                DType::I8 | DType::U8 => self.add(io, outers, positions, u8::wrapping_add),
                DType::I16 | DType::U16 => self.add(io, outers, positions, u16::wrapping_add),
                DType::I32 | DType::U32 => self.add(io, outers, positions, u32::wrapping_add),
                DType::I64 | DType::U64 => self.add(io, outers, positions, u64::wrapping_add),
                DType::F16 => {
                    let sum = |a: Float16, b: Float16| Float16::from_f32(a.to_f32() + b.to_f32());
                    self.add(io, outers, positions, sum)
                }
                DType::BF16 => {
                    let sum = |a: BFloat16, b: BFloat16| BFloat16::from_f32(a.to_f32() + b.to_f32());
                    self.add(io, outers, positions, sum)
                }
                DType::F32 => self.add(io, outers, positions, <f32 as Num>::add),
                DType::F64 => self.add(io, outers, positions, <f64 as Num>::add),
                DType::C64 => {
                    let sum = |a: Complex<f32>, b: Complex<f32>| Complex { re: a.re + b.re, im: a.im + b.im };
                    self.add(io, outers, positions, sum)
                }
                DType::C128 => {
                    let sum = |a: Complex<f64>, b: Complex<f64>| Complex { re: a.re + b.re, im: a.im + b.im };
                    self.add(io, outers, positions, sum)
                }
            }
        }
    }
}

impl Executable for Adder {
    unsafe fn check(&self, io: Io<'_>) -> Result<()> {
        // SAFETY: the caller upholds the same contract.
        unsafe { self.named.check(io.inputs[1]) }
    }

    unsafe fn run(&self, io: Io<'_>, team: &dyn Team) {
        let (base, out, extent) = (io.inputs[0], io.outputs[0], self.named.extent);
        if self.base.size() == 0 {
            return;
        }
        if base != out.cast_const() {
            // SAFETY: the caller guarantees base and output.
            unsafe { spread(&self.base, base, out, self.dtype.size(), team) };
        }
        let width = team.width();
        if width == 1 || self.outers * self.named.count * self.row < WORTH_SPLITTING {
            // SAFETY: the caller upholds the same contract.
            return unsafe { self.add_part(io, 0..self.outers, 0..extent) };
        }
        // Split so that a single thread adds to each row: along the dimensions before the axis, or by positions.
        let shared = Shared(io);
        if self.outers >= width {
            team.split(self.outers, &|i| {
                // SAFETY: disjoint parts of the output.
                unsafe { self.add_part(shared.get(), i..i + 1, 0..extent) }
            });
        } else {
            let parts = width.min(extent);
            team.split(parts, &|i| {
                // SAFETY: disjoint parts of the output.
                unsafe { self.add_part(shared.get(), 0..self.outers, extent * i / parts..extent * (i + 1) / parts) }
            });
        }
    }
}
