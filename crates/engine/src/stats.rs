//! Counters of the engine. They are relaxed and order nothing.

use crate::sync::{AtomicU64, Ordering};

/// Counters since the engine was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineStats {
    /// Number of times a worker, a waiter or the owner of a split parked.
    pub parks: u64,
    /// Number of times a thread was woken.
    pub wakes: u64,
    /// System calls made to park, to wake, and for the barrier before parking.
    pub system_calls: u64,
    /// Tasks run.
    pub tasks: u64,
    /// Tasks run by waiters.
    pub helped: u64,
    /// Pieces run by threads other than the one that split.
    pub pieces: u64,
    /// Number of times the oldest ready task was deferred by the budget or the prefetch allowance.
    pub deferred: u64,
}

/// One counter.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    #[inline]
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The counters of parking.
#[derive(Debug, Default)]
pub(crate) struct ParkCounters {
    pub(crate) parks: Counter,
    pub(crate) wakes: Counter,
    pub(crate) system_calls: Counter,
}

impl ParkCounters {
    /// Counts a park: the barrier before it and the sleep.
    pub(crate) fn parked(&self) {
        self.parks.add(1);
        self.system_calls.add(2);
    }

    /// Counts a nap, which needs no barrier.
    pub(crate) fn napped(&self) {
        self.parks.add(1);
        self.system_calls.add(1);
    }

    /// Counts a wake, and the system call if there was one.
    pub(crate) fn woke(&self, system_call: bool) {
        self.wakes.add(1);
        self.system_calls.add(system_call as u64);
    }
}
