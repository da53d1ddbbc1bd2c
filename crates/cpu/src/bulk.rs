//! Copies of adjacent bytes.
//!
//! The C library copies some kilobytes and more with one string instruction. Where the source is aligned and the target is not,
//! as in `out[1:] = x[:-1]`, AMD's Zen 3 and Zen 4 take up to twenty times as long for it as for a loop of vectors.
//! So copies to such targets are loops of vectors here, whose stores are aligned.
//!
//! The processor compares the low 12 bits of a load's address with those of the stores before it, and holds a load back that seems to
//! read what is being stored. Where the target lies a few bytes ahead of the source by these bits, as it does there too, a loop
//! that runs from the last byte to the first never meets its own stores.

/// From so many bytes on the C library may use the string instruction.
const LONG: usize = 2048;

/// Copies bytes.
///
/// # Safety
/// So many bytes must be readable and writable, and must not overlap.
#[inline]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    if bytes >= LONG && !(to as usize).is_multiple_of(64) && is_x86_feature_detected!("avx") {
        // SAFETY: the caller's promise; the instruction set was asked for, and there are more bytes than the loop needs.
        return unsafe { vectors(from, to, bytes) };
    }
    // SAFETY: the caller's promise is this one.
    unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) }
}

/// Bytes by which a target may be ahead of its source, by the low 12 bits of the addresses, for loads to meet the stores before them.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 512;

/// # Safety
/// As for [`copy`], for at least 256 bytes. The processor must have AVX.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
unsafe fn vectors(from: *const u8, to: *mut u8, bytes: usize) {
    use std::arch::x86_64::{__m256i, _mm256_loadu_si256, _mm256_store_si256, _mm256_storeu_si256};
    const WIDE: usize = size_of::<__m256i>();
    const TURN: usize = 4 * WIDE;
    debug_assert!(bytes >= 2 * TURN);
    // SAFETY: the first and the last vectors lie within the bytes, of which there are more than a turn; all others lie
    // between them. What two of them cover gets the same bytes twice.
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
                    // SAFETY: both vectors are longer than what is copied.
                    unsafe { copy(from.as_ptr().add(ahead), to.as_mut_ptr().add(first), bytes) };
                    let [before, made, after] = [0..first, first..first + bytes, first + bytes..6000].map(|r| &to[r]);
                    assert_eq!(made, &from[ahead..ahead + bytes], "{bytes} bytes, {shift} from a line's start");
                    assert!(before.iter().chain(after).all(|byte| *byte == 255), "wrote outside");
                }
            }
        }
    }
}
