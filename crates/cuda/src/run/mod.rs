//! Kernels of plans as launches: one file a kind, mirroring the host's.

mod fill;
mod launch;
mod mover;
mod place;
mod pointwise;
mod product;
mod reduce;
mod rows;

pub use launch::Launch;
pub(crate) use launch::runs;
pub(crate) use product::Products;
