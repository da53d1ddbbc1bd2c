//! What a vector must offer besides arithmetic, and what an instruction set must offer.

use crate::loops::Loop;
use crate::philox::Words;
use forerun_base::Settings;
use forerun_ops::{Body, Num, NumBits, NumFloat, NumWhole};

/// Vectors and masks as they lie in memory. A mask lies as truth values, a byte each.
pub(crate) trait Memory: Copy {
    /// One element.
    type Elem: Copy;
    /// Elements in a vector.
    const LANES: usize;

    /// # Safety
    /// `LANES` elements must be readable.
    unsafe fn load(from: *const Self::Elem) -> Self;

    /// # Safety
    /// `LANES` elements must be writable.
    unsafe fn store(self, to: *mut Self::Elem);

    /// The first `count` elements, less than `LANES`, and zeros after them.
    ///
    /// # Safety
    /// `count` elements must be readable.
    unsafe fn load_first(from: *const Self::Elem, count: usize) -> Self;

    /// # Safety
    /// `count` elements, less than `LANES`, must be writable.
    unsafe fn store_first(self, to: *mut Self::Elem, count: usize);

    /// The same element in every lane. Must be reached only in functions that enable the set's features (see [`Set::vectorize`]);
    /// builds with debug assertions check that the processor has them.
    fn splat(value: Self::Elem) -> Self;
}

/// An instruction set: its vectors, and loops compiled for it.
pub(crate) trait Set: 'static {
    /// Whether comparisons give mask registers, which an instruction turns into bytes.
    const HAS_MASKS: bool = false;
    /// Single precision.
    type F32: NumFloat<Mask: Memory<Elem = bool>> + Memory<Elem = f32>;
    /// Double precision.
    type F64: NumFloat<Mask: Memory<Elem = bool>> + Memory<Elem = f64>;
    /// 32-bit integers.
    type I32: NumWhole<Mask: Memory<Elem = bool>> + Memory<Elem = i32>;
    /// 64-bit integers.
    type I64: NumWhole<Mask: Memory<Elem = bool>> + Memory<Elem = i64>;
    /// Truth values.
    type Bool: Num<Mask: Memory<Elem = bool>> + NumBits + Memory<Elem = bool>;

    /// The loop over one operand.
    fn unary<V: Memory, B: Body<(V,), Out: Memory>>() -> Loop;
    /// The loop over two operands.
    fn binary<V: Memory, B: Body<(V, V), Out: Memory>>() -> Loop;
    /// The loop over a mask and two operands.
    fn choice<V: Memory + Num<Mask: Memory>, B: Body<(V::Mask, V, V), Out: Memory>>() -> Loop;
    /// The loop over three operands.
    fn ternary<V: Memory, B: Body<(V, V, V), Out: Memory>>() -> Loop;
    /// A batch of random blocks, as [`crate::philox::words`] makes them.
    ///
    /// # Safety
    /// The processor must have the set's features.
    #[inline(always)]
    unsafe fn philox(key: u64, first: u64) -> Words {
        crate::philox::words(key, first)
    }
    /// Four words a block, one block after another: element `4 b + w` is `words[w][b]`.
    ///
    /// # Safety
    /// The processor must have the set's features.
    #[inline(always)]
    unsafe fn interleave(words: [[u32; 16]; 4]) -> [u32; 64] {
        let mut out = [0; 64];
        for b in 0..16 {
            for w in 0..4 {
                out[4 * b + w] = words[w][b];
            }
        }
        out
    }
    /// Calls `work` in a function that has the set's features.
    ///
    /// # Safety
    /// The processor must have them.
    unsafe fn vectorize<W: Work>(work: W) -> W::Out;
}

/// Something to run with a set's features enabled; `run` must be `#[inline(always)]`.
pub(crate) trait Work {
    /// What it gives.
    type Out;
    /// Does it.
    fn run(self) -> Self::Out;
}

/// The instruction sets there are kernels for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Isa {
    /// What every processor of the architecture has.
    Baseline,
    /// AVX2 with fused multiply-add.
    Avx2,
    /// AVX-512 F, BW, VL and DQ.
    Avx512,
}

impl Isa {
    /// Every instruction set, the plainest first.
    pub const ALL: [Isa; 3] = [Isa::Baseline, Isa::Avx2, Isa::Avx512];

    /// The name, as the environment variable `FORERUN_ISA` spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Isa::Baseline => "baseline",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        }
    }

    /// Whether this processor has it.
    pub fn is_available(self) -> bool {
        match self {
            Isa::Baseline => true,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => {
                is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("bmi2")
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => {
                Isa::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512dq")
            }
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }

    /// The best one this processor has, or a plainer one if `FORERUN_ISA` names it.
    pub fn detect() -> Isa {
        let best = Isa::ALL.into_iter().rev().find(|isa| isa.is_available()).unwrap_or(Isa::Baseline);
        let named = |name: &str| Isa::ALL.into_iter().find(|isa| isa.name() == name);
        let wanted = Settings::environment().read("FORERUN_ISA", "baseline, avx2 or avx512", named);
        wanted.map_or(best, |isa| isa.min(best))
    }
}
