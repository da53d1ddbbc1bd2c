//! Bindings to NVIDIA's libraries: tables of functions, loaded at run time. Only functions that this crate calls are
//! declared.

mod blas;
mod driver;
mod found;
mod fourier;
mod jit_link;
mod library;
mod nvrtc;
mod nvtx;
mod table;

pub(crate) use blas::{Blas, Heuristic, code as blas_code};
pub(crate) use driver::{
    Context, Driver, Event, Function, GraphExec, GraphHandle, GraphNode, KernelParams, MemPool, Module, PoolProps,
    Stream, UpdateOutcome, code as driver_code,
};
pub use found::{FoundLibrary, driver_version, libraries};
pub(crate) use fourier::{Fourier, code as fourier_code};
pub(crate) use jit_link::{JitLink, PTX as JIT_LINK_PTX};
pub use library::search_in;
pub(crate) use nvrtc::{Nvrtc, Program as NvrtcProgram};
pub(crate) use nvtx::Nvtx;
