//! All threads that can be woken, sleeping workers and parked waiters, with their counters.

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
    /// `quiet`: whether the first submission must start a thread.
    pub(crate) fn new(quiet: bool) -> Signals {
        Signals { sleep: Sleep::new(quiet), waiters: Waiters::new(), counters: ParkCounters::default() }
    }

    /// Wakes the waiters whose condition holds.
    #[inline]
    pub(crate) fn notify_waiters(&self) {
        self.waiters.notify(&self.counters);
    }

    /// Wakes a sleeping worker; returns false if none sleeps.
    pub(crate) fn wake_worker(&self) -> bool {
        self.sleep.wake_one(&self.counters)
    }
}
