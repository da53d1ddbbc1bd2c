//! From source to loaded kernels: NVRTC, the driver's assembler, their queue, and the disk cache.

mod cache;
mod compiler;
mod exit;
mod link;
mod nvrtc;

pub use compiler::Counts;
pub(crate) use compiler::{Compiler, Source, Unit};
pub use nvrtc::TextCompiler;
