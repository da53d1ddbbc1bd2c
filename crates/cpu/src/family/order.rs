//! Sorting. All sorts are stable; NaN comes last in both directions.

use crate::pointwise::Shared;
use crate::routine::call::{Args, Body, HostKernel, order_scratch, with_type};
use crate::routine::keys::{Key, Ordered};
use crate::routine::lines::{each_line, each_line_near, teams};
use crate::routine::radix::{Far, Near, Places, radix};
use crate::routine::select::{argpartition, partition, quantile};
use crate::simd::{Isa, with_features};
use forerun_base::{DType, Result, Team};
use forerun_ops::Order;
use forerun_ops::order::{Sorting, Top};
use forerun_plan::RoutineCall;

/// Lines of up to this many elements use a comparison sort.
const SHORT: usize = 200;

impl HostKernel for Order {
    fn body(&self) -> Body {
        match self {
            Order::Sort => |args, team| with_type!(args.dtype(0), sort(args, team)),
            Order::Argsort => |args, team| with_type!(args.dtype(0), argsort(args, team)),
            Order::Argtop => |args, team| with_type!(args.dtype(0), argtop(args, team)),
            Order::Partition => |args, team| with_type!(args.dtype(0), partition(args, team)),
            Order::Argpartition => |args, team| with_type!(args.dtype(0), argpartition(args, team)),
            Order::Quantile => |args, team| match args.dtype(0) {
                DType::F32 => quantile::<f32>(args, team),
                _ => quantile::<f64>(args, team),
            },
        }
    }

    fn scratch(&self, call: &RoutineCall, threads: usize) -> usize {
        let last = call.inputs[0].1.last().copied().unwrap_or(0);
        order_scratch(call, if *self == Order::Quantile { last } else { call.extents(0)[1] }, threads)
    }
}

fn sort<T: Ordered>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (descending, isa) = (args.attributes::<Sorting>().descending, args.isa);
    let (team, within) = teams(args, team);
    if !T::IS_PAIR && T::Key::sorts(isa) {
        let (_, count, inner) = args.extents(0);
        if let (1, 1..=SIDE) = (inner, count) {
            sort_beside::<T>(args, team, count, descending);
            return Ok(());
        }
        each_line::<T, T>(args, team, &|from, to| sort_wide(from, to, descending, isa, within));
        return Ok(());
    }
    each_line_near::<T, T, Vec<T::Key>>(args, team, &|from, to, near| sort_line(from, to, near, descending, within));
    Ok(())
}

/// Sorts one line in ascending order.
pub(crate) fn sort_alone<T: Ordered>(from: &[T], to: &mut [T], isa: Isa, team: &dyn Team) {
    match !T::IS_PAIR && T::Key::sorts(isa) {
        true => sort_wide(from, to, false, isa, team),
        false => sort_line(from, to, &mut Vec::new(), false, team),
    }
}

/// Sorts integers in ascending order.
pub(crate) fn sort_in_place(numbers: &mut [i64], isa: Isa, team: &dyn Team) {
    const SIGN: u64 = 1 << 63;
    // SAFETY: the types have equal size and alignment, and every bit pattern is valid for both.
    let keys = unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast::<u64>(), numbers.len()) };
    keys.iter_mut().for_each(|key| *key ^= SIGN);
    <u64 as Key>::sort(keys, isa, team);
    keys.iter_mut().for_each(|key| *key ^= SIGN);
}

/// Elements per piece for conversion to and from keys.
const PIECE: usize = 1 << 16;

/// Calls `each(start, items)` for pieces of a line.
fn in_pieces<T: Send>(items: &mut [T], team: &dyn Team, each: impl Fn(usize, &mut [T]) + Sync) {
    if items.len() <= PIECE {
        return each(0, items);
    }
    let (count, first) = (items.len(), Shared(items.as_mut_ptr()));
    team.split(count.div_ceil(PIECE), &|piece| {
        let start = piece * PIECE;
        // SAFETY: pieces of the line do not overlap.
        each(start, unsafe { std::slice::from_raw_parts_mut(first.get().add(start), PIECE.min(count - start)) });
    });
}

/// Sorts by vectors. The output buffer holds the keys, so nothing is allocated.
fn sort_wide<T: Ordered>(from: &[T], to: &mut [T], descending: bool, isa: Isa, team: &dyn Team) {
    assert_eq!(
        (size_of::<T>(), align_of::<T>()),
        (size_of::<T::Key>(), align_of::<T::Key>()),
        "keys and elements have the same size"
    );
    // SAFETY: elements and keys have equal size and alignment, and every bit pattern is valid for both.
    let keys = unsafe { std::slice::from_raw_parts_mut(to.as_mut_ptr().cast::<T::Key>(), to.len()) };
    let mut zeros = T::default().zero().is_some();
    if keys.len() <= PIECE {
        with_features(
            isa,
            #[inline(always)]
            || {
                let mut negative = false;
                for (key, x) in keys.iter_mut().zip(from) {
                    *key = x.key(descending);
                    negative |= x.zero() == Some(true);
                }
                zeros = negative;
            },
        );
    } else {
        in_pieces(keys, team, |start, keys| {
            with_features(
                isa,
                #[inline(always)]
                || keys.iter_mut().zip(&from[start..]).for_each(|(key, x)| *key = x.key(descending)),
            );
        });
    }
    T::Key::sort(keys, isa, team);
    in_pieces(to, team, |_, to| {
        with_features(
            isa,
            #[inline(always)]
            || {
                for to in to.iter_mut() {
                    // SAFETY: the buffer holds the bits of a key, which is as large as an element.
                    let key = unsafe { std::mem::transmute_copy::<T, T::Key>(to) };
                    *to = T::from_key(key, descending);
                }
            },
        );
    });
    if zeros {
        zeros_as_they_came(from, to, descending);
    }
}

/// The maximum length of lines that are sorted side by side.
const SIDE: usize = 8;
/// The number of lines that are sorted side by side.
const BESIDE: usize = 16;

/// Sorts contiguous lines of at most [`SIDE`] elements: a vector holds one element of each of several lines.
fn sort_beside<T: Ordered>(args: &Args<'_>, team: &dyn Team, count: usize, descending: bool) {
    let (from, to, isa) = (args.input::<T>(0), args.output::<T>(), args.isa);
    let lines = from.len() / count;
    let per_piece = (PIECE / count).next_multiple_of(BESIDE);
    let target = Shared(to.as_mut_ptr());
    team.split(lines.div_ceil(per_piece), &|piece| {
        let (first, last) = (piece * per_piece, lines.min((piece + 1) * per_piece));
        let from = &from[first * count..last * count];
        // SAFETY: pieces have disjoint lines within the output.
        let to = unsafe { std::slice::from_raw_parts_mut(target.get().add(first * count), from.len()) };
        with_features(
            isa,
            #[inline(always)]
            || {
                for (from, to) in from.chunks(BESIDE * count).zip(to.chunks_mut(BESIDE * count)) {
                    sort_block(from, to, count, descending);
                }
            },
        );
    });
}

/// Sorts up to [`BESIDE`] lines.
#[inline(always)]
fn sort_block<T: Ordered>(from: &[T], to: &mut [T], count: usize, descending: bool) {
    let mut keys = [[T::Key::default(); BESIDE]; SIDE];
    let mut zero = false;
    for (r, line) in from.chunks_exact(count).enumerate() {
        for (keys, x) in keys.iter_mut().zip(line) {
            keys[r] = x.key(descending);
            zero |= x.zero().is_some();
        }
    }
    for end in (1..count).rev() {
        for j in 0..end {
            (0..BESIDE).for_each(|r| {
                let (a, b) = (keys[j][r], keys[j + 1][r]);
                (keys[j][r], keys[j + 1][r]) = (a.min(b), a.max(b));
            });
        }
    }
    for (r, line) in to.chunks_exact_mut(count).enumerate() {
        line.iter_mut().zip(&keys).for_each(|(to, keys)| *to = T::from_key(keys[r], descending));
    }
    if zero {
        let lines = from.chunks_exact(count).zip(to.chunks_exact_mut(count));
        lines.for_each(|(from, to)| zeros_as_they_came(from, to, descending));
    }
}

/// Sorts pairs of a key (at most 32 bits) and an index, which makes the sort stable. The output buffer holds the pairs.
fn argsort_wide<T: Ordered>(from: &[T], to: &mut [i64], descending: bool, isa: Isa, team: &dyn Team) {
    // SAFETY: the types have equal size and alignment, and every bit pattern is valid for both.
    let keys = unsafe { std::slice::from_raw_parts_mut(to.as_mut_ptr().cast::<u64>(), to.len()) };
    in_pieces(keys, team, |start, keys| {
        with_features(
            isa,
            #[inline(always)]
            || {
                for (i, (key, x)) in keys.iter_mut().zip(&from[start..]).enumerate() {
                    *key = (x.joined(descending).bits(0) as u64) << 32 | (start + i) as u64;
                }
            },
        );
    });
    <u64 as Key>::sort(keys, isa, team);
    in_pieces(to, team, |_, to| to.iter_mut().for_each(|place| *place = *place as u32 as i64));
}

fn sort_line<T: Ordered>(from: &[T], to: &mut [T], near: &mut Vec<T::Key>, descending: bool, team: &dyn Team) {
    if T::IS_PAIR {
        // A separate key for each combination of signed zeros would break stability, so use a comparison sort.
        to.copy_from_slice(from);
        to.sort_by_key(|x| x.joined(descending));
        return;
    }
    let count = from.len();
    near.clear();
    if count <= SHORT || u32::try_from(count).is_err() {
        near.extend(from.iter().map(|x| x.key(descending)));
        near.sort_unstable();
        to.iter_mut().zip(near.iter()).for_each(|(to, key)| *to = T::from_key(*key, descending));
    } else {
        near.reserve(count);
        let target = Shared(to.as_mut_ptr());
        // Keys are as large as elements, so the output is one of the buffers.
        let places = Places { near: near.as_mut_ptr(), far: to.as_mut_ptr().cast() };
        let load = |i: usize| from[i].key(descending);
        // SAFETY: the output and the reserved buffer hold one key per element; computed positions are in range.
        unsafe {
            radix(count, places, team, load, |at, key| target.get().add(at).write(T::from_key(key, descending)));
        }
    }
    zeros_as_they_came(from, to, descending);
}

/// The two zeros are equal but have different keys. If both occur, restores their input order.
fn zeros_as_they_came<T: Ordered>(from: &[T], to: &mut [T], descending: bool) {
    if T::default().zero().is_none() {
        return;
    }
    let zero = T::default().joined(descending);
    let first = to.partition_point(|x| x.joined(descending) < zero);
    let count = to[first..].partition_point(|x| x.zero().is_some());
    let zeros = &mut to[first..first + count];
    if zeros.first().and_then(|x| x.zero()) != zeros.last().and_then(|x| x.zero()) {
        zeros.iter_mut().zip(from.iter().filter(|x| x.zero().is_some())).for_each(|(to, x)| *to = *x);
    }
}

fn argsort<T: Ordered>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (descending, isa) = (args.attributes::<Sorting>().descending, args.isa);
    let (team, within) = teams(args, team);
    let (_, count, _) = args.extents(0);
    if T::Key::BITS <= 32 && <u64 as Key>::sorts(isa) && u32::try_from(count).is_ok() {
        each_line::<T, i64>(args, team, &|from, to| argsort_wide(from, to, descending, isa, within));
        return Ok(());
    }
    match T::Key::BITS <= 32 {
        true => each_line_near::<T, i64, Vec<Near>>(args, team, &|from, to, near| {
            argsort_near(from, to, near, descending, within);
        }),
        false => each_line_near::<T, i64, [Vec<Far<T::Key>>; 2]>(args, team, &|from, to, near| {
            argsort_far(from, to, near, descending, within);
        }),
    }
    Ok(())
}

fn argsort_short<T: Ordered>(from: &[T], to: &mut [i64], descending: bool) {
    to.iter_mut().enumerate().for_each(|(i, place)| *place = i as i64);
    to.sort_by_key(|i| from[*i as usize].joined(descending));
}

/// Key and index fit into one 64-bit word.
fn argsort_near<T: Ordered>(from: &[T], to: &mut [i64], near: &mut Vec<Near>, descending: bool, team: &dyn Team) {
    let count = from.len();
    if u32::try_from(count).is_err() {
        return argsort_short(from, to, descending);
    }
    let load = |i: usize| Near((from[i].joined(descending).bits(0) as u64) << 32 | i as u64);
    near.clear();
    if count <= SHORT {
        near.extend((0..count).map(load));
        near.sort_unstable_by_key(|item| item.0);
        to.iter_mut().zip(near.iter()).for_each(|(to, item)| *to = item.0 as u32 as i64);
        return;
    }
    near.reserve(count);
    let target = Shared(to.as_mut_ptr());
    let places = Places { near: near.as_mut_ptr(), far: to.as_mut_ptr().cast() };
    // SAFETY: the output and the reserved buffer hold one item per element; computed positions are in range.
    unsafe { radix(count, places, team, load, |at, item| target.get().add(at).write(item.0 as u32 as i64)) };
}

fn argsort_far<T: Ordered>(
    from: &[T],
    to: &mut [i64],
    places: &mut [Vec<Far<T::Key>>; 2],
    descending: bool,
    team: &dyn Team,
) {
    let count = from.len();
    if count <= SHORT || u32::try_from(count).is_err() {
        return argsort_short(from, to, descending);
    }
    places.iter_mut().for_each(|place| {
        place.clear();
        place.reserve(count);
    });
    let target = Shared(to.as_mut_ptr());
    let [near, far] = places;
    let places = Places { near: near.as_mut_ptr(), far: far.as_mut_ptr() };
    let load = |i: usize| Far(from[i].joined(descending), i as u32);
    // SAFETY: both buffers were reserved; computed positions are within the output.
    unsafe { radix(count, places, team, load, |at, item| target.get().add(at).write(item.1 as i64)) };
}

/// The first elements in sorted order. The rest is only partitioned off, not sorted.
fn argtop<T: Ordered>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let Top { descending, .. } = args.attributes();
    each_line_near::<T, i64, Vec<(T::Key, i64)>>(args, team, &|from, to, near| {
        near.clear();
        near.extend(from.iter().zip(0..).map(|(x, i)| (x.joined(descending), i)));
        let wanted = to.len();
        if wanted < near.len() {
            near.select_nth_unstable(wanted);
        }
        near[..wanted].sort_unstable();
        to.iter_mut().zip(near.iter()).for_each(|(to, (_, i))| *to = *i);
    });
    Ok(())
}
