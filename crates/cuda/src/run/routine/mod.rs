//! Routines on the device: a file a family. Each says which texts it is made of and how they are launched; how they are reached
//! is in `job`.

mod along;
mod choose;
mod complaint;
mod draw;
mod families;
mod job;
mod order;
mod place;
mod scan;
mod search;
mod unique;

pub(super) use complaint::complaint;
pub(crate) use families::plan;
pub use families::runs;
pub(super) use job::Caller;
