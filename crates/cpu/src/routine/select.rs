//! Selection of elements by rank without a full sort: partitions and quantiles.
//!
//! A sample gives two keys that enclose the wanted one with high probability. A pass counts the keys below and collects
//! the ones between, and the search continues among those. If the sample was misleading, the library's selection is
//! used. Invariant: the key of a rank, and the number of keys before it, depend on the elements alone; results
//! therefore depend neither on samples nor on threads.

use super::call::{Args, Element};
use super::keys::{Key, Ordered};
use super::lines::{each_line, each_line_near, teams};
use crate::pointwise::Shared;
use crate::simd::Isa;
use crate::simd::with_features;
use forerun_base::{Result, Team};
use forerun_ops::order::{Partitioning, Quantiles};

/// Up to this many keys are sorted.
const FEW: usize = 512;
/// Elements per piece.
const PIECE: usize = 1 << 16;
/// Keys computed at a time.
const BLOCK: usize = 256;

/// The key of a rank, the number of smaller keys, and the number of equal ones.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Found<K> {
    key: K,
    less: usize,
    equal: usize,
}

/// The key of rank `place`.
fn select<T: Ordered>(from: &[T], place: usize, isa: Isa, team: &dyn Team) -> Found<T::Key>
where
    T::Key: Ordered<Key = T::Key>,
{
    let count = from.len();
    if count <= FEW {
        return select_among(from.iter().map(|x| x.joined(false)).collect(), place, isa);
    }
    let (low, high) = bounds(from, place, isa);
    // Each piece collects at its own offset, with room for all its keys.
    let mut collected: Vec<T::Key> = Vec::with_capacity(count + BLOCK);
    let pieces = count.div_ceil(PIECE);
    let mut counts = vec![(0, 0); pieces];
    let (keys, each) = (Shared(collected.as_mut_ptr()), Shared(counts.as_mut_ptr()));
    team.split(pieces, &|piece| {
        let start = piece * PIECE;
        let from = &from[start..count.min(start + PIECE)];
        // SAFETY: each piece writes its own count, and at most as many keys as it has elements.
        unsafe { each.get().add(piece).write(collect(from, low, high, keys.get().add(start), isa)) };
    });
    let (mut below, mut kept) = (0, 0);
    for (piece, (less, inside)) in counts.into_iter().enumerate() {
        // SAFETY: the piece has collected this many keys, at or after their destination.
        unsafe { std::ptr::copy(keys.get().add(piece * PIECE), keys.get().add(kept), inside) };
        (below, kept) = (below + less, kept + inside);
    }
    // SAFETY: this many keys were collected.
    unsafe { collected.set_len(kept) };
    if !(below..below + kept).contains(&place) {
        return select_among(from.iter().map(|x| x.joined(false)).collect(), place, isa);
    }
    let found = match kept {
        _ if low == high => Found { key: low, less: 0, equal: kept },
        _ if kept > count / 2 => select_among(collected, place - below, isa),
        _ => select(&collected, place - below, isa, team),
    };
    Found { less: found.less + below, ..found }
}

/// Two keys that enclose rank `place` with high probability: three standard deviations around its rank in a sample.
fn bounds<T: Ordered>(from: &[T], place: usize, isa: Isa) -> (T::Key, T::Key) {
    let count = from.len();
    let size = match count {
        ..=4096 => 128,
        4097..=65_536 => 512,
        65_537..=1_048_576 => 2048,
        _ => 8192,
    };
    // One element of each stretch, at varying offsets, because elements may repeat with a period.
    let step = count / size;
    let at = |i: usize| i * step + (i.wrapping_mul(0x9e37_79b9) >> 7) % step;
    let mut sample: Vec<T::Key> = (0..size).map(|i| from[at(i)].joined(false)).collect();
    T::Key::sort(&mut sample, isa, &forerun_base::Solo);
    let share = place as f64 / count as f64;
    let (middle, gap) = (share * size as f64, 3.0 * (size as f64 * share * (1.0 - share)).sqrt() + 2.0);
    let low = if middle < gap { T::Key::LEAST } else { sample[(middle - gap) as usize] };
    let high = if middle + gap >= size as f64 { T::Key::MOST } else { sample[(middle + gap) as usize] };
    (low, high)
}

/// Writes the keys between two bounds contiguously, and possibly some garbage after them; returns how many keys are
/// below, and how many were written.
///
/// # Safety
/// `to` must have room for as many keys as there are elements.
unsafe fn collect<T: Ordered>(from: &[T], low: T::Key, high: T::Key, to: *mut T::Key, isa: Isa) -> (usize, usize) {
    let (mut below, mut kept) = (0, 0);
    with_features(
        isa,
        #[inline(always)]
        || {
            for from in from.chunks(BLOCK) {
                let mut keys = [T::Key::default(); BLOCK];
                keys.iter_mut().zip(from).for_each(|(key, x)| *key = x.joined(false));
                // SAFETY: the number of kept keys never exceeds the number of visited ones.
                let (under, inside) = unsafe { T::Key::pick(&keys[..from.len()], low, high, to.add(kept), isa) };
                (below, kept) = (below + under, kept + inside);
            }
        },
    );
    (below, kept)
}

/// Like [`select`], for keys that may be reordered.
fn select_among<K: Key>(mut keys: Vec<K>, place: usize, isa: Isa) -> Found<K> {
    if keys.len() <= FEW && K::sorts(isa) {
        K::sort(&mut keys, isa, &forerun_base::Solo);
        let key = keys[place];
        let less = keys.partition_point(|k| *k < key);
        return Found { key, less, equal: keys[less..].partition_point(|k| *k == key) };
    }
    let (_, key, _) = keys.select_nth_unstable(place);
    let key = *key;
    let count = |test: &dyn Fn(K) -> bool| keys.iter().filter(|k| test(**k)).count();
    Found { key, less: count(&|k| k < key), equal: count(&|k| k == key) }
}

/// The keys of some ranks, in ascending order, without duplicates.
fn pivots<T: Ordered>(from: &[T], places: &[i64], isa: Isa, team: &dyn Team) -> Vec<Found<T::Key>>
where
    T::Key: Ordered<Key = T::Key>,
{
    let mut all: Vec<Found<T::Key>> = Vec::new();
    if places.len() > 4 {
        let mut keys: Vec<T::Key> = from.iter().map(|x| x.joined(false)).collect();
        T::Key::sort(&mut keys, isa, team);
        for place in places {
            let key = keys[*place as usize];
            if all.last().is_none_or(|last| last.key != key) {
                let less = keys.partition_point(|k| *k < key);
                all.push(Found { key, less, equal: keys[less..].partition_point(|k| *k == key) });
            }
        }
        return all;
    }
    for place in places {
        let place = *place as usize;
        if all.last().is_none_or(|last| place >= last.less + last.equal) {
            all.push(select(from, place, isa, team));
        }
    }
    all
}

/// Partitions items by their elements: before, at, between and after the pivots; stable within each part.
fn part<T: Ordered>(from: &[T], items: &[T::Key], pivots: &[Found<T::Key>], to: &mut [T::Key], isa: Isa) {
    assert!(items.len() == from.len() && to.len() == from.len(), "one item per element");
    if let [pivot] = pivots {
        let (to, count, above) = (to.as_mut_ptr(), from.len(), pivot.less + pivot.equal);
        let mut next = [0, pivot.less, above];
        with_features(
            isa,
            #[inline(always)]
            || {
                for (block, from) in from.chunks(BLOCK).enumerate() {
                    let mut keys = [T::Key::default(); BLOCK];
                    keys.iter_mut().zip(from).for_each(|(key, x)| *key = x.joined(false));
                    let [less, equal, more] = next;
                    let parts = [less..pivot.less, equal..above, more..count];
                    let items = items[block * BLOCK..].as_ptr();
                    // SAFETY: the pivots give the number of elements in each part.
                    next = unsafe { T::Key::part(&keys[..from.len()], items, pivot.key, parts, to, isa) };
                }
            },
        );
        return;
    }
    // The start of each part: before the first pivot, at it, between it and the second, and so on.
    let mut next = vec![0];
    next.extend(pivots.iter().flat_map(|pivot| [pivot.less, pivot.less + pivot.equal]));
    for (x, item) in from.iter().zip(items) {
        let key = x.joined(false);
        let before = pivots.partition_point(|pivot| pivot.key <= key);
        let at = 2 * before - pivots[..before].last().is_some_and(|pivot| pivot.key == key) as usize;
        to[next[at]] = *item;
        next[at] += 1;
    }
}

pub(crate) fn partition<T: Ordered>(args: &Args<'_>, team: &dyn Team) -> Result<()>
where
    T::Key: Ordered<Key = T::Key>,
{
    assert_eq!(size_of::<T>(), size_of::<T::Key>(), "keys and elements have the same size");
    let (Partitioning { places, .. }, isa) = (args.attributes(), args.isa);
    let (team, within) = teams(args, team);
    each_line::<T, T>(args, team, &|from, to| {
        let pivots = pivots(from, &places, isa, within);
        // Complex numbers need less alignment than their keys; arrays and scratch memory are aligned to 16 bytes.
        assert!(from.as_ptr().cast::<T::Key>().is_aligned() && to.as_ptr().cast::<T::Key>().is_aligned());
        // SAFETY: elements and keys have equal size, both addresses are aligned, and every bit pattern is valid for
        // both.
        let (items, to) = unsafe {
            let items = std::slice::from_raw_parts(from.as_ptr().cast::<T::Key>(), from.len());
            (items, std::slice::from_raw_parts_mut(to.as_mut_ptr().cast::<T::Key>(), to.len()))
        };
        part(from, items, &pivots, to, isa);
    });
    Ok(())
}

pub(crate) fn argpartition<T: Ordered>(args: &Args<'_>, team: &dyn Team) -> Result<()>
where
    T::Key: Ordered<Key = T::Key>,
{
    let (Partitioning { places, .. }, isa) = (args.attributes(), args.isa);
    let (team, within) = teams(args, team);
    each_line_near::<T, i64, [Vec<T::Key>; 2]>(args, team, &|from, to, [items, parted]| {
        let pivots = pivots(from, &places, isa, within);
        let last = from.len() - 1;
        if T::Key::from_count(last).is_none() {
            // Keys are narrower than indices.
            let wide: Vec<u64> = from.iter().map(|x| x.joined(false).bits(0) as u64).collect();
            let pivots: Vec<Found<u64>> =
                pivots.iter().map(|p| Found { key: p.key.bits(0) as u64, less: p.less, equal: p.equal }).collect();
            let items: Vec<u64> = (0..from.len() as u64).collect();
            let mut parted = vec![0; from.len()];
            part(&wide, &items, &pivots, &mut parted, isa);
            to.iter_mut().zip(&parted).for_each(|(to, item)| *to = *item as i64);
            return;
        }
        items.clear();
        items.extend((0..from.len()).map(|i| T::Key::from_count(i).unwrap_or_default()));
        parted.resize(from.len(), T::Key::default());
        part(from, items, &pivots, parted, isa);
        to.iter_mut().zip(&*parted).for_each(|(to, item)| *to = item.bits(0) as i64);
    });
    Ok(())
}

/// A number type with interpolation.
pub(crate) trait Between: Ordered<Key: Ordered<Key = Self::Key>> {
    const NAN: Self;

    /// Interpolates between two numbers.
    fn between(self, second: Self, share: f64) -> Self;
}

macro_rules! between {
    ($($float:ty)*) => {
        $(impl Between for $float {
            const NAN: $float = <$float>::NAN;

            fn between(self, second: $float, share: f64) -> $float {
                let share = share as $float;
                // Avoid the difference of equal infinities, and 0 * infinity.
                if share == 0.0 || self == second { self } else { self + (second - self) * share }
            }
        })*
    };
}

between!(f32 f64);

/// Quantiles along the last axis; the results of one quantile are contiguous.
pub(crate) fn quantile<T: Between>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (from, to, isa) = (args.input::<T>(0), args.output::<T>(), args.isa);
    let Quantiles { places, shares } = args.attributes();
    let wanted = places.len();
    let lines = to.len() / wanted;
    if lines == 0 {
        return Ok(());
    }
    let count = from.len() / lines;
    let target = Shared(to.as_mut_ptr());
    let one = |line: usize, within: &dyn Team| {
        let from = &from[line * count..(line + 1) * count];
        let put = |q: usize, x: T| {
            // SAFETY: each line has its own places within the output.
            unsafe { target.get().add(q * lines + line).write(x) };
        };
        if has_nan(from, isa) {
            return (0..wanted).for_each(|q| put(q, T::NAN));
        }
        let ask = |q: usize| (places[q] as usize, shares[q]);
        let second = |place: usize| (place + 1).min(count - 1);
        if wanted <= 4 {
            return (0..wanted).for_each(|q| {
                let (place, share) = ask(q);
                let found = select(from, place, isa, within);
                let first = element(from, &found, place);
                let next = match second(place) < found.less + found.equal {
                    true => element(from, &found, second(place)),
                    false if share == 0.0 => first,
                    false => {
                        let key = least_above(from, found.key, isa);
                        element(from, &Found { key, less: found.less + found.equal, equal: 1 }, second(place))
                    }
                };
                put(q, first.between(next, share));
            });
        }
        let mut ordered = from.to_vec();
        crate::family::order::sort_alone(from, &mut ordered, isa, within);
        (0..wanted).for_each(|q| {
            let (place, share) = ask(q);
            put(q, ordered[place].between(ordered[second(place)], share));
        });
    };
    match lines < team.width() {
        true => (0..lines).for_each(|line| one(line, team)),
        false => {
            let per_piece = (PIECE / count.max(1)).max(1);
            team.split(lines.div_ceil(per_piece), &|piece| {
                let range = piece * per_piece..lines.min((piece + 1) * per_piece);
                range.for_each(|line| one(line, &forerun_base::Solo));
            });
        }
    }
    Ok(())
}

/// The element of a rank. Among the two zeros, the input order decides.
fn element<T: Ordered>(from: &[T], found: &Found<T::Key>, place: usize) -> T {
    let x = T::from_key(found.key, false);
    match x.zero() {
        Some(_) => *from.iter().filter(|x| x.zero().is_some()).nth(place - found.less).unwrap_or(&x),
        None => x,
    }
}

fn has_nan<T: Element + PartialOrd>(from: &[T], isa: Isa) -> bool {
    let mut any = false;
    with_features(
        isa,
        #[inline(always)]
        || any = from.iter().fold(false, |any, x| any | x.partial_cmp(x).is_none()),
    );
    any
}

/// The smallest key above another; it must exist.
fn least_above<T: Ordered>(from: &[T], key: T::Key, isa: Isa) -> T::Key {
    let mut least = T::Key::MOST;
    with_features(
        isa,
        #[inline(always)]
        || {
            for x in from {
                let other = x.joined(false);
                least = least.min(if other > key { other } else { T::Key::MOST });
            }
        },
    );
    least
}

#[cfg(test)]
mod tests {
    use super::*;
    use forerun_base::Solo;

    #[test]
    fn a_place_is_found_as_an_order_has_it() {
        type Kind = (&'static str, fn(usize, usize) -> f32);
        let kinds: [Kind; 5] = [
            ("mixed", |i, n| ((i * 7919 + 13) % n) as f32),
            ("few", |i, _| (i * 31 % 3) as f32),
            ("equal", |_, _| 1.0),
            ("falling", |i, _| -(i as f32)),
            ("periodic", |i, n| if i.is_multiple_of(n / 128) { -1.0 } else { (i % 97) as f32 }),
        ];
        for (name, kind) in kinds {
            for count in [1, 2, 511, 513, 3000, 20_000, 70_001] {
                let from: Vec<f32> = (0..count).map(|i| kind(i, count.max(128))).collect();
                let mut keys: Vec<u32> = from.iter().map(|x| x.joined(false)).collect();
                keys.sort();
                for place in [0, 1, 10, count / 3, count / 2, count - 1] {
                    let place = place.min(count - 1);
                    let key = keys[place];
                    let less = keys.partition_point(|k| *k < key);
                    let want = Found { key, less, equal: keys.partition_point(|k| *k <= key) - less };
                    for isa in Isa::available() {
                        assert_eq!(select(&from, place, isa, &Solo), want, "{name} {count} {place} {isa:?}");
                    }
                }
            }
        }
    }
}
