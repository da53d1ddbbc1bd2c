//! The index of the first extreme over the last dimension. For each group of elements, first find the extreme, in any
//! order, then search for it while the elements are in the L1 cache.

use super::fold::{Element, Fold};
use super::reducer::{CHUNKS, PIECE, Partials, Reducer, Source, shared, split};
use super::rows::{SHORT, by_column};
use crate::partition;
use crate::simd::{Memory, Set};
use forerun_base::Team;
use forerun_ops::{Mask, Num};
use forerun_plan::Io;
use std::mem::MaybeUninit;

/// Elements per group.
const SEARCHED: usize = 4096;
/// Vectors folded side by side.
const SIDE: usize = 8;

/// Vectors whose masks can be stored.
pub(super) trait Searched: Memory<Elem: Element> + Num<Mask: Memory<Elem = bool>> {}
impl<V: Memory<Elem: Element> + Num<Mask: Memory<Elem = bool>>> Searched for V {}

/// The extreme of `count >= 1` elements; NaN if any is NaN. Elements may be folded twice, which does not change the
/// result.
#[inline(always)]
unsafe fn extreme<V: Searched, F: Fold>(from: *const V::Elem, count: usize) -> V::Elem {
    // SAFETY: the caller guarantees the elements.
    unsafe {
        if count < V::LANES {
            return (0..count).fold(F::start(), |best, i| F::fold(best, from.add(i).read()));
        }
        let last = V::load(from.add(count - V::LANES));
        let mut held = [last; SIDE];
        let mut at = 0;
        while at + SIDE * V::LANES <= count {
            for (v, held) in held.iter_mut().enumerate() {
                *held = F::fold(*held, V::load(from.add(at + v * V::LANES)));
            }
            at += SIDE * V::LANES;
        }
        for held in &mut held {
            if at + V::LANES <= count {
                *held = F::fold(*held, V::load(from.add(at)));
                at += V::LANES;
            }
        }
        let mut half = SIDE / 2;
        while half > 0 {
            for i in 0..half {
                held[i] = F::fold(held[i], held[i + half]);
            }
            half /= 2;
        }
        let mut lanes = [F::start::<V::Elem>(); 16];
        held[0].store(lanes.as_mut_ptr());
        let mut half = V::LANES / 2;
        while half > 0 {
            for i in 0..half {
                lanes[i] = F::fold(lanes[i], lanes[i + half]);
            }
            half /= 2;
        }
        lanes[0]
    }
}

/// The first set lane.
#[inline(always)]
fn first_lane<M: Memory<Elem = bool>>(mask: M) -> Option<usize> {
    let mut bytes = [0u8; 16];
    // SAFETY: a vector has at most 16 lanes, and truth values are bytes.
    unsafe { mask.store(bytes.as_mut_ptr().cast::<bool>()) };
    let bits = u128::from_le_bytes(bytes);
    (bits != 0).then(|| bits.trailing_zeros() as usize / 8)
}

/// The index of the first of `count` elements that equals `extreme`, which must occur.
#[inline(always)]
unsafe fn find_first<V: Searched>(from: *const V::Elem, count: usize, extreme: V::Elem) -> usize {
    // SAFETY: the caller promises the set's features.
    let (nan, wanted) = (extreme.is_nan(), unsafe { V::splat(extreme) });
    // SAFETY: the caller guarantees the elements.
    unsafe {
        let is_it = |at: usize| {
            let x = V::load(from.add(at));
            if nan { x.eq(x).not() } else { x.eq(wanted) }
        };
        let mut at = 0;
        // Test several vectors at once.
        while at + 4 * V::LANES <= count {
            let all: [V::Mask; 4] = crate::simd::collect(|v| is_it(at + v * V::LANES));
            if first_lane(all[0].or(all[1]).or(all[2].or(all[3]))).is_some() {
                break;
            }
            at += 4 * V::LANES;
        }
        while at + V::LANES <= count {
            if let Some(lane) = first_lane(is_it(at)) {
                return at + lane;
            }
            at += V::LANES;
        }
        let is_one = |x: V::Elem| if nan { x.is_nan() } else { Num::eq(x, extreme) };
        (at..count).find(|i| is_one(from.add(*i).read())).unwrap_or(0)
    }
}

/// The indices of the first extremes of `rows` consecutive short rows.
#[inline(always)]
unsafe fn index_short<V: Searched, F: Fold>(from: *const V::Elem, rows: usize, reduced: usize, to: *mut i64) {
    let mut columns = [[F::start::<V::Elem>(); 16]; SHORT];
    let whole = rows - rows % V::LANES;
    // SAFETY: the caller guarantees the elements, and one result per row.
    unsafe {
        for row in (0..whole).step_by(V::LANES) {
            by_column::<V>(from.add(row * reduced), reduced, &mut columns);
            let (mut best, mut place) = (columns[0], [0i32; 16]);
            for (j, column) in columns[1..reduced].iter().enumerate() {
                for r in 0..16 {
                    let wins = F::wins(column[r], best[r]);
                    best[r] = if wins { column[r] } else { best[r] };
                    place[r] = if wins { j as i32 + 1 } else { place[r] };
                }
            }
            (0..V::LANES).for_each(|r| to.add(row + r).write(place[r] as i64));
        }
        for row in whole..rows {
            let row_of = std::slice::from_raw_parts(from.add(row * reduced), reduced);
            let mut best = 0;
            for (j, x) in row_of.iter().enumerate() {
                best = if F::wins(*x, row_of[best]) { j } else { best };
            }
            to.add(row).write(best as i64);
        }
    }
}

impl Reducer {
    /// The first extreme of elements `start .. start + count` of the iteration space, and its distance from `start`.
    #[inline(always)]
    unsafe fn first_extreme<V: Searched, F: Fold>(
        &self,
        source: &mut Source<'_, '_>,
        io: Io<'_>,
        start: usize,
        count: usize,
    ) -> Option<(V::Elem, usize)> {
        let mut best: Option<(V::Elem, usize)> = None;
        let most = if self.direct.is_some() { SEARCHED } else { self.tiles.tile };
        let mut at = 0;
        while at < count {
            let n = most.min(count - at);
            // SAFETY: the caller guarantees the elements.
            unsafe {
                let elements = match self.direct {
                    Some(input) => io.inputs[input].cast::<V::Elem>().add(start + at),
                    None => source.read::<V::Elem>(start + at, n),
                };
                let extreme = extreme::<V, F>(elements, n);
                if best.is_none_or(|(old, _)| F::wins(extreme, old)) {
                    best = Some((extreme, at + find_first::<V>(elements, n, extreme)));
                }
            }
            at += n;
        }
        best
    }
}

/// Index of the first extreme of each row.
///
/// # Safety
/// As for [`forerun_plan::Executable::run`]; the CPU must support the set.
pub(super) unsafe fn index<S: Set, V: Searched, F: Fold>(r: &Reducer, io: Io<'_>, team: &dyn Team) {
    let to = Partials::new(io.outputs[io.outputs.len() - 1].cast::<i64>());
    // SAFETY: the caller promises the set's features.
    let (addresses, set) = (shared(io), unsafe { S::assume() });
    let reduced = r.reduced;
    if reduced >= 2 * PIECE && r.outer < team.width() && r.splits(team) {
        // With few rows, each is split; among equal extremes the one of the first chunk wins.
        let per_chunk = reduced.div_ceil(CHUNKS).max(PIECE);
        let chunks = reduced.div_ceil(per_chunk);
        let mut space = [const { MaybeUninit::<Option<(V::Elem, usize)>>::uninit() }; CHUNKS];
        let partials = Partials::new(space.as_mut_ptr().cast::<Option<(V::Elem, usize)>>());
        for row in 0..r.outer {
            partition::split(team, chunks, &|chunk| {
                let first = chunk * per_chunk;
                let count = per_chunk.min(reduced - first);
                // SAFETY: the elements of one chunk of the row; each chunk has its own partial result.
                unsafe {
                    let io = addresses.get();
                    r.piece(
                        set,
                        io,
                        #[inline(always)]
                        |source| {
                            let start = row * reduced + first;
                            let best = r.first_extreme::<V, F>(source, io, start, count);
                            partials.at(chunk).write(best.map(|(x, at)| (x, first + at)));
                        },
                    );
                }
            });
            let mut best: Option<(V::Elem, usize)> = None;
            for chunk in 0..chunks {
                // SAFETY: every chunk of the row was written.
                if let Some(new) = unsafe { partials.at(chunk).read() }
                    && best.is_none_or(|(old, _)| F::wins(new.0, old))
                {
                    best = Some(new);
                }
            }
            // SAFETY: there is one result per row.
            unsafe { to.at(row).write(best.map_or(0, |(_, at)| at as i64)) };
        }
        return;
    }
    let per_piece = (PIECE / reduced.max(1)).max(1);
    split(r, team, r.outer.div_ceil(per_piece), &|piece| {
        let (first, last) = (piece * per_piece, r.outer.min((piece + 1) * per_piece));
        // SAFETY: the elements of the piece's rows, and their results.
        unsafe {
            let io = addresses.get();
            r.piece(
                set,
                io,
                #[inline(always)]
                |source| {
                    if (1..2 * V::LANES).contains(&reduced) {
                        let rows = if r.direct.is_some() { last - first } else { r.tiles.tile / reduced };
                        for row in (first..last).step_by(rows) {
                            let n = rows.min(last - row);
                            let elements = match r.direct {
                                Some(input) => io.inputs[input].cast::<V::Elem>().add(row * reduced),
                                None => source.read::<V::Elem>(row * reduced, n * reduced),
                            };
                            index_short::<V, F>(elements, n, reduced, to.at(row));
                        }
                        return;
                    }
                    for row in first..last {
                        let best = r.first_extreme::<V, F>(source, io, row * reduced, reduced);
                        to.at(row).write(best.map_or(0, |(_, at)| at as i64));
                    }
                },
            );
        }
    });
}
