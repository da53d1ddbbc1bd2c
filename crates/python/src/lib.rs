//! The Python bindings: number slots, exchange with NumPy, GIL release, locs, exceptions.
//!
//! Invariant: this crate only converts. The catalogue defines what an op means, and the engine decides when it runs.

mod advanced;
mod allocator;
mod archive;
mod array;
mod autograd;
mod awaiting;
mod blockers;
mod buffer;
mod capture;
mod codecs;
mod codes;
mod cuda_interface;
mod device;
mod dlpack;
mod dtype;
mod error;
mod exchange;
#[cfg(any(feature = "faults", debug_assertions))]
mod fail;
mod forwarded;
mod functions;
mod graph;
mod images;
mod index;
mod initialise;
mod layers;
mod loc;
mod losses;
mod memory;
mod methods;
mod module;
mod new_object;
mod op_hooks;
mod operand;
mod operators;
mod pycall;
mod recurrent;
mod row_iter;
mod sequence;
mod shapes;
mod submit;
mod switches;
mod threads;
mod trace;
mod ufunc;
mod updates;
mod wait;
