//! Memory statistics, and the error message of a failed allocation.

use crate::observe::holders::Holder;
use crate::runtime::devices::{OwnDevice, accelerators};
use crate::runtime::{Runtime, runtime};
use forerun_base::{Error, ErrorKind};
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Number of holders named in the error of a failed allocation.
const NAMED: usize = 3;

/// Memory statistics. Sizes are in bytes, as the pool rounds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryStats {
    /// Bytes of arrays.
    pub live: usize,
    /// Maximum of the live bytes since the start or [`reset_peak`].
    pub peak: usize,
    /// Bytes that the pool keeps for reuse; [`empty_cache`] releases them.
    pub cached: usize,
    /// Bytes that planned tasks will allocate when they start.
    pub promised: usize,
    /// Limit on live bytes for work that runs ahead.
    pub budget: usize,
    /// Allowance in bytes for random numbers ahead of the oldest unfinished work, and for queued host copies.
    pub prefetch: usize,
    /// Bytes of the allowance that random numbers use.
    pub prefetched: usize,
    /// Records submitted and not planned.
    pub queued_records: u64,
    /// Bytes copied from the host whose arrays were dropped and that only pending readers need.
    pub queued_host: usize,
    /// Submissions that blocked because the window was full.
    pub held_by_window: Holds,
    /// Submissions that blocked because too much host data was queued.
    pub held_by_host: Holds,
    /// Total bytes of all buffers ever allocated for arrays.
    pub allocated_bytes: u64,
    /// Number of buffers ever allocated for arrays.
    pub allocations: u64,
    /// Live bytes by source line, the largest first. Buffers below 4 KiB are not counted.
    pub holders: Vec<Holder>,
}

/// Number and total duration of blocked submissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holds {
    /// Number of blocked submissions.
    pub times: u64,
    /// Total time they were blocked.
    pub time: Duration,
}

/// Counts blocked submissions.
#[derive(Default)]
pub(crate) struct HoldCounter {
    times: AtomicU64,
    nanoseconds: AtomicU64,
}

/// Counters by the reason for blocking.
#[derive(Default)]
pub(crate) struct HoldCounters {
    pub(crate) window: HoldCounter,
    pub(crate) host: HoldCounter,
}

impl HoldCounter {
    /// Counts a blocked submission, which lasts as long as `wait` does.
    pub(crate) fn during<T>(&self, wait: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = wait();
        self.times.fetch_add(1, Relaxed);
        self.nanoseconds.fetch_add(start.elapsed().as_nanos() as u64, Relaxed);
        result
    }

    fn get(&self) -> Holds {
        Holds { times: self.times.load(Relaxed), time: Duration::from_nanos(self.nanoseconds.load(Relaxed)) }
    }
}

/// Current memory statistics.
pub fn memory_stats() -> MemoryStats {
    let runtime = runtime();
    let (engine, budget, pool) = (&runtime.engine, runtime.engine.budget(), runtime.pool.stats());
    MemoryStats {
        live: budget.live,
        peak: budget.peak,
        cached: pool.cached,
        promised: budget.unstarted,
        budget: budget.limit,
        prefetch: engine.prefetch(),
        prefetched: engine.prefetched(),
        // The head is read first: it never overtakes the tail.
        queued_records: runtime.windows.iter().map(|w| (w.ring.head(), w.ring.tail())).map(|(h, t)| t - h).sum(),
        queued_host: runtime.host.bytes(),
        held_by_window: runtime.held.window.get(),
        held_by_host: runtime.held.host.get(),
        allocated_bytes: pool.taken,
        allocations: pool.blocks,
        holders: runtime.holders.all(),
    }
}

/// Resets the peak to the live bytes.
pub fn reset_peak() {
    runtime().engine.reset_peak();
}

/// Sets the limit on live bytes for work that runs ahead; returns the previous setting. The oldest unfinished task may
/// always start, so a small budget makes a program slower but never wrong. `FORERUN_BUDGET` sets the initial value.
pub fn set_budget(bytes: usize) -> usize {
    let engine = &runtime().engine;
    let former = engine.budget().limit;
    engine.set_budget(bytes);
    former
}

/// Releases the bytes that the pool keeps for reuse to the system.
pub fn empty_cache() {
    runtime().pool.trim();
    accelerators().for_each(|device| device.accelerator.empty_cache());
}

/// The error of a failed allocation. It names the largest holders.
pub(crate) fn no_memory(device: Option<&OwnDevice>, bytes: usize) -> Error {
    let Runtime { engine, holders, .. } = runtime();
    let mut text = format!("cannot allocate {bytes} bytes");
    let (live, holders) = match device {
        None => (engine.budget().live, holders),
        Some(device) => {
            // Writing to a string cannot fail.
            let _ = write!(text, " on gpu({})", device.number);
            (engine.device_budget(device.number).live, &device.holders)
        }
    };
    for (at, holder) in holders.all().iter().take(NAMED).enumerate() {
        let before = if at == 0 { format!("; of {live} live bytes, ") } else { ", ".into() };
        let Holder { loc, op, bytes, arrays } = holder;
        let noun = if *arrays == 1 { "array" } else { "arrays" };
        let _ = write!(text, "{before}{bytes} are held by {arrays} {noun} of {op} at {}", loc.text());
    }
    Error::new(ErrorKind::Memory, text)
}
