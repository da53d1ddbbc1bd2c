//! Vectors: the types that pointwise bodies are instantiated with, for each instruction set.
//!
//! Invariant: every vector of a set has the same number of lanes, whatever its dtype, so that casts, comparisons and
//! choices need no bookkeeping. Methods are `#[inline(always)]`, and fast only inside a function
//! that enables the set's features ([`Set::vectorize`]).
//!
//! Which features the processor has is proved by tokens: a value of [`Avx2`] or [`Avx512`], also inside an [`Isa`], exists
//! only if they were detected, or if the caller of the unsafe [`Set::assume`] promised them. [`Baseline`] needs none.
//!
//! Registers (`F32x8`, `F64x4`, `F32x16`, `F64x8`) prove the features of their set only by convention. The unsafe
//! [`Memory::load`] and [`Memory::splat`] make one where the caller promises the features. The safe constants of bodies
//! (`constant`, `small`) make one too: they must be called only where a body is applied to registers. [`Lanes`] are arrays
//! and prove nothing.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod lanes;
#[cfg(target_arch = "x86_64")]
mod pair;
mod set;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use lanes::{Lanes, collect};
pub use set::{Avx2, Avx512, Isa};
pub(crate) use set::{Baseline, Memory, Piece, Set, Work, by_set, with_features};
