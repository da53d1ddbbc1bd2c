//! Host memory: what is live, which source lines hold it, the budget, and the cache of free buffers.

pub use forerun_array::{Budget, Holder, Holds, MemoryStats, empty_cache, memory_stats, reset_peak, set_budget};
