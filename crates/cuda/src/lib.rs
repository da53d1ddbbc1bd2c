//! NVIDIA devices: driver, generated kernels, products, memory, streams, graphs. All libraries are found at run time;
//! without a driver there are no devices, and nothing else changes. Must not know arrays, engines or the host's
//! kernels.

mod accelerator;
mod batch;
mod compile;
mod copier;
mod family;
mod gpu;
mod graph;
mod kernel_graph;
mod memory;
mod period;
mod pinned;
mod routine_texts;
mod run;
mod staging;
mod streams;
mod sys;
mod text;
mod texts;

pub use accelerator::Cuda;
pub use compile::{Counts, TextCompiler};
pub use gpu::{DeviceIo, Gpu, Raised};
pub use graph::Graph;
pub use memory::MemoryInfo;
pub use run::{Complain, LaunchableKernel, complaint, left_to_host, runs};
pub use streams::Mark;
pub use sys::{FoundLibrary, driver_version, libraries, search_in};
pub use texts::{ptx_texts, texts};
