//! Vectorized sorting of keys: a quicksort that partitions full vectors, down to a sorting network in registers. This
//! module uses AVX-512, `wide_avx2` uses AVX2.
//!
//! Keys are integers, so equal keys are indistinguishable, and the result depends neither on the pivots nor on the
//! threads. A partition reads ahead from both ends as much as it writes, so it works in place. Parts that do not shrink
//! are left to the library's sort, which bounds the time for every input.

use crate::pointwise::Shared;
use crate::simd::Avx512;
use forerun_base::Team;
use std::ops::Range;

/// From this many keys on, several threads sort.
const WORTH_SPLITTING: usize = 1 << 14;
/// From this many keys on, there are several parts per thread.
const WORTH_BALANCING: usize = 1 << 18;
/// Vectors that a partition of a large part reads at a time.
const AHEAD: usize = 8;
/// Vectors of the largest network.
const NETWORK: usize = 16;
/// Keys whose median is the pivot.
pub(super) const SAMPLE: usize = 32;

/// A key type with vectors of an instruction set.
pub(super) trait Wide<S>: Copy + Ord + Default + Send + Sync + 'static {
    /// Keys of the largest network.
    const SMALL: usize;

    /// Sorts keys.
    ///
    /// # Safety
    /// The CPU must support the set.
    unsafe fn sort(keys: &mut [Self]);

    /// Moves the keys below a pivot, or with `or_equal` those up to it, to the front; returns their number.
    ///
    /// # Safety
    /// As for [`Wide::sort`]; there must be more keys than the largest network takes.
    unsafe fn partition(keys: &mut [Self], pivot: Self, or_equal: bool) -> usize;

    /// The median of a sample of the keys.
    ///
    /// # Safety
    /// As for [`Wide::partition`].
    unsafe fn pivot(keys: &[Self]) -> Self;

    /// See [`Key::pick`](super::keys::Key::pick).
    ///
    /// # Safety
    /// As there; the CPU must support the set.
    unsafe fn pick(keys: &[Self], low: Self, high: Self, to: *mut Self) -> (usize, usize);

    /// See [`Key::part`](super::keys::Key::part).
    ///
    /// # Safety
    /// As there; the CPU must support the set.
    unsafe fn part(
        keys: &[Self],
        items: *const Self,
        pivot: Self,
        parts: [Range<usize>; 3],
        to: *mut Self,
    ) -> [usize; 3];
}

/// Sorts keys, with a team if there are enough.
///
/// # Safety
/// The CPU must support the set.
pub(super) unsafe fn sort<S, K: Wide<S>>(keys: &mut [K], team: &dyn Team) {
    let width = team.width().min(16);
    if width == 1 || keys.len() < WORTH_SPLITTING {
        // SAFETY: the caller upholds the same contract.
        return unsafe { K::sort(keys) };
    }
    // Partition until there are a few parts per thread. A part is its start and its length.
    const MOST_PARTS: usize = 128;
    let mut parts = [(0, 0); MOST_PARTS];
    parts[0] = (0, keys.len());
    let mut count = 1;
    let wanted = if keys.len() < WORTH_BALANCING { width } else { 4 * width };
    let first = Shared(keys.as_mut_ptr());
    while count < wanted && 2 * count <= MOST_PARTS {
        let mut halves = [(0, 0); MOST_PARTS];
        let to = Shared(halves.as_mut_ptr());
        let from = &parts;
        team.split(count, &|i| {
            let (start, length) = from[i];
            // SAFETY: parts do not overlap, and each has two slots of its own for its halves; the rest is guaranteed by
            // the caller.
            unsafe {
                let part = std::slice::from_raw_parts_mut(first.get().add(start), length);
                let left = match length > K::SMALL {
                    true => K::partition(part, K::pivot(part), false),
                    false => 0,
                };
                to.get().add(2 * i).write((start, left));
                to.get().add(2 * i + 1).write((start + left, length - left));
            }
        });
        (parts, count) = (halves, 2 * count);
    }
    let parts = &parts;
    team.split(count, &|i| {
        let (start, length) = parts[i];
        // SAFETY: parts do not overlap, and each has two slots of its own for its halves; the rest is guaranteed by the
        // caller.
        unsafe { K::sort(std::slice::from_raw_parts_mut(first.get().add(start), length)) }
    });
}

/// The stages of a network, each a call of `step`.
macro_rules! steps {
    ($n:ident, $held:ident; $($run:literal: $($apart:literal)*;)*) => {
        $($(step::<$n, $run, $apart>(&mut $held);)*)*
    };
}

macro_rules! wide {
    (
        $module:ident, $key:ty, $lanes:expr, $mask:ty, $load:ident, $mask_load:ident, $store:ident, $mask_store:ident,
        $splat:ident, $less:ident, $up_to:ident, $compress:ident, $least:ident, $most:ident, $permute:ident, $blend:ident
    ) => {
        mod $module {
            use super::{AHEAD, Avx512, NETWORK, SAMPLE, Wide};
            use std::arch::x86_64::*;
            use std::ops::Range;

            const LANES: usize = $lanes;

            impl Wide<Avx512> for $key {
                const SMALL: usize = LANES * NETWORK;

                unsafe fn sort(keys: &mut [$key]) {
                    // Twice the depth of perfect halving.
                    let depth = 2 * (usize::BITS - keys.len().leading_zeros());
                    // SAFETY: the caller upholds the same contract.
                    unsafe { quick(keys, depth) }
                }

                unsafe fn partition(keys: &mut [$key], pivot: $key, or_equal: bool) -> usize {
                    // SAFETY: the caller upholds the same contract.
                    unsafe {
                        match or_equal {
                            true => partitioned::<true>(keys, pivot),
                            false => partitioned::<false>(keys, pivot),
                        }
                    }
                }

                unsafe fn pivot(keys: &[$key]) -> $key {
                    // SAFETY: the caller upholds the same contract.
                    unsafe { pivot(keys) }
                }

                unsafe fn pick(keys: &[$key], low: $key, high: $key, to: *mut $key) -> (usize, usize) {
                    // SAFETY: the caller upholds the same contract.
                    unsafe { pick(keys, low, high, to) }
                }

                unsafe fn part(
                    keys: &[$key],
                    items: *const $key,
                    pivot: $key,
                    [less, equal, more]: [Range<usize>; 3],
                    to: *mut $key,
                ) -> [usize; 3] {
                    // SAFETY: the caller upholds the same contract.
                    unsafe { split(keys, items, pivot, [less.start, equal.start, more.start], to) }
                }
            }

            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,popcnt,bmi2")]
            unsafe fn pick(keys: &[$key], low: $key, high: $key, to: *mut $key) -> (usize, usize) {
                let (least, most) = ($splat(low as _), $splat(high as _));
                let (mut below, mut kept) = (0, 0);
                for at in (0..keys.len()).step_by(LANES) {
                    let there = first_lanes(keys.len() - at);
                    // SAFETY: the unmasked lanes are keys, and the kept keys are at most as many as the visited ones.
                    unsafe {
                        let held = $mask_load(least, there, keys.as_ptr().add(at).cast());
                        let under = $less(held, least) & there;
                        let inside = $up_to(held, most) & there & !under;
                        $mask_store(to.add(kept).cast(), count_lanes(inside), $compress(inside, held));
                        below += under.count_ones() as usize;
                        kept += inside.count_ones() as usize;
                    }
                }
                (below, kept)
            }

            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,popcnt,bmi2")]
            unsafe fn split(
                keys: &[$key],
                items: *const $key,
                pivot: $key,
                mut next: [usize; 3],
                to: *mut $key,
            ) -> [usize; 3] {
                let by = $splat(pivot as _);
                for at in (0..keys.len()).step_by(LANES) {
                    let there = first_lanes(keys.len() - at);
                    // SAFETY: the unmasked lanes are keys and their items; the caller guarantees room in each part.
                    unsafe {
                        let held = $mask_load(by, there, keys.as_ptr().add(at).cast());
                        let items = $mask_load(by, there, items.add(at).cast());
                        let (under, up_to) = ($less(held, by) & there, $up_to(held, by) & there);
                        for (next, lanes) in next.iter_mut().zip([under, up_to & !under, there & !up_to]) {
                            $mask_store(to.add(*next).cast(), count_lanes(lanes), $compress(lanes, items));
                            *next += lanes.count_ones() as usize;
                        }
                    }
                }
                next
            }

            /// A mask of as many first lanes as a mask has.
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,popcnt,bmi2")]
            fn count_lanes(lanes: $mask) -> $mask {
                first_lanes(lanes.count_ones() as usize)
            }

            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,popcnt,bmi2")]
            unsafe fn pivot(keys: &[$key]) -> $key {
                let mut sample = [<$key>::MAX; SAMPLE];
                let step = keys.len() / SAMPLE;
                if step == 0 {
                    return keys[keys.len() / 2];
                }
                sample.iter_mut().enumerate().for_each(|(i, to)| *to = keys[i * step + step / 2]);
                // SAFETY: the sample fits a network.
                unsafe { small(&mut sample) };
                sample[SAMPLE / 2]
            }

            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,popcnt,bmi2")]
            unsafe fn quick(mut keys: &mut [$key], mut depth: u32) {
                // SAFETY: parts are large enough for a partition, or small enough for a network.
                unsafe {
                    while keys.len() > LANES * NETWORK {
                        if depth == 0 {
                            keys.sort_unstable();
                            return;
                        }
                        depth -= 1;
                        let pivot = pivot(keys);
                        let below = partitioned::<false>(keys, pivot);
                        if below == 0 {
                            // The pivot is the smallest key, so all its equals are in place.
                            let equal = partitioned::<true>(keys, pivot);
                            keys = &mut keys[equal..];
                            continue;
                        }
                        let (left, right) = keys.split_at_mut(below);
                        // Recurse into the smaller part first to bound the stack.
                        if left.len() < right.len() {
                            quick(left, depth);
                            keys = right;
                        } else {
                            quick(right, depth);
                            keys = left;
                        }
                    }
                    small(keys);
                }
            }

            /// A mask of the first `count` lanes, or of all.
            #[inline]
            fn first_lanes(count: usize) -> $mask {
                ((1u64 << count.min(LANES)) - 1) as $mask
            }

            /// The mask of lanes that go to the left.
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,popcnt,bmi2")]
            fn goes_left<const OR_EQUAL: bool>(keys: __m512i, pivot: __m512i) -> $mask {
                if OR_EQUAL { $up_to(keys, pivot) } else { $less(keys, pivot) }
            }

            /// Small parts read less ahead.
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,popcnt,bmi2")]
            unsafe fn partitioned<const OR_EQUAL: bool>(keys: &mut [$key], by: $key) -> usize {
                // SAFETY: the caller upholds the same contract.
                unsafe {
                    match keys.len() < 64 * LANES {
                        true => partition::<OR_EQUAL, 4>(keys, by),
                        false => partition::<OR_EQUAL, AHEAD>(keys, by),
                    }
                }
            }

            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,popcnt,bmi2")]
            unsafe fn partition<const OR_EQUAL: bool, const AHEAD: usize>(keys: &mut [$key], by: $key) -> usize {
                let chunk = AHEAD * LANES;
                let (first, count, pivot) = (keys.as_mut_ptr(), keys.len(), $splat(by as _));
                // Set aside the keys that do not fill a chunk, before those that are read ahead.
                let odd = count % chunk;
                let mut aside = [const { std::mem::MaybeUninit::<$key>::uninit() }; 3 * super::AHEAD * LANES];
                let waits = aside.as_mut_ptr().cast::<$key>();
                // SAFETY: there are at least two chunks. Reads stay between the unread ends. Each end has room for the
                // vectors written to it: both have room for two chunks together, and the end with less room is read
                // next.
                unsafe {
                    std::ptr::copy_nonoverlapping(first, waits, odd);
                    std::ptr::copy_nonoverlapping(first.add(odd), waits.add(odd), chunk);
                    let last = first.add(count - chunk);
                    std::ptr::copy_nonoverlapping(last, waits.add(odd + chunk), chunk);
                    let (mut from, mut end) = (odd + chunk, count - chunk);
                    let (mut left, mut right) = (0, count);
                    while from < end {
                        // The end is unpredictable, so avoid a branch: all ones for the left end, otherwise zeros.
                        let near_left = ((from - left <= right - end) as usize).wrapping_neg();
                        let at = from & near_left | (end - chunk) & !near_left;
                        from += chunk & near_left;
                        end -= chunk & !near_left;
                        let mut held = [_mm512_setzero_si512(); AHEAD];
                        for (v, held) in held.iter_mut().enumerate() {
                            *held = $load(first.add(at + v * LANES).cast());
                        }
                        for held in held {
                            let mask = goes_left::<OR_EQUAL>(held, pivot);
                            let lefts = mask.count_ones() as usize;
                            $store(first.add(left).cast(), $compress(mask, held));
                            left += lefts;
                            right -= LANES - lefts;
                            $mask_store(first.add(right).cast(), first_lanes(LANES - lefts), $compress(!mask, held));
                        }
                    }
                    // The keys that were set aside go between both ends, where exactly that much room is left.
                    let waiting = odd + 2 * chunk;
                    for at in (0..waiting).step_by(LANES) {
                        let there = first_lanes(waiting - at);
                        let held = $load(waits.add(at).cast());
                        let mask = goes_left::<OR_EQUAL>(held, pivot) & there;
                        let others = !mask & there;
                        let (lefts, rights) = (mask.count_ones() as usize, others.count_ones() as usize);
                        $mask_store(first.add(left).cast(), first_lanes(lefts), $compress(mask, held));
                        left += lefts;
                        right -= rights;
                        $mask_store(first.add(right).cast(), first_lanes(rights), $compress(others, held));
                    }
                    left
                }
            }

            /// Sorts at most as many keys as a network takes.
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,popcnt,bmi2")]
            unsafe fn small(keys: &mut [$key]) {
                // SAFETY: this many vectors hold the keys.
                unsafe {
                    match keys.len().div_ceil(LANES) {
                        0 => {}
                        1 => network::<1>(keys),
                        2 => network::<2>(keys),
                        3 | 4 => network::<4>(keys),
                        5..=8 => network::<8>(keys),
                        _ => network::<NETWORK>(keys),
                    }
                }
            }

            /// One stage of a network: compares keys that are `APART` apart, in runs of `RUN`. Does nothing if the runs
            /// are too long.
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,popcnt,bmi2")]
            fn step<const N: usize, const RUN: usize, const APART: usize>(held: &mut [__m512i; N]) {
                if RUN > N * LANES {
                    return;
                }
                let falling = |v: usize| RUN >= LANES && v * LANES & RUN != 0;
                if APART >= LANES {
                    let step = APART / LANES;
                    for v in (0..N).filter(|v| v & step == 0) {
                        let (low, high) = ($least(held[v], held[v + step]), $most(held[v], held[v + step]));
                        (held[v], held[v + step]) = if falling(v) { (high, low) } else { (low, high) };
                    }
                    return;
                }
                // SAFETY: the array is a full vector.
                let swap = unsafe { $load(const { &partners(APART) }.as_ptr().cast()) };
                // The lanes that take the larger key: the upper one of each pair in ascending runs.
                let rising = const { uppers(APART) ^ if RUN < LANES { uppers(RUN) } else { 0 } };
                for (v, held) in held.iter_mut().enumerate() {
                    let other = $permute(swap, *held);
                    let (low, high) = ($least(*held, other), $most(*held, other));
                    *held = $blend(if falling(v) { !rising } else { rising }, low, high);
                }
            }

            /// A bitonic network over `N` vectors; lanes without a key hold the largest key.
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,popcnt,bmi2")]
            unsafe fn network<const N: usize>(keys: &mut [$key]) {
                let mut held = [$splat(<$key>::MAX as _); N];
                let (first, count) = (keys.as_mut_ptr(), keys.len());
                let there = |v: usize| first_lanes(count.saturating_sub(v * LANES));
                // SAFETY: the unmasked lanes are keys.
                unsafe {
                    for (v, held) in held.iter_mut().enumerate() {
                        *held = $mask_load(*held, there(v), first.wrapping_add(v * LANES).cast());
                    }
                    // Each stage doubles the length of the runs, which alternate between ascending and descending.
                    steps! { N, held;
                        2: 1; 4: 2 1; 8: 4 2 1; 16: 8 4 2 1; 32: 16 8 4 2 1; 64: 32 16 8 4 2 1; 128: 64 32 16 8 4 2 1;
                        256: 128 64 32 16 8 4 2 1;
                    }
                    for (v, held) in held.iter().enumerate() {
                        $mask_store(first.wrapping_add(v * LANES).cast(), there(v), *held);
                    }
                }
            }

            /// For each lane, the lane that is `apart` away.
            const fn partners(apart: usize) -> [$key; LANES] {
                let mut all = [0; LANES];
                let mut lane = 0;
                while lane < LANES {
                    all[lane] = (lane ^ apart) as $key;
                    lane += 1;
                }
                all
            }

            /// The upper lanes of pairs that are `apart` apart.
            const fn uppers(apart: usize) -> $mask {
                let mut all = 0;
                let mut lane = 0;
                while lane < LANES {
                    if lane & apart != 0 {
                        all |= 1 << lane;
                    }
                    lane += 1;
                }
                all
            }
        }
    };
}

wide!(
    words,
    u32,
    16,
    __mmask16,
    _mm512_loadu_epi32,
    _mm512_mask_loadu_epi32,
    _mm512_storeu_epi32,
    _mm512_mask_storeu_epi32,
    _mm512_set1_epi32,
    _mm512_cmplt_epu32_mask,
    _mm512_cmple_epu32_mask,
    _mm512_maskz_compress_epi32,
    _mm512_min_epu32,
    _mm512_max_epu32,
    _mm512_permutexvar_epi32,
    _mm512_mask_blend_epi32
);
wide!(
    longs,
    u64,
    8,
    __mmask8,
    _mm512_loadu_epi64,
    _mm512_mask_loadu_epi64,
    _mm512_storeu_epi64,
    _mm512_mask_storeu_epi64,
    _mm512_set1_epi64,
    _mm512_cmplt_epu64_mask,
    _mm512_cmple_epu64_mask,
    _mm512_maskz_compress_epi64,
    _mm512_min_epu64,
    _mm512_max_epu64,
    _mm512_permutexvar_epi64,
    _mm512_mask_blend_epi64
);
