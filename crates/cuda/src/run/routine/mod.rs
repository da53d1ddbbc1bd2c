//! Routines on the device: a file a family. Each says which texts it is made of and how they are launched; how they are reached
//! is in `job`.

mod along;
mod choose;
mod complaint;
mod draw;
mod families;
mod fft;
mod job;
mod linalg;
mod normalise;
mod order;
mod place;
mod scan;
mod search;
mod unique;

pub(super) use complaint::complaint;
pub(super) use families::launcher;
pub(crate) use families::plan;
pub use families::runs;
pub(crate) use fft::scale_text;
