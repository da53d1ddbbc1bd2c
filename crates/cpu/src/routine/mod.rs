//! Building blocks of routine kernels: the call interface, and vectorized sorting, searching and packing. The kernels
//! are in [`crate::family`].

pub(crate) mod among;
pub(crate) mod call;
pub(crate) mod interp;
pub(crate) mod keys;
pub(crate) mod lines;
#[cfg(target_arch = "x86_64")]
pub(crate) mod pack;
#[cfg(target_arch = "x86_64")]
pub(crate) mod pack_avx2;
pub(crate) mod radix;
pub(crate) mod select;
pub(crate) mod source;
#[cfg(target_arch = "x86_64")]
mod vectors;
#[cfg(target_arch = "x86_64")]
mod wide;
#[cfg(target_arch = "x86_64")]
mod wide_avx2;

pub(crate) use call::{compile, kernels};
