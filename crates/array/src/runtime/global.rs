//! The runtime: one engine, pool, backend and planner, and all windows. Created by the first op and never destroyed.

use crate::observe::blockers::Blockers;
use crate::observe::holders::Holders;
use crate::runtime::fork;
use crate::runtime::host_queue::HostQueue;
use crate::runtime::intern_gc;
use crate::runtime::memory::HoldCounters;
use crate::runtime::planner::{Planner, WindowFeeder};
use crate::runtime::unread_failures::Failures;
use crate::runtime::window::{CAPACITY, LEAST_CAPACITY, MOST_CAPACITY, Windows};
use forerun_base::Mutex;
use forerun_base::{Error, ErrorKind, Loc, Result, Settings};
use forerun_cpu::{CpuBackend, Pool};
use forerun_engine::{Config, Engine, Mode, Padded, has_short_stack};
use forerun_plan::{Backend, PlanOptions};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// The process-wide state. Submitting threads read the engine and the settings; fields that planning writes are on
/// other cache lines.
pub(crate) struct Runtime {
    pub(crate) engine: Arc<Engine>,
    pub(crate) pool: Pool,
    pub(crate) backend: Arc<dyn Backend>,
    /// The planner's lock. Threads only try it and never block on it: only the engine blocks.
    pub(crate) planner: Padded<Mutex<Planner>>,
    pub(crate) windows: Windows,
    /// Whether every op runs immediately on its caller.
    pub(crate) sync: bool,
    pub(crate) counters: Padded<Counters>,
    pub(crate) holders: Holders,
    pub(crate) host: HostQueue,
    pub(crate) held: HoldCounters,
    pub(crate) blockers: Blockers,
    /// Errors that no thread has read yet.
    pub(crate) failures: Mutex<Failures>,
    fuse: AtomicBool,
    drop_dead: AtomicBool,
    tiny_limit: AtomicUsize,
}

/// Counters of the planner. Written under its lock.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) inlined: AtomicU64,
    pub(crate) tasks: AtomicU64,
    pub(crate) segments: AtomicU64,
    pub(crate) plan_hits: AtomicU64,
    pub(crate) plan_misses: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) donated: AtomicU64,
}

/// Adds to a counter that has one writer at a time.
pub(crate) fn count(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed) + n, Relaxed);
}

/// Maximum number of elements of a record that runs inline: the work is less than the cost of a task.
const TINY: usize = 4096;

/// The runtime.
#[inline]
pub(crate) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        fork::watch();
        intern_gc::watch();
        Runtime::new()
    })
}

impl Runtime {
    fn new() -> Runtime {
        let settings = Settings::environment();
        let config = Config::from_env();
        let sync = config.mode == Mode::Sync;
        let engine = Engine::new(config, Arc::new(WindowFeeder));
        Runtime {
            pool: Pool::new(engine.ledger()),
            engine,
            backend: Arc::new(CpuBackend::new()),
            planner: Padded(Mutex::new(Planner::new())),
            windows: Windows::new(
                settings.number_within("FORERUN_WINDOW", LEAST_CAPACITY..=MOST_CAPACITY).unwrap_or(CAPACITY),
            ),
            sync,
            counters: Padded::default(),
            holders: Holders::default(),
            host: HostQueue::default(),
            held: HoldCounters::default(),
            blockers: Blockers::default(),
            failures: Mutex::default(),
            fuse: AtomicBool::new(settings.switch("FORERUN_FUSE").unwrap_or(true)),
            drop_dead: AtomicBool::new(settings.switch("FORERUN_DROP_DEAD").unwrap_or(true)),
            tiny_limit: AtomicUsize::new(settings.number("FORERUN_TINY", 0).unwrap_or(TINY)),
        }
    }

    pub(crate) fn plan_options(&self) -> PlanOptions {
        PlanOptions { fuse: self.fuse.load(Relaxed), drop_dead: self.drop_dead.load(Relaxed) }
    }

    /// The element limit for running inline; 0 on a thread with a short stack.
    pub(crate) fn tiny_limit_here(&self) -> usize {
        if has_short_stack() { 0 } else { self.tiny_limit.load(Relaxed) }
    }

    /// An op that a line submitted failed: remembered until somebody reads it.
    pub(crate) fn blame(&self, error: Error, op: &'static str, loc: Loc) -> Error {
        let error = error.in_op(op).submitted_at(loc);
        self.failures.lock().note(&error);
        error
    }

    /// Notes that a thread has read a failure.
    pub(crate) fn observe_failure(&self, error: &Error) {
        self.failures.lock().seen(error);
    }
}

/// Counters of the runtime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuntimeStats {
    /// Records submitted, views included.
    pub records: u64,
    /// Records run inline by the thread that planned them.
    pub inlined: u64,
    /// Tasks spawned.
    pub tasks: u64,
    /// Segments planned.
    pub segments: u64,
    /// Segments whose plan was in the cache.
    pub plan_hits: u64,
    /// Segments whose plan had to be computed.
    pub plan_misses: u64,
    /// Records dropped because no reader of their results could exist.
    pub dropped: u64,
    /// Outputs that reused the buffer of an input.
    pub donated: u64,
    /// System calls made to park and wake threads.
    pub system_calls: u64,
    /// Live bytes of arrays.
    pub live_bytes: u64,
    /// Maximum of the live bytes.
    pub peak_bytes: u64,
    /// Bytes kept for reuse.
    pub cached_bytes: u64,
}

/// Counters since the start of the process.
pub fn stats() -> RuntimeStats {
    let runtime = runtime();
    let counters = &runtime.counters;
    let budget = runtime.engine.budget();
    RuntimeStats {
        records: runtime.windows.iter().map(|w| w.ring.tail()).sum(),
        inlined: counters.inlined.load(Relaxed),
        tasks: counters.tasks.load(Relaxed),
        segments: counters.segments.load(Relaxed),
        plan_hits: counters.plan_hits.load(Relaxed),
        plan_misses: counters.plan_misses.load(Relaxed),
        dropped: counters.dropped.load(Relaxed),
        donated: counters.donated.load(Relaxed),
        system_calls: runtime.engine.stats().system_calls,
        live_bytes: budget.live as u64,
        peak_bytes: budget.peak as u64,
        cached_bytes: runtime.pool.stats().cached as u64,
    }
}

/// The engine, for its settings and statistics.
pub fn engine() -> &'static Arc<Engine> {
    &runtime().engine
}

/// Number of threads that compute: the workers, or 1 in modes where the waiting thread computes.
pub fn num_threads() -> usize {
    runtime().engine.workers().max(1)
}

/// Changes the number of compute threads of the process; returns the previous number. Surplus threads exit after their
/// current task, and missing ones start on demand. Values do not depend on it. Has no effect in modes without workers.
pub fn set_num_threads(threads: usize) -> Result<usize> {
    if threads == 0 {
        return Err(Error::new(ErrorKind::Value, "threads must be at least 1, got 0").in_op("set_num_threads"));
    }
    let former = num_threads();
    runtime().engine.set_workers(threads);
    Ok(former)
}

/// Sets whether dead results are dropped; returns the previous setting.
pub fn set_drop_dead(on: bool) -> bool {
    runtime().drop_dead.swap(on, Relaxed)
}

/// Sets whether pointwise chains are fused; returns the previous setting.
pub fn set_fuse(on: bool) -> bool {
    runtime().fuse.swap(on, Relaxed)
}

/// Sets the number of elements up to which a record runs inline; returns the previous setting.
pub fn set_tiny_limit(elements: usize) -> usize {
    runtime().tiny_limit.swap(elements, Relaxed)
}
