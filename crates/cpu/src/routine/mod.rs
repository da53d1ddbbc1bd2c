//! Routines on the host: a file a family. Each is a function over typed slices; how they are reached is in `call`.

mod along;
mod among;
mod call;
mod choose;
mod convolve;
mod count;
mod draw;
mod fft;
mod interp;
mod keys;
mod linalg;
mod lines;
mod normalise;
mod order;
#[cfg(target_arch = "x86_64")]
mod pack;
#[cfg(target_arch = "x86_64")]
mod pack_avx2;
mod place;
mod radix;
mod scan;
mod search;
mod select;
mod source;
mod unique;
#[cfg(target_arch = "x86_64")]
mod vectors;
#[cfg(target_arch = "x86_64")]
mod wide;
#[cfg(target_arch = "x86_64")]
mod wide_avx2;

pub(crate) use call::compile;
