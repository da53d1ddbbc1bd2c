//! From text to loaded kernels: the run-time compiler, its queue, and what was compiled before.

mod cache;
mod compiler;
mod end;
mod nvrtc;

pub use compiler::Counts;
pub(crate) use compiler::{Compiler, Unit};
pub use nvrtc::TextCompiler;
