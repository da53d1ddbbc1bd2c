//! The ledger: live bytes, bytes promised to started tasks, and bytes that unstarted tasks will request.
//!
//! * `live`: bytes that allocators charged and have not released.
//! * `committed`: `live` plus the bytes promised to started tasks and not charged yet. Charges made on the thread that
//!   runs a task are taken from its promise; the rest of the promise ends with the task.
//! * `unstarted`: bytes that spawned and unstarted tasks will request.
//!
//! While `committed + unstarted <= limit` every spawned task fits and none is deferred. Starting a task moves its bytes
//! from `unstarted` to `committed` and keeps the sum. The ledger does not know tasks; `ready` decides which may start.

use crate::signals::Signals;
use crate::sync::{Arc, AtomicBool, AtomicUsize, Ordering};
use forerun_base::BytesLedger;
use std::cell::Cell;
use std::ptr;

/// Byte counts of the host or of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Bytes live now.
    pub live: usize,
    /// Maximum of the live bytes since the start or the last reset.
    pub peak: usize,
    /// Bytes that spawned and unstarted tasks will request.
    pub unstarted: usize,
    /// Limit on live bytes; only the oldest unfinished task may exceed it.
    pub limit: usize,
}

/// The ledger; see the module.
pub(crate) struct Ledger {
    live: AtomicUsize,
    peak: AtomicUsize,
    committed: AtomicUsize,
    unstarted: AtomicUsize,
    limit: AtomicUsize,
    /// A task was deferred: notify when bytes are released.
    held_back: AtomicBool,
    signals: Arc<Signals>,
}

thread_local! {
    /// Bytes promised to the task on this thread and not charged yet, and the ledger that promised them.
    static PROMISE: Cell<(*const Ledger, usize)> = const { Cell::new((ptr::null(), 0)) };
}

impl Ledger {
    pub(crate) fn new(limit: usize, signals: Arc<Signals>) -> Ledger {
        Ledger {
            live: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            committed: AtomicUsize::new(0),
            unstarted: AtomicUsize::new(0),
            limit: AtomicUsize::new(limit),
            held_back: AtomicBool::new(false),
            signals,
        }
    }

    pub(crate) fn budget(&self) -> Budget {
        Budget {
            live: self.live.load(Ordering::Relaxed),
            peak: self.peak.load(Ordering::Relaxed),
            unstarted: self.unstarted.load(Ordering::Relaxed),
            limit: self.limit.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, Ordering::SeqCst);
        self.freed();
    }

    pub(crate) fn reset_peak(&self) {
        self.peak.store(self.live.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Notes that a spawned task will request `bytes`.
    pub(crate) fn expect(&self, bytes: usize) {
        self.unstarted.fetch_add(bytes, Ordering::SeqCst);
    }

    /// Promises the bytes of a task that starts or is cancelled.
    pub(crate) fn promise(&self, bytes: usize) {
        self.committed.fetch_add(bytes, Ordering::SeqCst);
        self.unstarted.fetch_sub(bytes, Ordering::SeqCst);
    }

    /// Whether all spawned tasks could start now.
    pub(crate) fn everything_fits(&self) -> bool {
        self.fits(self.unstarted.load(Ordering::SeqCst))
    }

    /// Whether `bytes` fit in addition to the committed bytes.
    pub(crate) fn fits(&self, bytes: usize) -> bool {
        self.committed.load(Ordering::SeqCst).saturating_add(bytes) <= self.limit.load(Ordering::SeqCst)
    }

    /// Notes that a task is deferred. The caller checks again afterwards, because bytes may have been released just
    /// before.
    pub(crate) fn hold_back(&self) {
        self.held_back.store(true, Ordering::SeqCst);
    }

    /// Takes this thread's charges from a promise until the guard is dropped.
    pub(crate) fn draw(&self, bytes: usize) -> PromiseGuard<'_> {
        PromiseGuard { ledger: self, before: PROMISE.replace((self, bytes)) }
    }

    /// Resets the task counts in a forked child: no task is spawned there, and promised bytes are never charged.
    pub(crate) fn forget_tasks(&self) {
        self.committed.store(self.live.load(Ordering::Relaxed), Ordering::SeqCst);
        self.unstarted.store(0, Ordering::SeqCst);
        self.held_back.store(false, Ordering::SeqCst);
    }

    fn freed(&self) {
        if self.held_back.load(Ordering::SeqCst) && self.held_back.swap(false, Ordering::SeqCst) {
            if self.signals.sleep.nobody_searches() {
                self.signals.wake_worker();
            }
            self.signals.notify_waiters();
        }
    }
}

impl BytesLedger for Ledger {
    fn charge(&self, bytes: usize) {
        let live = self.live.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(live, Ordering::Relaxed);
        let (of, left) = PROMISE.get();
        let promised = if ptr::eq(of, self) { left.min(bytes) } else { 0 };
        if promised > 0 {
            PROMISE.set((of, left - promised));
        }
        if bytes > promised {
            self.committed.fetch_add(bytes - promised, Ordering::SeqCst);
        }
    }

    fn release(&self, bytes: usize) {
        self.live.fetch_sub(bytes, Ordering::Relaxed);
        self.committed.fetch_sub(bytes, Ordering::SeqCst);
        self.freed();
    }
}

/// While it lives, the thread's charges are taken from a promise.
pub(crate) struct PromiseGuard<'a> {
    ledger: &'a Ledger,
    before: (*const Ledger, usize),
}

impl Drop for PromiseGuard<'_> {
    fn drop(&mut self) {
        let (_, left) = PROMISE.replace(self.before);
        if left > 0 {
            self.ledger.committed.fetch_sub(left, Ordering::SeqCst);
            self.ledger.freed();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn charges_come_out_of_the_promise() {
        let ledger = Ledger::new(100, Arc::new(Signals::new(false)));
        ledger.expect(60);
        assert_eq!(ledger.budget().unstarted, 60);
        assert!(ledger.everything_fits());
        ledger.promise(60);
        assert!(!ledger.fits(41) && ledger.fits(40));
        let draw = ledger.draw(60);
        ledger.charge(50);
        assert_eq!(ledger.budget().live, 50);
        assert!(ledger.fits(40), "a promise is not counted twice");
        drop(draw);
        assert!(ledger.fits(50) && !ledger.fits(51), "uncharged bytes are returned");
        ledger.charge(10);
        ledger.release(60);
        assert!(ledger.fits(100));
        assert_eq!(ledger.budget(), Budget { live: 0, peak: 60, unstarted: 0, limit: 100 });
    }
}
