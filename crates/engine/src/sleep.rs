//! How workers fall asleep and are woken, and the one word that submitters look at.
//!
//! | quiet | meaning |
//! |---|---|
//! | 0 | somebody will look: a worker searches, or a short task runs whose worker searches next; or nobody is there to be woken |
//! | 1 | nobody looks: whoever publishes something must wake a worker |
//!
//! A submitter publishes its record, passes the light fence and loads `quiet`: that is all while workers are awake. A
//! worker that falls asleep joins the sleepers and, if it was the last to search, sets `quiet`, under the lock;
//! passes the heavy fence; looks once more; parks. By the fence one of the two sees the other: the record is seen by
//! the last look, or `quiet` by the submitter.
//!
//! `quiet` is set only with nobody searching, and cleared only by one who searches from then on or by one who wakes a
//! worker, which then counts as searching from the moment it is chosen. Clearing comes before that searcher stops
//! searching, and the last to stop sets the word again, so a clear never covers a set. A worker that leaves the
//! search to run a heavy task, with sleepers left, sets the word too; that is for speed alone, as it looks again
//! itself later.
//!
//! One worker may doze. It is listed with the sleepers, so that it is woken for what is ready, but `quiet` stays 0: for the sake of what is
//! submitted it looks again by itself, a nap later. So it needs no heavy fence, which would interrupt every other thread; what is made ready
//! just before it is listed may wait for the end of the nap.
//!
//! Nothing here knows tasks or feeders: what there is to look at comes as a closure.

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
    /// One of the sleepers dozes, or has just got up. Set under the lock.
    dozes: AtomicBool,
    sleepers: Mutex<Vec<Arc<Parker>>>,
}

impl Sleep {
    /// Nobody searches and nobody sleeps. `quiet` says whether the first submission is to call for a worker.
    pub(crate) fn new(quiet: bool) -> Sleep {
        Sleep {
            quiet: Padded(AtomicBool::new(quiet)),
            searching: Padded(AtomicUsize::new(0)),
            asleep: AtomicUsize::new(0),
            dozes: AtomicBool::new(false),
            sleepers: Mutex::new(Vec::new()),
        }
    }

    /// In a forked child: those who searched or slept are gone. `quiet` as for [`Sleep::new`].
    #[cfg(not(loom))]
    pub(crate) fn forget(&self, quiet: bool) {
        self.sleepers.lock().clear();
        self.asleep.store(0, Ordering::Relaxed);
        self.searching.store(0, Ordering::Relaxed);
        self.dozes.store(false, Ordering::Relaxed);
        self.quiet.store(quiet, Ordering::Relaxed);
    }

    /// The lock, held for a fork.
    #[cfg(not(loom))]
    pub(crate) fn lock_for_fork(&'static self) -> Box<dyn std::any::Any> {
        Box::new(self.sleepers.lock())
    }

    /// After publishing something: whether a worker has to be woken for it.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        asymmetric::light();
        self.quiet.load(Ordering::Relaxed)
    }

    /// After leaving work for others: whether nobody searches.
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

    /// The caller found something to run; `heavy` says that it will not be back soon. True if nobody searches now.
    pub(crate) fn end_search(&self, heavy: bool) -> bool {
        let last = self.searching.fetch_sub(1, Ordering::AcqRel) == 1;
        if last && heavy && self.asleep.load(Ordering::Relaxed) > 0 {
            self.quiet.store(true, Ordering::Relaxed);
        }
        last
    }

    /// Takes a sleeper and wakes it; it counts as searching. False if nobody sleeps.
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

    /// How many search.
    pub(crate) fn searching(&self) -> usize {
        self.searching.load(Ordering::Relaxed)
    }

    /// Whether somebody could be woken.
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

    /// Whether somebody dozes.
    pub(crate) fn dozes(&self) -> bool {
        self.dozes.load(Ordering::Relaxed)
    }

    /// Sleeps for a nap unless `look` finds something or another dozes already; submitters wake nobody meanwhile. The caller counts as
    /// searching before and after. Says how it ended.
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

    /// Whoever woke this worker has taken it off the list and counted it; after another return it does so itself.
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
