//! The interface for language bindings, beyond the public one: hooks around waits, threads and forks, captures,
//! exported buffers, and the op catalogue.
//!
//! A Rust program does not need this module. It may change with any release.

pub use forerun_array::{
    Capture, CapturedProgram, CudaLibrary, Isa, Lent, ObservedOp, Observer, ReadyFuture, ScratchAllocator,
    abandon_detecting, add_observer, cuda_driver_version, cuda_libraries, cuda_number, detects_nonfinite, drain,
    end_background, has_host_room, has_room, leave, make_host_room, make_room_with, on_arrival, on_device,
    reads_plainly, refusal, remove_observer, search_cuda_in, set_around_wait, settle_device, start_detecting,
    stop_detecting, stream_of, swap_stream, user_kernel, wait_all_counted, wait_all_with, watch_forks, whole_inputs,
    write_back,
};
pub use forerun_base::SourceLine;
/// Dtype promotion of operands.
pub use forerun_ops::infer::{ArgType, promote};
/// Sample calls of every op, for tests.
pub use forerun_ops::samples;
pub use forerun_ops::user_kernel::KernelSource;
pub use forerun_ops::{Attribute, AttributeKind, COMPOSITE, Class, Encoded, Op, OpRow, PointRow, STRUCTURED, Tier};
