//! Functions on arrays for Rust programs, where a method would not do: they create arrays, join several, or have no array
//! that comes first.
//!
//! Invariant: as for methods, mistakes panic at the user's line, and `try_` before a name returns them instead.

pub(crate) mod by_name;
mod create;
pub(crate) mod einsum;
pub mod fft;
mod join;
pub mod linalg;
pub mod random;

pub use create::{
    arange, array, empty, eye, full, full_like, geomspace, identity, linspace, logspace, normal, ones, ones_like, tri,
    try_arange, try_empty, try_eye, try_full, try_full_like, try_geomspace, try_identity, try_linspace, try_logspace,
    try_normal, try_ones, try_ones_like, try_tri, try_uniform, try_zeros, try_zeros_like, uniform, zeros, zeros_like,
};
pub use einsum::{einsum, try_einsum};
pub use join::{
    broadcast_arrays, column_stack, concatenate, dstack, hstack, meshgrid, stack, try_broadcast_arrays,
    try_column_stack, try_concatenate, try_dstack, try_hstack, try_meshgrid, try_stack, try_vstack, try_where_, vstack,
    where_,
};
