//! Membership tests: with a lookup table if the others are integers in a small range, otherwise by binary search.

use super::call::{Args, with_type};
use super::keys::{Key, Ordered};
use crate::family::order::sort_alone;
use crate::family::search::places_of;
use crate::pointwise::Shared;
use crate::simd::with_features;
use forerun_base::{Kind, Result, Team};

/// The minimum number of values per piece.
const PIECE: usize = 1 << 14;
/// Values searched at a time.
const BLOCK: usize = 256;
/// Up to this many others, each value is compared with all of them.
const FEW: usize = 8;

pub(crate) fn body(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    with_type!(args.dtype(0), among(args, team))
}

fn among<T: Ordered>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (others, values, isa) = (args.input::<T>(0), args.input::<T>(1), args.isa);
    let is_whole = !matches!(args.dtype(0).kind(), Kind::Float | Kind::Complex);
    if others.len() <= FEW {
        in_pieces(args, values, team, |values, to| {
            with_features(
                isa,
                #[inline(always)]
                || {
                    to.fill(0);
                    for other in others {
                        to.iter_mut().zip(values).for_each(|(to, x)| *to |= (x == other) as u8);
                    }
                },
            );
        });
        return Ok(());
    }
    let keys = others.iter().map(|x| x.key(false));
    let (low, high) = (keys.clone().min().unwrap_or_default(), keys.clone().max().unwrap_or_default());
    // Use a table only if it is not much larger than the inputs.
    if let Some(span) = low.distance(high).filter(|span| is_whole && *span <= 4 * (others.len() + values.len())) {
        let mut table = vec![0u8; span + 1];
        keys.for_each(|key| table[low.distance(key).unwrap_or(0)] = 1);
        in_pieces(args, values, team, |values, to| {
            for (to, x) in to.iter_mut().zip(values) {
                *to = low.distance(x.key(false)).and_then(|at| table.get(at)).copied().unwrap_or(0);
            }
        });
        return Ok(());
    }
    let mut ordered = others.to_vec();
    sort_alone(others, &mut ordered, isa, team);
    in_pieces(args, values, team, |values, to| {
        let mut places = [0; BLOCK];
        for (values, to) in values.chunks(BLOCK).zip(to.chunks_mut(BLOCK)) {
            let places = &mut places[..values.len()];
            places_of::<T, false>(&ordered, values, places, false, isa);
            for ((x, place), to) in values.iter().zip(places).zip(to) {
                *to = (ordered[(*place as usize).min(ordered.len() - 1)] == *x) as u8;
            }
        }
    });
    Ok(())
}

fn in_pieces<T: Ordered>(args: &Args<'_>, values: &[T], team: &dyn Team, each: impl Fn(&[T], &mut [u8]) + Sync) {
    let to = args.output::<u8>();
    let (size, target) = (to.len(), Shared(to.as_mut_ptr()));
    team.split(size.div_ceil(PIECE), &|piece| {
        let first = piece * PIECE;
        let values = &values[first..size.min(first + PIECE)];
        // SAFETY: pieces write disjoint elements within the output.
        each(values, unsafe { std::slice::from_raw_parts_mut(target.get().add(first), values.len()) });
    });
}
