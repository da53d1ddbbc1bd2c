//! How workers sleep and are woken, and the word `quiet` that submitters check.
//!
//! A worker is in one of four states:
//!
//! | state | counted in | what it does next |
//! |---|---|---|
//! | searching | `searching` | polls for pieces, tasks and records; then runs, sleeps or naps |
//! | running | - | finishes its task or piece; then searches |
//! | sleeping | `sleepers`, `asleep` | stays parked until it is woken or its timeout ends; then searches |
//! | napping | `sleepers`, `asleep`, `napping` | stays parked for one nap at most; then searches. One worker at a time |
//!
//! `quiet` is a hint with one guarantee: **if `quiet` is false, a submission needs no wake.** One of these holds then:
//!
//! - a worker searches;
//! - a worker runs or naps and will search when it is done;
//! - the engine has no workers: waiting threads plan and run everything.
//!
//! If `quiet` is true, a submitter must wake a worker. An unneeded wake does no harm.
//!
//! # Why no submission is missed
//!
//! A submitter (1) publishes its record, (2) passes the light fence, and (3) loads `quiet`. A worker that falls asleep
//! (a) adds itself to `sleepers`, stops searching and, if no other worker searches or naps, sets `quiet`; (b) passes the
//! heavy fence; (c) polls once more; (d) parks. Of the two fences one comes first: either the poll in (c) sees the
//! record, or the load in (3) sees the `quiet` of (a).
//!
//! It remains to show that no other thread clears `quiet` between (a) and (3) and leaves nobody to poll. There are three
//! places that clear it:
//!
//! 1. A worker that starts to search ([`Sleep::begin_search`], or the end of a sleep) first adds itself to `searching`.
//!    It polls after the clear. When it falls asleep itself, it goes through (a) again. If it is the last searcher, its
//!    own set follows its clear. If not, the last searcher sets the word, and that set follows the clear too, because
//!    the counter `searching` orders the two workers.
//! 2. [`Sleep::wake_one`] counts the sleeper that it takes as searching before it clears the word. From then on the
//!    sleeper is a worker of case 1.
//! 3. [`Sleep::wake_one`] without a sleeper clears the word under the lock. No worker sleeps or naps then, so all of
//!    them search or run. A worker that sleeps later takes the lock in (a), so its set follows this clear. If the
//!    engine has fewer threads than it may have, the caller starts one, which counts as searching.
//!
//! The last searcher leaves `quiet` false in three cases: it runs something short and searches again soon, it takes a
//! nap, or it leaves while another worker naps. Before a *heavy* task it sets `quiet` if a worker sleeps
//! ([`Sleep::end_search`]). That is an optimisation: the record is then planned by the sleeper, and not only after the
//! task.
//!
//! # Naps
//!
//! A napping worker is listed with the sleepers, so it is woken for ready tasks. Submissions do not wake it, because it
//! polls for them at the end of the nap. It therefore needs no heavy fence, which would interrupt every other thread. A
//! task that becomes ready just before the worker is listed may wait for the end of the nap.
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
    /// One of the sleepers naps, or has just ended its nap and counts as searching. Set under the lock.
    napping: AtomicBool,
    sleepers: Mutex<Vec<Arc<Parker>>>,
}

impl Sleep {
    /// No worker exists yet. `quiet` says whether the first submission must start one.
    pub(crate) fn new(quiet: bool) -> Sleep {
        Sleep {
            quiet: Padded(AtomicBool::new(quiet)),
            searching: Padded(AtomicUsize::new(0)),
            asleep: AtomicUsize::new(0),
            napping: AtomicBool::new(false),
            sleepers: Mutex::new(Vec::new()),
        }
    }

    /// Resets the state in a forked child, where all workers are gone. `quiet` as for [`Sleep::new`].
    #[cfg(not(loom))]
    pub(crate) fn forget(&self, quiet: bool) {
        self.sleepers.lock().clear();
        self.asleep.store(0, Ordering::Relaxed);
        self.searching.store(0, Ordering::Relaxed);
        self.napping.store(false, Ordering::Relaxed);
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

    /// Parks until woken or until the timeout ends, unless `look` finds something. The caller counts as searching before
    /// and after.
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
        if self.searching.fetch_sub(1, Ordering::AcqRel) == 1 && !self.anyone_naps() {
            self.quiet.store(true, Ordering::Relaxed);
        }
        drop(sleepers);
        asymmetric::heavy();
        if !look() {
            counters.parked();
            parker.park(timeout);
        }
        self.stop_sleeping(parker);
    }

    /// Whether a worker naps.
    pub(crate) fn anyone_naps(&self) -> bool {
        self.napping.load(Ordering::Relaxed)
    }

    /// Parks for at most `length`, unless `look` finds something or another worker already naps. Submitters wake no
    /// worker meanwhile. The caller counts as searching before and after. Returns how the nap ended.
    pub(crate) fn nap(
        &self,
        parker: &Arc<Parker>,
        length: Duration,
        counters: &ParkCounters,
        look: impl FnOnce() -> bool,
    ) -> Woken {
        let mut sleepers = self.sleepers.lock();
        if self.anyone_naps() {
            return Woken::Otherwise;
        }
        self.napping.store(true, Ordering::Relaxed);
        sleepers.push(Arc::clone(parker));
        self.asleep.fetch_add(1, Ordering::Relaxed);
        self.searching.fetch_sub(1, Ordering::AcqRel);
        drop(sleepers);
        let mut woken = Woken::Otherwise;
        if !look() {
            counters.napped();
            woken = parker.park(Some(length));
        }
        self.stop_sleeping(parker);
        self.napping.store(false, Ordering::Relaxed);
        woken
    }

    /// Removes this worker from the sleepers and counts it as searching, unless the thread that woke it has done so.
    fn stop_sleeping(&self, parker: &Arc<Parker>) {
        let mut sleepers = self.sleepers.lock();
        if let Some(at) = sleepers.iter().position(|sleeper| Arc::ptr_eq(sleeper, parker)) {
            sleepers.swap_remove(at);
            self.asleep.fetch_sub(1, Ordering::Relaxed);
            self.searching.fetch_add(1, Ordering::AcqRel);
            self.quiet.store(false, Ordering::Relaxed);
        }
    }
}
