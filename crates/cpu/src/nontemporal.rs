//! Non-temporal stores, which bypass the cache: for outputs that exceed it. A plain store first reads the line that it
//! overwrites; on arrays larger than the cache that is a quarter of the memory traffic of a two-input program.
//!
//! These stores are weakly ordered: call [`fence`] before another thread may read the output.

use crate::simd::Isa;

/// Copies bytes, a multiple of 64, to an address aligned to 64.
pub(crate) type NontemporalCopy = unsafe fn(from: *const u8, to: *mut u8, bytes: usize);

/// Outputs of fewer bytes use plain stores: the next reader is likely to find them in the cache.
pub(crate) const WORTH: usize = 16 << 20;

/// The copy with the widest non-temporal stores of the instruction set; `None` if it has none.
pub(crate) fn find(isa: Isa) -> Option<NontemporalCopy> {
    #[cfg(target_arch = "x86_64")]
    return Some(match isa {
        Isa::Avx512(_) => x86::wide,
        Isa::Avx2(_) => x86::middle,
        Isa::Baseline => x86::narrow,
    });
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = isa;
        None
    }
}

/// Makes all earlier non-temporal stores visible before any later store.
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
            // SAFETY: the caller guarantees the bytes and the alignment on both sides.
            unsafe { _mm512_stream_si512(to.add(at).cast::<__m512i>(), _mm512_load_si512(from.add(at).cast())) };
        }
    }

    #[target_feature(enable = "avx")]
    pub(super) unsafe fn middle(from: *const u8, to: *mut u8, bytes: usize) {
        for at in (0..bytes).step_by(32) {
            // SAFETY: the caller guarantees the bytes and the alignment on both sides.
            unsafe { _mm256_stream_si256(to.add(at).cast::<__m256i>(), _mm256_load_si256(from.add(at).cast())) };
        }
    }

    pub(super) unsafe fn narrow(from: *const u8, to: *mut u8, bytes: usize) {
        for at in (0..bytes).step_by(16) {
            // SAFETY: the caller guarantees the bytes and the alignment on both sides.
            unsafe { _mm_stream_si128(to.add(at).cast::<__m128i>(), _mm_load_si128(from.add(at).cast())) };
        }
    }
}
