//! The wait function: the only code that can park a caller.
//!
//! A waiting thread works: it plans the records that lead to its target, runs ready tasks that are not younger than the
//! target, joins pieces of running tasks, and parks only if other threads have all of that. It runs tasks and pieces in
//! a slot, as a worker does. It reads the clock only when it helps or parks.

use crate::engine::Engine;
use crate::gate;
use crate::parker::{self, Woken};
use crate::ready::TaskFilter;
use crate::run::Role;
use crate::stack;
use crate::sync::spin_loop;
use crate::work::{Fed, WaitOptions, WaitTarget, Waited};
use forerun_base::{Error, ErrorKind, Result};
use std::time::{Duration, Instant};

/// How long a waiter polls before it parks: the time of a hand-over between two running threads.
const SPIN: Duration = Duration::from_micros(20);
/// The same while a device is busy. Waking a thread leaves the device idle for a moment, which is a small share of
/// waits longer than this.
const SPIN_FOR_DEVICE: Duration = Duration::from_millis(5);
/// Time after which the waiter yields its core between polls.
const POLITE: Duration = Duration::from_micros(300);
/// The longest park of an interruptible waiter, for signals that were delivered to another thread.
const SIGNAL_BACKSTOP: Duration = Duration::from_millis(50);
/// Minimum time between calls of the interrupt function while helping; a call may be expensive (Python takes the GIL).
const INTERRUPT_INTERVAL: Duration = Duration::from_millis(2);
/// Number of planning rounds between two reads of the clock.
const ROUNDS_PER_CLOCK: u32 = 256;

impl Engine {
    /// Waits until the target is done, and helps meanwhile. Fails if it is interrupted, and inside a task: a waiting
    /// task would occupy the slot that its target may need.
    pub fn wait(&self, target: &dyn WaitTarget, options: WaitOptions<'_>) -> Result<Waited> {
        if target.done() {
            return Ok(Waited::default());
        }
        if Role::current() == Role::Runs {
            return Err(Error::new(ErrorKind::Runtime, "a task must not wait for another").read_at(options.loc));
        }
        let _inside = gate::enter();
        let role = Role::Waits.assume();
        let waited = Waiter::new(self, target, options).wait();
        drop(role);
        self.leave_behind();
        waited
    }

    /// Hands work that was planned, or became plannable, and is not for this waiter to other threads.
    fn leave_behind(&self) {
        self.share_work();
        self.call_busy_enqueuers();
        if self.has_workers() && self.state.signals.sleep.is_quiet() && self.state.feeder.has_work() {
            self.call_worker();
        }
    }
}

struct Waiter<'a> {
    engine: &'a Engine,
    target: &'a dyn WaitTarget,
    options: WaitOptions<'a>,
    waited: Waited,
    interrupt_checked: Option<Instant>,
    rounds: u32,
}

impl<'a> Waiter<'a> {
    fn new(engine: &'a Engine, target: &'a dyn WaitTarget, options: WaitOptions<'a>) -> Self {
        Waiter { engine, target, options, waited: Waited::default(), interrupt_checked: None, rounds: 0 }
    }

    fn wait(mut self) -> Result<Waited> {
        while !self.target.done() {
            gate::checkpoint();
            match self.target.feed(self.engine) {
                Fed::Progress => {
                    // Planning may have settled values that other threads wait for.
                    self.engine.published();
                    if self.rounds == 0 {
                        self.engine.state.self_served.add(1);
                    }
                    self.rounds += 1;
                    if self.rounds.is_multiple_of(ROUNDS_PER_CLOCK) {
                        self.check_interrupt_periodically(Instant::now())?;
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

    fn wish(&self) -> TaskFilter {
        // A heavy task would keep this thread from handling signals; pieces are allowed.
        let heavy = self.options.interrupt.is_none() || !self.engine.has_workers();
        TaskFilter { age_limit: self.target.age_limit(), heavy }
    }

    /// Whether this thread's stack is too short for kernels and workers run them instead.
    fn leaves_to_workers(&self) -> bool {
        self.engine.has_workers() && stack::is_short()
    }

    /// Runs one task or one piece, if there is one and a free slot.
    fn help(&mut self) -> Result<bool> {
        let state = &*self.engine.state;
        if self.attend_devices() {
            self.check_interrupt_periodically(Instant::now())?;
            return Ok(true);
        }
        if state.ready.is_empty() && !state.jobs.any_open() || self.leaves_to_workers() {
            return Ok(false);
        }
        let Some(slot) = state.slots.take() else { return Ok(false) };
        let start = Instant::now();
        self.interrupt_checked.get_or_insert(start);
        let helped = match state.ready.take(self.wish(), &state.ledger) {
            Some(task) => {
                self.engine.share_work();
                let engine = self.engine;
                let run = || {
                    let _mode = state.float_mode.enter();
                    engine.run(&task, false);
                };
                // A started task must run: if no thread can be started for it, it runs here.
                if stack::with_room(run).is_none() {
                    run();
                }
                state.helped.add(1);
                true
            }
            None if stack::is_short() => false,
            None => {
                let _mode = state.float_mode.enter();
                state.jobs.help(1, &state.pieces, &state.signals.counters, |_| ()).is_some_and(|pieces| pieces > 0)
            }
        };
        drop(slot);
        if helped {
            if !self.engine.has_workers() {
                // Another waiter may be waiting for a slot.
                state.signals.notify_waiters();
            }
            let now = Instant::now();
            self.waited.helped += now - start;
            self.check_interrupt_periodically(now)?;
        }
        Ok(helped)
    }

    /// Enqueues tasks that lead to the target and settles passed ones. Returns whether there were any.
    fn attend_devices(&self) -> bool {
        let engine = self.engine;
        let wish = TaskFilter { heavy: true, ..self.wish() };
        engine.devices().any(|(number, device)| {
            let attended = engine.attend(number, wish);
            if device.is_busy() {
                let more = !device.ready.is_empty() || engine.state.feeder.has_work();
                device.driver.flush(more);
            }
            attended
        })
    }

    /// Polls for a moment, then parks. Called when there is nothing to do.
    fn idle(&mut self, fed: Fed) -> Result<()> {
        self.engine.share_work();
        let start = Instant::now();
        self.interrupt_checked.get_or_insert(start);
        let woken = if self.spin(start, fed) { Woken::Called } else { self.park(fed) };
        let now = Instant::now();
        self.waited.parked += now - start;
        match woken {
            Woken::Called => Ok(()),
            Woken::Signalled => self.check_interrupt(now),
            Woken::Otherwise => self.check_interrupt_periodically(now),
        }
    }

    /// Polls for as long as a hand-over between two running threads may take. Returns whether to go on.
    fn spin(&self, start: Instant, fed: Fed) -> bool {
        let state = &*self.engine.state;
        let wish = self.wish();
        let soon = match fed {
            Fed::Later(time) if time < SPIN => Some(time),
            _ => None,
        };
        let has_busy_device = || self.engine.devices().any(|(_, device)| device.is_busy());
        loop {
            // One spin hint may take as long as a hundred instructions. Devices do not notify, so they are polled more
            // often.
            for _ in 0..if has_busy_device() { 2 } else { 16 } {
                spin_loop();
            }
            let helps = !self.leaves_to_workers();
            let to_help =
                || helps && state.slots.any_free() && (state.jobs.any_open() || state.ready.has(wish, &state.ledger));
            if self.attend_devices() || self.target.done() || to_help() {
                return true;
            }
            let spent = start.elapsed();
            if soon.is_some_and(|time| spent >= time) {
                return true;
            }
            if spent >= if has_busy_device() { SPIN_FOR_DEVICE } else { SPIN } {
                return false;
            }
            if spent >= POLITE {
                gate::checkpoint();
                std::thread::yield_now();
            }
        }
    }

    fn park(&self, fed: Fed) -> Woken {
        let engine = self.engine;
        let state = &*engine.state;
        let target = self.target;
        // Another thread is planning, perhaps the records of this target, and will not notify when it is done.
        if target.age_limit() == 0 && state.feeder.has_work() {
            std::thread::yield_now();
            return Woken::Otherwise;
        }
        let backstop = self.options.interrupt.map(|_| SIGNAL_BACKSTOP);
        // The device has no thread in these modes, so this waiter must block on its lanes.
        if !engine.has_workers()
            && let Some((_, device)) = engine.devices().find(|(_, device)| device.is_busy())
        {
            gate::outside(|| device.block(backstop.unwrap_or(SIGNAL_BACKSTOP)));
            return Woken::Otherwise;
        }
        let timeout = match fed {
            Fed::Later(time) => Some(backstop.map_or(time, |backstop| backstop.min(time))),
            _ => backstop,
        };
        engine.call_busy_enqueuers();
        // With workers only the target matters; without them, this thread may have to run what leads to it.
        let is_time = || {
            let wish = || TaskFilter { age_limit: target.age_limit(), heavy: true };
            let task = || state.slots.any_free() && state.ready.has(wish(), &state.ledger);
            let device = || engine.devices().any(|(_, device)| device.is_busy() || device.has_ready(wish()));
            target.done() || (!engine.has_workers() && (task() || device()))
        };
        state.signals.waiters.park(&parker::current(), &is_time, timeout, &state.signals.counters)
    }

    fn check_interrupt_periodically(&mut self, now: Instant) -> Result<()> {
        // The first call only starts the interval: most waits end before it does.
        if now - *self.interrupt_checked.get_or_insert(now) >= INTERRUPT_INTERVAL {
            self.check_interrupt(now)
        } else {
            Ok(())
        }
    }

    fn check_interrupt(&mut self, now: Instant) -> Result<()> {
        self.interrupt_checked = Some(now);
        match self.options.interrupt {
            // The frontend may wait for a lock that a forking thread holds.
            Some(interrupt) if gate::outside(interrupt) => {
                Err(Error::new(ErrorKind::Interrupted, "the wait was interrupted").read_at(self.options.loc))
            }
            _ => Ok(()),
        }
    }
}
