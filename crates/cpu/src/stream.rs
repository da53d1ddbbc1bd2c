//! Stores that pass by the cache: for outputs too large to be found there again. A plain store first reads the line it
//! is about to overwrite; on arrays larger than the cache that is a quarter of all traffic of a two-input program.
//!
//! Such stores are weakly ordered: [`fence`] comes before anything tells others that the output is there.

use crate::simd::Isa;

/// Copies bytes, a multiple of 64, to an address aligned to 64.
pub(crate) type Stream = unsafe fn(from: *const u8, to: *mut u8, bytes: usize);

/// Outputs of fewer bytes are likely to be read from the cache soon.
pub(crate) const WORTH: usize = 16 << 20;

/// The widest such copy the instruction set has.
pub(crate) fn find(isa: Isa) -> Option<Stream> {
    #[cfg(target_arch = "x86_64")]
    return Some(match isa {
        Isa::Avx512 => x86::wide,
        Isa::Avx2 => x86::middle,
        Isa::Baseline => x86::narrow,
    });
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = isa;
        None
    }
}

/// Everything streamed before is visible before everything stored after.
#[inline]
pub(crate) fn fence() {
    // SAFETY: every processor of this architecture has the instruction.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m128i, __m256i, __m512i, _mm_load_si128, _mm_stream_si128, _mm256_load_si256, _mm256_stream_si256,
        _mm512_load_si512, _mm512_stream_si512,
    };

    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn wide(from: *const u8, to: *mut u8, bytes: usize) {
        for at in (0..bytes).step_by(64) {
            // SAFETY: both sides have the bytes and the alignment, as the caller promised.
            unsafe { _mm512_stream_si512(to.add(at).cast::<__m512i>(), _mm512_load_si512(from.add(at).cast())) };
        }
    }

    #[target_feature(enable = "avx")]
    pub(super) unsafe fn middle(from: *const u8, to: *mut u8, bytes: usize) {
        for at in (0..bytes).step_by(32) {
            // SAFETY: as above.
            unsafe { _mm256_stream_si256(to.add(at).cast::<__m256i>(), _mm256_load_si256(from.add(at).cast())) };
        }
    }

    pub(super) unsafe fn narrow(from: *const u8, to: *mut u8, bytes: usize) {
        for at in (0..bytes).step_by(16) {
            // SAFETY: as above.
            unsafe { _mm_stream_si128(to.add(at).cast::<__m128i>(), _mm_load_si128(from.add(at).cast())) };
        }
    }
}
