//! What a mask chooses, packed by AVX-512: sixteen or eight elements at a time.

use std::arch::x86_64::*;
use std::ops::Range;

/// Packs elements of four bytes.
///
/// # Safety
/// `from` has as many elements as the mask; the places are the caller's to write, and as many as the mask chooses in the
/// range. The processor must have AVX-512 F, BW, VL and DQ.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,popcnt,bmi2")]
pub(crate) unsafe fn words(mask: &[u8], from: *const u32, range: Range<usize>, places: Range<usize>, to: *mut u32) {
    // SAFETY: lanes of the range, and as many places as are chosen.
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

/// Packs elements of eight bytes.
///
/// # Safety
/// As for [`words`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,popcnt,bmi2")]
pub(crate) unsafe fn longs(mask: &[u8], from: *const u64, range: Range<usize>, places: Range<usize>, to: *mut u64) {
    // SAFETY: lanes of the range, and as many places as are chosen.
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

/// Packs the numbers of the mask's elements.
///
/// # Safety
/// As for [`words`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,popcnt,bmi2")]
pub(crate) unsafe fn places(mask: &[u8], range: Range<usize>, places: Range<usize>, to: *mut i64) {
    let numbers = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    // SAFETY: lanes of the range, and as many places as are chosen.
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

/// Calls `each(chosen, at, place)` for every 64 elements of the mask of which some are chosen: a bit each, the first
/// element, and how many were chosen before.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,popcnt,bmi2")]
unsafe fn each_line(mask: &[u8], range: Range<usize>, first: usize, mut each: impl FnMut(u64, usize, usize)) {
    let mut place = first;
    for at in range.clone().step_by(64) {
        let left = range.end - at;
        let there = if left >= 64 { u64::MAX } else { (1 << left) - 1 };
        // SAFETY: the lanes that are there are elements of the mask.
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
    // SAFETY: the caller promises so many places.
    unsafe { _mm512_mask_storeu_epi32(to.cast(), ((1u32 << count) - 1) as __mmask16, packed) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,popcnt,bmi2")]
unsafe fn store_longs(to: *mut u64, packed: __m512i, count: u32) {
    // SAFETY: the caller promises so many places.
    unsafe { _mm512_mask_storeu_epi64(to.cast(), ((1u32 << count) - 1) as __mmask8, packed) }
}
