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
    /// `LANES` elements must be readable, and the processor must have the features of the vector's set.
    unsafe fn load(from: *const Self::Elem) -> Self;

    /// # Safety
    /// `LANES` elements must be writable.
    unsafe fn store(self, to: *mut Self::Elem);

    /// Loads the first `count < LANES` elements; the other lanes are zero.
    ///
    /// # Safety
    /// `count` elements must be readable, and the processor must have the features of the vector's set.
    unsafe fn load_first(from: *const Self::Elem, count: usize) -> Self;

    /// # Safety
    /// `count` elements, less than `LANES`, must be writable.
    unsafe fn store_first(self, to: *mut Self::Elem, count: usize);

    /// The same element in every lane.
    ///
    /// # Safety
    /// The processor must have the features of the vector's set.
    unsafe fn splat(value: Self::Elem) -> Self;
}

/// An instruction set: its vectors, and loops compiled for it. A value of the set is the proof that the processor has its
/// features.
pub(crate) trait Set: Copy + Send + Sync + 'static {
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
    fn unary<V: Memory, B: Body<(V,), Out: Memory>>(self) -> Loop;
    /// The loop over two operands.
    fn binary<V: Memory, B: Body<(V, V), Out: Memory>>(self) -> Loop;
    /// The loop over a mask and two operands.
    fn choice<V: Memory + Num<Mask: Memory>, B: Body<(V::Mask, V, V), Out: Memory>>(self) -> Loop;
    /// The loop over three operands.
    fn ternary<V: Memory, B: Body<(V, V, V), Out: Memory>>(self) -> Loop;
    /// The proof, where a caller has promised the features: loops are reached by plain addresses.
    ///
    /// # Safety
    /// The CPU must support the set.
    unsafe fn assume() -> Self;
    /// A batch of random blocks, as [`crate::philox::words`] makes them.
    #[inline(always)]
    fn philox(self, key: u64, first: u64) -> Words {
        crate::philox::words(key, first)
    }
    /// Interleaves four words per block: element `4 b + w` is `words[w][b]`.
    #[inline(always)]
    fn interleave(self, words: [[u32; 16]; 4]) -> [u32; 64] {
        let mut out = [0; 64];
        for b in 0..16 {
            for w in 0..4 {
                out[4 * b + w] = words[w][b];
            }
        }
        out
    }
    /// The top 24 bits of each word as a number in [0, 1).
    #[inline(always)]
    fn fractions(self, words: [u32; 16]) -> [f32; 16] {
        super::collect(|b| (words[b] >> 8) as i32 as f32 * 2f32.powi(-24))
    }
    /// Calls `work` in a function with the set's features enabled.
    fn vectorize<W: Work>(self, work: W) -> W::Out;
}

/// Code to run with a set's features enabled; `run` must be `#[inline(always)]`.
pub(crate) trait Work {
    /// The result.
    type Out;
    /// Runs the code.
    ///
    /// # Safety
    /// The processor must have the features of the vectors that the code uses. [`Set::vectorize`] calls it, so whoever makes the work must use
    /// vectors of that set.
    unsafe fn run(self) -> Self::Out;
}

/// A closure to run with a set's features enabled. It must be `#[inline(always)]`.
///
/// `FnMut`, not `FnOnce`: a closure is called once through a function of the compiler's, which is not always inlined, and then
/// the closure is compiled without the features.
pub(crate) struct Piece<W>(pub(crate) W);

impl<W: FnMut()> Work for Piece<W> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(mut self) {
        (self.0)()
    }
}

/// The set that every processor has.
#[derive(Clone, Copy)]
pub(crate) struct Baseline;

macro_rules! tokens {
    ($($(#[$doc:meta])* $set:ident: [$($feature:tt)*];)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
            pub struct $set(());

            #[cfg(target_arch = "x86_64")]
            impl $set {
                fn detect() -> Option<$set> {
                    ($(is_x86_feature_detected!($feature))&&*).then_some($set(()))
                }

                /// # Safety
                /// The processor must have the set's features.
                #[inline(always)]
                pub(super) unsafe fn assume() -> $set {
                    debug_assert!($set::detect().is_some(), "the processor has the set's features");
                    $set(())
                }
            }
        )*
    };
}

// The features with which `x86_set!` compiles.
tokens! {
    /// The proof that the processor has AVX2 with fused multiply-add.
    Avx2: ["avx2" "fma" "bmi1" "bmi2" "lzcnt" "popcnt"];
    /// The proof that the processor has AVX-512 F, BW, VL and DQ.
    Avx512: ["avx512f" "avx512bw" "avx512vl" "avx512dq" "avx2" "fma" "bmi1" "bmi2" "lzcnt" "popcnt"];
}

/// The instruction sets there are kernels for; each is the proof that the processor has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Isa {
    /// The features that every CPU of the architecture has.
    Baseline,
    /// AVX2 with fused multiply-add.
    Avx2(Avx2),
    /// AVX-512 F, BW, VL and DQ.
    Avx512(Avx512),
}

impl Isa {
    /// Their names, as the environment variable `FORERUN_ISA` spells them, the plainest first.
    const NAMES: [&str; 3] = ["baseline", "avx2", "avx512"];

    /// The instruction sets that this processor has, the plainest first.
    pub fn available() -> Vec<Isa> {
        #[cfg(target_arch = "x86_64")]
        let wider = [Avx2::detect().map(Isa::Avx2), Avx512::detect().map(Isa::Avx512)];
        #[cfg(not(target_arch = "x86_64"))]
        let wider = [None; 2];
        std::iter::once(Isa::Baseline).chain(wider.into_iter().map_while(|isa| isa)).collect()
    }

    /// The best one this processor has, or a plainer one if `FORERUN_ISA` names it.
    pub fn detect() -> Isa {
        let available = Isa::available();
        let named = |name: &str| Isa::NAMES.iter().position(|known| *known == name);
        let wanted = Settings::environment().read("FORERUN_ISA", "baseline, avx2 or avx512", named);
        available[wanted.unwrap_or(available.len()).min(available.len() - 1)]
    }

    /// The name, as `FORERUN_ISA` spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Isa::Baseline => Isa::NAMES[0],
            Isa::Avx2(_) => Isa::NAMES[1],
            Isa::Avx512(_) => Isa::NAMES[2],
        }
    }

    /// Whether it has mask registers and 64-byte vectors.
    pub const fn is_avx512(self) -> bool {
        matches!(self, Isa::Avx512(_))
    }
}

/// Evaluates an expression with `$set` bound to the set of an [`Isa`]: once for each, so that generic functions are compiled for
/// all of them.
macro_rules! by_set {
    ($isa:expr, $set:ident => $call:expr) => {
        match $isa {
            #[cfg(target_arch = "x86_64")]
            $crate::simd::Isa::Avx2($set) => $call,
            #[cfg(target_arch = "x86_64")]
            $crate::simd::Isa::Avx512($set) => $call,
            _ => {
                let $set = $crate::simd::Baseline;
                $call
            }
        }
    };
}
pub(crate) use by_set;

/// Runs `work`, which must be `#[inline(always)]`, with the features of an instruction set.
#[inline(always)]
pub(crate) fn with_features(isa: Isa, work: impl FnMut()) {
    by_set!(isa, set => set.vectorize(Piece(work)))
}
