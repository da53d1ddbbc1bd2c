//! Kernels of plans as launches: one file a kind, mirroring the host's.

mod complaint;
mod fill;
mod kernel;
mod mover;
mod place;
mod pointwise;
mod product;
mod reduce;
mod routine;
mod rows;

pub use complaint::{Complain, complaint};
pub use kernel::LaunchableKernel;
pub(crate) use product::Products;
pub use routine::runs;
pub(crate) use routine::{plan, scale_text};
