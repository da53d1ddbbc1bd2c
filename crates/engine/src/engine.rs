//! The engine: its state in one struct, how it is made, spawned into and taken down.
//!
//! Running tasks is in `run`, the workers' loop in `worker`, the wait funnel in `wait`, threads in `pool`.

use crate::asymmetric;
use crate::config::{Config, Mode};
use crate::device::{DeviceQueue, MOST_DEVICES};
use crate::float_mode::FloatMode;
use crate::gate;
use crate::job::Jobs;
use crate::ledger::{Budget, Ledger};
use crate::parker;
use crate::pool::WorkerPool;
use crate::ready::{ReadyQueue, TaskFilter};
use crate::run::Role;
use crate::signals::Signals;
use crate::slots::Slots;
use crate::stats::{Counter, EngineStats};
use crate::sync::{Arc, AtomicU64, AtomicUsize, Ordering, Padded};
use crate::task::TaskRef;
use crate::work::{Feeder, TaskSpec};
use forerun_base::{BytesLedger, Error, ErrorKind, Team};
use std::sync::OnceLock;

/// Runs tasks; see the crate. Also the team that tasks split their work over.
pub struct Engine {
    pub(crate) state: Arc<State>,
    /// The user's handle takes the engine down when it goes; the workers' handles do not.
    owner: bool,
}

/// Everything the threads of an engine share.
pub(crate) struct State {
    pub(crate) mode: Mode,
    pub(crate) intra_op: bool,
    /// Bytes that sources may allocate ahead of the oldest unfinished task.
    prefetch: usize,
    pub(crate) float_mode: FloatMode,
    pub(crate) feeder: Arc<dyn Feeder>,
    pub(crate) signals: Arc<Signals>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) ready: ReadyQueue,
    pub(crate) jobs: Jobs,
    pub(crate) slots: Slots,
    pub(crate) pool: WorkerPool,
    /// The devices beside the host, by number, as they are added.
    pub(crate) devices: [OnceLock<DeviceQueue>; MOST_DEVICES],
    /// How many tasks were spawned so far.
    pub(crate) ages: AtomicU64,
    pub(crate) in_flight: Padded<AtomicUsize>,
    pub(crate) tasks: Counter,
    pub(crate) helped: Counter,
    /// Waits that planned, and so needed no worker to.
    pub(crate) self_served: Padded<Counter>,
    pub(crate) pieces: Counter,
}

impl Engine {
    /// An engine that asks `feeder` for work. Threads start when there is something to do.
    pub fn new(config: Config, feeder: Arc<dyn Feeder>) -> Arc<Engine> {
        asymmetric::prepare();
        let signals = Arc::new(Signals::new(config.mode == Mode::Async));
        let ledger = Arc::new(Ledger::new(config.budget_bytes(), Arc::clone(&signals)));
        let slots = match config.mode {
            Mode::Async | Mode::Sync => config.workers.max(1),
            Mode::Seeded(_) | Mode::Replay(_) => 1,
        };
        let state = State {
            ready: ReadyQueue::new(&config.mode, config.prefetch),
            mode: config.mode,
            intra_op: config.intra_op,
            prefetch: config.prefetch,
            float_mode: FloatMode::current(),
            feeder,
            signals,
            ledger,
            jobs: Jobs::new(),
            slots: Slots::new(slots),
            pool: WorkerPool::new(),
            devices: Default::default(),
            ages: AtomicU64::new(0),
            in_flight: Padded(AtomicUsize::new(0)),
            tasks: Counter::default(),
            helped: Counter::default(),
            self_served: Padded(Counter::default()),
            pieces: Counter::default(),
        };
        Arc::new(Engine { state: Arc::new(state), owner: true })
    }

    /// A handle for a worker.
    pub(crate) fn for_worker(&self) -> Engine {
        Engine { state: Arc::clone(&self.state), owner: false }
    }

    /// Adds a task that runs after `predecessors`; edges are made to the unfinished ones only.
    pub fn spawn(&self, spec: TaskSpec, predecessors: &[TaskRef]) -> TaskRef {
        let state = &*self.state;
        let mut task = TaskRef::new(spec, predecessors.len(), None);
        state.ledger.expect(task.bytes);
        let in_flight = state.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        state.ready.enroll(&mut task, &state.ages, in_flight);
        // One arrival for the spawning itself, so that the task cannot start while edges are being made.
        let mut arrived = 1;
        for (index, predecessor) in predecessors.iter().enumerate() {
            // SAFETY: each edge is used once; the task stays enrolled, hence alive, until it has run.
            if !unsafe { predecessor.successors.push(task.edge(index), &*task, false) } {
                arrived += 1;
            }
        }
        if task.join.arrive(arrived) {
            state.ready.push(task.clone());
            self.made_ready();
        }
        task
    }

    /// A task's predecessors are there: it goes to those who run tasks of its kind.
    pub(crate) fn push(&self, task: TaskRef) {
        match task.on_device.as_deref().map(|on| on.number) {
            Some(number) => {
                self.device(number).ready.push(task);
                self.call_enqueuer(number);
            }
            None => self.state.ready.push(task),
        }
    }

    pub(crate) fn device(&self, number: usize) -> &DeviceQueue {
        self.state.devices[number].get().expect("a task is spawned on a device that was added")
    }

    /// The devices that were added.
    pub(crate) fn devices(&self) -> impl Iterator<Item = (usize, &DeviceQueue)> {
        self.state.devices.iter().enumerate().filter_map(|(number, slot)| slot.get().map(|device| (number, device)))
    }

    /// Spawned tasks that have not finished. What finished ones wrote is visible.
    pub fn in_flight(&self) -> usize {
        self.state.in_flight.load(Ordering::Acquire)
    }

    /// The frontend has published a record: one load while workers are awake, else a worker is woken.
    #[inline]
    pub fn submitted(&self) {
        if self.state.signals.sleep.is_quiet() {
            self.call_worker();
        }
    }

    /// Values were made ready outside a task: waiters are woken; one load when there are none.
    #[inline]
    pub fn published(&self) {
        self.state.signals.notify_waiters();
    }

    /// Who counts the bytes of the host.
    pub fn ledger(&self) -> Arc<dyn BytesLedger> {
        Arc::clone(&self.state.ledger) as Arc<dyn BytesLedger>
    }

    /// Live bytes, their peak, what is wanted beyond, and the limit.
    pub fn budget(&self) -> Budget {
        self.state.ledger.budget()
    }

    /// Changes the limit.
    pub fn set_budget(&self, bytes: usize) {
        self.state.ledger.set_limit(bytes);
        self.share_work();
    }

    /// Bytes that sources may allocate ahead of the oldest unfinished task.
    pub fn prefetch(&self) -> usize {
        self.state.prefetch
    }

    /// How much of the prefetch allowance is in use.
    pub fn prefetched(&self) -> usize {
        self.state.ready.prefetched()
    }

    /// Lets the peak start again from what is live now.
    pub fn reset_peak(&self) {
        self.state.ledger.reset_peak();
    }

    /// How tasks are run.
    pub fn mode(&self) -> &Mode {
        &self.state.mode
    }

    /// Threads of the pool; 0 in the modes without.
    pub fn workers(&self) -> usize {
        if self.state.mode == Mode::Async { self.state.slots.total() } else { 0 }
    }

    /// Changes the number of threads; at least one. Too many leave when they have finished what they run.
    pub fn set_workers(&self, workers: usize) {
        if self.state.mode == Mode::Async {
            self.state.slots.set_total(workers.max(1));
            while self.state.signals.wake_worker() {}
            self.share_work();
        }
    }

    /// Counters since the engine was made.
    pub fn stats(&self) -> EngineStats {
        let State { signals, ready, tasks, helped, pieces, .. } = &*self.state;
        EngineStats {
            parks: signals.counters.parks.get(),
            wakes: signals.counters.wakes.get(),
            system_calls: signals.counters.system_calls.get(),
            tasks: tasks.get(),
            helped: helped.get(),
            pieces: pieces.get(),
            deferred: ready.deferred.get(),
        }
    }

    /// The ages of the tasks in the order in which they started, in the seeded and replayed modes.
    pub fn schedule(&self) -> Vec<u64> {
        self.state.ready.schedule()
    }

    /// Sends the workers home and waits for them, but not for longer than a second: what does not end is left
    /// behind. Tasks that are left can still be run by waiting for them.
    pub fn shutdown(&self) {
        self.state.pool.stop();
        while self.state.signals.wake_worker() {}
        for (_, device) in self.devices() {
            device.wake();
        }
        self.state.pool.join();
        self.devices().for_each(|(_, device)| device.join());
        self.published();
    }

    /// Whether workers run, or would if called.
    pub(crate) fn has_workers(&self) -> bool {
        self.state.mode == Mode::Async && !self.state.pool.is_stopped()
    }

    /// Wakes or starts a worker, if there is one to wake or start.
    #[cold]
    pub(crate) fn call_worker(&self) {
        if self.has_workers() && !self.state.signals.wake_worker() {
            self.state.pool.start_one(self, self.state.slots.total());
        }
    }

    /// Calls a worker if there is something that one could do and nobody is looking for it.
    pub(crate) fn share_work(&self) {
        let state = &*self.state;
        if state.ready.is_empty() && !state.jobs.any_open() || !state.signals.sleep.nobody_searches() {
            return;
        }
        // A thread not yet started is started even for a task that is held back: it must be there when bytes come free.
        let startable = state.pool.started() < state.slots.total();
        let something = || state.jobs.any_open() || state.ready.has(TaskFilter::ANY, &state.ledger);
        if startable || (state.signals.sleep.any_asleep() && state.slots.any_free() && something()) {
            self.call_worker();
        }
    }

    /// After a task became ready: sees to it that somebody runs it. A thread that looks for work itself takes one and
    /// shares the rest, so it calls nobody yet.
    pub(crate) fn made_ready(&self) {
        if !self.has_workers() {
            self.state.signals.notify_waiters();
        } else if matches!(Role::current(), Role::Outside | Role::Runs) {
            self.share_work();
        }
    }

    /// Fails the tasks that nobody can run any more; those that have started only if nobody runs them either.
    pub(crate) fn abandon(&self, started: bool, error: &Error) {
        let mut tasks = self.state.ready.abandon(started);
        for (_, device) in self.devices() {
            tasks.extend(device.abandon(started));
        }
        tasks.sort_unstable_by_key(|task| task.age());
        for task in tasks {
            // SAFETY: the task is in no queue any more, and whoever ran it is gone.
            if let Some(work) = unsafe { task.take_work() } {
                work.fail(error.clone());
            }
            // SAFETY: the task is finished here, once; its successors are abandoned themselves and join nothing.
            unsafe { task.successors.close(|_, _| ()) };
            self.state.in_flight.fetch_sub(1, Ordering::Release);
        }
        self.published();
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if self.owner {
            self.shutdown();
            self.abandon(false, &Error::new(ErrorKind::Runtime, "the engine was shut down before the task ran"));
        }
    }
}

impl Team for Engine {
    fn width(&self) -> usize {
        if self.state.intra_op && self.has_workers() { self.state.slots.total() } else { 1 }
    }

    fn split(&self, pieces: usize, piece: &(dyn Fn(usize) + Sync)) {
        let width = self.width();
        if pieces <= 1 || width == 1 {
            for index in 0..pieces {
                gate::checkpoint();
                piece(index);
            }
            return;
        }
        let state = &*self.state;
        let call = || {
            // Those who search find the job themselves, and each who joins calls the next: two calls start the chain.
            let wanted = pieces.min(width) - 1;
            for _ in state.signals.sleep.searching()..wanted.min(2) {
                self.call_worker();
            }
        };
        state.jobs.split(pieces, piece, &parker::current(), &state.signals.counters, call);
    }
}
