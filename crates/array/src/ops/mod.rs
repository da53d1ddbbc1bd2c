//! The ops as functions: inference at once, on the user's line; then one record.

mod create;
mod optimise;
mod pointwise;
mod product;
mod reduce;
mod shape;
mod write;

pub(crate) use create::redraw;
pub use create::{arange, eye, from_host, full, normal, uniform};
pub use optimise::{Preparation, adam_update, sgd_update};
pub use pointwise::{cast, copy, pointwise};
pub use product::{dot, matmul};
pub use reduce::{mean, reduce};
pub use shape::{broadcast_to, concatenate, expand_dims, index, reshape, squeeze, stack, transpose, view_as};
pub(crate) use write::repoint;
pub use write::{adopt, assign, in_place};
