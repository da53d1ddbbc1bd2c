//! CUDA C and PTX, generated from the catalogue's bodies and from plans. Pure: sources are generated and tested without
//! a device.
//!
//! Invariant: a source depends on the class of a shape (rank, contiguity, index width), never on extents or strides;
//! those are words of the kernel's argument. The cache key of a kernel is its source.

mod bodies;
mod fills;
mod index;
mod moves;
mod prelude;
mod products;
mod programs;
mod ptx;
mod ptx_casts;
mod ptx_turns;
mod ptx_verbs;
mod reductions;
mod routines;
mod rows;

pub(crate) use fills::{PHILOX, fill_text};
pub(crate) use index::{Collapsed, divisor};
pub(crate) use moves::{copy_text, put_text, transpose_text};
pub(crate) use products::product_text;
pub(crate) use programs::Evaluator;
pub(crate) use ptx::{first_ptx, pointwise_ptx};
pub(crate) use reductions::{Shape as ReduceShape, finish_text, partial_size, reduce_text};
pub(crate) use routines::{computed, define, function_text, indices, moved, ordered, routine_text};
pub(crate) use rows::{scatter_text, take_text};
