//! The worker loop: search for pieces, ready tasks and records to plan; sleep after an idle period.
//!
//! A wait is *self-served* if the waiting thread planned records itself, instead of finding them planned by a worker. A
//! program that waits for each result serves itself, and a worker that polls meanwhile only slows it down. After some
//! self-served waits in a row, the worker therefore naps between polls.
//!
//! A worker polls at intervals of a microsecond or more: reading what other threads write more often slows those
//! threads down by more than it gains. Invariant: before a worker parks for longer than a nap, it polls once more after
//! it was listed as asleep (see [`crate::sleep`]).

use crate::engine::Engine;
use crate::gate;
use crate::parker::{self, Woken};
use crate::ready::TaskFilter;
use crate::run::Role;
use crate::sync::spin_loop;
use crate::work::Fed;
use std::time::{Duration, Instant};

/// Idle time after which the only searching worker sleeps.
const IDLE_LIMIT: Duration = Duration::from_micros(200);
/// The same for one of several searching workers: one is enough to notice a submission.
const IDLE_LIMIT_OF_SEVERAL: Duration = Duration::from_micros(50);
/// Time between two polls at the start of an idle period, and later.
const SHORT_INTERVAL: Duration = Duration::from_micros(1);
const LONG_INTERVAL: Duration = Duration::from_micros(4);
/// Number of self-served waits, with no work for a worker in between, after which the worker naps between polls. It
/// starts at the minimum and doubles each time the worker is woken from a nap, up to the maximum.
const MIN_SELF_SERVED: u64 = 3;
const MAX_SELF_SERVED: u64 = 1024;
/// Minimum length of a nap; the kernel adds some.
const NAP: Duration = Duration::from_micros(50);

/// A period in which a worker finds nothing to do.
#[derive(Default)]
struct IdlePeriod {
    since: Option<Instant>,
    /// When the last self-served wait was noticed.
    served_at: Option<Instant>,
    /// Number of such waits at the start of the period and at the last poll.
    served: Option<(u64, u64)>,
}

impl IdlePeriod {
    /// Notes another poll without result; `served` is the number of self-served waits since the engine started.
    fn note(&mut self, now: Instant, served: u64) {
        self.since.get_or_insert(now);
        let (first, last) = *self.served.get_or_insert((served, served));
        if served != last {
            self.served_at = Some(now);
            self.served = Some((first, served));
        }
    }

    /// Length of the idle period; for the only searcher, the time since the last self-served wait.
    fn time(&self, now: Instant, only_searcher: bool) -> Duration {
        let since = self.served_at.filter(|_| only_searcher).or(self.since);
        since.map_or(Duration::ZERO, |since| now - since)
    }

    /// Number of self-served waits during the period.
    fn self_served_waits(&self) -> u64 {
        self.served.map_or(0, |(first, last)| last - first)
    }
}

/// The main loop of a worker, which counts as searching when it starts.
pub(crate) fn main(engine: &Engine, index: usize) {
    let state = &*engine.state;
    let _mode = state.float_mode.enter();
    let _role = Role::Searches.assume();
    let parker = parker::current();
    let mut idle = IdlePeriod::default();
    // Number of self-served waits before it naps.
    let mut enough = MIN_SELF_SERVED;
    // The feeder has records that must not be cut before this time.
    let mut feed_after: Option<Instant> = None;
    while !state.pool.is_stopped() && index < state.slots.total() {
        gate::checkpoint();
        if look_for_pieces(engine) || look_for_task(engine) {
            idle = IdlePeriod::default();
            continue;
        }
        let now = Instant::now();
        if feed_after.is_none_or(|time| now >= time) {
            feed_after = None;
            // The feeder is always asked at the start of an idle period: it may need to note finished tasks.
            if idle.since.is_none() || state.feeder.has_work() {
                match state.feeder.feed(engine) {
                    Fed::Progress => {
                        // Planning may have settled values that a thread waits for.
                        engine.published();
                        idle = IdlePeriod::default();
                        if state.ready.is_empty() && !state.jobs.any_open() {
                            // The program continues to submit: spin, so that the next poll takes several records at
                            // once.
                            spin_until(now + LONG_INTERVAL);
                        }
                        continue;
                    }
                    Fed::Later(time) => feed_after = Some(now + time),
                    Fed::Empty => {}
                }
            }
        }
        idle.note(now, state.self_served.get());
        let sleep = &state.signals.sleep;
        let only_searcher = sleep.searching() <= 1 && !sleep.anyone_naps();
        let idle_for = idle.time(now, only_searcher);
        // With no slot free, searching would only take time from running threads.
        let limit = match (state.slots.any_free(), only_searcher) {
            (false, _) => Duration::ZERO,
            (true, true) => IDLE_LIMIT,
            (true, false) => IDLE_LIMIT_OF_SEVERAL,
        };
        if idle_for < limit {
            if only_searcher && feed_after.is_none() && idle.self_served_waits() >= enough {
                let look = || state.jobs.any_open() || !state.ready.is_empty() || state.pool.is_stopped();
                match sleep.nap(&parker, NAP, &state.signals.counters, look) {
                    Woken::Called => {
                        enough = (2 * enough).min(MAX_SELF_SERVED);
                        idle = IdlePeriod::default();
                    }
                    _ => enough = MIN_SELF_SERVED,
                }
                if state.feeder.has_work() {
                    // The submitter may be about to wait for the result and plan it itself: spin to find out.
                    spin_until(Instant::now() + LONG_INTERVAL);
                }
            } else if idle_for < 10 * SHORT_INTERVAL {
                spin_until(now + SHORT_INTERVAL);
            } else {
                // If all cores are busy, this worker may occupy the core of the thread that woke it.
                std::thread::yield_now();
                spin_until(now + LONG_INTERVAL);
            }
            continue;
        }
        idle = IdlePeriod::default();
        let timeout = feed_after.map(|time| time.saturating_duration_since(now));
        sleep.sleep(&parker, timeout, &state.signals.counters, || {
            (feed_after.is_none() && state.feeder.has_work())
                || state.pool.is_stopped()
                || index >= state.slots.total()
                || (state.slots.any_free()
                    && (state.jobs.any_open() || state.ready.has(TaskFilter::ANY, &state.ledger)))
        });
    }
    if state.signals.sleep.end_search(true) && !state.pool.is_stopped() && state.feeder.has_work() {
        engine.call_worker();
    }
    engine.share_work();
}

fn look_for_pieces(engine: &Engine) -> bool {
    let state = &*engine.state;
    if !state.jobs.any_open() {
        return false;
    }
    let Some(slot) = state.slots.take() else { return false };
    let done = state.jobs.help(usize::MAX, &state.pieces, &state.signals.counters, |more_pieces| {
        if state.signals.sleep.end_search(false) && (more_pieces || !state.ready.is_empty()) {
            engine.share_work();
        }
    });
    drop(slot);
    if done.is_some() {
        state.signals.sleep.begin_search();
    }
    done.is_some_and(|pieces| pieces > 0)
}

fn look_for_task(engine: &Engine) -> bool {
    let state = &*engine.state;
    if state.ready.is_empty() {
        return false;
    }
    let Some(slot) = state.slots.take() else { return false };
    let Some(mut task) = state.ready.take(TaskFilter::ANY, &state.ledger) else { return false };
    if state.signals.sleep.end_search(task.heavy) {
        engine.share_work();
    }
    while let Some(next) = engine.run(&task, true) {
        task = next;
    }
    drop(slot);
    state.signals.sleep.begin_search();
    true
}

fn spin_until(time: Instant) {
    while Instant::now() < time {
        for _ in 0..4 {
            spin_loop();
        }
    }
}
