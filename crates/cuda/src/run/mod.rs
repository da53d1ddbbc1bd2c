//! Launches of a plan's kernels, one file per kind, with the same names as on the host.

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

pub(crate) use complaint::beyond;
pub use complaint::{Complain, complaint};
pub use kernel::LaunchableKernel;
pub(crate) use kernel::Run;
pub(crate) use mover::Mover;
pub(crate) use product::Products;
#[cfg(test)]
pub(crate) use routine::sample_calls;
pub(crate) use routine::{CheckedCall, DeviceKernel, Job, Plan, are_real, checked, kernels, walk};
pub use routine::{left_to_host, runs};
