//! Reductions that do not depend on the order of the elements: any, all and count of truth values, and wrapping sums of
//! integers.
//!
//! A truth value is a byte. A single element can decide `any` and `all`; the scan of a row then ends, unless the
//! program also stores its elements. Integers are widened as they are loaded, so that the compiler has one loop to
//! vectorize.

use super::reducer::{Partials, Reducer, Source, shared, split};
use crate::simd::Set;
use forerun_base::Team;
use forerun_plan::Io;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Elements scanned between two checks whether the result is decided.
const STRIDE: usize = 512;
/// Elements per piece of a long row.
const PIECE: usize = 256 * 1024;
/// Elements of a long row that are scanned before the rest is split over the team.
const AHEAD: usize = 16 * 1024;

/// A reduction of a row.
pub(super) trait Question: 'static {
    /// The elements' type; truth values are bytes.
    type In: Copy;
    /// The result's type.
    type Out: Copy;
    /// Whether one element can decide the result.
    const SETTLES: bool;
    /// A number for some elements; the numbers of parts are added. With `SETTLES`, a nonzero number decides the result.
    fn number(elements: &[Self::In]) -> u64;
    /// The result for a number.
    fn result(number: u64) -> Self::Out;
}

pub(super) enum Any {}
pub(super) enum All {}
pub(super) enum Count {}

impl Question for Any {
    type In = u8;
    type Out = bool;
    const SETTLES: bool = true;
    #[inline(always)]
    fn number(elements: &[u8]) -> u64 {
        (elements.iter().fold(0, |any, x| any | x) != 0) as u64
    }
    #[inline(always)]
    fn result(number: u64) -> bool {
        number != 0
    }
}

impl Question for All {
    type In = u8;
    type Out = bool;
    const SETTLES: bool = true;
    #[inline(always)]
    fn number(elements: &[u8]) -> u64 {
        (elements.iter().fold(1, |all, x| all & x) == 0) as u64
    }
    #[inline(always)]
    fn result(number: u64) -> bool {
        number == 0
    }
}

impl Question for Count {
    type In = u8;
    type Out = i64;
    const SETTLES: bool = false;
    #[inline(always)]
    fn number(elements: &[u8]) -> u64 {
        let lines = elements.chunks_exact(64);
        let rest: u64 = lines.remainder().iter().map(|x| *x as u64).sum();
        let mut total = rest;
        // Sums are kept in bytes for up to 255 elements, then widened.
        let mut lines = lines.peekable();
        while lines.peek().is_some() {
            let mut sums = [0u8; 64];
            for line in lines.by_ref().take(255) {
                sums.iter_mut().zip(line).for_each(|(sum, x)| *sum += *x);
            }
            total += sums.iter().map(|sum| *sum as u64).sum::<u64>();
        }
        total
    }
    #[inline(always)]
    fn result(number: u64) -> i64 {
        number as i64
    }
}

/// The sum of integers in 64 bits. The bits are the same with and without a sign.
pub(super) struct Total<T>(PhantomData<T>);

macro_rules! totals {
    ($($type:ty)*) => {
        $(impl Question for Total<$type> {
            type In = $type;
            type Out = u64;
            const SETTLES: bool = false;
            #[inline(always)]
            fn number(elements: &[$type]) -> u64 {
                elements.iter().fold(0u64, |sum, x| sum.wrapping_add(*x as u64))
            }
            #[inline(always)]
            fn result(number: u64) -> u64 {
                number
            }
        })*
    };
}

totals!(i8 i16 i32 i64 u8 u16 u32 u64);

impl Reducer {
    /// The number for elements `start .. start + count` of the iteration space.
    ///
    /// # Safety
    /// They must be within it.
    #[inline(always)]
    unsafe fn number<Q: Question>(&self, source: &mut Source<'_, '_>, io: Io<'_>, start: usize, count: usize) -> u64 {
        let ends = Q::SETTLES && self.tiles.stores_nothing();
        let (mut number, mut at) = (0, 0);
        // SAFETY: the caller guarantees the elements.
        unsafe {
            while at < count {
                let n;
                let elements = match self.direct {
                    Some(input) => {
                        n = (count - at).min(if ends { STRIDE } else { count });
                        io.inputs[input].cast::<Q::In>().add(start + at)
                    }
                    None => {
                        n = self.tiles.tile.min(count - at);
                        source.read::<Q::In>(start + at, n)
                    }
                };
                let more = Q::number(std::slice::from_raw_parts(elements, n));
                number = u64::wrapping_add(number, more);
                if ends && number != 0 {
                    break;
                }
                at += n;
            }
        }
        number
    }
}

/// The result of each row.
///
/// # Safety
/// As for [`forerun_plan::Executable::run`]; the CPU must support the set, and no dimension follows the reduced ones.
pub(super) unsafe fn fold<S: Set, Q: Question>(r: &Reducer, io: Io<'_>, team: &dyn Team) {
    let to = Partials::new(io.outputs[io.outputs.len() - 1].cast::<Q::Out>());
    // SAFETY: the caller promises the set's features.
    let (addresses, set) = (shared(io), unsafe { S::assume() });
    let (outer, reduced) = (r.outer, r.reduced);
    // SAFETY: the caller guarantees the elements.
    let number = |start: usize, count: usize| unsafe {
        let mut number = 0;
        r.piece(
            set,
            addresses.get(),
            #[inline(always)]
            |source| number = r.number::<Q>(source, addresses.get(), start, count),
        );
        number
    };
    if outer < team.width() && reduced >= 2 * PIECE && r.splits(team) {
        let ends = Q::SETTLES && r.tiles.stores_nothing();
        for row in 0..outer {
            let total = AtomicU64::new(number(row * reduced, AHEAD));
            let settled = AtomicBool::new(ends && total.load(Ordering::Relaxed) != 0);
            let rest = reduced - AHEAD;
            if !settled.load(Ordering::Relaxed) {
                team.split(rest.div_ceil(PIECE), &|piece| {
                    if settled.load(Ordering::Relaxed) {
                        return;
                    }
                    let found = number(row * reduced + AHEAD + piece * PIECE, PIECE.min(rest - piece * PIECE));
                    total.fetch_add(found, Ordering::Relaxed);
                    if ends && found != 0 {
                        settled.store(true, Ordering::Relaxed);
                    }
                });
            }
            // SAFETY: there is one result per row.
            unsafe { to.at(row).write(Q::result(total.load(Ordering::Relaxed))) };
        }
        return;
    }
    let per_piece = (PIECE / reduced.max(1)).max(1);
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
                    if reduced > 0 && reduced * 2 <= r.tiles.tile {
                        // Several rows per tile: the program starts once for all of them.
                        let rows = r.tiles.tile / reduced;
                        for row in (first..last).step_by(rows) {
                            let n = rows.min(last - row);
                            let elements = match r.direct {
                                Some(input) => io.inputs[input].cast::<Q::In>().add(row * reduced),
                                None => source.read::<Q::In>(row * reduced, n * reduced),
                            };
                            short_rows::<Q>(elements, n, reduced, to.at(row));
                        }
                    } else {
                        for row in first..last {
                            let number = r.number::<Q>(source, io, row * reduced, reduced);
                            to.at(row).write(Q::result(number));
                        }
                    }
                },
            );
        }
    });
}

/// The results of `rows` rows of `reduced` contiguous elements.
#[inline(always)]
unsafe fn short_rows<Q: Question>(elements: *const Q::In, rows: usize, reduced: usize, to: *mut Q::Out) {
    // SAFETY: the caller guarantees the elements, and one result per row.
    unsafe {
        for i in 0..rows {
            let row = elements.add(i * reduced);
            let number = match reduced {
                2 => Q::number(std::slice::from_raw_parts(row, 2)),
                3 => Q::number(std::slice::from_raw_parts(row, 3)),
                4 => Q::number(std::slice::from_raw_parts(row, 4)),
                _ => Q::number(std::slice::from_raw_parts(row, reduced)),
            };
            to.add(i).write(Q::result(number));
        }
    }
}
