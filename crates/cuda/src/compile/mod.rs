//! From text to loaded kernels: the run-time compiler, the driver's assembler, their queue, and what was compiled before.

mod cache;
mod compiler;
mod exit;
mod link;
mod nvrtc;

pub use compiler::Counts;
pub(crate) use compiler::{Compiler, Unit};
pub use nvrtc::TextCompiler;
