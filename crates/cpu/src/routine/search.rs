//! Where values belong among numbers in order.

use super::call::{Args, Body, with_type};
use super::keys::Ordered;
use super::order::wide;
use crate::pointwise::Shared;
use crate::simd::Isa;
use forerun_base::{Error, ErrorKind, Result, Team};
use forerun_ops::Search;

/// Values a piece of work holds at least.
const PIECE: usize = 1 << 12;

pub(super) fn body(routine: Search) -> Body {
    match routine {
        Search::Sorted => |args, team| with_type!(args.dtype(0), search(args, team)),
        Search::Digitize => |args, team| with_type!(args.dtype(0), digitize(args, team)),
    }
}

fn search<T: Ordered>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    match args.word(0) != 0 {
        true => place_each::<T, true>(args, team, false),
        false => place_each::<T, false>(args, team, false),
    }
    Ok(())
}

/// Edges may fall; they are then looked at from their end, and what lies on one belongs to the other side.
fn digitize<T: Ordered>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (edges, right) = (args.input::<T>(0), args.word(0) != 0);
    let goes = |descending: bool| edges.windows(2).all(|w| w[0].joined(descending) <= w[1].joined(descending));
    let descending = match (goes(false), goes(true)) {
        (true, _) => false,
        (false, true) => true,
        (false, false) => return Err(Error::new(ErrorKind::Value, "bins must rise or fall")),
    };
    match right == descending {
        true => place_each::<T, true>(args, team, descending),
        false => place_each::<T, false>(args, team, descending),
    }
    Ok(())
}

fn place_each<T: Ordered, const RIGHT: bool>(args: &Args<'_>, team: &dyn Team, descending: bool) {
    let (sorted, values, to) = (args.input::<T>(0), args.input::<T>(1), args.output::<i64>());
    let (size, target, isa) = (to.len(), Shared(to.as_mut_ptr()), args.isa);
    team.split(size.div_ceil(PIECE), &|piece| {
        let first = piece * PIECE;
        let values = &values[first..size.min(first + PIECE)];
        // SAFETY: pieces write elements of their own, within the output.
        let to = unsafe { std::slice::from_raw_parts_mut(target.get().add(first), values.len()) };
        let (groups, rest) = values.as_chunks::<SIDE>();
        let (to_groups, to_rest) = to.as_chunks_mut::<SIDE>();
        match isa {
            Isa::Avx512 => wide(
                #[inline(always)]
                || all_places::<T, RIGHT>(sorted, groups, to_groups, descending),
            ),
            _ => all_places::<T, RIGHT>(sorted, groups, to_groups, descending),
        }
        for (value, to) in rest.iter().zip(to_rest) {
            places::<T, RIGHT, 1>(sorted, &[*value], std::array::from_mut(to), descending);
        }
    });
}

/// Values that are looked for side by side: a search waits for memory, and the next step of the others fills that time.
const SIDE: usize = 16;

/// The places of groups of values.
#[inline(always)]
fn all_places<T: Ordered, const RIGHT: bool>(
    sorted: &[T],
    groups: &[[T; SIDE]],
    to: &mut [[i64; SIDE]],
    descending: bool,
) {
    for (values, to) in groups.iter().zip(to) {
        places::<T, RIGHT, SIDE>(sorted, values, to, descending);
    }
}

/// How many go before each value: those that come first, and with `RIGHT` those that are equal. All searches halve the same
/// lengths, without a branch that could be guessed wrong.
#[inline(always)]
fn places<T: Ordered, const RIGHT: bool, const N: usize>(
    sorted: &[T],
    values: &[T; N],
    to: &mut [i64; N],
    descending: bool,
) {
    let keys: [T::Key; N] = values.map(|x| x.joined(descending));
    let mut found = [0usize; N];
    let mut left = sorted.len();
    while left > 0 {
        let half = left.div_ceil(2);
        for (found, key) in found.iter_mut().zip(&keys) {
            // SAFETY: what was found and what is left never reach beyond the end.
            let s = unsafe { sorted.get_unchecked(*found + half - 1) }.joined(descending);
            let goes = if RIGHT { s <= *key } else { s < *key };
            *found += if goes { half } else { 0 };
        }
        left -= half;
    }
    to.iter_mut().zip(found).for_each(|(to, found)| *to = found as i64);
}
