//! Parked waiters, and how they are notified of values.
//!
//! | count | list | meaning |
//! |---|---|---|
//! | 0 | empty | no waiters: a completion costs one load |
//! | n | n entries | each entry has a condition for waking it |
//!
//! A completion publishes its values, passes the light fence and loads the count. A waiter adds its entry, raises the
//! count, passes the heavy fence, checks once more and parks. The fences ensure that one of the two sees the other. A
//! completion evaluates the condition of each entry, so a waiter parked for the last of a thousand tasks is woken once
//! and not a thousand times.
//!
//! An entry borrows from its waiter's stack. It is used only under the lock, and the waiter removes it under the lock
//! before it returns. This module does not know what a waiter waits for.

use crate::asymmetric;
use crate::parker::{Parker, Woken};
use crate::stats::ParkCounters;
use crate::sync::{Arc, AtomicUsize, Mutex, Ordering, Padded};
use std::time::Duration;

/// The condition for waking a waiter. Any thread may call it; it must only read, without locks or waits.
pub(crate) type IsTime<'a> = dyn Fn() -> bool + Sync + 'a;

struct Entry {
    parker: Arc<Parker>,
    is_time: *const IsTime<'static>,
    called: bool,
}

// SAFETY: the closure behind the pointer is Sync and outlives the entry (see the module).
unsafe impl Send for Entry {}

/// The parked waiters of one engine.
pub(crate) struct Waiters {
    count: Padded<AtomicUsize>,
    list: Mutex<Vec<Entry>>,
}

impl Waiters {
    pub(crate) fn new() -> Waiters {
        Waiters { count: Padded(AtomicUsize::new(0)), list: Mutex::new(Vec::new()) }
    }

    /// Wakes the waiters whose condition holds. Called after publishing something.
    #[inline]
    pub(crate) fn notify(&self, counters: &ParkCounters) {
        asymmetric::light();
        if self.count.load(Ordering::Relaxed) != 0 {
            self.call(counters);
        }
    }

    #[cold]
    fn call(&self, counters: &ParkCounters) {
        for entry in self.list.lock().iter_mut() {
            // SAFETY: the entry is in the list and the lock is held, so its waiter has not returned.
            if !entry.called && unsafe { (*entry.is_time)() } {
                entry.called = true;
                counters.woke(entry.parker.unpark());
            }
        }
    }

    /// Clears the list in a forked child, where the parked threads are gone.
    #[cfg(not(loom))]
    pub(crate) fn forget(&self) {
        self.list.lock().clear();
        self.count.store(0, Ordering::Relaxed);
    }

    /// Takes the lock before a fork.
    #[cfg(not(loom))]
    pub(crate) fn lock_for_fork(&'static self) -> Box<dyn std::any::Any> {
        Box::new(self.list.lock())
    }

    /// Parks until the condition holds, a signal arrives, or the timeout ends; may return early.
    pub(crate) fn park(
        &self,
        parker: &Arc<Parker>,
        is_time: &IsTime<'_>,
        timeout: Option<Duration>,
        counters: &ParkCounters,
    ) -> Woken {
        let borrowed: *const IsTime<'_> = is_time;
        // SAFETY: only the lifetime changes; the entry leaves the list before this function returns.
        let is_time_erased: *const IsTime<'static> = unsafe { std::mem::transmute(borrowed) };
        self.list.lock().push(Entry { parker: Arc::clone(parker), is_time: is_time_erased, called: false });
        self.count.fetch_add(1, Ordering::Relaxed);
        asymmetric::heavy();
        let woken = if is_time() {
            Woken::Called
        } else {
            counters.parked();
            parker.park(timeout)
        };
        let mut list = self.list.lock();
        let at = list.iter().position(|entry| Arc::ptr_eq(&entry.parker, parker));
        list.swap_remove(at.expect("a waiter's entry stays until the waiter takes it out"));
        self.count.fetch_sub(1, Ordering::Relaxed);
        woken
    }
}
