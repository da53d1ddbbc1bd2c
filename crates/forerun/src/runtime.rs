//! Switches and counters of the runtime: threads, fusion, dropping of dead results, cancellation.

pub use forerun_array::{
    Mode, RuntimeStats, SlotStats, cancel_pending, engine, num_threads, set_drop_dead, set_fuse, set_num_threads,
    set_tiny_limit, slots, stats,
};
