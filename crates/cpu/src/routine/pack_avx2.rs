//! What a mask chooses, packed by AVX2: eight elements at a time, by a table of what eight bits choose.
//!
//! A vector is stored whole, however many of its elements count; the next one covers the rest. So each function ends where a whole
//! vector would reach beyond its places, and gives what is left of the mask and of the places.

use std::arch::x86_64::*;
use std::ops::Range;

/// What is left: elements of the mask, and places.
pub(crate) type Rest = (Range<usize>, Range<usize>);

/// For eight bits, the numbers of those that are set, a byte each, the lowest first.
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

/// Packs elements of four bytes.
///
/// # Safety
/// `from` has as many elements as the mask; the places are the caller's to write, and as many as the mask chooses in the
/// range. The processor must have AVX2 and POPCNT.
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

/// Packs elements of eight bytes.
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

/// Packs the numbers of the mask's elements.
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

/// Calls `each(bits, at, place)` for every eight elements of the mask: a bit for each that is chosen, the first element,
/// and how many places come before. Eight places are there from that one on.
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
