//! Binary search in sorted arrays.

use crate::pointwise::Shared;
use crate::routine::call::{Args, Body, HostKernel, line_scratch, total_elements, with_type};
use crate::routine::keys::Ordered;
use crate::routine::{among, interp};
use crate::simd::Isa;
use crate::simd::with_features;
use forerun_base::{Error, ErrorKind, Result, Team};
use forerun_ops::Search;
use forerun_ops::search::Side;
use forerun_plan::RoutineCall;

/// The minimum number of values per piece.
const PIECE: usize = 1 << 12;

impl HostKernel for Search {
    fn body(&self) -> Body {
        match self {
            Search::Sorted => |args, team| with_type!(args.dtype(0), search(args, team)),
            Search::Digitize => |args, team| with_type!(args.dtype(0), digitize(args, team)),
            Search::Among => among::body,
            Search::Interp => interp::body,
        }
    }

    fn scratch(&self, call: &RoutineCall, threads: usize) -> usize {
        match self {
            // Scratch for sorting the other values.
            Search::Among => total_elements(call).saturating_mul(16),
            Search::Sorted | Search::Digitize | Search::Interp => line_scratch(call, call.inputs[0].1.size(), threads),
        }
    }
}

fn search<T: Ordered>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    match args.attributes::<Side>().right {
        true => place_each::<T, true>(args, team, false),
        false => place_each::<T, false>(args, team, false),
    }
    Ok(())
}

/// Edges may be decreasing. They are then searched from the end, and a value on an edge belongs to the other side.
fn digitize<T: Ordered>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (edges, right) = (args.input::<T>(0), args.attributes::<Side>().right);
    let goes = |descending: bool| edges.windows(2).all(|w| w[0].joined(descending) <= w[1].joined(descending));
    let descending = match (goes(false), goes(true)) {
        (true, _) => false,
        (false, true) => true,
        (false, false) => return Err(Error::new(ErrorKind::Value, "bins must be monotonic")),
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
        // SAFETY: pieces write disjoint elements within the output.
        let to = unsafe { std::slice::from_raw_parts_mut(target.get().add(first), values.len()) };
        places_of::<T, RIGHT>(sorted, values, to, descending, isa);
    });
}

/// The insertion points of values, computed by one thread.
pub(crate) fn places_of<T: Ordered, const RIGHT: bool>(
    sorted: &[T],
    values: &[T],
    to: &mut [i64],
    descending: bool,
    isa: Isa,
) {
    // Real numbers without NaN are compared directly, which is cheaper than keys. The last element tells whether there
    // is a NaN.
    let plain = !T::IS_PAIR && !descending && size_of::<T>() >= 4 && sorted.last().is_none_or(|x| !is_nan(x));
    let (groups, rest) = values.as_chunks::<SIDE>();
    let (to_groups, to_rest) = to.as_chunks_mut::<SIDE>();
    // AVX2 gathers are slower than loads.
    let isa = if isa.is_avx512() { isa } else { Isa::Baseline };
    with_features(
        isa,
        #[inline(always)]
        || {
            for (values, to) in groups.iter().zip(&mut *to_groups) {
                match plain {
                    true => plain_places::<T, RIGHT, SIDE>(sorted, values, to),
                    false => places::<T, RIGHT, SIDE>(sorted, values, to, descending),
                }
            }
        },
    );
    for (value, to) in rest.iter().zip(to_rest) {
        places::<T, RIGHT, 1>(sorted, &[*value], std::array::from_mut(to), descending);
    }
}

#[inline(always)]
fn is_nan<T: PartialOrd>(x: &T) -> bool {
    x.partial_cmp(x).is_none()
}

/// Searches that run side by side: each waits for memory, and the others fill that time.
const SIDE: usize = 16;

/// The number of elements before each value: the smaller ones, and with `RIGHT` the equal ones too. All searches halve
/// the same lengths, so there is no unpredictable branch.
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
            // SAFETY: `found + half` never exceeds the length.
            let s = unsafe { sorted.get_unchecked(*found + half - 1) }.joined(descending);
            let goes = if RIGHT { s <= *key } else { s < *key };
            *found += if goes { half } else { 0 };
        }
        left -= half;
    }
    to.iter_mut().zip(found).for_each(|(to, found)| *to = found as i64);
}

/// Like [`places`], for ascending numbers without NaN.
#[inline(always)]
fn plain_places<T: Ordered, const RIGHT: bool, const N: usize>(sorted: &[T], values: &[T; N], to: &mut [i64; N]) {
    let mut found = [0usize; N];
    let mut left = sorted.len();
    while left > 0 {
        let half = left.div_ceil(2);
        for (found, x) in found.iter_mut().zip(values) {
            // SAFETY: `found + half` never exceeds the length.
            let s = unsafe { sorted.get_unchecked(*found + half - 1) };
            let goes = if RIGHT { s <= x } else { s < x };
            *found += if goes { half } else { 0 };
        }
        left -= half;
    }
    for ((to, found), x) in to.iter_mut().zip(found).zip(values) {
        *to = if is_nan(x) { sorted.len() } else { found } as i64;
    }
}
