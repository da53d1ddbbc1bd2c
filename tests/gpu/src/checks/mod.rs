//! The checks, by topic.

mod all;
mod fills;
mod lanes;
mod moves;
mod pointwise;
mod products;
mod reductions;
mod routines;
mod rows;

pub(crate) use all::ALL;
