//! The ops as functions: inference at once, on the user's line; then one record.

mod at;
mod complex;
mod create;
mod foreign;
mod layers;
mod normalise;
mod optimise;
mod pointwise;
mod product;
mod reduce;
mod routine;
mod shape;
mod slice;
mod take;
mod terms;
mod transfer;
mod write;

pub use at::at;
pub(crate) use create::redraw;
pub use create::{arange, eye, from_host, full, normal, uniform};
pub use foreign::from_device;
pub use layers::{Activation, activation, dropout, fully_connected, one_hot};
pub use normalise::{BatchNorm, Channels, batch_norm, layer_norm, log_softmax, softmax};
pub use optimise::{Preparation, adam_update, sgd_update};
pub use pointwise::{cast, clip, copy, pointwise};
pub use product::{dot, matmul};
pub use reduce::{mean, reduce, std, var};
pub use routine::routine;
pub use shape::{broadcast_to, concatenate, expand_dims, index, reshape, squeeze, stack, transpose, view_as};
pub use slice::{Element, from_bytes, from_slice};
pub use take::{embedding, pick, scatter_add, take};
pub use transfer::transfer;
pub(crate) use write::repoint;
pub use write::{adopt, assign, in_place};
