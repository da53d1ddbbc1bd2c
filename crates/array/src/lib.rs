//! Arrays, views, submit, read, wait; the runtime that joins engine, plan and backends. Knows no frontend.
//!
//! Under `cfg(loom)` this crate is empty: the test `loom` includes the sources of its lock-free protocols.

#![cfg(not(loom))]

mod apart;
mod array;
mod at_once;
mod attach;
mod attention;
mod awaken;
mod balance;
mod blockers;
mod buffer;
mod cancel;
mod capture;
mod collect;
mod device;
mod display;
mod failures;
mod flights;
mod fork;
mod future;
mod graph;
mod holders;
mod host;
mod index;
mod inline;
mod issue;
mod kept;
mod launch;
mod life;
mod lower;
mod memo;
mod memory;
mod methods;
mod no_sync;
mod node;
mod nonfinite;
mod observe;
mod operators;
pub mod ops;
mod origin;
mod planner;
mod plans;
mod random;
mod read;
mod recipe;
mod record;
mod restore;
mod retired;
mod runtime;
mod segment;
mod spot;
mod submit;
mod sync;
mod trace;
mod wait;
mod window;

pub use array::{Arg, Array};
pub use attach::{Attachment, Verdict, Write};
pub use attention::reads_plainly;
pub use blockers::{Blocker, Waiting, blockers, last_wait, reset_blockers};
pub use cancel::cancel_pending;
pub use capture::{Capture, Program, whole_inputs, write_back};
pub use device::{
    DeviceStats, accelerator_count, check_device, cuda_number, current_device, device_stats, empty_device_cache,
    on_device, reset_device_peak, set_current_device, set_device_budget, set_fast_products, settle_device, simulate,
};
pub use forerun_cpu::ScratchAllocator;
pub use forerun_cuda::search_in as search_cuda_in;
pub use forerun_engine::{Budget, Mode};
pub use forerun_plan::{Attrs, Meta, Signature};
pub use forerun_sim::Options as SimOptions;
pub use fork::end_background;
pub use future::Ready;
pub use graph::{Submission, note_submissions};
pub use holders::Holder;
pub use host::{has_host_room, make_host_room};
pub use index::Index;
pub use memory::{Holds, MemoryStats, empty_cache, memory_stats, reset_peak, set_budget};
pub use no_sync::{SyncRule, no_sync, refusal, set_sync_rule, sync_rule};
pub use nonfinite::{abandon_detecting, detect_nonfinite, detects_nonfinite, start_detecting, stop_detecting};
pub use observe::{Note, Observer, add_observer, note_unrepeatable, remove_observer};
pub use origin::Origin;
pub use random::{seed, stream_of, swap_stream, watch_forks};
pub use read::{Lent, Snapshot};
pub use runtime::{Stats, engine, num_threads, set_drop_dead, set_fuse, set_num_threads, set_tiny_limit, stats};
pub use trace::{Event, Happening, Lane, start_trace, stop_trace};
pub use wait::{
    AroundWait, Wait, has_room, make_room_with, set_around_wait, wait_all, wait_all_counted, wait_all_with,
};
pub use window::{Slots, leave, on_arrival, slots};
