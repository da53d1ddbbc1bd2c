//! NVIDIA devices: the driver, generated kernels, products, memory, streams, graphs. Everything is found at run time;
//! without a driver there is no device, and nothing else changes. Knows nothing of arrays, engines or the host's kernels.

mod accelerator;
mod alone;
mod batch;
mod compile;
mod copier;
mod family;
mod gpu;
mod graph;
mod lanes;
mod memory;
mod pinned;
mod rhythm;
mod routine_texts;
mod run;
mod staging;
mod sys;
mod text;
mod texts;

pub use accelerator::{Cuda, SharedCuda};
pub use compile::{Counts, TextCompiler};
pub use gpu::{Gpu, Io, Raised};
pub use graph::Graph;
pub use lanes::{Lane, Ticket};
pub use memory::MemoryInfo;
pub use run::{Complain, Launch, complaint, left_to_host, runs};
pub use sys::search_in;
pub use texts::{ptx_texts, texts};
