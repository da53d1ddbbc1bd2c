//! Packing of masked elements with AVX2, eight at a time, with a table of permutations for eight bits.
//!
//! A full vector is stored, however many of its elements are selected; the next store overwrites the rest. Each
//! function therefore stops before a full vector would exceed its places, and returns the remaining ranges of the mask
//! and of the places.

use std::arch::x86_64::*;
use std::ops::Range;

/// The remaining ranges of the mask and of the places.
pub(crate) type Rest = (Range<usize>, Range<usize>);

/// For each combination of eight bits, the indices of the set bits as bytes, lowest first.
static CHOSEN: [u64; 256] = {
    let mut table = [0; 256];
    let mut bits = 0;
    while bits < 256 {
        let (mut found, mut bit) = (0, 0);
        while bit < 8 {
            if bits >> bit & 1 == 1 {
                table[bits] |= bit << (8 * found);
                found += 1;
            }
            bit += 1;
        }
        bits += 1;
    }
    table
};

/// Packs 4-byte elements.
///
/// # Safety
/// `from` must have as many elements as the mask. The caller must have exclusive access to `places`, which must be as
/// many as there are true elements in the range. The CPU must support AVX2 and POPCNT.
#[target_feature(enable = "avx2,popcnt")]
pub(crate) unsafe fn words(
    mask: &[u8],
    from: *const u32,
    range: Range<usize>,
    places: Range<usize>,
    to: *mut u32,
) -> Rest {
    // SAFETY: eight elements of the range, and eight places.
    unsafe {
        each_eight(mask, range, places, |bits, at, place| {
            let numbers = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(CHOSEN[bits] as i64));
            let held = _mm256_loadu_si256(from.add(at).cast());
            _mm256_storeu_si256(to.add(place).cast(), _mm256_permutevar8x32_epi32(held, numbers));
        })
    }
}

/// Packs 8-byte elements.
///
/// # Safety
/// As for [`words`].
#[target_feature(enable = "avx2,popcnt")]
pub(crate) unsafe fn longs(
    mask: &[u8],
    from: *const u64,
    range: Range<usize>,
    places: Range<usize>,
    to: *mut u64,
) -> Rest {
    // SAFETY: eight elements of the range, and eight places.
    unsafe {
        each_eight(mask, range, places, |bits, at, place| {
            let four = |bits: usize, at: usize, place: usize| {
                // An element is two lanes of the permutation.
                let twice = _mm256_slli_epi64::<1>(_mm256_cvtepu8_epi64(_mm_cvtsi64_si128(CHOSEN[bits] as i64)));
                let lanes = _mm256_or_si256(twice, _mm256_slli_epi64::<32>(twice));
                let lanes = _mm256_or_si256(lanes, _mm256_set1_epi64x(1 << 32));
                let held = _mm256_loadu_si256(from.add(at).cast());
                _mm256_storeu_si256(to.add(place).cast(), _mm256_permutevar8x32_epi32(held, lanes));
            };
            four(bits & 15, at, place);
            four(bits >> 4, at + 4, place + (bits & 15).count_ones() as usize);
        })
    }
}

/// Packs the indices of the mask's true elements.
///
/// # Safety
/// As for [`words`].
#[target_feature(enable = "avx2,popcnt")]
pub(crate) unsafe fn places(mask: &[u8], range: Range<usize>, places: Range<usize>, to: *mut i64) -> Rest {
    // SAFETY: eight elements of the range, and eight places.
    unsafe {
        each_eight(mask, range, places, |bits, at, place| {
            let numbers = _mm_cvtsi64_si128(CHOSEN[bits] as i64);
            let first = _mm256_set1_epi64x(at as i64);
            let to = to.add(place).cast::<__m256i>();
            _mm256_storeu_si256(to, _mm256_add_epi64(first, _mm256_cvtepu8_epi64(numbers)));
            let high = _mm256_cvtepu8_epi64(_mm_srli_si128::<4>(numbers));
            _mm256_storeu_si256(to.add(1), _mm256_add_epi64(first, high));
        })
    }
}

/// Calls `each(bits, at, place)` for every eight mask elements: their bits, the index of the first, and the number of
/// places before them. At least eight places are available from there on.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
unsafe fn each_eight(
    mask: &[u8],
    range: Range<usize>,
    places: Range<usize>,
    mut each: impl FnMut(usize, usize, usize),
) -> Rest {
    const LINE: usize = 32;
    let (mut at, mut place) = (range.start, places.start);
    while at + LINE <= range.end && place + LINE <= places.end {
        // SAFETY: a line of the mask.
        let line = unsafe { _mm256_loadu_si256(mask[at..at + LINE].as_ptr().cast()) };
        let none = _mm256_movemask_epi8(_mm256_cmpeq_epi8(line, _mm256_setzero_si256()));
        let chosen = !none as u32;
        for part in 0..LINE / 8 {
            let bits = (chosen >> (8 * part) & 255) as usize;
            each(bits, at + 8 * part, place);
            place += bits.count_ones() as usize;
        }
        at += LINE;
    }
    (at..range.end, place..places.end)
}
