//! The wait funnel: the only code that can park a caller.
//!
//! Whoever waits, works: it plans what leads to its target, runs ready tasks that are not younger than it, joins the pieces of
//! running tasks, and parks only when others have all of that. Tasks and pieces are run in a slot, as a worker runs them. Clocks are
//! read only when it really helps or parks.

use crate::engine::Engine;
use crate::parker::{self, Woken};
use crate::ready::Wish;
use crate::run::Looking;
use crate::sync::spin_loop;
use crate::work::{Fed, Target, WaitOptions, Waited};
use forerun_base::{Error, ErrorKind, Result};
use std::time::{Duration, Instant};

/// How long a waiter looks before it parks: what a hand-over between two running threads may take.
const SPIN: Duration = Duration::from_micros(20);
/// The longest park of a waiter that can be interrupted, for signals that went to another thread.
const SIGNAL_BACKSTOP: Duration = Duration::from_millis(50);
/// How often the interrupt is asked while helping; asking may be dear (Python takes its lock).
const ASK_INTERVAL: Duration = Duration::from_millis(2);
/// How many rounds of planning go by between two looks at the clock.
const ROUNDS_PER_CLOCK: u32 = 256;

impl Engine {
    /// Waits until the target is done, helping as far as it can. Fails only if it is interrupted.
    pub fn wait(&self, target: &dyn Target, options: WaitOptions<'_>) -> Result<Waited> {
        if target.done() {
            return Ok(Waited::default());
        }
        let looking = Looking::set(true);
        let waited = Waiter::new(self, target, options).wait();
        drop(looking);
        // What was planned on the way and is not for this waiter must not be left lying.
        self.share_work();
        waited
    }
}

struct Waiter<'a> {
    engine: &'a Engine,
    target: &'a dyn Target,
    options: WaitOptions<'a>,
    waited: Waited,
    asked: Option<Instant>,
    rounds: u32,
}

impl<'a> Waiter<'a> {
    fn new(engine: &'a Engine, target: &'a dyn Target, options: WaitOptions<'a>) -> Self {
        Waiter { engine, target, options, waited: Waited::default(), asked: None, rounds: 0 }
    }

    fn wait(mut self) -> Result<Waited> {
        while !self.target.done() {
            match self.target.feed(self.engine) {
                Fed::Progress => {
                    self.rounds += 1;
                    if self.rounds.is_multiple_of(ROUNDS_PER_CLOCK) {
                        self.ask_now_and_then(Instant::now())?;
                    }
                }
                fed => {
                    if !self.target.done() && !self.help()? {
                        self.idle(fed)?;
                    }
                }
            }
        }
        Ok(self.waited)
    }

    fn wish(&self) -> Wish {
        // A heavy task would keep this thread from its signals; its pieces are welcome.
        let heavy = self.options.interrupt.is_none() || !self.engine.has_workers();
        Wish { age_limit: self.target.age_limit(), heavy }
    }

    /// Runs one task or one piece, if there is one and a slot for it.
    fn help(&mut self) -> Result<bool> {
        let state = &*self.engine.state;
        if state.ready.is_empty() && !state.jobs.any_open() {
            return Ok(false);
        }
        let Some(slot) = state.slots.take() else { return Ok(false) };
        let start = Instant::now();
        let helped = match state.ready.take(self.wish(), &state.ledger) {
            Some(task) => {
                self.engine.share_work();
                let _mode = state.float_mode.enter();
                self.engine.run(&task, false);
                state.helped.add(1);
                true
            }
            None => {
                let _mode = state.float_mode.enter();
                state.jobs.help(1, &state.pieces, &state.signals.counters, || ()).is_some_and(|pieces| pieces > 0)
            }
        };
        drop(slot);
        if helped {
            if !self.engine.has_workers() {
                // Another waiter may be without a slot.
                state.signals.notify_waiters();
            }
            let now = Instant::now();
            self.waited.helped += now - start;
            self.ask_now_and_then(now)?;
        }
        Ok(helped)
    }

    /// Nothing to do: looks for a moment, then parks.
    fn idle(&mut self, fed: Fed) -> Result<()> {
        let engine = self.engine;
        let state = &*engine.state;
        let target = self.target;
        engine.share_work();
        let start = Instant::now();
        let wish = self.wish();
        let to_help = || state.slots.any_free() && (state.jobs.any_open() || state.ready.has(wish, &state.ledger));
        while start.elapsed() < SPIN {
            for _ in 0..16 {
                spin_loop();
            }
            if target.done() || to_help() {
                self.waited.parked += start.elapsed();
                return Ok(());
            }
        }
        // Another thread is planning, perhaps what leads to this target: it will not say when it is through.
        if target.age_limit() == 0 && state.feeder.has_work() {
            std::thread::yield_now();
            self.waited.parked += start.elapsed();
            return self.ask_now_and_then(Instant::now());
        }
        let backstop = self.options.interrupt.map(|_| SIGNAL_BACKSTOP);
        let timeout = match fed {
            Fed::Later(time) => Some(backstop.map_or(time, |backstop| backstop.min(time))),
            _ => backstop,
        };
        let is_time = || {
            target.done()
                || (!engine.has_workers() && state.slots.any_free() && {
                    state.ready.has(Wish { age_limit: target.age_limit(), heavy: true }, &state.ledger)
                })
        };
        let woken = state.signals.waiters.park(&parker::current(), &is_time, timeout, &state.signals.counters);
        let now = Instant::now();
        self.waited.parked += now - start;
        match woken {
            Woken::Called => Ok(()),
            Woken::Signalled => self.ask(now),
            Woken::Otherwise => self.ask_now_and_then(now),
        }
    }

    fn ask_now_and_then(&mut self, now: Instant) -> Result<()> {
        if self.asked.is_none_or(|asked| now - asked >= ASK_INTERVAL) { self.ask(now) } else { Ok(()) }
    }

    fn ask(&mut self, now: Instant) -> Result<()> {
        self.asked = Some(now);
        match self.options.interrupt {
            Some(interrupt) if interrupt() => {
                Err(Error::new(ErrorKind::Interrupted, "the wait was interrupted").read_at(self.options.loc))
            }
            _ => Ok(()),
        }
    }
}
