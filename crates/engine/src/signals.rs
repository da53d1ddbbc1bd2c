//! Everybody who can be woken: sleeping workers and parked waiters, with the counters of both.

use crate::sleep::Sleep;
use crate::stats::ParkCounters;
use crate::waiters::Waiters;

/// Sleeping workers and parked waiters.
pub(crate) struct Signals {
    pub(crate) sleep: Sleep,
    pub(crate) waiters: Waiters,
    pub(crate) counters: ParkCounters,
}

impl Signals {
    /// `quiet`: whether the first submission is to call for a worker.
    pub(crate) fn new(quiet: bool) -> Signals {
        Signals { sleep: Sleep::new(quiet), waiters: Waiters::new(), counters: ParkCounters::default() }
    }

    /// Wakes the waiters whose time has come.
    #[inline]
    pub(crate) fn notify_waiters(&self) {
        self.waiters.notify(&self.counters);
    }

    /// Wakes a sleeping worker; false if nobody sleeps.
    pub(crate) fn wake_worker(&self) -> bool {
        self.sleep.wake_one(&self.counters)
    }
}
