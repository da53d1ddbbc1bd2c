//! How workers fall asleep and are woken, and the word that submitters check.
//!
//! | quiet | meaning |
//! |---|---|
//! | 0 | a worker will poll: it is searching, or runs a short task and searches next; or there is no worker to wake |
//! | 1 | no worker polls: a thread that publishes something must wake one |
//!
//! A submitter publishes its record, passes the light fence and loads `quiet`; while workers are awake that is all. A
//! worker that falls asleep adds itself to the sleepers and, if it was the last to search, sets `quiet`, both under the
//! lock. It then passes the heavy fence, polls once more and parks. The fences ensure that one side sees the other:
//! either the last poll sees the record, or the submitter sees `quiet`.
//!
//! `quiet` is set only when no thread is searching. It is cleared only by a thread that searches from then on, or by a
//! thread that wakes a worker, which counts as searching from the moment it is chosen. The clear happens before that
//! searcher stops searching, and the last searcher sets the word again, so a clear never hides a set. A worker that
//! leaves the search to run a heavy task while others sleep also sets the word. This is only an optimisation, as the
//! worker polls again later.
//!
//! One worker may doze. It is listed with the sleepers, so that it is woken for ready tasks, but `quiet` stays 0: it
//! polls for submissions by itself at the end of each nap. So it needs no heavy fence, which would interrupt every
//! other thread. A task that becomes ready just before the worker is listed may wait for the end of the nap.
//!
//! This module does not know tasks or feeders: the caller passes the poll as a closure.

use crate::asymmetric;
use crate::parker::{Parker, Woken};
use crate::stats::ParkCounters;
use crate::sync::{Arc, AtomicBool, AtomicUsize, Mutex, Ordering, Padded};
use std::time::Duration;

/// The sleepers of one pool.
pub(crate) struct Sleep {
    quiet: Padded<AtomicBool>,
    searching: Padded<AtomicUsize>,
    asleep: AtomicUsize,
    /// One of the sleepers dozes or has just woken. Set under the lock.
    dozes: AtomicBool,
    sleepers: Mutex<Vec<Arc<Parker>>>,
}

impl Sleep {
    /// No thread searches or sleeps. `quiet` says whether the first submission must call a worker.
    pub(crate) fn new(quiet: bool) -> Sleep {
        Sleep {
            quiet: Padded(AtomicBool::new(quiet)),
            searching: Padded(AtomicUsize::new(0)),
            asleep: AtomicUsize::new(0),
            dozes: AtomicBool::new(false),
            sleepers: Mutex::new(Vec::new()),
        }
    }

    /// Resets the state in a forked child, where all searching and sleeping threads are gone. `quiet` as for
    /// [`Sleep::new`].
    #[cfg(not(loom))]
    pub(crate) fn forget(&self, quiet: bool) {
        self.sleepers.lock().clear();
        self.asleep.store(0, Ordering::Relaxed);
        self.searching.store(0, Ordering::Relaxed);
        self.dozes.store(false, Ordering::Relaxed);
        self.quiet.store(quiet, Ordering::Relaxed);
    }

    /// Takes the lock before a fork.
    #[cfg(not(loom))]
    pub(crate) fn lock_for_fork(&'static self) -> Box<dyn std::any::Any> {
        Box::new(self.sleepers.lock())
    }

    /// Whether the caller, having published something, must wake a worker for it.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        asymmetric::light();
        self.quiet.load(Ordering::Relaxed)
    }

    /// Whether no thread is searching, after the caller left work for others.
    pub(crate) fn nobody_searches(&self) -> bool {
        asymmetric::light();
        self.searching.load(Ordering::Relaxed) == 0
    }

    /// Counts the caller, or the worker it is about to start, as searching.
    pub(crate) fn begin_search(&self) {
        self.searching.fetch_add(1, Ordering::AcqRel);
        if self.quiet.load(Ordering::Relaxed) {
            self.quiet.store(false, Ordering::Relaxed);
        }
    }

    /// Ends the caller's search because it found something to run; `heavy` means that it will not be back soon. Returns
    /// true if no thread searches now.
    pub(crate) fn end_search(&self, heavy: bool) -> bool {
        let last = self.searching.fetch_sub(1, Ordering::AcqRel) == 1;
        if last && heavy && self.asleep.load(Ordering::Relaxed) > 0 {
            self.quiet.store(true, Ordering::Relaxed);
        }
        last
    }

    /// Removes a sleeper from the list and wakes it; it counts as searching. Returns false if none sleeps.
    pub(crate) fn wake_one(&self, counters: &ParkCounters) -> bool {
        let mut sleepers = self.sleepers.lock();
        let sleeper = sleepers.pop();
        if sleeper.is_some() {
            self.asleep.fetch_sub(1, Ordering::Relaxed);
            self.searching.fetch_add(1, Ordering::AcqRel);
        }
        self.quiet.store(false, Ordering::Relaxed);
        drop(sleepers);
        let Some(sleeper) = sleeper else { return false };
        counters.woke(sleeper.unpark());
        true
    }

    /// Number of searching threads.
    pub(crate) fn searching(&self) -> usize {
        self.searching.load(Ordering::Relaxed)
    }

    /// Whether there is a sleeper to wake.
    pub(crate) fn any_asleep(&self) -> bool {
        self.asleep.load(Ordering::Relaxed) > 0
    }

    /// Falls asleep unless `look` finds something. The caller counts as searching before and after.
    pub(crate) fn sleep(
        &self,
        parker: &Arc<Parker>,
        timeout: Option<Duration>,
        counters: &ParkCounters,
        look: impl FnOnce() -> bool,
    ) {
        let mut sleepers = self.sleepers.lock();
        sleepers.push(Arc::clone(parker));
        self.asleep.fetch_add(1, Ordering::Relaxed);
        if self.searching.fetch_sub(1, Ordering::AcqRel) == 1 && !self.dozes() {
            self.quiet.store(true, Ordering::Relaxed);
        }
        drop(sleepers);
        asymmetric::heavy();
        if !look() {
            counters.parked();
            parker.park(timeout);
        }
        self.get_up(parker);
    }

    /// Whether a worker dozes.
    pub(crate) fn dozes(&self) -> bool {
        self.dozes.load(Ordering::Relaxed)
    }

    /// Sleeps for one nap, unless `look` finds something or another worker already dozes. Submitters wake no worker
    /// meanwhile. The caller counts as searching before and after. Returns how the nap ended.
    pub(crate) fn doze(
        &self,
        parker: &Arc<Parker>,
        nap: Duration,
        counters: &ParkCounters,
        look: impl FnOnce() -> bool,
    ) -> Woken {
        let mut sleepers = self.sleepers.lock();
        if self.dozes() {
            return Woken::Otherwise;
        }
        self.dozes.store(true, Ordering::Relaxed);
        sleepers.push(Arc::clone(parker));
        self.asleep.fetch_add(1, Ordering::Relaxed);
        self.searching.fetch_sub(1, Ordering::AcqRel);
        drop(sleepers);
        let mut woken = Woken::Otherwise;
        if !look() {
            counters.napped();
            woken = parker.park(Some(nap));
        }
        self.get_up(parker);
        self.dozes.store(false, Ordering::Relaxed);
        woken
    }

    /// Removes this worker from the sleepers and counts it as searching, unless the thread that woke it has done so.
    fn get_up(&self, parker: &Arc<Parker>) {
        let mut sleepers = self.sleepers.lock();
        if let Some(at) = sleepers.iter().position(|sleeper| Arc::ptr_eq(sleeper, parker)) {
            sleepers.swap_remove(at);
            self.asleep.fetch_sub(1, Ordering::Relaxed);
            self.searching.fetch_add(1, Ordering::AcqRel);
            self.quiet.store(false, Ordering::Relaxed);
        }
    }
}
