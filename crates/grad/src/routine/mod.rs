//! The rules of routines, a file a family.

mod along;
mod choose;
mod convolve;
mod fft;
mod linalg;
mod normalise;
mod order;
mod parts;
mod place;
mod rule;
mod scan;

pub(crate) use rule::rule;
