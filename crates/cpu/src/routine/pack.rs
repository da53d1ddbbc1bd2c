//! Packing of masked elements with AVX-512, sixteen or eight at a time.

use std::arch::x86_64::*;
use std::ops::Range;

/// Packs 4-byte elements.
///
/// # Safety
/// `from` must have as many elements as the mask. The caller must have exclusive access to `places`, which must be as
/// many as there are true elements in the range. The CPU must support AVX-512 F, BW, VL and DQ.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,popcnt,bmi2")]
pub(crate) unsafe fn words(mask: &[u8], from: *const u32, range: Range<usize>, places: Range<usize>, to: *mut u32) {
    // SAFETY: lanes of the range, and one place per selected element.
    unsafe {
        each_line(mask, range, places.start, |chosen, at, place| {
            for part in 0..4 {
                let lanes = (chosen >> (16 * part)) as __mmask16;
                let held = _mm512_maskz_loadu_epi32(lanes, from.wrapping_add(at + 16 * part).cast());
                let before = (chosen & ((1 << (16 * part)) - 1)).count_ones() as usize;
                store_words(to.add(place + before), _mm512_maskz_compress_epi32(lanes, held), lanes.count_ones());
            }
        });
    }
}

/// Packs 8-byte elements.
///
/// # Safety
/// As for [`words`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,popcnt,bmi2")]
pub(crate) unsafe fn longs(mask: &[u8], from: *const u64, range: Range<usize>, places: Range<usize>, to: *mut u64) {
    // SAFETY: lanes of the range, and one place per selected element.
    unsafe {
        each_line(mask, range, places.start, |chosen, at, place| {
            for part in 0..8 {
                let lanes = (chosen >> (8 * part)) as __mmask8;
                let held = _mm512_maskz_loadu_epi64(lanes, from.wrapping_add(at + 8 * part).cast());
                let before = (chosen & ((1 << (8 * part)) - 1)).count_ones() as usize;
                store_longs(to.add(place + before), _mm512_maskz_compress_epi64(lanes, held), lanes.count_ones());
            }
        });
    }
}

/// Packs the indices of the mask's true elements.
///
/// # Safety
/// As for [`words`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,popcnt,bmi2")]
pub(crate) unsafe fn places(mask: &[u8], range: Range<usize>, places: Range<usize>, to: *mut i64) {
    let numbers = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    // SAFETY: lanes of the range, and one place per selected element.
    unsafe {
        each_line(mask, range, places.start, |chosen, at, place| {
            for part in 0..8 {
                let lanes = (chosen >> (8 * part)) as __mmask8;
                let held = _mm512_add_epi64(numbers, _mm512_set1_epi64((at + 8 * part) as i64));
                let before = (chosen & ((1 << (8 * part)) - 1)).count_ones() as usize;
                let packed = _mm512_maskz_compress_epi64(lanes, held);
                store_longs(to.add(place + before).cast(), packed, lanes.count_ones());
            }
        });
    }
}

/// Calls `each(chosen, at, place)` for every 64 mask elements with at least one true: their bits, the index of the
/// first, and the number of selected elements before them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,popcnt,bmi2")]
unsafe fn each_line(mask: &[u8], range: Range<usize>, first: usize, mut each: impl FnMut(u64, usize, usize)) {
    let mut place = first;
    for at in range.clone().step_by(64) {
        let left = range.end - at;
        let there = if left >= 64 { u64::MAX } else { (1 << left) - 1 };
        // SAFETY: the unmasked lanes are elements of the mask.
        let line = unsafe { _mm512_maskz_loadu_epi8(there, mask.as_ptr().add(at).cast()) };
        let chosen = _mm512_test_epi8_mask(line, line);
        if chosen != 0 {
            each(chosen, at, place);
            place += chosen.count_ones() as usize;
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,popcnt,bmi2")]
unsafe fn store_words(to: *mut u32, packed: __m512i, count: u32) {
    // SAFETY: the caller guarantees that the places are writable.
    unsafe { _mm512_mask_storeu_epi32(to.cast(), ((1u32 << count) - 1) as __mmask16, packed) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,popcnt,bmi2")]
unsafe fn store_longs(to: *mut u64, packed: __m512i, count: u32) {
    // SAFETY: the caller guarantees that the places are writable.
    unsafe { _mm512_mask_storeu_epi64(to.cast(), ((1u32 << count) - 1) as __mmask8, packed) }
}
