//! The names that most programs use: the part of `forerun::prelude` that does not need gradients or layers.

pub use crate::Index::{self, Ellipsis, NewAxis};
pub use crate::functions::{
    arange, array, concatenate, einsum, eye, fft, full, full_like, hstack, linalg, linspace, meshgrid, normal, ones,
    ones_like, random, stack, uniform, vstack, where_, zeros, zeros_like,
};
pub use crate::{Array, ArrayLike, SharedArray, s, wait_all};
pub use forerun_base::{Complex, DType, Device, Error, ErrorKind, Result, Scalar};
