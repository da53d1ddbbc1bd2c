//! The ops as functions: inference at once, on the user's line; then one record.

mod create;
mod pointwise;
mod product;
mod reduce;
mod shape;
mod take;
mod write;

pub use create::{arange, eye, from_host, full, normal, uniform};
pub use pointwise::{cast, copy, pointwise};
pub use product::{dot, matmul};
pub use reduce::{mean, reduce};
pub use shape::{broadcast_to, concatenate, expand_dims, index, reshape, squeeze, stack, transpose};
pub use take::{scatter_add, take};
pub use write::{assign, in_place};
