//! The ops as functions. Each infers its result immediately, so that mistakes raise on the user's line, and then
//! submits records.

mod advanced;
mod at;
mod attention;
mod complex;
mod create;
mod foreign;
mod images;
mod laid;
mod layers;
mod normalise;
mod parts;
mod pointwise;
mod product;
mod recurrent;
mod reduce;
mod routine;
mod shape;
mod slice;
mod take;
pub(crate) mod terms;
mod transfer;
mod write;

pub use advanced::{copy_where, count, get_rows, getitem, nonzero, put, setitem, uncounted};
pub use at::at;
pub use attention::{AttentionOptions, scaled_dot_product_attention};
pub(crate) use create::redraw;
pub use create::{arange, arange_of, empty, eye, from_host, full, normal, uniform};
pub use foreign::from_device;
pub use forerun_ops::List;
pub use forerun_ops::convolution::Window;
pub use forerun_ops::pooling::Pool;
pub use images::{PoolKind, convolution, convolution_transpose, global_pooling, pooling};
pub use laid::Item;
pub use layers::{Activation, activation, dropout, fully_connected, one_hot, prelu};
pub use normalise::{
    BatchNormOptions, Channels, batch_norm, group_norm, instance_norm, layer_norm, log_softmax, rms_norm, softmax,
};
pub use parts::{diagonal, flip, join, repeat, roll, swapaxes, tile, without};
pub use pointwise::{cast, clip, copy, pointwise};
pub use product::{dot, matmul, sum_of_products};
pub use recurrent::{RecurrentBegin, RecurrentOptions, RecurrentResult, RecurrentWeights, recurrent};
pub use reduce::{all, any, count_nonzero, mean, norm, reduce, reduce_unrounded, std, var};
pub use routine::{has_kernel, routine, routine_encoded};
pub use shape::{broadcast_to, concatenate, expand_dims, index, reshape, squeeze, stack, transpose, view_as};
pub use slice::{HostElement, from_bytes, from_slice};
pub use take::{embedding, pick, scatter_add, take};
pub use transfer::transfer;
pub(crate) use write::repoint;
pub use write::{adopt, assign, in_place, in_place_of};
