//! What memory is used for, and by whom; for people, and for the message of an allocation that failed.

use crate::observe::holders::Holder;
use crate::runtime::devices::{OwnDevice, accelerators};
use crate::runtime::{Runtime, runtime};
use forerun_base::{Error, ErrorKind};
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Holders named by the error of an allocation that failed.
const NAMED: usize = 3;

/// What memory is used for. Sizes are in bytes, as the pool rounds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryStats {
    /// Bytes of arrays.
    pub live: usize,
    /// The most bytes of arrays at once, since the start or [`reset_peak`].
    pub peak: usize,
    /// Bytes that the pool keeps for reuse; [`empty_cache`] gives them back.
    pub cached: usize,
    /// Bytes that planned tasks will take when they start.
    pub promised: usize,
    /// How many live bytes running ahead may reach.
    pub budget: usize,
    /// Bytes that random numbers may take ahead of the oldest unfinished work, and host copies beyond what is held.
    pub prefetch: usize,
    /// How much of it random numbers have taken.
    pub prefetched: usize,
    /// Records submitted and not yet planned.
    pub queued_records: u64,
    /// Bytes copied from the host whose arrays nobody holds any more and that wait for their readers.
    pub queued_host: usize,
    /// Submissions held because the window was full.
    pub held_by_window: Holds,
    /// Submissions held because too much host data was queued.
    pub held_by_host: Holds,
    /// Bytes of all buffers ever taken for arrays.
    pub allocated_bytes: u64,
    /// How many buffers were ever taken for arrays.
    pub allocations: u64,
    /// Who holds live bytes, line by line, the largest first. Buffers below 4 KiB are left out.
    pub holders: Vec<Holder>,
}

/// How often, and for how long altogether, submissions were held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holds {
    /// How often.
    pub times: u64,
    /// How long altogether.
    pub time: Duration,
}

/// Counts holds.
#[derive(Default)]
pub(crate) struct HoldCounter {
    times: AtomicU64,
    nanoseconds: AtomicU64,
}

/// Why submissions are held.
#[derive(Default)]
pub(crate) struct HoldCounters {
    pub(crate) window: HoldCounter,
    pub(crate) host: HoldCounter,
}

impl HoldCounter {
    /// Counts a hold, which lasts as long as `wait` does.
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

/// What memory is used for, and by whom.
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

/// Lets the peak start again from what is live now.
pub fn reset_peak() {
    runtime().engine.reset_peak();
}

/// Sets how many live bytes running ahead may reach; returns the former setting. The oldest unfinished work may always go on,
/// so a small budget makes a program slower, never wrong. `FORERUN_BUDGET` is what it begins with.
pub fn set_budget(bytes: usize) -> usize {
    let engine = &runtime().engine;
    let former = engine.budget().limit;
    engine.set_budget(bytes);
    former
}

/// Gives the bytes that the pool keeps for reuse back to the system.
pub fn empty_cache() {
    runtime().pool.trim();
    accelerators().for_each(|device| device.accelerator.empty_cache());
}

/// The error of an allocation that failed. It names those who hold the most.
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
