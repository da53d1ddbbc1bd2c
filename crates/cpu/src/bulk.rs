//! Copies of contiguous bytes.
//!
//! From a few kilobytes on, the C library copies with a string instruction (`rep movsb`). If the source is aligned and
//! the target is not, as in `out[1:] = x[:-1]`, that instruction is up to twenty times slower than a vector loop on AMD
//! Zen 3 and Zen 4. For such targets this module uses a vector loop with aligned stores.
//!
//! The CPU compares the low 12 bits of a load's address with those of earlier stores, and delays a load that seems to
//! overlap one (4K aliasing). That happens if the target is a few bytes ahead of the source in these bits, so the loop
//! then runs backwards, where loads do not follow their own stores.

/// From this many bytes on, the C library may use the string instruction.
const LONG: usize = 2048;

/// Copies bytes.
///
/// # Safety
/// `bytes` bytes must be readable at `from` and writable at `to`, and the ranges must not overlap.
#[inline]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    if bytes >= LONG && !(to as usize).is_multiple_of(64) && is_x86_feature_detected!("avx") {
        // SAFETY: guaranteed by the caller; AVX was detected, and there are at least 256 bytes.
        return unsafe { vectors(from, to, bytes) };
    }
    // SAFETY: the caller upholds the same contract.
    unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) }
}

/// The distance, in the low 12 bits of the addresses, up to which a target ahead of its source causes 4K aliasing.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 512;

/// # Safety
/// As for [`copy`], for at least 256 bytes. The CPU must support AVX.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
unsafe fn vectors(from: *const u8, to: *mut u8, bytes: usize) {
    use std::arch::x86_64::{__m256i, _mm256_loadu_si256, _mm256_store_si256, _mm256_storeu_si256};
    const WIDE: usize = size_of::<__m256i>();
    const TURN: usize = 4 * WIDE;
    debug_assert!(bytes >= 2 * TURN);
    // SAFETY: the first and the last vector lie within the range, which is longer than one iteration; all others lie
    // between them. Where two vectors overlap, both write the same bytes.
    unsafe {
        let load =
            |at: usize| -> [__m256i; 4] { std::array::from_fn(|k| _mm256_loadu_si256(from.add(at + k * WIDE).cast())) };
        let aligned = |at: usize, held: [__m256i; 4]| {
            for (k, held) in held.into_iter().enumerate() {
                _mm256_store_si256(to.add(at + k * WIDE).cast(), held);
            }
        };
        let anywhere = |at: usize, held: [__m256i; 4]| {
            for (k, held) in held.into_iter().enumerate() {
                _mm256_storeu_si256(to.add(at + k * WIDE).cast(), held);
            }
        };
        let (first, last) = (load(0), load(bytes - TURN));
        let start = WIDE - (to as usize) % WIDE;
        let turns = (bytes - start) / TURN;
        if (to as usize).wrapping_sub(from as usize) % 4096 < AHEAD {
            (0..turns).rev().for_each(|turn| aligned(start + turn * TURN, load(start + turn * TURN)));
        } else {
            (0..turns).for_each(|turn| aligned(start + turn * TURN, load(start + turn * TURN)));
        }
        anywhere(0, first);
        anywhere(bytes - TURN, last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_and_alignment() {
        let from: Vec<u8> = (0..6000).map(|i| (i * 7 + i / 256) as u8).collect();
        for shift in [0, 1, 4, 31, 32, 33, 63, 64] {
            for ahead in [0, 1, 4, 40, 1000] {
                for bytes in [0, 1, 100, 2047, 2048, 2049, 2100, 2175, 2176, 2177, 4096, 5000] {
                    let mut to = vec![255u8; 6000];
                    let first = to.as_ptr().align_offset(64) + shift;
                    // SAFETY: both buffers are longer than the copied range.
                    unsafe { copy(from.as_ptr().add(ahead), to.as_mut_ptr().add(first), bytes) };
                    let [before, made, after] = [0..first, first..first + bytes, first + bytes..6000].map(|r| &to[r]);
                    assert_eq!(made, &from[ahead..ahead + bytes], "{bytes} bytes, {shift} from a line's start");
                    assert!(before.iter().chain(after).all(|byte| *byte == 255), "wrote outside");
                }
            }
        }
    }
}
