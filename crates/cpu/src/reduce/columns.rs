//! Reductions over a dimension that is not the last: each result comes from a column of elements one row apart.
//!
//! Columns are processed in strips. Eight rows at a time are folded in order; these blocks are folded in a binary tree.

use super::fold::{Cascade, Element, Fold, fold_slices};
use super::reducer::{CHUNKS, PIECE, Partials, Reducer, Source, blocks_per_chunk, shared, split};
use crate::partition;
use crate::simd::{Memory, Set};
use forerun_base::Team;
use forerun_ops::Num;
use forerun_plan::Io;
use std::mem::MaybeUninit;

/// Rows per block.
const ROWS: usize = 8;
/// Columns per strip.
const STRIP: usize = 512;

/// One strip of columns of one outer index, and the partition of its rows.
struct Strip {
    outer: usize,
    column: usize,
    width: usize,
}

impl Reducer {
    fn strip(&self, n: usize) -> Strip {
        let width = STRIP.min(self.tiles.tile);
        let strips = self.inner.div_ceil(width);
        let column = n % strips * width;
        Strip { outer: n / strips, column, width: width.min(self.inner - column) }
    }

    fn strips(&self) -> usize {
        self.outer * self.inner.div_ceil(STRIP.min(self.tiles.tile))
    }

    /// Folds rows `first .. last` of a strip into `result`; `first` must be the start of a block.
    #[inline(always)]
    unsafe fn fold_rows<V: Memory<Elem: Element> + Num, F: Fold>(
        &self,
        source: &mut Source<'_, '_>,
        io: Io<'_>,
        strip: &Strip,
        first: usize,
        last: usize,
        result: &mut [V::Elem; STRIP],
    ) {
        let width = strip.width;
        let mut cascade = Cascade::<V::Elem, STRIP>::new(width);
        let at = |row: usize| (strip.outer * self.reduced + row) * self.inner + strip.column;
        let mut block = [F::start(); STRIP];
        for row in (first..last).step_by(ROWS) {
            let rows = ROWS.min(last - row);
            // SAFETY: the caller guarantees the elements of these rows.
            unsafe {
                match self.direct {
                    Some(input) => {
                        let from = io.inputs[input].cast::<V::Elem>().add(at(row));
                        fold_block::<V, F>(&mut block, from, self.inner, rows, width);
                    }
                    None => {
                        block[..width].fill(F::start());
                        // Take as many full rows at once as fit into a tile, or one strip of a wider row.
                        let together = if width == self.inner { (self.tiles.tile / width).clamp(1, ROWS) } else { 1 };
                        for i in (0..rows).step_by(together) {
                            let n = together.min(rows - i);
                            let elements = source.read::<V::Elem>(at(row + i), n * width);
                            for j in 0..n {
                                let to = block.as_mut_ptr();
                                fold_slices::<V, F>(to, to, elements.add(j * width), width);
                            }
                        }
                    }
                }
            }
            // SAFETY: the caller promises the set's features.
            unsafe { cascade.push::<V, F>(&mut block, width, 0) };
        }
        // SAFETY: as above.
        unsafe { cascade.finish::<V, F>(result, width) };
    }
}

/// Folds rows into `block` in order, one vector of columns at a time in a register.
#[inline(always)]
unsafe fn fold_block<V: Memory<Elem: Element> + Num, F: Fold>(
    block: &mut [V::Elem; STRIP],
    from: *const V::Elem,
    stride: usize,
    rows: usize,
    width: usize,
) {
    let whole = width - width % V::LANES;
    // SAFETY: the caller guarantees `rows` rows of `width` elements, `stride` apart.
    unsafe {
        for i in (0..whole).step_by(V::LANES) {
            let mut sum = V::splat(F::start());
            if rows == ROWS {
                for row in 0..ROWS {
                    sum = F::fold(sum, V::load(from.add(row * stride + i)));
                }
            } else {
                for row in 0..rows {
                    sum = F::fold(sum, V::load(from.add(row * stride + i)));
                }
            }
            sum.store(block.as_mut_ptr().add(i));
        }
        for (i, sum) in block[..width].iter_mut().enumerate().skip(whole) {
            *sum = (0..rows).fold(F::start(), |sum, row| F::fold(sum, from.add(row * stride + i).read()));
        }
    }
}

/// Sum, product, maximum or minimum of each column.
///
/// # Safety
/// As for [`forerun_plan::Executable::run`]; the CPU must support the set.
pub(super) unsafe fn fold<S: Set, V: Memory<Elem: Element> + Num, F: Fold>(r: &Reducer, io: Io<'_>, team: &dyn Team) {
    let to = Partials::new(io.outputs[io.outputs.len() - 1].cast::<V::Elem>());
    // SAFETY: the caller promises the set's features.
    let (addresses, set) = (shared(io), unsafe { S::assume() });
    let strips = r.strips();
    let blocks = r.reduced.div_ceil(ROWS);
    let per_strip = (PIECE / (r.reduced.max(1) * r.inner.min(STRIP))).max(1);
    if strips < 8 && blocks >= 16 && r.splits(team) {
        // With few strips, split the rows as well. A chunk reads at most 32 KiB at a time.
        let per_chunk = blocks_per_chunk(blocks, (PIECE / (ROWS * r.inner.min(STRIP))).max(1));
        let chunks = blocks.div_ceil(per_chunk);
        let mut space = [const { MaybeUninit::<[V::Elem; STRIP]>::uninit() }; CHUNKS];
        for n in 0..strips {
            let strip = r.strip(n);
            let partials = Partials::new(space.as_mut_ptr().cast::<[V::Elem; STRIP]>());
            partition::split(team, chunks, &|chunk| {
                let first = chunk * per_chunk * ROWS;
                let last = r.reduced.min(first + per_chunk * ROWS);
                // SAFETY: the elements of one chunk of the strip; each chunk has its own partial result.
                unsafe {
                    let io = addresses.get();
                    let result = &mut *partials.at(chunk);
                    r.piece(
                        set,
                        io,
                        #[inline(always)]
                        |source| {
                            r.fold_rows::<V, F>(source, io, &strip, first, last, result);
                        },
                    );
                }
            });
            let mut cascade = Cascade::<V::Elem, STRIP>::new(strip.width);
            let mut result = [F::start(); STRIP];
            for chunk in 0..chunks {
                // SAFETY: every chunk of the strip was written, for the width of the strip.
                let part = unsafe { &mut *partials.at(chunk) };
                let level = per_chunk.trailing_zeros() as usize;
                // SAFETY: every processor has these vectors.
                unsafe { cascade.push::<crate::simd::Lanes<V::Elem, 1>, F>(part, strip.width, level) };
            }
            // SAFETY: as above.
            unsafe { cascade.finish::<crate::simd::Lanes<V::Elem, 1>, F>(&mut result, strip.width) };
            // SAFETY: there is one result per column.
            unsafe {
                let to = to.at(strip.outer * r.inner + strip.column);
                std::ptr::copy_nonoverlapping(result.as_ptr(), to, strip.width);
            }
        }
        return;
    }
    split(r, team, strips.div_ceil(per_strip), &|piece| {
        // SAFETY: the elements of the piece's strips, and their results.
        unsafe {
            let io = addresses.get();
            r.piece(
                set,
                io,
                #[inline(always)]
                |source| {
                    let mut result = [F::start(); STRIP];
                    for n in piece * per_strip..strips.min((piece + 1) * per_strip) {
                        let strip = r.strip(n);
                        result[..strip.width].fill(F::start());
                        r.fold_rows::<V, F>(source, io, &strip, 0, r.reduced, &mut result);
                        let to = to.at(strip.outer * r.inner + strip.column);
                        std::ptr::copy_nonoverlapping(result.as_ptr(), to, strip.width);
                    }
                },
            );
        }
    });
}

/// With up to this many columns, several rows are combined into one line.
const NARROW: usize = 32;

/// The first extremes of a few columns, over as many rows as form full lines; returns the number of these rows. A line
/// is several consecutive rows: lines are compared element by element, and the rows within the final line at the end.
#[inline(always)]
unsafe fn index_narrow<V: Memory<Elem: Element> + Num, F: Fold>(
    from: *const V::Elem,
    rows: usize,
    inner: usize,
    best: &mut [V::Elem; STRIP],
    place: &mut [i64; STRIP],
) -> usize {
    let together = 2 * NARROW / inner;
    let (lines, width) = (rows / together, together * inner);
    if lines < 2 {
        return 0;
    }
    let mut extremes = [F::start::<V::Elem>(); 2 * NARROW];
    let mut found = [0i64; 2 * NARROW];
    for line in 0..lines {
        // SAFETY: the caller guarantees the elements of these rows.
        let elements = unsafe { std::slice::from_raw_parts(from.add(line * width), width) };
        if line == 0 {
            extremes[..width].copy_from_slice(elements);
            continue;
        }
        for ((new, best), place) in elements.iter().zip(&mut extremes).zip(&mut found) {
            let wins = F::wins(*new, *best);
            *best = if wins { *new } else { *best };
            *place = if wins { line as i64 } else { *place };
        }
    }
    for column in 0..inner {
        let row = |i: usize| found[i] * together as i64 + (i / inner) as i64;
        let mut first = column;
        for i in (column..width).step_by(inner).skip(1) {
            let (new, old) = (extremes[i], extremes[first]);
            if F::wins(new, old) || !F::wins(old, new) && row(i) < row(first) {
                first = i;
            }
        }
        (best[column], place[column]) = (extremes[first], row(first));
    }
    lines * together
}

/// Index of the first extreme of each column.
///
/// # Safety
/// As for [`fold`].
pub(super) unsafe fn index<S: Set, V: Memory<Elem: Element> + Num, F: Fold>(r: &Reducer, io: Io<'_>, team: &dyn Team) {
    let to = Partials::new(io.outputs[io.outputs.len() - 1].cast::<i64>());
    // SAFETY: the caller promises the set's features.
    let (addresses, set) = (shared(io), unsafe { S::assume() });
    split(r, team, r.strips(), &|n| {
        // SAFETY: the elements of the strip, and its results.
        unsafe {
            let io = addresses.get();
            r.piece(
                set,
                io,
                #[inline(always)]
                |source| {
                    let strip = r.strip(n);
                    let mut best = [F::start::<V::Elem>(); STRIP];
                    let mut place = [0i64; STRIP];
                    // Take as many full rows at once as fit into a tile, or one strip of a wider row.
                    let whole = strip.width == r.inner;
                    let together = match r.direct {
                        Some(_) => r.reduced,
                        None if whole => (r.tiles.tile / strip.width).max(1),
                        None => 1,
                    };
                    let mut begin = 0;
                    if let (Some(input), true, 1..=NARROW) = (r.direct, whole, r.inner) {
                        let from = io.inputs[input].cast::<V::Elem>().add(strip.outer * r.reduced * r.inner);
                        begin = index_narrow::<V, F>(from, r.reduced, r.inner, &mut best, &mut place);
                    }
                    for row in (begin..r.reduced).step_by(together.max(1)) {
                        let start = (strip.outer * r.reduced + row) * r.inner + strip.column;
                        let rows = together.min(r.reduced - row);
                        let elements = match r.direct {
                            Some(input) => io.inputs[input].cast::<V::Elem>().add(start),
                            None => source.read::<V::Elem>(start, rows * strip.width),
                        };
                        let apart = if r.direct.is_some() { r.inner } else { strip.width };
                        for j in 0..rows {
                            let line = std::slice::from_raw_parts(elements.add(j * apart), strip.width);
                            let number = (row + j) as i64;
                            let (best, place) = (&mut best[..strip.width], &mut place[..strip.width]);
                            if number == 0 {
                                best.copy_from_slice(line);
                                continue;
                            }
                            for ((new, best), place) in line.iter().zip(best).zip(place) {
                                let wins = F::wins(*new, *best);
                                *best = if wins { *new } else { *best };
                                *place = if wins { number } else { *place };
                            }
                        }
                    }
                    let to = to.at(strip.outer * r.inner + strip.column);
                    std::ptr::copy_nonoverlapping(place.as_ptr(), to, strip.width);
                },
            );
        }
    });
}
