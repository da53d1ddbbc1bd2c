//! Vectors of keys for AVX2, with the operations that sorting needs.

use std::arch::x86_64::*;

/// A vector of keys. Networks compare keys after [`Vector::turned`], because AVX2 has no unsigned comparison.
///
/// Every method is sound only inside a function that enables AVX2.
pub(super) trait Vector: Copy {
    type Key: Copy + Ord + Default;
    const LANES: usize;
    const LARGEST: Self::Key;

    unsafe fn load(from: *const Self::Key) -> Self;
    unsafe fn store(self, to: *mut Self::Key);
    fn splat(key: Self::Key) -> Self;

    /// Flips the sign bits: converts between unsigned keys and signed ones, which networks compare.
    fn turned(self) -> Self;

    /// A bit mask of the lanes that are less than those of `other`.
    fn below(self, other: Self) -> usize;

    /// Moves the lanes of the mask to the front, the others behind them.
    fn packed(self, mask: usize) -> Self;

    /// The smaller and the larger of each lane, for turned keys.
    fn ordered(self, other: Self) -> (Self, Self);

    /// Exchanges lanes that are `APART` apart.
    fn swapped<const APART: usize>(self) -> Self;

    /// Reverses the lanes of each group.
    fn reversed<const GROUP: usize>(self) -> Self;

    /// For each pair of lanes that are `APART` apart, the lower lane of `low` and the upper lane of `high`.
    fn joined<const APART: usize>(low: Self, high: Self) -> Self;

    /// Transposes a block of [`Vector::LANES`] columns; calls `put` with each resulting row.
    fn transposed(block: &[Self], put: impl FnMut(usize, Self));
}

/// For each mask, a permutation that moves its lanes to the front; `PARTS` numbers per lane.
const fn permutations<const MASKS: usize, const LANES: usize, const PARTS: usize>() -> [[u8; 8]; MASKS] {
    let mut all = [[0; 8]; MASKS];
    let mut mask = 0;
    while mask < MASKS {
        let (mut at, mut round) = (0, 0);
        while round < 2 {
            let mut lane = 0;
            while lane < LANES {
                if (mask >> lane & 1 == 1) == (round == 0) {
                    let mut part = 0;
                    while part < PARTS {
                        all[mask][at] = (lane * PARTS + part) as u8;
                        at += 1;
                        part += 1;
                    }
                }
                lane += 1;
            }
            round += 1;
        }
        mask += 1;
    }
    all
}

static WORD_PERMUTATIONS: [[u8; 8]; 256] = permutations::<256, 8, 1>();
static LONG_PERMUTATIONS: [[u8; 8]; 16] = permutations::<16, 4, 2>();

/// Eight keys of 32 bits.
#[derive(Clone, Copy)]
pub(super) struct Words(__m256i);

/// Four keys of 64 bits.
#[derive(Clone, Copy)]
pub(super) struct Longs(__m256i);

// SAFETY of every block below: called inside functions that enable AVX2; the caller guarantees the addresses.
impl Vector for Words {
    type Key = u32;
    const LANES: usize = 8;
    const LARGEST: u32 = u32::MAX;

    #[inline(always)]
    unsafe fn load(from: *const u32) -> Words {
        // SAFETY: called in a function that enables AVX2; the caller guarantees the addresses.
        Words(unsafe { _mm256_loadu_si256(from.cast()) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u32) {
        // SAFETY: called in a function that enables AVX2; the caller guarantees the addresses.
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }
    #[inline(always)]
    fn splat(key: u32) -> Words {
        // SAFETY: called in a function that enables AVX2.
        Words(unsafe { _mm256_set1_epi32(key as i32) })
    }
    #[inline(always)]
    fn turned(self) -> Words {
        // SAFETY: called in a function that enables AVX2.
        Words(unsafe { _mm256_xor_si256(self.0, _mm256_set1_epi32(i32::MIN)) })
    }
    #[inline(always)]
    fn below(self, other: Words) -> usize {
        // SAFETY: called in a function that enables AVX2.
        unsafe { _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(other.0, self.0))) as u32 as usize }
    }
    #[inline(always)]
    fn packed(self, mask: usize) -> Words {
        // SAFETY: see above; the mask has eight bits.
        unsafe {
            let places = _mm256_cvtepu8_epi32(_mm_loadl_epi64(WORD_PERMUTATIONS.get_unchecked(mask).as_ptr().cast()));
            Words(_mm256_permutevar8x32_epi32(self.0, places))
        }
    }
    #[inline(always)]
    fn ordered(self, other: Words) -> (Words, Words) {
        // SAFETY: called in a function that enables AVX2.
        unsafe { (Words(_mm256_min_epi32(self.0, other.0)), Words(_mm256_max_epi32(self.0, other.0))) }
    }
    #[inline(always)]
    fn swapped<const APART: usize>(self) -> Words {
        // SAFETY: called in a function that enables AVX2.
        Words(unsafe {
            match APART {
                1 => _mm256_shuffle_epi32::<0xb1>(self.0),
                2 => _mm256_shuffle_epi32::<0x4e>(self.0),
                _ => _mm256_permute4x64_epi64::<0x4e>(self.0),
            }
        })
    }
    #[inline(always)]
    fn reversed<const GROUP: usize>(self) -> Words {
        // SAFETY: called in a function that enables AVX2.
        Words(unsafe {
            match GROUP {
                2 => _mm256_shuffle_epi32::<0xb1>(self.0),
                4 => _mm256_shuffle_epi32::<0x1b>(self.0),
                _ => _mm256_permutevar8x32_epi32(self.0, _mm256_set_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
            }
        })
    }
    #[inline(always)]
    fn joined<const APART: usize>(low: Words, high: Words) -> Words {
        // SAFETY: called in a function that enables AVX2.
        Words(unsafe {
            match APART {
                1 => _mm256_blend_epi32::<0xaa>(low.0, high.0),
                2 => _mm256_blend_epi32::<0xcc>(low.0, high.0),
                _ => _mm256_blend_epi32::<0xf0>(low.0, high.0),
            }
        })
    }
    #[inline(always)]
    fn transposed(block: &[Words], mut put: impl FnMut(usize, Words)) {
        // SAFETY: called in a function that enables AVX2.
        unsafe {
            // Interleave pairs, then fours within 128-bit halves, then exchange the halves.
            let (a, b) = (_mm256_unpacklo_epi32(block[0].0, block[1].0), _mm256_unpackhi_epi32(block[0].0, block[1].0));
            let (c, d) = (_mm256_unpacklo_epi32(block[2].0, block[3].0), _mm256_unpackhi_epi32(block[2].0, block[3].0));
            let (e, f) = (_mm256_unpacklo_epi32(block[4].0, block[5].0), _mm256_unpackhi_epi32(block[4].0, block[5].0));
            let (g, h) = (_mm256_unpacklo_epi32(block[6].0, block[7].0), _mm256_unpackhi_epi32(block[6].0, block[7].0));
            let first = [
                _mm256_unpacklo_epi64(a, c),
                _mm256_unpackhi_epi64(a, c),
                _mm256_unpacklo_epi64(b, d),
                _mm256_unpackhi_epi64(b, d),
            ];
            let second = [
                _mm256_unpacklo_epi64(e, g),
                _mm256_unpackhi_epi64(e, g),
                _mm256_unpacklo_epi64(f, h),
                _mm256_unpackhi_epi64(f, h),
            ];
            for lane in 0..4 {
                put(lane, Words(_mm256_permute2x128_si256::<0x20>(first[lane], second[lane])));
                put(lane + 4, Words(_mm256_permute2x128_si256::<0x31>(first[lane], second[lane])));
            }
        }
    }
}

impl Vector for Longs {
    type Key = u64;
    const LANES: usize = 4;
    const LARGEST: u64 = u64::MAX;

    #[inline(always)]
    unsafe fn load(from: *const u64) -> Longs {
        // SAFETY: called in a function that enables AVX2; the caller guarantees the addresses.
        Longs(unsafe { _mm256_loadu_si256(from.cast()) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u64) {
        // SAFETY: called in a function that enables AVX2; the caller guarantees the addresses.
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }
    #[inline(always)]
    fn splat(key: u64) -> Longs {
        // SAFETY: called in a function that enables AVX2.
        Longs(unsafe { _mm256_set1_epi64x(key as i64) })
    }
    #[inline(always)]
    fn turned(self) -> Longs {
        // SAFETY: called in a function that enables AVX2.
        Longs(unsafe { _mm256_xor_si256(self.0, _mm256_set1_epi64x(i64::MIN)) })
    }
    #[inline(always)]
    fn below(self, other: Longs) -> usize {
        // SAFETY: called in a function that enables AVX2.
        unsafe { _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(other.0, self.0))) as u32 as usize }
    }
    #[inline(always)]
    fn packed(self, mask: usize) -> Longs {
        // SAFETY: see above; the mask has four bits.
        unsafe {
            let places = _mm256_cvtepu8_epi32(_mm_loadl_epi64(LONG_PERMUTATIONS.get_unchecked(mask).as_ptr().cast()));
            Longs(_mm256_permutevar8x32_epi32(self.0, places))
        }
    }
    #[inline(always)]
    fn ordered(self, other: Longs) -> (Longs, Longs) {
        // SAFETY: called in a function that enables AVX2.
        unsafe {
            let (a, b) = (_mm256_castsi256_pd(self.0), _mm256_castsi256_pd(other.0));
            let larger = _mm256_castsi256_pd(_mm256_cmpgt_epi64(self.0, other.0));
            let (low, high) = (_mm256_blendv_pd(a, b, larger), _mm256_blendv_pd(b, a, larger));
            (Longs(_mm256_castpd_si256(low)), Longs(_mm256_castpd_si256(high)))
        }
    }
    #[inline(always)]
    fn swapped<const APART: usize>(self) -> Longs {
        // SAFETY: called in a function that enables AVX2.
        Longs(unsafe {
            match APART {
                1 => _mm256_shuffle_epi32::<0x4e>(self.0),
                _ => _mm256_permute4x64_epi64::<0x4e>(self.0),
            }
        })
    }
    #[inline(always)]
    fn reversed<const GROUP: usize>(self) -> Longs {
        // SAFETY: called in a function that enables AVX2.
        Longs(unsafe {
            match GROUP {
                2 => _mm256_shuffle_epi32::<0x4e>(self.0),
                _ => _mm256_permute4x64_epi64::<0x1b>(self.0),
            }
        })
    }
    #[inline(always)]
    fn joined<const APART: usize>(low: Longs, high: Longs) -> Longs {
        // SAFETY: called in a function that enables AVX2.
        Longs(unsafe {
            match APART {
                1 => _mm256_blend_epi32::<0xcc>(low.0, high.0),
                _ => _mm256_blend_epi32::<0xf0>(low.0, high.0),
            }
        })
    }
    #[inline(always)]
    fn transposed(block: &[Longs], mut put: impl FnMut(usize, Longs)) {
        // SAFETY: called in a function that enables AVX2.
        unsafe {
            let (a, b) = (_mm256_unpacklo_epi64(block[0].0, block[1].0), _mm256_unpackhi_epi64(block[0].0, block[1].0));
            let (c, d) = (_mm256_unpacklo_epi64(block[2].0, block[3].0), _mm256_unpackhi_epi64(block[2].0, block[3].0));
            put(0, Longs(_mm256_permute2x128_si256::<0x20>(a, c)));
            put(1, Longs(_mm256_permute2x128_si256::<0x20>(b, d)));
            put(2, Longs(_mm256_permute2x128_si256::<0x31>(a, c)));
            put(3, Longs(_mm256_permute2x128_si256::<0x31>(b, d)));
        }
    }
}
