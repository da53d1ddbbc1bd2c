//! The traits of vectors (besides arithmetic) and of instruction sets.

use crate::loops::Loop;
use crate::philox::Words;
use forerun_base::Settings;
use forerun_ops::{Body, Num, NumBits, NumFloat, NumWhole};

/// Vectors and masks in memory. A mask is stored as truth values, one byte each.
pub(crate) trait Memory: Copy {
    /// One element.
    type Elem: Copy;
    /// Elements per vector.
    const LANES: usize;

    /// # Safety
    /// `LANES` elements must be readable.
    unsafe fn load(from: *const Self::Elem) -> Self;

    /// # Safety
    /// `LANES` elements must be writable.
    unsafe fn store(self, to: *mut Self::Elem);

    /// Loads the first `count < LANES` elements; the other lanes are zero.
    ///
    /// # Safety
    /// `count` elements must be readable.
    unsafe fn load_first(from: *const Self::Elem, count: usize) -> Self;

    /// # Safety
    /// `count` elements, less than `LANES`, must be writable.
    unsafe fn store_first(self, to: *mut Self::Elem, count: usize);

    /// Broadcasts an element. Call it only in functions that enable the set's features (see [`Set::vectorize`]); builds
    /// with debug assertions check that the CPU supports them.
    fn splat(value: Self::Elem) -> Self;
}

/// An instruction set: its vectors and the loops compiled for it.
pub(crate) trait Set: 'static {
    /// Whether comparisons produce mask registers, which one instruction converts to bytes.
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
    /// Generates a batch of random blocks, like [`crate::philox::words`].
    ///
    /// # Safety
    /// The CPU must support the set.
    #[inline(always)]
    unsafe fn philox(key: u64, first: u64) -> Words {
        crate::philox::words(key, first)
    }
    /// Interleaves four words per block: element `4 b + w` is `words[w][b]`.
    ///
    /// # Safety
    /// The CPU must support the set.
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
    /// Calls `work` in a function with the set's features enabled.
    ///
    /// # Safety
    /// The CPU must support the set.
    unsafe fn vectorize<W: Work>(work: W) -> W::Out;
}

/// Code to run with a set's features enabled; `run` must be `#[inline(always)]`.
pub(crate) trait Work {
    /// The result.
    type Out;
    /// Runs the code.
    fn run(self) -> Self::Out;
}

/// The supported instruction sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Isa {
    /// The features that every CPU of the architecture has.
    Baseline,
    /// AVX2 with fused multiply-add.
    Avx2,
    /// AVX-512 F, BW, VL and DQ.
    Avx512,
}

impl Isa {
    /// Every instruction set, from the most basic to the widest.
    pub const ALL: [Isa; 3] = [Isa::Baseline, Isa::Avx2, Isa::Avx512];

    /// The name, as in the environment variable `FORERUN_ISA`.
    pub const fn name(self) -> &'static str {
        match self {
            Isa::Baseline => "baseline",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        }
    }

    /// Whether this CPU supports it.
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

    /// The best set that this CPU supports, or a lower one if `FORERUN_ISA` names it.
    pub fn detect() -> Isa {
        let best = Isa::ALL.into_iter().rev().find(|isa| isa.is_available()).unwrap_or(Isa::Baseline);
        let named = |name: &str| Isa::ALL.into_iter().find(|isa| isa.name() == name);
        let wanted = Settings::environment().read("FORERUN_ISA", "baseline, avx2 or avx512", named);
        wanted.map_or(best, |isa| isa.min(best))
    }
}
