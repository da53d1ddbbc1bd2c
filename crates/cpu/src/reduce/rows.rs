//! Reductions over the last dimension: each result comes from a row of contiguous elements.
//!
//! A row is folded in blocks of 512 into 64 virtual lanes (element `i` into lane `i % 64`). The lanes of the blocks are
//! folded in a binary tree, and finally the 64 lanes of the row.

use super::fold::{Cascade, Element, Fold};
use super::reducer::{CHUNKS, PIECE, Partials, Reducer, Source, blocks_per_chunk, shared, split};
use crate::partition;
use crate::simd::{Memory, Set, collect};
use forerun_base::Team;
use forerun_ops::Num;
use forerun_plan::Io;
use std::mem::MaybeUninit;
use std::sync::atomic::{Ordering, compiler_fence};

const BLOCK: usize = 512;
/// Virtual lanes of a row.
pub(crate) const WIDTH: usize = 64;

/// Folds `count` elements into the lanes. `count` must be a multiple of 64, except in the last call for a block.
#[inline(always)]
unsafe fn into_lanes<V: Memory<Elem: Element> + Num, F: Fold>(
    lanes: &mut [V::Elem; WIDTH],
    from: *const V::Elem,
    count: usize,
) {
    // SAFETY: full groups of lanes, then the tail, which the caller guarantees.
    unsafe {
        let whole = count - count % WIDTH;
        let start = V::splat(F::start());
        // An array of vectors that stays in registers: 64 lanes are 4 or 8 vectors.
        let mut held = [start; 8];
        let held = &mut held[..WIDTH / V::LANES];
        for (v, held) in held.iter_mut().enumerate() {
            *held = V::load(lanes.as_ptr().add(v * V::LANES));
        }
        for i in (0..whole).step_by(WIDTH) {
            for (v, held) in held.iter_mut().enumerate() {
                *held = F::fold(*held, V::load(from.add(i + v * V::LANES)));
            }
        }
        let rest = count - whole;
        if rest > 0 {
            let mut padded = [F::start::<V::Elem>(); WIDTH];
            std::ptr::copy_nonoverlapping(from.add(whole), padded.as_mut_ptr(), rest);
            for (v, held) in held.iter_mut().enumerate() {
                *held = F::fold(*held, V::load(padded.as_ptr().add(v * V::LANES)));
            }
        }
        for (v, held) in held.iter().enumerate() {
            held.store(lanes.as_mut_ptr().add(v * V::LANES));
        }
    }
}

/// The lanes of one block as vectors: 64 lanes are 4 or 8 vectors.
#[inline(always)]
unsafe fn block<V: Memory<Elem: Element> + Num, F: Fold>(from: *const V::Elem) -> [V; 8] {
    // SAFETY: the caller promises the set's features.
    let mut held = [unsafe { V::splat(F::start()) }; 8];
    for i in (0..BLOCK).step_by(WIDTH) {
        for (v, held) in held[..WIDTH / V::LANES].iter_mut().enumerate() {
            // SAFETY: the caller guarantees a block of elements.
            *held = F::fold(*held, unsafe { V::load(from.add(i + v * V::LANES)) });
        }
    }
    // Without the fence the compiler interleaves the loads of several blocks, which defeats the hardware prefetcher.
    compiler_fence(Ordering::SeqCst);
    held
}

/// The lanes of four or eight blocks, folded by the tree without leaving the registers.
#[inline(always)]
unsafe fn blocks<V: Memory<Elem: Element> + Num, F: Fold>(from: *const V::Elem, fours: usize) -> [V::Elem; WIDTH] {
    let both = |a: [V; 8], b: [V; 8]| -> [V; 8] { collect(|v| F::fold(a[v], b[v])) };
    // SAFETY: the caller promises the set's features.
    let mut held = [unsafe { V::splat(F::start()) }; 8];
    let mut lanes = [F::start::<V::Elem>(); WIDTH];
    // SAFETY: the caller guarantees the elements of these blocks.
    unsafe {
        for four in 0..fours {
            let at = |n: usize| from.add((4 * four + n) * BLOCK);
            let first = both(block::<V, F>(at(0)), block::<V, F>(at(1)));
            let second = both(block::<V, F>(at(2)), block::<V, F>(at(3)));
            let all = both(first, second);
            held = if four == 0 { all } else { both(held, all) };
        }
        for (v, held) in held[..WIDTH / V::LANES].iter().enumerate() {
            held.store(lanes.as_mut_ptr().add(v * V::LANES));
        }
    }
    lanes
}

/// Like [`tree`], with full vectors as long as possible.
///
/// # Safety
/// The processor must have the features of the vector's set.
#[inline(always)]
pub(crate) unsafe fn tree_of<V: Memory<Elem: Element> + Num, F: Fold>(lanes: &[V::Elem; WIDTH]) -> V::Elem {
    // SAFETY: the caller promises the features.
    let mut held = [unsafe { V::splat(F::start()) }; 8];
    for (v, held) in held[..WIDTH / V::LANES].iter_mut().enumerate() {
        // SAFETY: full vectors of the lanes.
        *held = unsafe { V::load(lanes.as_ptr().add(v * V::LANES)) };
    }
    let mut half = WIDTH / V::LANES / 2;
    while half > 0 {
        for i in 0..half {
            held[i] = F::fold(held[i], held[i + half]);
        }
        half /= 2;
    }
    let mut last = [F::start::<V::Elem>(); 16];
    // SAFETY: a vector has at most 16 lanes.
    unsafe { held[0].store(last.as_mut_ptr()) };
    let mut half = V::LANES / 2;
    while half > 0 {
        for i in 0..half {
            last[i] = F::fold(last[i], last[i + half]);
        }
        half /= 2;
    }
    last[0]
}

/// Rows of up to this many elements are folded side by side, one vector of rows at a time.
pub(super) const SHORT: usize = 32;

/// Transposes `V::LANES` rows of `reduced` elements.
#[inline(always)]
pub(super) unsafe fn by_column<V: Memory<Elem: Element>>(
    from: *const V::Elem,
    reduced: usize,
    to: &mut [[V::Elem; 16]; SHORT],
) {
    // SAFETY: the caller guarantees the elements; there are at most SHORT columns.
    unsafe {
        match reduced {
            2 => (0..V::LANES).for_each(|r| (0..2).for_each(|j| to[j][r] = from.add(r * 2 + j).read())),
            3 => (0..V::LANES).for_each(|r| (0..3).for_each(|j| to[j][r] = from.add(r * 3 + j).read())),
            4 => (0..V::LANES).for_each(|r| (0..4).for_each(|j| to[j][r] = from.add(r * 4 + j).read())),
            _ => (0..V::LANES).for_each(|r| (0..reduced).for_each(|j| to[j][r] = from.add(r * reduced + j).read())),
        }
    }
}

/// The results of `rows` consecutive short rows. The tree is that of 64 lanes, most of which are empty.
#[inline(always)]
unsafe fn fold_short<V: Memory<Elem: Element> + Num, F: Fold>(
    from: *const V::Elem,
    rows: usize,
    reduced: usize,
    to: *mut V::Elem,
) {
    let start = F::start::<V::Elem>();
    let mut columns = [[start; 16]; SHORT];
    let whole = rows - rows % V::LANES;
    // SAFETY: the caller guarantees the elements, and one result per row.
    unsafe {
        for row in (0..whole).step_by(V::LANES) {
            by_column::<V>(from.add(row * reduced), reduced, &mut columns);
            let mut half = reduced.next_power_of_two() / 2;
            let column = |columns: &[[V::Elem; 16]; SHORT], j: usize| V::load(columns[j].as_ptr());
            if half == 0 {
                F::fold(V::splat(start), column(&columns, 0)).store(to.add(row));
                continue;
            }
            // Empty lanes are neutral, so skip them.
            for j in 0..half {
                let mut sum = F::fold(V::splat(start), column(&columns, j));
                if j + half < reduced {
                    sum = F::fold(sum, F::fold(V::splat(start), column(&columns, j + half)));
                }
                sum.store(columns[j].as_mut_ptr());
            }
            while half > 1 {
                half /= 2;
                for j in 0..half {
                    F::fold(column(&columns, j), column(&columns, j + half)).store(columns[j].as_mut_ptr());
                }
            }
            column(&columns, 0).store(to.add(row));
        }
        for row in whole..rows {
            let mut lanes = [start; WIDTH];
            into_lanes::<V, F>(&mut lanes, from.add(row * reduced), reduced);
            to.add(row).write(tree_of::<V, F>(&lanes));
        }
    }
}

/// The fold of the 64 lanes.
#[inline(always)]
pub(crate) fn tree<T: Element, F: Fold>(mut lanes: [T; WIDTH]) -> T {
    let mut half = WIDTH / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] = F::fold(lanes[i], lanes[i + half]);
        }
        half /= 2;
    }
    lanes[0]
}

impl Reducer {
    /// The lanes of elements `start .. start + count` of the iteration space; `start` must be the start of a block of a
    /// row.
    #[inline(always)]
    unsafe fn lanes<V: Memory<Elem: Element> + Num, F: Fold>(
        &self,
        source: &mut Source<'_, '_>,
        io: Io<'_>,
        start: usize,
        count: usize,
    ) -> [V::Elem; WIDTH] {
        let mut cascade = Cascade::<V::Elem, WIDTH>::new(WIDTH);
        let mut result = [F::start(); WIDTH];
        let mut at = 0;
        if let (Some(input), true) = (self.direct, F::SEVERAL) {
            while count - at >= 4 * BLOCK {
                let fours = if count - at >= 8 * BLOCK { 2 } else { 1 };
                // SAFETY: the caller guarantees the elements.
                let mut lanes = unsafe { blocks::<V, F>(io.inputs[input].cast::<V::Elem>().add(start + at), fours) };
                at += fours * 4 * BLOCK;
                if at == count && count <= 8 * BLOCK {
                    return lanes;
                }
                // SAFETY: the caller promises the set's features.
                unsafe { cascade.push::<V, F>(&mut lanes, WIDTH, 1 + fours) };
            }
        }
        while at < count {
            let block = BLOCK.min(count - at);
            let mut lanes = [F::start(); WIDTH];
            // SAFETY: the caller guarantees the elements; tiles are multiples of 64.
            unsafe {
                if let Some(input) = self.direct {
                    into_lanes::<V, F>(&mut lanes, io.inputs[input].cast::<V::Elem>().add(start + at), block);
                } else {
                    let mut done = 0;
                    while done < block {
                        let n = self.tiles.tile.min(block - done);
                        let elements = source.read(start + at + done, n);
                        into_lanes::<V, F>(&mut lanes, elements, n);
                        done += n;
                    }
                }
            }
            if count <= BLOCK {
                return lanes;
            }
            // SAFETY: the caller promises the set's features.
            unsafe { cascade.push::<V, F>(&mut lanes, WIDTH, 0) };
            at += block;
        }
        // SAFETY: as above.
        unsafe { cascade.finish::<V, F>(&mut result, WIDTH) };
        result
    }
}

/// Sum, product, maximum or minimum of each row.
///
/// # Safety
/// As for [`forerun_plan::Executable::run`]; the CPU must support the set.
pub(super) unsafe fn fold<S: Set, V: Memory<Elem: Element> + Num, F: Fold>(r: &Reducer, io: Io<'_>, team: &dyn Team) {
    let to = Partials::new(io.outputs[io.outputs.len() - 1].cast::<V::Elem>());
    // SAFETY: the caller promises the set's features.
    let (addresses, set) = (shared(io), unsafe { S::assume() });
    let (outer, reduced) = (r.outer, r.reduced);
    if reduced >= 2 * PIECE && outer < 16 && r.splits(team) {
        let blocks = reduced.div_ceil(BLOCK);
        let per_chunk = blocks_per_chunk(blocks, PIECE / BLOCK);
        let chunks = blocks.div_ceil(per_chunk);
        let mut space = [const { MaybeUninit::<[V::Elem; WIDTH]>::uninit() }; CHUNKS];
        for row in 0..outer {
            let partials = Partials::new(space.as_mut_ptr().cast::<[V::Elem; WIDTH]>());
            partition::split(team, chunks, &|chunk| {
                let from = chunk * per_chunk * BLOCK;
                let count = (per_chunk * BLOCK).min(reduced - from);
                // SAFETY: the elements of one chunk of the row; each chunk has its own partial result.
                unsafe {
                    let io = addresses.get();
                    r.piece(
                        set,
                        io,
                        #[inline(always)]
                        |source| {
                            let lanes = r.lanes::<V, F>(source, io, row * reduced + from, count);
                            partials.at(chunk).write(lanes);
                        },
                    );
                }
            });
            let level = per_chunk.trailing_zeros() as usize;
            let mut cascade = Cascade::<V::Elem, WIDTH>::new(WIDTH);
            let mut result = [F::start(); WIDTH];
            for chunk in 0..chunks {
                // SAFETY: every chunk of the row was written.
                let mut lanes = unsafe { partials.at(chunk).read() };
                // Using the scalar type as a one-lane vector avoids the vector features here.
                // SAFETY: every processor has these vectors.
                unsafe { cascade.push::<crate::simd::Lanes<V::Elem, 1>, F>(&mut lanes, WIDTH, level) };
            }
            // SAFETY: as above.
            unsafe { cascade.finish::<crate::simd::Lanes<V::Elem, 1>, F>(&mut result, WIDTH) };
            // SAFETY: there is one result per row.
            unsafe { to.at(row).write(tree::<V::Elem, F>(result)) };
        }
        return;
    }
    let per_piece = (PIECE / reduced.max(1)).max(outer / CHUNKS).max(1);
    split(r, team, outer.div_ceil(per_piece), &|piece| {
        let (first, last) = (piece * per_piece, outer.min((piece + 1) * per_piece));
        // SAFETY: the elements of the piece's rows, and their results.
        unsafe {
            let io = addresses.get();
            r.piece(
                set,
                io,
                #[inline(always)]
                |source| {
                    if let (Some(input), 1..=SHORT) = (r.direct, reduced) {
                        let from = io.inputs[input].cast::<V::Elem>().add(first * reduced);
                        fold_short::<V, F>(from, last - first, reduced, to.at(first));
                    } else if r.direct.is_none() && reduced > 0 && reduced * 2 <= r.tiles.tile {
                        // Several rows per tile: the program starts once for all of them.
                        let rows = r.tiles.tile / reduced;
                        for row in (first..last).step_by(rows) {
                            let n = rows.min(last - row);
                            let elements = source.read::<V::Elem>(row * reduced, n * reduced);
                            if reduced <= SHORT {
                                fold_short::<V, F>(elements, n, reduced, to.at(row));
                                continue;
                            }
                            for i in 0..n {
                                let mut lanes = [F::start(); WIDTH];
                                into_lanes::<V, F>(&mut lanes, elements.add(i * reduced), reduced);
                                to.at(row + i).write(tree_of::<V, F>(&lanes));
                            }
                        }
                    } else {
                        for row in first..last {
                            let lanes = r.lanes::<V, F>(source, io, row * reduced, reduced);
                            to.at(row).write(tree_of::<V, F>(&lanes));
                        }
                    }
                },
            );
        }
    });
}
