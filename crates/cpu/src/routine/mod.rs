//! Routines on the host: a file a family. Each is a function over typed slices; how they are reached is in `call`.

mod along;
mod call;
mod choose;
mod draw;
mod fft;
mod keys;
mod linalg;
mod lines;
mod normalise;
mod order;
#[cfg(target_arch = "x86_64")]
mod pack;
mod place;
mod radix;
mod scan;
mod search;
mod source;
mod unique;
#[cfg(target_arch = "x86_64")]
mod wide;

pub(crate) use call::compile;
