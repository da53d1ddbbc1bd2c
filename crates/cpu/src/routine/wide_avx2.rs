//! Vectorized sorting of keys with AVX2: the quicksort of [`super::wide`], with partitions by a table of permutations,
//! and a network that sorts columns before it merges them.
//!
//! A network holds its keys in columns: the first keys of all columns are in the first vector. Sorting columns compares
//! whole vectors and moves nothing between lanes; only the merges do. Most steps therefore take two instructions.

use super::vectors::{Longs, Vector, Words};
use super::wide::{SAMPLE, Wide};
use crate::simd::Avx2;
use std::cmp::Ordering;
use std::ops::Range;

/// Vectors of the largest network.
const NETWORK: usize = 16;
/// Vectors that a partition of a large part reads at a time.
const AHEAD: usize = 8;

impl Wide<Avx2> for u32 {
    const SMALL: usize = NETWORK * 8;

    unsafe fn sort(keys: &mut [u32]) {
        // SAFETY: the caller upholds the same contract.
        unsafe { sort_words(keys) }
    }

    unsafe fn partition(keys: &mut [u32], pivot: u32, or_equal: bool) -> usize {
        // SAFETY: the caller upholds the same contract.
        unsafe { partition_words(keys, pivot, or_equal) }
    }

    unsafe fn pivot(keys: &[u32]) -> u32 {
        // SAFETY: the caller upholds the same contract.
        unsafe { pivot_words(keys) }
    }

    unsafe fn pick(keys: &[u32], low: u32, high: u32, to: *mut u32) -> (usize, usize) {
        // SAFETY: the caller upholds the same contract.
        unsafe { pick_words(keys, low, high, to) }
    }

    unsafe fn part(keys: &[u32], items: *const u32, pivot: u32, parts: [Range<usize>; 3], to: *mut u32) -> [usize; 3] {
        // SAFETY: the caller upholds the same contract.
        unsafe { split_words(keys, items, pivot, parts, to) }
    }
}

impl Wide<Avx2> for u64 {
    const SMALL: usize = NETWORK * 4;

    unsafe fn sort(keys: &mut [u64]) {
        // SAFETY: the caller upholds the same contract.
        unsafe { sort_longs(keys) }
    }

    unsafe fn partition(keys: &mut [u64], pivot: u64, or_equal: bool) -> usize {
        // SAFETY: the caller upholds the same contract.
        unsafe { partition_longs(keys, pivot, or_equal) }
    }

    unsafe fn pivot(keys: &[u64]) -> u64 {
        // SAFETY: the caller upholds the same contract.
        unsafe { pivot_longs(keys) }
    }

    unsafe fn pick(keys: &[u64], low: u64, high: u64, to: *mut u64) -> (usize, usize) {
        // SAFETY: the caller upholds the same contract.
        unsafe { pick_longs(keys, low, high, to) }
    }

    unsafe fn part(keys: &[u64], items: *const u64, pivot: u64, parts: [Range<usize>; 3], to: *mut u64) -> [usize; 3] {
        // SAFETY: the caller upholds the same contract.
        unsafe { split_longs(keys, items, pivot, parts, to) }
    }
}

/// Functions with the features enabled, for one vector type.
macro_rules! enabled {
    ($vector:ident, $key:ty, $sort:ident, $quick:ident, $partition:ident, $part:ident, $pivot:ident, $small:ident, $large:ident, $pick:ident, $split:ident) => {
        unsafe fn $sort(keys: &mut [$key]) {
            // Twice the depth of perfect halving.
            let depth = 2 * (usize::BITS - keys.len().leading_zeros());
            // SAFETY: the caller upholds the same contract.
            unsafe { $quick(keys, depth) }
        }

        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn $quick(mut keys: &mut [$key], mut depth: u32) {
            // SAFETY: parts are large enough for a partition, or small enough for a network.
            unsafe {
                while keys.len() > <$key as Wide<Avx2>>::SMALL {
                    if depth == 0 {
                        keys.sort_unstable();
                        return;
                    }
                    depth -= 1;
                    let pivot = $pivot(keys);
                    let below = $partition(keys, pivot, false);
                    if below == 0 {
                        // The pivot is the smallest key, so all its equals are in place.
                        let equal = $partition(keys, pivot, true);
                        keys = &mut keys[equal..];
                        continue;
                    }
                    let (left, right) = keys.split_at_mut(below);
                    // Recurse into the smaller part first to bound the stack.
                    if left.len() < right.len() {
                        $quick(left, depth);
                        keys = right;
                    } else {
                        $quick(right, depth);
                        keys = left;
                    }
                }
                match keys.len() {
                    0 | 1 => {}
                    few if few <= 8 * $vector::LANES => $small(keys),
                    _ => $large(keys),
                }
            }
        }

        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn $small(keys: &mut [$key]) {
            // SAFETY: eight vectors hold the keys.
            unsafe { network::<$vector, 8>(keys) }
        }

        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn $large(keys: &mut [$key]) {
            // SAFETY: this many vectors hold the keys.
            unsafe { network::<$vector, NETWORK>(keys) }
        }

        /// Small parts read less ahead. Keys up to a pivot are those below the next larger key.
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn $partition(keys: &mut [$key], pivot: $key, or_equal: bool) -> usize {
            let by = match or_equal {
                true if pivot == <$key>::MAX => return keys.len(),
                true => pivot + 1,
                false => pivot,
            };
            // SAFETY: the caller upholds the same contract.
            unsafe {
                match keys.len() < 64 * $vector::LANES {
                    true => partition::<$vector, 4>(keys, by),
                    false => $part(keys, by),
                }
            }
        }

        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn $part(keys: &mut [$key], by: $key) -> usize {
            // SAFETY: the caller upholds the same contract.
            unsafe { partition::<$vector, AHEAD>(keys, by) }
        }

        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn $pivot(keys: &[$key]) -> $key {
            if keys.len() < SAMPLE * $vector::LANES {
                return middle_of_few(keys);
            }
            // SAFETY: nine vectors at nine positions, the last of which ends before the keys do.
            unsafe {
                let step = (keys.len() - $vector::LANES) / 8;
                let mut held = [$vector::splat(0); 9];
                for (i, held) in held.iter_mut().enumerate() {
                    *held = $vector::load(keys.as_ptr().add(i * step)).turned();
                }
                let [a, b, c, d, e, f, g, h, i] = held;
                let mut lanes = [middle(middle(a, b, c), middle(d, e, f), middle(g, h, i))];
                merge_columns(&mut lanes);
                let mut found = [<$key>::default(); 8];
                lanes[0].turned().store(found.as_mut_ptr());
                found[$vector::LANES / 2]
            }
        }

        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn $pick(keys: &[$key], low: $key, high: $key, to: *mut $key) -> (usize, usize) {
            // SAFETY: the caller upholds the same contract.
            unsafe { pick::<$vector>(keys, low, high, to) }
        }

        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn $split(
            keys: &[$key],
            items: *const $key,
            pivot: $key,
            parts: [Range<usize>; 3],
            to: *mut $key,
        ) -> [usize; 3] {
            // SAFETY: the caller upholds the same contract.
            unsafe { split::<$vector>(keys, items, pivot, parts, to) }
        }
    };
}

enabled!(
    Words,
    u32,
    sort_words,
    quick_words,
    partition_words,
    part_words,
    pivot_words,
    small_words,
    large_words,
    pick_words,
    split_words
);
enabled!(
    Longs,
    u64,
    sort_longs,
    quick_longs,
    partition_longs,
    part_longs,
    pivot_longs,
    small_longs,
    large_longs,
    pick_longs,
    split_longs
);

/// The median of three in each lane.
#[inline(always)]
fn middle<V: Vector>(a: V, b: V, c: V) -> V {
    let (low, high) = a.ordered(b);
    let (low_c, _) = high.ordered(c);
    low.ordered(low_c).1
}

/// The median of medians of nine keys.
#[inline(always)]
fn middle_of_few<K: Copy + Ord>(keys: &[K]) -> K {
    let step = keys.len() / 9;
    let middle = |a: K, b: K, c: K| a.min(b).max(a.max(b).min(c));
    let third = |i: usize| middle(keys[i * step], keys[(i + 1) * step], keys[(i + 2) * step]);
    middle(third(0), third(3), third(6))
}

/// Moves the keys below a pivot to the front; returns their number.
#[inline(always)]
unsafe fn partition<V: Vector, const AHEAD: usize>(keys: &mut [V::Key], by: V::Key) -> usize {
    let chunk = AHEAD * V::LANES;
    let (first, count, pivot) = (keys.as_mut_ptr(), keys.len(), V::splat(by).turned());
    // Set aside the keys that do not fill a chunk, before those that are read ahead.
    let odd = count % chunk;
    let mut aside = [const { std::mem::MaybeUninit::<u64>::uninit() }; 3 * self::AHEAD * 4];
    let waits = aside.as_mut_ptr().cast::<V::Key>();
    // SAFETY: there are at least two chunks. Reads stay between the unread ends. Before a chunk is read, both ends have
    // room for two chunks together, and it is read from the end with less room. Each end then has room for at least one
    // chunk, and so for every full vector written to it.
    unsafe {
        std::ptr::copy_nonoverlapping(first, waits, odd);
        std::ptr::copy_nonoverlapping(first.add(odd), waits.add(odd), chunk);
        std::ptr::copy_nonoverlapping(first.add(count - chunk), waits.add(odd + chunk), chunk);
        let (mut from, mut end) = (odd + chunk, count - chunk);
        let (mut left, mut right) = (0, count);
        while from < end {
            // The end is unpredictable, so avoid a branch: all ones for the left end, otherwise zeros.
            let near_left = ((from - left <= right - end) as usize).wrapping_neg();
            let at = from & near_left | (end - chunk) & !near_left;
            from += chunk & near_left;
            end -= chunk & !near_left;
            let mut held = [pivot; AHEAD];
            for (v, held) in held.iter_mut().enumerate() {
                *held = V::load(first.add(at + v * V::LANES));
            }
            for held in held {
                let mask = held.turned().below(pivot);
                let lefts = mask.count_ones() as usize;
                let packed = held.packed(mask);
                packed.store(first.add(left));
                packed.store(first.add(right - V::LANES));
                left += lefts;
                right -= V::LANES - lefts;
            }
        }
        // The keys that were set aside go between both ends, where exactly that much room is left. While it is at least
        // two vectors, the ends do not meet.
        let waiting = odd + 2 * chunk;
        let mut at = 0;
        while waiting - at >= 2 * V::LANES {
            let held = V::load(waits.add(at));
            let mask = held.turned().below(pivot);
            let lefts = mask.count_ones() as usize;
            let packed = held.packed(mask);
            packed.store(first.add(left));
            packed.store(first.add(right - V::LANES));
            left += lefts;
            right -= V::LANES - lefts;
            at += V::LANES;
        }
        for at in at..waiting {
            let key = *waits.add(at);
            *first.add(left) = key;
            *first.add(right - 1) = key;
            let goes_left = (key < by) as usize;
            left += goes_left;
            right -= 1 - goes_left;
        }
        left
    }
}

#[inline(always)]
unsafe fn pick<V: Vector>(keys: &[V::Key], low: V::Key, high: V::Key, to: *mut V::Key) -> (usize, usize) {
    let (least, most) = (V::splat(low).turned(), V::splat(high).turned());
    let (mut below, mut kept) = (0, 0);
    let whole = keys.len() / V::LANES * V::LANES;
    // SAFETY: full vectors of keys. The number of kept keys never exceeds the number of visited ones, so a full store
    // stays within the visited range.
    unsafe {
        for at in (0..whole).step_by(V::LANES) {
            let held = V::load(keys.as_ptr().add(at));
            let turned = held.turned();
            let (under, over) = (turned.below(least), most.below(turned));
            let inside = !(under | over) & ((1 << V::LANES) - 1);
            held.packed(inside).store(to.add(kept));
            below += under.count_ones() as usize;
            kept += inside.count_ones() as usize;
        }
        for key in &keys[whole..] {
            to.add(kept).write(*key);
            below += (*key < low) as usize;
            kept += (*key >= low && *key <= high) as usize;
        }
    }
    (below, kept)
}

#[inline(always)]
unsafe fn split<V: Vector>(
    keys: &[V::Key],
    items: *const V::Key,
    pivot: V::Key,
    parts: [Range<usize>; 3],
    to: *mut V::Key,
) -> [usize; 3] {
    let by = V::splat(pivot).turned();
    let [mut less, mut equal, mut more] = parts;
    let whole = keys.len() / V::LANES * V::LANES;
    // SAFETY: full vectors of keys and items.
    unsafe {
        for at in (0..whole).step_by(V::LANES) {
            let (held, items) = (V::load(keys.as_ptr().add(at)).turned(), items.add(at));
            let (under, over) = (held.below(by), by.below(held));
            append::<V>(items, under, &mut less, to);
            append::<V>(items, over, &mut more, to);
            append::<V>(items, !(under | over) & ((1 << V::LANES) - 1), &mut equal, to);
        }
        for (i, key) in keys.iter().enumerate().skip(whole) {
            let part = match key.cmp(&pivot) {
                Ordering::Less => &mut less,
                Ordering::Equal => &mut equal,
                Ordering::Greater => &mut more,
            };
            to.add(part.start).write(items.add(i).read());
            part.start += 1;
        }
    }
    [less.start, equal.start, more.start]
}

/// Writes the items of a mask at the start of a part and advances it. Stores a full vector while the part has room for
/// one, so that nothing beyond it is written.
#[inline(always)]
unsafe fn append<V: Vector>(items: *const V::Key, mask: usize, part: &mut Range<usize>, to: *mut V::Key) {
    if mask == 0 {
        return;
    }
    // SAFETY: the caller guarantees a full vector of items, and room for the masked ones.
    unsafe {
        if part.start + V::LANES <= part.end {
            V::load(items).packed(mask).store(to.add(part.start));
            part.start += mask.count_ones() as usize;
            return;
        }
        for lane in (0..V::LANES).filter(|lane| mask >> lane & 1 == 1) {
            to.add(part.start).write(items.add(lane).read());
            part.start += 1;
        }
    }
}

/// Sorts at most `N` vectors of keys; lanes without a key hold the largest key.
#[inline(always)]
unsafe fn network<V: Vector, const N: usize>(keys: &mut [V::Key]) {
    let (first, count) = (keys.as_mut_ptr(), keys.len());
    let whole = count / V::LANES;
    let mut last = [V::LARGEST; 8];
    let mut held = [V::splat(V::LARGEST); N];
    // SAFETY: full vectors of keys, and a padded one.
    unsafe {
        for (v, held) in held.iter_mut().enumerate() {
            if v < whole {
                *held = V::load(first.add(v * V::LANES));
            }
        }
        if whole < N {
            for (to, key) in last.iter_mut().zip(&keys[whole * V::LANES..]) {
                *to = *key;
            }
            held[whole] = V::load(last.as_ptr());
        }
        for held in &mut held {
            *held = held.turned();
        }
        sort_columns(&mut held);
        merge_columns(&mut held);
        for block in 0..N / V::LANES {
            V::transposed(
                &held[block * V::LANES..(block + 1) * V::LANES],
                #[inline(always)]
                |lane, row| {
                    let v = lane * (N / V::LANES) + block;
                    match v < whole {
                        true => row.turned().store(first.add(v * V::LANES)),
                        false if v == whole => row.turned().store(last.as_mut_ptr()),
                        false => {}
                    }
                },
            );
        }
        if whole < N {
            std::ptr::copy_nonoverlapping(last.as_ptr(), first.add(whole * V::LANES), count % V::LANES);
        }
    }
}

/// Compares vectors pairwise.
macro_rules! compare {
    ($held:ident; $($a:literal $b:literal,)*) => {
        {$(($held[$a], $held[$b]) = $held[$a].ordered($held[$b]);)*}
    };
}

/// Sorts each column with Batcher's odd-even merge network.
#[inline(always)]
fn sort_columns<V: Vector, const N: usize>(held: &mut [V; N]) {
    match N {
        8 => compare! { held;
            0 1, 2 3, 4 5, 6 7, 0 2, 1 3, 4 6, 5 7, 1 2, 5 6, 0 4, 1 5, 2 6, 3 7, 2 4, 3 5, 1 2, 3 4, 5 6,
        },
        16 => compare! { held;
            0 1, 2 3, 4 5, 6 7, 8 9, 10 11, 12 13, 14 15, 0 2, 1 3, 4 6, 5 7, 8 10, 9 11, 12 14, 13 15, 1 2, 5 6, 9 10,
            13 14, 0 4, 1 5, 2 6, 3 7, 8 12, 9 13, 10 14, 11 15, 2 4, 3 5, 10 12, 11 13, 1 2, 3 4, 5 6, 9 10, 11 12, 13 14,
            0 8, 1 9, 2 10, 3 11, 4 12, 5 13, 6 14, 7 15, 4 8, 5 9, 6 10, 7 11, 2 4, 3 5, 6 8, 7 9, 10 12, 11 13, 1 2, 3 4,
            5 6, 7 8, 9 10, 11 12, 13 14,
        },
        _ => unreachable!("no network of {N} vectors"),
    }
}

/// Merges sorted columns pairwise until the keys are sorted column by column.
#[inline(always)]
fn merge_columns<V: Vector, const N: usize>(held: &mut [V; N]) {
    flip::<V, N, 2, 1>(held);
    clean_columns(held);
    flip::<V, N, 4, 2>(held);
    clean_lanes::<V, N, 1>(held);
    clean_columns(held);
    if V::LANES == 8 {
        flip::<V, N, 8, 4>(held);
        clean_lanes::<V, N, 2>(held);
        clean_lanes::<V, N, 1>(held);
        clean_columns(held);
    }
}

/// Compares the first keys of a group of lanes with the last ones: afterwards no key of the first half exceeds one of
/// the second half.
#[inline(always)]
fn flip<V: Vector, const N: usize, const GROUP: usize, const HALF: usize>(held: &mut [V; N]) {
    if N == 1 {
        let (low, high) = held[0].ordered(held[0].reversed::<GROUP>());
        held[0] = V::joined::<HALF>(low, high);
        return;
    }
    for v in 0..N / 2 {
        let (low, high) = held[v].ordered(held[N - 1 - v].reversed::<GROUP>());
        held[v] = V::joined::<HALF>(low, high);
        held[N - 1 - v] = V::joined::<HALF>(high, low).reversed::<GROUP>();
    }
}

/// Compares lanes that are `APART` apart.
#[inline(always)]
fn clean_lanes<V: Vector, const N: usize, const APART: usize>(held: &mut [V; N]) {
    for held in held {
        let (low, high) = held.ordered(held.swapped::<APART>());
        *held = V::joined::<APART>(low, high);
    }
}

/// Compares the keys of each column, from far apart to adjacent.
#[inline(always)]
fn clean_columns<V: Vector, const N: usize>(held: &mut [V; N]) {
    clean_apart::<V, N, 8>(held);
    clean_apart::<V, N, 4>(held);
    clean_apart::<V, N, 2>(held);
    clean_apart::<V, N, 1>(held);
}

#[inline(always)]
fn clean_apart<V: Vector, const N: usize, const APART: usize>(held: &mut [V; N]) {
    if APART < N {
        for v in 0..N {
            if v & APART == 0 {
                (held[v], held[v + APART]) = held[v].ordered(held[v + APART]);
            }
        }
    }
}
