//! AVX-512: 16 lanes; masks are mask registers.

use super::lanes::{Lanes, collect, with_far_turns};
use super::pair::Pair;
use super::set::{Avx512, Memory, Set, Work};
use super::x86::{x86_float, x86_set};
use crate::loops::{self, Loop, LoopInput};
use crate::philox::{FACTORS, ROUNDS, WEYL, Words};
use forerun_ops::{Body, Double, Mask, Num, NumFloat, NumSigned, Single, Turn, divide, power, turn};
use std::arch::x86_64::*;

x86_set!(
    Avx512,
    "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,bmi1,bmi2,lzcnt,popcnt",
    16,
    masks true,
    F32x16,
    Pair<F64x8>,
    philox,
    interleave,
    fractions
);

x86_float! {
    F32x16(__m512) of 16 f32, mask Mask16, format Single;
    add = |a, b| _mm512_add_ps(a, b);
    sub = |a, b| _mm512_sub_ps(a, b);
    mul = |a, b| _mm512_mul_ps(a, b);
    div = |a, b| _mm512_div_ps(a, b);
    min = |a, b| _mm512_min_ps(a, b);
    max = |a, b| _mm512_max_ps(a, b);
    and = |a, b| _mm512_and_ps(a, b);
    or = |a, b| _mm512_or_ps(a, b);
    xor = |a, b| _mm512_xor_ps(a, b);
    andnot = |a, b| _mm512_andnot_ps(b, a);
    scale = |a, n| _mm512_scalef_ps(a, n);
    fma = |a, b, c| _mm512_fmadd_ps(a, b, c);
    sqrt = |a| _mm512_sqrt_ps(a);
    floor = |a| _mm512_roundscale_ps::<0x09>(a);
    ceil = |a| _mm512_roundscale_ps::<0x0a>(a);
    trunc = |a| _mm512_roundscale_ps::<0x0b>(a);
    rint = |a| _mm512_roundscale_ps::<0x08>(a);
    eq = |a, b| _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(a, b);
    lt = |a, b| _mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b);
    le = |a, b| _mm512_cmp_ps_mask::<_CMP_LE_OQ>(a, b);
    nan = |a, b| _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(a, b);
    select = |m, yes, no| _mm512_mask_blend_ps(m, no, yes);
}

x86_float! {
    F64x8(__m512d) of 8 f64, mask Mask8, format Double;
    add = |a, b| _mm512_add_pd(a, b);
    sub = |a, b| _mm512_sub_pd(a, b);
    mul = |a, b| _mm512_mul_pd(a, b);
    div = |a, b| _mm512_div_pd(a, b);
    min = |a, b| _mm512_min_pd(a, b);
    max = |a, b| _mm512_max_pd(a, b);
    and = |a, b| _mm512_and_pd(a, b);
    or = |a, b| _mm512_or_pd(a, b);
    xor = |a, b| _mm512_xor_pd(a, b);
    andnot = |a, b| _mm512_andnot_pd(b, a);
    scale = |a, n| _mm512_scalef_pd(a, n);
    fma = |a, b, c| _mm512_fmadd_pd(a, b, c);
    sqrt = |a| _mm512_sqrt_pd(a);
    floor = |a| _mm512_roundscale_pd::<0x09>(a);
    ceil = |a| _mm512_roundscale_pd::<0x0a>(a);
    trunc = |a| _mm512_roundscale_pd::<0x0b>(a);
    rint = |a| _mm512_roundscale_pd::<0x08>(a);
    eq = |a, b| _mm512_cmp_pd_mask::<_CMP_EQ_OQ>(a, b);
    lt = |a, b| _mm512_cmp_pd_mask::<_CMP_LT_OQ>(a, b);
    le = |a, b| _mm512_cmp_pd_mask::<_CMP_LE_OQ>(a, b);
    nan = |a, b| _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(a, b);
    select = |m, yes, no| _mm512_mask_blend_pd(m, no, yes);
}

/// Mantissa and exponent of a register, by its type.
trait Split: Copy {
    /// # Safety
    /// The CPU must support AVX-512 F.
    unsafe fn split(self) -> (Self, Self);
}

#[inline(always)]
unsafe fn split<R: Split>(register: R) -> (R, R) {
    // SAFETY: the caller upholds the same contract.
    unsafe { register.split() }
}

impl Split for __m512 {
    #[inline(always)]
    unsafe fn split(self) -> (Self, Self) {
        // SAFETY: the caller guarantees AVX-512 F.
        unsafe {
            let bits = _mm512_castps_si512(self);
            let e = _mm512_srai_epi32::<23>(_mm512_sub_epi32(bits, _mm512_set1_epi32((2f32 / 3.0).to_bits() as i32)));
            let m = _mm512_sub_epi32(bits, _mm512_slli_epi32::<23>(e));
            (_mm512_castsi512_ps(m), _mm512_cvtepi32_ps(e))
        }
    }
}

impl Split for __m512d {
    #[inline(always)]
    unsafe fn split(self) -> (Self, Self) {
        // SAFETY: the caller guarantees AVX-512 F and DQ.
        unsafe {
            let bits = _mm512_castpd_si512(self);
            let e = _mm512_srai_epi64::<52>(_mm512_sub_epi64(bits, _mm512_set1_epi64((2f64 / 3.0).to_bits() as i64)));
            let m = _mm512_sub_epi64(bits, _mm512_slli_epi64::<52>(e));
            (_mm512_castsi512_pd(m), _mm512_cvtepi64_pd(e))
        }
    }
}

/// Random blocks, in the lower words of 64-bit lanes: the multiplication reads only those, so the upper words may hold anything.
/// Blocks with even and odd numbers are in separate registers until the end.
#[inline(always)]
unsafe fn philox(key: u64, first: u64) -> Words {
    // SAFETY: the caller guarantees AVX-512 F; registers and arrays have the same size.
    unsafe {
        let high = |words: __m512i| _mm512_srli_epi64::<32>(words);
        let counters = |offsets: __m512i| {
            let blocks = _mm512_add_epi64(_mm512_set1_epi64(first as i64), offsets);
            [blocks, high(blocks), _mm512_setzero_si512(), _mm512_setzero_si512()]
        };
        let mut even = counters(_mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14));
        let mut odd = counters(_mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15));
        let factors = [_mm512_set1_epi64(FACTORS[0] as i64), _mm512_set1_epi64(FACTORS[1] as i64)];
        let (mut k0, mut k1) = (key as u32, (key >> 32) as u32);
        for _ in 0..ROUNDS {
            let keys = [_mm512_set1_epi32(k0 as i32), _mm512_set1_epi32(k1 as i32)];
            for c in [&mut even, &mut odd] {
                let (p0, p1) = (_mm512_mul_epu32(c[0], factors[0]), _mm512_mul_epu32(c[2], factors[1]));
                // Three-way exclusive or: 0x96 is its truth table.
                *c = [
                    _mm512_ternarylogic_epi32::<0x96>(high(p1), c[1], keys[0]),
                    p1,
                    _mm512_ternarylogic_epi32::<0x96>(high(p0), c[3], keys[1]),
                    p0,
                ];
            }
            k0 = k0.wrapping_add(WEYL[0]);
            k1 = k1.wrapping_add(WEYL[1]);
        }
        // Not a shift of the odd ones: the compiler would fold it into the multiplication before it, which then takes three times as long.
        let join = |w: usize| _mm512_mask_shuffle_epi32::<0xa0>(even[w], 0xaaaa, odd[w]);
        std::mem::transmute::<[__m512i; 4], Words>([join(0), join(1), join(2), join(3)])
    }
}

/// The top 24 bits of each word as a number in [0, 1).
#[inline(always)]
unsafe fn fractions(words: [u32; 16]) -> [f32; 16] {
    // SAFETY: the caller guarantees AVX-512 F; registers and arrays have the same size.
    unsafe {
        let bits = _mm512_srli_epi32::<8>(std::mem::transmute::<[u32; 16], __m512i>(words));
        let fractions = _mm512_mul_ps(_mm512_cvtepi32_ps(bits), _mm512_set1_ps(2f32.powi(-24)));
        std::mem::transmute::<__m512, [f32; 16]>(fractions)
    }
}

/// Four words per block, block after block: transposes within 128-bit quarters, then exchanges the quarters.
#[inline(always)]
unsafe fn interleave(words: [[u32; 16]; 4]) -> [u32; 64] {
    // SAFETY: the caller guarantees AVX-512 F; registers and arrays have the same size.
    unsafe {
        let [a, b, c, d] = std::mem::transmute::<Words, [__m512i; 4]>(words);
        let (ab, cd) = (_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d));
        let (ab_high, cd_high) = (_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d));
        // Quarter q of `r[j]` is block 4q + j.
        let r = [
            _mm512_unpacklo_epi64(ab, cd),
            _mm512_unpackhi_epi64(ab, cd),
            _mm512_unpacklo_epi64(ab_high, cd_high),
            _mm512_unpackhi_epi64(ab_high, cd_high),
        ];
        let low = (_mm512_shuffle_i32x4::<0x44>(r[0], r[1]), _mm512_shuffle_i32x4::<0x44>(r[2], r[3]));
        let high = (_mm512_shuffle_i32x4::<0xee>(r[0], r[1]), _mm512_shuffle_i32x4::<0xee>(r[2], r[3]));
        std::mem::transmute::<[__m512i; 4], [u32; 64]>([
            _mm512_shuffle_i32x4::<0x88>(low.0, low.1),
            _mm512_shuffle_i32x4::<0xdd>(low.0, low.1),
            _mm512_shuffle_i32x4::<0x88>(high.0, high.1),
            _mm512_shuffle_i32x4::<0xdd>(high.0, high.1),
        ])
    }
}

macro_rules! mask {
    ($mask:ident($bits:ty) of $lanes:literal, $load:expr, $store:expr) => {
        /// A mask register.
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $mask($bits);

        impl $mask {
            /// Whether all lanes are set.
            #[inline(always)]
            fn holds(self) -> bool {
                self.0 == <$bits>::MAX
            }
        }

        impl Mask for $mask {
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                $mask(self.0 & other.0)
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                $mask(self.0 | other.0)
            }
            #[inline(always)]
            fn not(self) -> Self {
                $mask(!self.0)
            }
        }

        impl Memory for $mask {
            type Elem = bool;
            const LANES: usize = $lanes;
            #[inline(always)]
            unsafe fn load(from: *const bool) -> Self {
                // SAFETY: the caller guarantees the elements and the CPU features.
                $mask(unsafe { $load(from.cast()) })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut bool) {
                // SAFETY: the caller guarantees the elements and the CPU features; bytes written are 0 or 1.
                unsafe { $store(to.cast(), self.0) }
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
                $mask(if value { !0 } else { 0 })
            }
        }
    };
}

mask!(
    Mask16(__mmask16) of 16,
    |from: *const __m128i| { let bytes = _mm_loadu_si128(from); _mm_test_epi8_mask(bytes, bytes) },
    |to: *mut __m128i, bits: __mmask16| _mm_storeu_si128(to, _mm_maskz_set1_epi8(bits, 1))
);
mask!(
    Mask8(__mmask8) of 8,
    |from: *const __m128i| {
        let bytes = _mm_loadl_epi64(from);
        _mm_test_epi8_mask(bytes, bytes) as __mmask8
    },
    |to: *mut __m128i, bits: __mmask8| _mm_storel_epi64(to, _mm_maskz_set1_epi8(bits as __mmask16, 1))
);

macro_rules! memory {
    ($vector:ident, $elem:ty, $lanes:literal, $mask:ty, $set1:ident, $load:ident, $store:ident, $maskz:ident, $masked:ident) => {
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
                // SAFETY: masked lanes are not accessed.
                $vector(unsafe { $maskz(((1u32 << count) - 1) as $mask, from) })
            }
            #[inline(always)]
            unsafe fn store_first(self, to: *mut $elem, count: usize) {
                // SAFETY: masked lanes are not accessed.
                unsafe { $masked(to, ((1u32 << count) - 1) as $mask, self.0) }
            }
            #[inline(always)]
            unsafe fn splat(value: $elem) -> Self {
                // SAFETY: the caller promises the features.
                $vector(unsafe { $set1(value) })
            }
        }
    };
}

memory!(
    F32x16,
    f32,
    16,
    __mmask16,
    _mm512_set1_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_maskz_loadu_ps,
    _mm512_mask_storeu_ps
);
memory!(
    F64x8,
    f64,
    8,
    __mmask8,
    _mm512_set1_pd,
    _mm512_loadu_pd,
    _mm512_storeu_pd,
    _mm512_maskz_loadu_pd,
    _mm512_mask_storeu_pd
);
