//! Transposition of 16 x 16 tiles of 4-byte elements in registers: the inner step of a transposing copy.
//!
//! A row of a tile is one cache line, read and written as a whole. An output that exceeds the cache is written by
//! non-temporal stores.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// Elements per side of a tile.
pub(crate) const SIDE: usize = 16;

/// Whether this CPU supports the instructions that [`copy`] needs.
#[inline]
pub(crate) fn is_available() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Transposes a tile: writes element `i` of line `j` to element `j` of line `i`.
///
/// # Safety
/// Both addresses must be valid for sixteen lines at their strides. With `nontemporal`, the lines of the target must be
/// aligned to 64 bytes, and the caller must issue a fence before other threads read them. The CPU must support AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
pub(crate) unsafe fn copy(from: *const u32, from_apart: isize, to: *mut u32, to_apart: isize, nontemporal: bool) {
    // SAFETY: sixteen lines of sixteen elements on both sides, which the caller guarantees.
    unsafe {
        // Eight rows of the source give half of every target row: keep the first half in registers until the second is
        // complete.
        let mut first = [[_mm256_setzero_ps(); 8]; 2];
        for (half, rows) in first.iter_mut().enumerate() {
            *rows = eight(from.add(8 * half), from_apart);
        }
        let below = from.offset(8 * from_apart);
        for (half, left) in first.iter().enumerate() {
            let right = eight(below.add(8 * half), from_apart);
            for i in 0..8 {
                let to = to.offset((8 * half + i) as isize * to_apart).cast::<f32>();
                if nontemporal {
                    _mm256_stream_ps(to, left[i]);
                    _mm256_stream_ps(to.add(8), right[i]);
                } else {
                    _mm256_storeu_ps(to, left[i]);
                    _mm256_storeu_ps(to.add(8), right[i]);
                }
            }
        }
    }
}

/// Transposes eight rows of eight elements.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn eight(from: *const u32, apart: isize) -> [__m256; 8] {
    // SAFETY: eight lines of eight elements, which the caller guarantees.
    let line = |j: isize| unsafe { _mm256_loadu_ps(from.offset(j * apart).cast()) };
    let r = [line(0), line(1), line(2), line(3), line(4), line(5), line(6), line(7)];
    // Interleave pairs, then fours, then exchange halves.
    let t = [
        _mm256_unpacklo_ps(r[0], r[1]),
        _mm256_unpackhi_ps(r[0], r[1]),
        _mm256_unpacklo_ps(r[2], r[3]),
        _mm256_unpackhi_ps(r[2], r[3]),
        _mm256_unpacklo_ps(r[4], r[5]),
        _mm256_unpackhi_ps(r[4], r[5]),
        _mm256_unpacklo_ps(r[6], r[7]),
        _mm256_unpackhi_ps(r[6], r[7]),
    ];
    let low = |a, b| _mm256_shuffle_ps::<0x44>(a, b);
    let high = |a, b| _mm256_shuffle_ps::<0xee>(a, b);
    let f = [
        low(t[0], t[2]),
        high(t[0], t[2]),
        low(t[1], t[3]),
        high(t[1], t[3]),
        low(t[4], t[6]),
        high(t[4], t[6]),
        low(t[5], t[7]),
        high(t[5], t[7]),
    ];
    let near = |a, b| _mm256_permute2f128_ps::<0x20>(a, b);
    let far = |a, b| _mm256_permute2f128_ps::<0x31>(a, b);
    [
        near(f[0], f[4]),
        near(f[1], f[5]),
        near(f[2], f[6]),
        near(f[3], f[7]),
        far(f[0], f[4]),
        far(f[1], f[5]),
        far(f[2], f[6]),
        far(f[3], f[7]),
    ]
}

/// Never called: this architecture has no register tiles.
///
/// # Safety
/// Must not be called.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) unsafe fn copy(_: *const u32, _: isize, _: *mut u32, _: isize, _: bool) {
    unreachable!("not available on this architecture")
}
