//! The ledger: bytes live, bytes promised to tasks that have started, bytes that spawned tasks will want.
//!
//! * `live` is what allocators charged and did not release.
//! * `committed` is `live` plus what started tasks were promised and have not charged yet. A task's charges are taken
//!   from its promise if they are made on the thread that runs it; the rest of the promise ends with the task.
//! * `unstarted` is what the tasks that have not started will want.
//!
//! While `committed + unstarted <= limit` everything spawned fits and nobody has to be held back. Starting a task
//! moves its bytes from `unstarted` to `committed` and leaves the sum alone. The ledger does not know tasks; who may
//! start is decided in `ready`.

use crate::signals::Signals;
use crate::sync::{Arc, AtomicBool, AtomicUsize, Ordering};
use forerun_base::BytesLedger;
use std::cell::Cell;
use std::ptr;

/// The bytes of the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Bytes live now.
    pub live: usize,
    /// The most bytes that were live at once since the start or the last reset.
    pub peak: usize,
    /// Bytes that tasks which have not started will want.
    pub unstarted: usize,
    /// Bytes that may be live; the oldest unfinished task alone may go beyond.
    pub limit: usize,
}

/// The ledger; see the module.
pub(crate) struct Ledger {
    live: AtomicUsize,
    peak: AtomicUsize,
    committed: AtomicUsize,
    unstarted: AtomicUsize,
    limit: AtomicUsize,
    /// Somebody was held back: tell when bytes come free.
    held_back: AtomicBool,
    signals: Arc<Signals>,
}

thread_local! {
    /// What the task running on this thread was promised and has not charged yet, and by which ledger.
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

    /// A task was spawned that will want so many bytes.
    pub(crate) fn expect(&self, bytes: usize) {
        self.unstarted.fetch_add(bytes, Ordering::SeqCst);
    }

    /// A task starts, or is cancelled: its bytes are promised from now on.
    pub(crate) fn promise(&self, bytes: usize) {
        self.committed.fetch_add(bytes, Ordering::SeqCst);
        self.unstarted.fetch_sub(bytes, Ordering::SeqCst);
    }

    /// Whether everything spawned could start at once.
    pub(crate) fn everything_fits(&self) -> bool {
        self.fits(self.unstarted.load(Ordering::SeqCst))
    }

    /// Whether so many bytes fit beside what is committed.
    pub(crate) fn fits(&self, bytes: usize) -> bool {
        self.committed.load(Ordering::SeqCst).saturating_add(bytes) <= self.limit.load(Ordering::SeqCst)
    }

    /// Notes that a task is held back. The caller looks again afterwards: bytes may have come free just before.
    pub(crate) fn hold_back(&self) {
        self.held_back.store(true, Ordering::SeqCst);
    }

    /// Lets the charges of this thread come out of a promise until the guard is dropped.
    pub(crate) fn draw(&self, bytes: usize) -> PromiseGuard<'_> {
        PromiseGuard { ledger: self, before: PROMISE.replace((self, bytes)) }
    }

    /// In a forked child: nothing is spawned, and what was promised to tasks will not be charged.
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

/// While it lives, the thread's charges come out of a promise.
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
        assert!(ledger.fits(50) && !ledger.fits(51), "what was not charged comes back");
        ledger.charge(10);
        ledger.release(60);
        assert!(ledger.fits(100));
        assert_eq!(ledger.budget(), Budget { live: 0, peak: 60, unstarted: 0, limit: 100 });
    }
}
