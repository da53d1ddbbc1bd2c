//! Vectors: the types that pointwise bodies are instantiated with, for each instruction set.
//!
//! Invariant: all vectors of a set have the same number of lanes, whatever the dtype, so casts, comparisons and
//! selections need no bookkeeping. Methods are `#[inline(always)]` and sound only inside a function that enables the
//! set's features; [`crate::loops`] and the other users of [`Set`] ensure that.

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

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Avx512;
pub(crate) use lanes::{Baseline, Lanes, collect};
pub use set::Isa;
pub(crate) use set::{Memory, Set, Work};
