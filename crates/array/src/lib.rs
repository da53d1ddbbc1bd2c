//! Arrays, views, submission, reading and waiting; the runtime that joins engine, plan and backends. Knows no frontend.
//!
//! Under `cfg(loom)` this crate is empty: the test `loom` includes the sources of its lock-free protocols.

#![cfg(not(loom))]

mod array;
pub mod dlpack;
pub mod functions;
mod methods;
mod observe;
pub mod ops;
pub mod prelude;
mod runtime;

pub use array::attachments::{Attachment, Verdict, Write};
pub use array::future::ReadyFuture;
pub use array::index::Index;
pub use array::read::{Lent, Snapshot};
pub use array::shared::SharedArray;
pub use array::wait::{
    AroundWait, Wait, drain, has_room, make_room_with, set_around_wait, wait_all, wait_all_counted, wait_all_with,
};
pub use array::{Arg, Array, ArrayLike};
pub use forerun_cpu::{Isa, ScratchAllocator};
pub use forerun_cuda::{
    FoundLibrary as CudaLibrary, driver_version as cuda_driver_version, libraries as cuda_libraries,
    search_in as search_cuda_in,
};
pub use forerun_engine::{Budget, Mode};
pub use forerun_plan::{Attrs, Meta, Signature};
pub use forerun_sim::Options as SimOptions;
pub use observe::blockers::{Blocker, Waiting, blockers, last_wait, reset_blockers};
pub use observe::capture::{
    Capture, CapturedPlace, CapturedProgram, CapturedSlot, CapturedStep, whole_inputs, write_back,
};
pub use observe::holders::Holder;
pub use observe::no_sync::{SyncRule, no_sync, refusal, set_sync_rule, sync_rule};
pub use observe::nonfinite::{abandon_detecting, detect_nonfinite, detects_nonfinite, start_detecting, stop_detecting};
pub use observe::observers::{ObservedOp, Observer, add_observer, note_unrepeatable, remove_observer};
pub use observe::origin::Origin;
pub use observe::read_hooks::reads_plainly;
pub use observe::submissions::{Submission, note_submissions};
pub use observe::trace::{EventKind, TraceEvent, Track, name_track, start_trace, stop_trace};
pub use runtime::cancel::cancel_pending;
pub use runtime::devices::{
    DeviceStats, accelerator_count, check_device, cuda_number, current_device, device_stats, empty_device_cache,
    on_device, reset_device_peak, set_current_device, set_device_budget, set_fast_products, settle_device, simulate,
    user_kernel,
};
pub use runtime::fork::end_background;
pub use runtime::host_queue::{has_host_room, make_host_room};
pub use runtime::memory::{Holds, MemoryStats, empty_cache, memory_stats, reset_peak, set_budget};
pub use runtime::random_streams::{seed, stream_of, stream_position, swap_stream, watch_forks};
pub use runtime::window::{SlotStats, leave, on_arrival, slots};
pub use runtime::{RuntimeStats, engine, num_threads, set_drop_dead, set_fuse, set_num_threads, set_tiny_limit, stats};
