//! The names that most programs use: `use forerun::prelude::*`.

pub use crate::{Array, DType, Device, Index, Result, Scalar, grad::Differentiable, nn::Layer};
pub use crate::{arange, array, eye, full, normal, ones, uniform, zeros};
