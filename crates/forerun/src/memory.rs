//! Host memory: live bytes, the source lines that hold them, the budget, and the cache of free buffers.

pub use forerun_array::{Budget, Holder, Holds, MemoryStats, empty_cache, memory_stats, reset_peak, set_budget};
