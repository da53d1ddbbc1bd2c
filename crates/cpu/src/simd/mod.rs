//! Vectors: the types that pointwise bodies are instantiated with, for each instruction set.
//!
//! Invariant: every vector of a set has the same number of lanes, whatever its dtype, so that casts, comparisons and
//! choices need no bookkeeping. Methods are `#[inline(always)]`, and fast only inside a function
//! that enables the set's features ([`Set::vectorize`]). Where the processor has them is said by types: an [`Isa`] and each set's value
//! exist only there, and so does a vector.

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
