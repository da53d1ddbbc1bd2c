//! AVX2 with fused multiply-add: 8 lanes; masks are full registers.

use super::lanes::{Lanes, collect, with_far_turns};
use super::pair::Pair;
use super::set::{Avx2, Memory, Set, Work};
use super::x86::{x86_float, x86_set};
use crate::loops::{self, Loop, LoopInput};
use crate::philox::{FACTORS, ROUNDS, WEYL, Words, counters};
use forerun_ops::{Body, Double, Mask, Num, NumFloat, NumSigned, Single, Turn, divide, power, turn};
use std::arch::x86_64::*;

x86_set!(Avx2, "avx2,fma,bmi1,bmi2,lzcnt,popcnt", 8, masks false, F32x8, Pair<F64x4>, philox, interleave, fractions);

x86_float! {
    F32x8(__m256) of 8 f32, mask Mask32x8, format Single;
    add = |a, b| _mm256_add_ps(a, b);
    sub = |a, b| _mm256_sub_ps(a, b);
    mul = |a, b| _mm256_mul_ps(a, b);
    div = |a, b| _mm256_div_ps(a, b);
    min = |a, b| _mm256_min_ps(a, b);
    max = |a, b| _mm256_max_ps(a, b);
    and = |a, b| _mm256_and_ps(a, b);
    or = |a, b| _mm256_or_ps(a, b);
    xor = |a, b| _mm256_xor_ps(a, b);
    andnot = |a, b| _mm256_andnot_ps(b, a);
    scale = |a, n| scale_single(a, n);
    fma = |a, b, c| _mm256_fmadd_ps(a, b, c);
    sqrt = |a| _mm256_sqrt_ps(a);
    floor = |a| _mm256_round_ps::<0x09>(a);
    ceil = |a| _mm256_round_ps::<0x0a>(a);
    trunc = |a| _mm256_round_ps::<0x0b>(a);
    rint = |a| _mm256_round_ps::<0x08>(a);
    eq = |a, b| _mm256_cmp_ps::<_CMP_EQ_OQ>(a, b);
    lt = |a, b| _mm256_cmp_ps::<_CMP_LT_OQ>(a, b);
    le = |a, b| _mm256_cmp_ps::<_CMP_LE_OQ>(a, b);
    nan = |a, b| _mm256_cmp_ps::<_CMP_UNORD_Q>(a, b);
    select = |m, yes, no| _mm256_blendv_ps(no, yes, m);
}

x86_float! {
    F64x4(__m256d) of 4 f64, mask Mask64x4, format Double;
    add = |a, b| _mm256_add_pd(a, b);
    sub = |a, b| _mm256_sub_pd(a, b);
    mul = |a, b| _mm256_mul_pd(a, b);
    div = |a, b| _mm256_div_pd(a, b);
    min = |a, b| _mm256_min_pd(a, b);
    max = |a, b| _mm256_max_pd(a, b);
    and = |a, b| _mm256_and_pd(a, b);
    or = |a, b| _mm256_or_pd(a, b);
    xor = |a, b| _mm256_xor_pd(a, b);
    andnot = |a, b| _mm256_andnot_pd(b, a);
    scale = |a, n| scale_double(a, n);
    fma = |a, b, c| _mm256_fmadd_pd(a, b, c);
    sqrt = |a| _mm256_sqrt_pd(a);
    floor = |a| _mm256_round_pd::<0x09>(a);
    ceil = |a| _mm256_round_pd::<0x0a>(a);
    trunc = |a| _mm256_round_pd::<0x0b>(a);
    rint = |a| _mm256_round_pd::<0x08>(a);
    eq = |a, b| _mm256_cmp_pd::<_CMP_EQ_OQ>(a, b);
    lt = |a, b| _mm256_cmp_pd::<_CMP_LT_OQ>(a, b);
    le = |a, b| _mm256_cmp_pd::<_CMP_LE_OQ>(a, b);
    nan = |a, b| _mm256_cmp_pd::<_CMP_UNORD_Q>(a, b);
    select = |m, yes, no| _mm256_blendv_pd(no, yes, m);
}

/// `a * 2^n` by two factors, like the reference.
#[inline(always)]
unsafe fn scale_single(a: __m256, n: __m256) -> __m256 {
    // SAFETY: the caller guarantees AVX2.
    unsafe {
        let n = _mm256_cvttps_epi32(n);
        let half = _mm256_srai_epi32::<1>(n);
        let bias = _mm256_set1_epi32(127);
        let first = _mm256_castsi256_ps(_mm256_slli_epi32::<23>(_mm256_add_epi32(half, bias)));
        let rest = _mm256_castsi256_ps(_mm256_slli_epi32::<23>(_mm256_add_epi32(_mm256_sub_epi32(n, half), bias)));
        _mm256_mul_ps(_mm256_mul_ps(a, first), rest)
    }
}

/// As [`scale_single`], in double precision.
#[inline(always)]
unsafe fn scale_double(a: __m256d, n: __m256d) -> __m256d {
    // SAFETY: the caller guarantees AVX2.
    unsafe {
        let n = _mm256_cvttpd_epi32(n);
        let half = _mm_srai_epi32::<1>(n);
        let bias = _mm256_set1_epi64x(1023);
        let power = |e| _mm256_castsi256_pd(_mm256_slli_epi64::<52>(_mm256_add_epi64(_mm256_cvtepi32_epi64(e), bias)));
        _mm256_mul_pd(_mm256_mul_pd(a, power(half)), power(_mm_sub_epi32(n, half)))
    }
}

/// Mantissa and exponent of a register, by its type.
trait Split: Copy {
    /// # Safety
    /// The CPU must support AVX2.
    unsafe fn split(self) -> (Self, Self);
}

#[inline(always)]
unsafe fn split<R: Split>(register: R) -> (R, R) {
    // SAFETY: the caller upholds the same contract.
    unsafe { register.split() }
}

impl Split for __m256 {
    #[inline(always)]
    unsafe fn split(self) -> (Self, Self) {
        // SAFETY: the caller guarantees AVX2.
        unsafe {
            let bits = _mm256_castps_si256(self);
            let e = _mm256_srai_epi32::<23>(_mm256_sub_epi32(bits, _mm256_set1_epi32((2f32 / 3.0).to_bits() as i32)));
            let m = _mm256_sub_epi32(bits, _mm256_slli_epi32::<23>(e));
            (_mm256_castsi256_ps(m), _mm256_cvtepi32_ps(e))
        }
    }
}

impl Split for __m256d {
    #[inline(always)]
    unsafe fn split(self) -> (Self, Self) {
        // AVX2 has no arithmetic shift and no conversion of 64-bit integers. The biased exponent is positive; placing
        // it in the mantissa of 2^52 converts it to a float. SAFETY: the caller guarantees AVX2.
        unsafe {
            let bits = _mm256_castpd_si256(self);
            let bias = _mm256_set1_epi64x(1023 << 52);
            let offset = _mm256_set1_epi64x((1023i64 << 52) - (2f64 / 3.0).to_bits() as i64);
            let biased = _mm256_srli_epi64::<52>(_mm256_add_epi64(bits, offset));
            let m = _mm256_add_epi64(_mm256_sub_epi64(bits, _mm256_slli_epi64::<52>(biased)), bias);
            let magic = _mm256_set1_pd(4503599627370496.0);
            let e = _mm256_castsi256_pd(_mm256_or_si256(biased, _mm256_castpd_si256(magic)));
            (_mm256_castsi256_pd(m), _mm256_sub_pd(e, _mm256_set1_pd(4503599627370496.0 + 1023.0)))
        }
    }
}

/// High and low words of 8 products with a constant.
#[inline(always)]
unsafe fn widening(a: __m256i, factor: u32) -> (__m256i, __m256i) {
    // SAFETY: the caller guarantees AVX2.
    unsafe {
        let factor = _mm256_set1_epi64x(factor as i64);
        let (even, odd) = (_mm256_mul_epu32(a, factor), _mm256_mul_epu32(_mm256_srli_epi64::<32>(a), factor));
        let high = _mm256_blend_epi32::<0xaa>(_mm256_srli_epi64::<32>(even), odd);
        let low = _mm256_blend_epi32::<0xaa>(even, _mm256_slli_epi64::<32>(odd));
        (high, low)
    }
}

/// Random blocks, one per lane, in two halves.
#[inline(always)]
unsafe fn philox(key: u64, first: u64) -> Words {
    let mut words = counters(first);
    // SAFETY: the caller guarantees AVX2; eight words of each half of the arrays.
    unsafe {
        for half in 0..2 {
            let (mut k0, mut k1) = (key as u32, (key >> 32) as u32);
            let mut c: [__m256i; 4] = collect(|w| _mm256_loadu_si256(words[w].as_ptr().add(8 * half).cast()));
            for _ in 0..ROUNDS {
                let ((high0, low0), (high1, low1)) = (widening(c[0], FACTORS[0]), widening(c[2], FACTORS[1]));
                c = [
                    _mm256_xor_si256(_mm256_xor_si256(high1, c[1]), _mm256_set1_epi32(k0 as i32)),
                    low1,
                    _mm256_xor_si256(_mm256_xor_si256(high0, c[3]), _mm256_set1_epi32(k1 as i32)),
                    low0,
                ];
                k0 = k0.wrapping_add(WEYL[0]);
                k1 = k1.wrapping_add(WEYL[1]);
            }
            for (word, c) in words.iter_mut().zip(c) {
                _mm256_storeu_si256(word.as_mut_ptr().add(8 * half).cast(), c);
            }
        }
    }
    words
}

/// The top 24 bits of each word as a number in [0, 1).
#[inline(always)]
unsafe fn fractions(words: [u32; 16]) -> [f32; 16] {
    // SAFETY: the caller guarantees AVX2; two registers and an array have the same size.
    unsafe {
        let convert = |words| {
            let bits = _mm256_cvtepi32_ps(_mm256_srli_epi32::<8>(words));
            _mm256_mul_ps(bits, _mm256_set1_ps(2f32.powi(-24)))
        };
        let [low, high] = std::mem::transmute::<[u32; 16], [__m256i; 2]>(words);
        std::mem::transmute::<[__m256; 2], [f32; 16]>([convert(low), convert(high)])
    }
}

/// Four words per block, block after block: transposes within 128-bit halves, then exchanges the halves.
#[inline(always)]
unsafe fn interleave(words: [[u32; 16]; 4]) -> [u32; 64] {
    let mut out = [0; 64];
    // SAFETY: the caller guarantees AVX2; eight words from each half of the arrays.
    unsafe {
        for half in 0..2 {
            let [a, b, c, d]: [__m256i; 4] = collect(|w| _mm256_loadu_si256(words[w].as_ptr().add(8 * half).cast()));
            let (ab, cd) = (_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d));
            let (ab_high, cd_high) = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
            // The lower half of `r[j]` is block j, the upper half is block 4 + j.
            let r = [
                _mm256_unpacklo_epi64(ab, cd),
                _mm256_unpackhi_epi64(ab, cd),
                _mm256_unpacklo_epi64(ab_high, cd_high),
                _mm256_unpackhi_epi64(ab_high, cd_high),
            ];
            let to: *mut __m256i = out.as_mut_ptr().add(32 * half).cast();
            _mm256_storeu_si256(to, _mm256_permute2x128_si256::<0x20>(r[0], r[1]));
            _mm256_storeu_si256(to.add(1), _mm256_permute2x128_si256::<0x20>(r[2], r[3]));
            _mm256_storeu_si256(to.add(2), _mm256_permute2x128_si256::<0x31>(r[0], r[1]));
            _mm256_storeu_si256(to.add(3), _mm256_permute2x128_si256::<0x31>(r[2], r[3]));
        }
    }
    out
}

macro_rules! mask {
    ($mask:ident($register:ty) of $lanes:literal $bytes:ty, $bits:ident, $and:ident, $or:ident, $not:expr, $load:expr, $store:expr) => {
        /// A mask: all bits of a lane set, or none.
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $mask($register);

        impl $mask {
            /// Whether all lanes are set.
            #[inline(always)]
            fn holds(self) -> bool {
                // SAFETY: a mask exists only where the processor has the set's features.
                unsafe { $bits(self.0) == (1 << $lanes) - 1 }
            }
        }

        impl Mask for $mask {
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                // SAFETY: a mask exists only where the processor has the set's features.
                $mask(unsafe { $and(self.0, other.0) })
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                // SAFETY: a mask exists only where the processor has the set's features.
                $mask(unsafe { $or(self.0, other.0) })
            }
            #[inline(always)]
            fn not(self) -> Self {
                // SAFETY: a mask exists only where the processor has the set's features.
                $mask(unsafe { $not(self.0) })
            }
        }

        impl Memory for $mask {
            type Elem = bool;
            const LANES: usize = $lanes;
            #[inline(always)]
            unsafe fn load(from: *const bool) -> Self {
                // SAFETY: the caller guarantees the elements and the CPU features.
                $mask(unsafe { $load(from.cast::<$bytes>().read_unaligned()) })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut bool) {
                // SAFETY: the caller guarantees the elements and the CPU features; bytes written are 0 or 1.
                unsafe { to.cast::<$bytes>().write_unaligned($store(self.0)) }
            }
            #[inline(always)]
            unsafe fn load_first(from: *const bool, count: usize) -> Self {
                let mut all = [false; $lanes];
                // SAFETY: the caller guarantees `count` elements, less than there are lanes.
                unsafe {
                    std::ptr::copy_nonoverlapping(from, all.as_mut_ptr(), count);
                    Self::load(all.as_ptr())
                }
            }
            #[inline(always)]
            unsafe fn store_first(self, to: *mut bool, count: usize) {
                let mut all = [false; $lanes];
                // SAFETY: the caller guarantees `count` elements, less than there are lanes.
                unsafe {
                    self.store(all.as_mut_ptr());
                    std::ptr::copy_nonoverlapping(all.as_ptr(), to, count);
                }
            }
            #[inline(always)]
            unsafe fn splat(value: bool) -> Self {
                // SAFETY: the caller promises the features; the array has a byte for each lane.
                unsafe { Self::load([value; $lanes].as_ptr()) }
            }
        }
    };
}

mask!(
    Mask32x8(__m256) of 8 u64, _mm256_movemask_ps, _mm256_and_ps, _mm256_or_ps,
    |m| _mm256_xor_ps(m, _mm256_castsi256_ps(_mm256_set1_epi32(-1))),
    |bytes: u64| {
        let wide = _mm256_cvtepi8_epi32(_mm_cvtsi64_si128(bytes as i64));
        _mm256_castsi256_ps(_mm256_cmpgt_epi32(wide, _mm256_setzero_si256()))
    },
    |m| _pdep_u64(_mm256_movemask_ps(m) as u64, 0x0101_0101_0101_0101)
);
mask!(
    Mask64x4(__m256d) of 4 u32, _mm256_movemask_pd, _mm256_and_pd, _mm256_or_pd,
    |m| _mm256_xor_pd(m, _mm256_castsi256_pd(_mm256_set1_epi32(-1))),
    |bytes: u32| {
        let wide = _mm256_cvtepi8_epi64(_mm_cvtsi32_si128(bytes as i32));
        _mm256_castsi256_pd(_mm256_cmpgt_epi64(wide, _mm256_setzero_si256()))
    },
    |m| _pdep_u32(_mm256_movemask_pd(m) as u32, 0x0101_0101)
);

macro_rules! memory {
    ($vector:ident, $elem:ty, $lanes:literal, $int:ty, $set1:ident, $load:ident, $store:ident, $maskload:ident, $maskstore:ident) => {
        impl Memory for $vector {
            type Elem = $elem;
            const LANES: usize = $lanes;
            #[inline(always)]
            unsafe fn load(from: *const $elem) -> Self {
                // SAFETY: the caller guarantees the elements and the CPU features.
                $vector(unsafe { $load(from) })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $elem) {
                // SAFETY: the caller guarantees the elements and the CPU features.
                unsafe { $store(to, self.0) }
            }
            #[inline(always)]
            unsafe fn load_first(from: *const $elem, count: usize) -> Self {
                let lanes: [$int; $lanes] = collect(|i| if i < count { -1 } else { 0 });
                // SAFETY: masked lanes are not accessed.
                $vector(unsafe { $maskload(from, _mm256_loadu_si256(lanes.as_ptr().cast())) })
            }
            #[inline(always)]
            unsafe fn store_first(self, to: *mut $elem, count: usize) {
                let lanes: [$int; $lanes] = collect(|i| if i < count { -1 } else { 0 });
                // SAFETY: masked lanes are not accessed.
                unsafe { $maskstore(to, _mm256_loadu_si256(lanes.as_ptr().cast()), self.0) }
            }
            #[inline(always)]
            unsafe fn splat(value: $elem) -> Self {
                // SAFETY: the caller promises the features.
                $vector(unsafe { $set1(value) })
            }
        }
    };
}

memory!(F32x8, f32, 8, i32, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_maskload_ps, _mm256_maskstore_ps);
memory!(F64x4, f64, 4, i64, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_maskload_pd, _mm256_maskstore_pd);
