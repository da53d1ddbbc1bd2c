//! The engine: its shared state, construction, spawning and shutdown.
//!
//! `run` runs tasks, `worker` is the workers' loop, `wait` is the wait function, `pool` manages threads.

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

/// Runs tasks; see the crate. It is also the team over which tasks split their work.
pub struct Engine {
    pub(crate) state: Arc<State>,
    /// Whether dropping this handle shuts the engine down: true for the user's handle, false for the workers'.
    owner: bool,
}

/// State shared by all threads of an engine.
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
    /// The accelerator devices by number, filled as they are added.
    pub(crate) devices: [OnceLock<DeviceQueue>; MOST_DEVICES],
    /// Number of tasks spawned so far.
    pub(crate) ages: AtomicU64,
    pub(crate) in_flight: Padded<AtomicUsize>,
    pub(crate) tasks: Counter,
    pub(crate) helped: Counter,
    /// Number of waits in which the waiting thread planned records itself; see [`crate::worker`].
    pub(crate) self_served: Padded<Counter>,
    pub(crate) pieces: Counter,
}

impl Engine {
    /// Creates an engine that asks `feeder` for work. Threads start when there is something to do.
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

    /// Returns a handle for a worker.
    pub(crate) fn for_worker(&self) -> Engine {
        Engine { state: Arc::clone(&self.state), owner: false }
    }

    /// Adds a task that runs after `predecessors`. Only unfinished predecessors get an edge.
    pub fn spawn(&self, spec: TaskSpec, predecessors: &[TaskRef]) -> TaskRef {
        let state = &*self.state;
        let mut task = TaskRef::new(spec, predecessors.len(), None);
        state.ledger.expect(task.bytes);
        let in_flight = state.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        state.ready.enroll(&mut task, &state.ages, in_flight);
        // One arrival stands for the spawning itself, so that the task cannot start before all edges exist.
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

    /// Queues a task whose predecessors are done, on the host or on its device.
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

    /// Number of spawned tasks that have not finished. Everything that finished tasks wrote is visible.
    pub fn in_flight(&self) -> usize {
        self.state.in_flight.load(Ordering::Acquire)
    }

    /// Called after a record was published: one load while workers are awake; otherwise wakes a worker.
    #[inline]
    pub fn submitted(&self) {
        if self.state.signals.sleep.is_quiet() {
            self.call_worker();
        }
    }

    /// Wakes waiters after values became ready outside a task: one load if there are no waiters.
    #[inline]
    pub fn published(&self) {
        self.state.signals.notify_waiters();
    }

    /// The ledger that counts host bytes.
    pub fn ledger(&self) -> Arc<dyn BytesLedger> {
        Arc::clone(&self.state.ledger) as Arc<dyn BytesLedger>
    }

    /// Live bytes, peak, requested bytes and limit of the host.
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

    /// Bytes of the prefetch allowance that are in use.
    pub fn prefetched(&self) -> usize {
        self.state.ready.prefetched()
    }

    /// Resets the peak to the live bytes.
    pub fn reset_peak(&self) {
        self.state.ledger.reset_peak();
    }

    /// The mode in which tasks run.
    pub fn mode(&self) -> &Mode {
        &self.state.mode
    }

    /// Number of worker threads; 0 in modes without workers.
    pub fn workers(&self) -> usize {
        if self.state.mode == Mode::Async { self.state.slots.total() } else { 0 }
    }

    /// Changes the number of threads, to at least one. Surplus threads exit after their current task.
    pub fn set_workers(&self, workers: usize) {
        if self.state.mode == Mode::Async {
            self.state.slots.set_total(workers.max(1));
            while self.state.signals.wake_worker() {}
            self.share_work();
        }
    }

    /// Counters since the engine was created.
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

    /// Whether a waiter that may run a short plan itself, without tasks, does so. In the seeded mode each call draws the
    /// answer from the seed, so that seeds explore both; in other modes it does.
    #[inline]
    pub fn runs_short_plan(&self) -> bool {
        !matches!(self.state.mode, Mode::Seeded(_)) || self.state.ready.flip().unwrap_or(true)
    }

    /// The ages of the tasks in the order in which they started, in the seeded and replayed modes.
    pub fn schedule(&self) -> Vec<u64> {
        self.state.ready.schedule()
    }

    /// Stops the workers and the threads of devices. Waits up to one second for the workers to exit, and as long for each
    /// device; threads that are still running are left behind. Remaining tasks still run when a thread waits for them.
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

    /// Whether workers run, or would start when called.
    pub(crate) fn has_workers(&self) -> bool {
        self.state.mode == Mode::Async && !self.state.pool.is_stopped()
    }

    /// Wakes or starts a worker, if possible.
    #[cold]
    pub(crate) fn call_worker(&self) {
        if self.has_workers() && !self.state.signals.wake_worker() {
            self.state.pool.start_one(self, self.state.slots.total());
        }
    }

    /// Calls a worker if there is work for one and no thread is searching.
    pub(crate) fn share_work(&self) {
        let state = &*self.state;
        if state.ready.is_empty() && !state.jobs.any_open() || !state.signals.sleep.nobody_searches() {
            return;
        }
        // A missing thread is started even for a deferred task: it must exist when bytes are released.
        let startable = state.pool.started() < state.slots.total();
        let something = || state.jobs.any_open() || state.ready.has(TaskFilter::ANY, &state.ledger);
        if startable || (state.signals.sleep.any_asleep() && state.slots.any_free() && something()) {
            self.call_worker();
        }
    }

    /// Makes sure that a thread runs a task that became ready. A thread that is looking for work takes one task and
    /// shares the rest later, so it calls no other thread yet.
    pub(crate) fn made_ready(&self) {
        if !self.has_workers() {
            self.state.signals.notify_waiters();
        } else if matches!(Role::current(), Role::Outside | Role::Runs) {
            self.share_work();
        }
    }

    /// Fails the tasks that no thread can run any more. With `started`, also those that had started and whose threads
    /// are gone.
    pub(crate) fn abandon(&self, started: bool, error: &Error) {
        let mut tasks = self.state.ready.abandon(started);
        for (_, device) in self.devices() {
            tasks.extend(device.abandon(started));
        }
        tasks.sort_unstable_by_key(|task| task.age());
        for task in tasks {
            // SAFETY: the task is in no queue any more, and the thread that ran it is gone.
            if let Some(work) = unsafe { task.take_work() } {
                work.fail(error.clone());
            }
            // SAFETY: the task is finished here, once; its successors are abandoned too, so their counters do not
            // matter.
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
            // Searching threads find the job themselves, and each thread that joins calls the next: two calls start the
            // chain.
            let wanted = pieces.min(width) - 1;
            for _ in state.signals.sleep.searching()..wanted.min(2) {
                self.call_worker();
            }
        };
        state.jobs.split(pieces, piece, &parker::current(), &state.signals.counters, call);
    }
}
