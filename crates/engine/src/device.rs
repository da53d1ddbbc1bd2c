//! Accelerator devices: tasks are enqueued to lanes and settle later.
//!
//! | a device task is | when |
//! |---|---|
//! | ready | its predecessors on the same device are enqueued, and those elsewhere are settled |
//! | enqueued | its work was submitted to the device and got a ticket; tasks that follow it may be enqueued |
//! | passed | its lane has passed the ticket |
//! | settled | it and all tasks that it follows have passed, so it is known whether its values are good |
//!
//! Tasks are enqueued one at a time, oldest first, by the thread that holds `enqueuing`: the device's thread or a
//! helping waiter. Memory is therefore allocated and freed in lane order. Enqueuing never blocks: a task that finds no
//! memory goes back to the queue until another task settles, and fails only when no task is left that could settle.
//!
//! The device's thread enqueues, plans when there is nothing to enqueue, and notices which tickets have passed. Waiters
//! do the same while they wait; in modes without threads only waiters do it.

use crate::config::Mode;
use crate::edges::{Edge, Successors};
use crate::engine::Engine;
use crate::gate;
use crate::ledger::{Budget, Ledger};
use crate::parker;
use crate::pool::{JOIN_BOUND, without_signals};
use crate::ready::{ReadyQueue, TaskFilter};
use crate::run::Role;
use crate::signals::Signals;
use crate::sync::{Arc, AtomicBool, AtomicUsize, Condvar, Mutex, Ordering};
use crate::task::{Task, TaskRef};
use crate::work::{Driver, Enqueued, Fed, LaneTicket, Need, TaskSpec};
use forerun_base::{BytesLedger, Error, fail_point};
use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Maximum number of devices of an engine.
pub(crate) const MOST_DEVICES: usize = 16;
/// Maximum number of tasks enqueued before the thread checks for a pause.
const MOST_AT_ONCE: usize = 32;
/// Idle time after which a device's thread sleeps.
const IDLE_LIMIT: Duration = Duration::from_micros(200);
/// Maximum time for which a device's thread blocks while its lanes are busy.
const LONGEST_BLOCK: Duration = Duration::from_millis(50);

/// The queue of one device; see the module.
pub(crate) struct DeviceQueue {
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) ready: ReadyQueue,
    pub(crate) ledger: Arc<Ledger>,
    signals: Arc<Signals>,
    enqueuing: Mutex<()>,
    /// Tasks on each lane that are enqueued and not known to have passed.
    lanes: Mutex<Vec<VecDeque<(u64, TaskRef)>>>,
    outstanding: AtomicUsize,
    /// A task found no memory: nothing is enqueued until some task settles.
    starved: AtomicBool,
    /// The thread is blocked on the lanes and can be nudged.
    blocks: AtomicBool,
    has_thread: Mutex<bool>,
    left: Condvar,
}

impl DeviceQueue {
    fn new(driver: Arc<dyn Driver>, limit: usize, mode: &Mode, prefetch: usize) -> DeviceQueue {
        let signals = Arc::new(Signals::new(*mode == Mode::Async));
        DeviceQueue {
            ready: ReadyQueue::new(mode, prefetch),
            ledger: Arc::new(Ledger::new(limit, Arc::clone(&signals))),
            signals,
            enqueuing: Mutex::new(()),
            lanes: Mutex::new((0..driver.lanes()).map(|_| VecDeque::new()).collect()),
            outstanding: AtomicUsize::new(0),
            starved: AtomicBool::new(false),
            blocks: AtomicBool::new(false),
            has_thread: Mutex::new(false),
            left: Condvar::new(),
            driver,
        }
    }

    /// Whether a task is enqueued and not known to have passed.
    pub(crate) fn is_busy(&self) -> bool {
        self.outstanding.load(Ordering::Acquire) > 0
    }

    /// Whether a task could be enqueued.
    pub(crate) fn has_ready(&self, wish: TaskFilter) -> bool {
        !self.is_starved() && self.ready.has(wish, &self.ledger)
    }

    fn is_starved(&self) -> bool {
        self.starved.load(Ordering::Relaxed) && self.is_busy()
    }

    /// Blocks until a ticket may have passed or a task is ready to be enqueued.
    pub(crate) fn block(&self, at_most: Duration) {
        let next = |lane: &VecDeque<(u64, TaskRef)>| lane.front().map_or(0, |(number, _)| *number);
        let tickets: Vec<u64> = self.lanes.lock().iter().map(next).collect();
        self.driver.block(&tickets, at_most);
    }

    /// Removes and returns the tasks that have passed, in lane order.
    fn take_passed(&self) -> Vec<TaskRef> {
        let Some(mut lanes) = self.lanes.try_lock() else { return Vec::new() };
        let mut passed = Vec::new();
        for (lane, queue) in lanes.iter_mut().enumerate().filter(|(_, queue)| !queue.is_empty()) {
            let number = self.driver.passed(lane);
            while queue.front().is_some_and(|(ticket, _)| *ticket <= number) {
                passed.extend(queue.pop_front().map(|(_, task)| task));
            }
        }
        self.outstanding.fetch_sub(passed.len(), Ordering::AcqRel);
        passed
    }

    /// Wakes the device's thread, whether it is asleep or blocked on a lane.
    pub(crate) fn wake(&self) {
        if !self.signals.wake_worker() {
            self.driver.nudge();
        }
    }

    /// Removes and returns the unfinished tasks, when no thread can run them any more; see [`ReadyQueue::abandon`].
    pub(crate) fn abandon(&self, started: bool) -> Vec<TaskRef> {
        if started {
            self.lanes.lock().iter_mut().for_each(VecDeque::clear);
            self.outstanding.store(0, Ordering::Relaxed);
        }
        self.ready.abandon(started)
    }

    /// Takes the locks before a fork.
    pub(crate) fn lock_for_fork(&'static self) -> Vec<Box<dyn Any>> {
        let signals = &*self.signals;
        vec![
            Box::new(self.enqueuing.lock()),
            Box::new(self.has_thread.lock()),
            signals.sleep.lock_for_fork(),
            Box::new(self.lanes.lock()),
            self.ready.lock_for_fork(),
        ]
    }

    /// Resets the queue in a forked child, where the thread does not exist.
    pub(crate) fn forget_thread(&self, quiet: bool) {
        *self.has_thread.lock() = false;
        self.signals.sleep.forget(quiet);
        self.blocks.store(false, Ordering::Relaxed);
        self.ledger.forget_tasks();
    }

    /// Waits until the thread has exited, for at most `JOIN_BOUND`.
    pub(crate) fn join(&self) {
        drop(self.left.wait_timeout_while(self.has_thread.lock(), JOIN_BOUND, |has_thread| *has_thread));
    }
}

impl Engine {
    /// Adds a device under a number; tasks can be spawned on it from then on. Its bytes have a budget of their own. If
    /// the number is taken, the first device stays.
    pub fn add_device(&self, number: usize, driver: Arc<dyn Driver>, limit: usize) {
        let state = &*self.state;
        state.devices[number].get_or_init(|| DeviceQueue::new(driver, limit, &state.mode, self.prefetch()));
    }

    /// Adds a device task that is enqueued after `predecessors`, each to the extent that its `Need` states.
    pub fn spawn_on(&self, number: usize, spec: TaskSpec, predecessors: &[(TaskRef, Need)]) -> TaskRef {
        let state = &*self.state;
        let device = self.device(number);
        let mut task = TaskRef::new(spec, predecessors.len(), Some(number));
        device.ledger.expect(task.bytes);
        let in_flight = state.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        device.ready.enroll(&mut task, &state.ages, in_flight);
        let on_device = task.on_device.as_deref().expect("it was made for a device");
        let push = |list: &Successors<Task>, edge: &Edge<Task>, late: bool| {
            // SAFETY: each edge is used once; the task stays enrolled, hence alive, until both its counters reach zero.
            unsafe { list.push(edge, &*task, late) }
        };
        let (mut arrived, mut settled) = (1, 0);
        for (index, (predecessor, need)) in predecessors.iter().enumerate() {
            let (waits, follows) = match predecessor.on_device.as_deref() {
                Some(before) if *need == Need::Enqueued => (
                    push(&before.followers, task.edge(index), false),
                    push(&predecessor.successors, on_device.edge(index), true),
                ),
                _ => (push(&predecessor.successors, task.edge(index), false), false),
            };
            arrived += !waits as u32;
            settled += !follows as u32;
        }
        // The arrival of the lane itself is still missing, so this is never the last arrival.
        let early = settled > 0 && on_device.settling.arrive(settled);
        debug_assert!(!early, "a task settled before it was enqueued");
        if task.join.arrive(arrived) {
            self.push(task.clone());
        }
        task
    }

    /// The ledger that counts a device's bytes.
    pub fn device_ledger(&self, number: usize) -> Arc<dyn BytesLedger> {
        Arc::clone(&self.device(number).ledger) as Arc<dyn BytesLedger>
    }

    /// Live bytes, peak, requested bytes and limit of a device.
    pub fn device_budget(&self, number: usize) -> Budget {
        self.device(number).ledger.budget()
    }

    /// Changes the limit of a device.
    pub fn set_device_budget(&self, number: usize, bytes: usize) {
        self.device(number).ledger.set_limit(bytes);
        self.call_enqueuer(number);
    }

    /// Resets a device's peak to its live bytes.
    pub fn reset_device_peak(&self, number: usize) {
        self.device(number).ledger.reset_peak();
    }

    /// Makes sure that a thread enqueues a device task that became ready.
    pub(crate) fn call_enqueuer(&self, number: usize) {
        // A waiter enqueues its own tasks, and calls another thread before it stops polling.
        if Role::current() != Role::Waits {
            self.call_now(number);
        }
    }

    fn call_now(&self, number: usize) {
        let device = self.device(number);
        if !self.has_workers() {
            self.published();
        } else if device.signals.sleep.is_quiet() {
            if !device.signals.wake_worker() {
                self.start_enqueuer(number);
            }
        } else if device.blocks.load(Ordering::SeqCst) {
            device.driver.nudge();
        }
    }

    /// Makes sure that a thread polls every busy device: the waiter that enqueued work may stop polling.
    pub(crate) fn call_busy_enqueuers(&self) {
        for (number, device) in self.devices() {
            if device.is_busy() || !device.ready.is_empty() {
                self.call_now(number);
            }
        }
    }

    #[cold]
    fn start_enqueuer(&self, number: usize) {
        let device = self.device(number);
        let mut has_thread = device.has_thread.lock();
        if *has_thread {
            return;
        }
        device.signals.sleep.begin_search();
        let engine = self.for_worker();
        let body = move || {
            let _inside = gate::enter();
            main(&engine, number);
            let device = engine.device(number);
            *device.has_thread.lock() = false;
            device.left.notify_all();
        };
        let name = format!("forerun-device-{number}");
        let start = || {
            fail_point!("device.thread", _error => return Err(std::io::ErrorKind::WouldBlock.into()));
            std::thread::Builder::new().name(name).spawn(body)
        };
        match without_signals(start) {
            Ok(_) => *has_thread = true,
            // No thread could be started, so waiters enqueue everything, as after a shutdown. Parked waiters must check
            // again.
            Err(_) => {
                device.signals.sleep.end_search(false);
                self.state.pool.stop();
                drop(has_thread);
                self.published();
            }
        }
    }

    /// Enqueues ready tasks and settles passed ones, unless another thread is doing so. Returns whether there were any.
    pub(crate) fn attend(&self, number: usize, wish: TaskFilter) -> bool {
        // Both are evaluated: a task that settles may allow others to be enqueued.
        self.enqueue_ready(number, wish) | self.settle_passed(number)
    }

    fn enqueue_ready(&self, number: usize, wish: TaskFilter) -> bool {
        let device = self.device(number);
        if device.ready.is_empty() || device.is_starved() {
            return false;
        }
        let Some(_enqueuing) = device.enqueuing.try_lock() else { return false };
        let mut enqueued = false;
        for _ in 0..MOST_AT_ONCE {
            let Some(task) = device.ready.take(wish, &device.ledger) else { break };
            if !self.enqueue(device, &task) {
                break;
            }
            enqueued = true;
        }
        enqueued
    }

    /// Returns false if the task has to wait for memory.
    fn enqueue(&self, device: &DeviceQueue, task: &TaskRef) -> bool {
        let mut enqueued = {
            let _role = Role::Runs.assume();
            let _draw = device.ledger.draw(task.bytes);
            // SAFETY: this thread started the task, and the task is settled, by any thread, only after this call.
            match unsafe { task.work() } {
                Some(work) => catch_unwind(AssertUnwindSafe(|| work.enqueue())).unwrap_or_else(|panic| {
                    let error = Error::panicked("launch", &*panic);
                    let _ = catch_unwind(AssertUnwindSafe(|| work.fail(error)));
                    Enqueued::Nothing
                }),
                None => Enqueued::Nothing,
            }
        };
        if enqueued == Enqueued::NoMemory {
            device.starved.store(true, Ordering::SeqCst);
            if device.is_busy() {
                device.ready.put_back(task, &device.ledger);
                return false;
            }
            // SAFETY: as above, this thread started the task and it is not settled yet.
            if let Some(work) = unsafe { task.work() } {
                let _role = Role::Runs.assume();
                enqueued = catch_unwind(AssertUnwindSafe(|| work.fail_for_memory())).unwrap_or(Enqueued::Nothing);
            }
        }
        if let Enqueued::Ticket(LaneTicket { lane, number }) = enqueued {
            let mut lanes = device.lanes.lock();
            device.outstanding.fetch_add(1, Ordering::AcqRel);
            lanes[lane].push_back((number, task.clone()));
        }
        let on_device = task.on_device.as_deref().expect("it is a task of a device");
        let visit = |follower: *const Task, _late: bool| {
            // SAFETY: a follower is enrolled, hence alive, until it has settled, and it cannot be enqueued before this
            // arrival.
            if unsafe { (*follower).join.arrive(1) } {
                // SAFETY: only the thread that completes the arrivals can start the follower, and it has not started it
                // yet.
                self.push(unsafe { TaskRef::again(follower) });
            }
        };
        // SAFETY: this thread enqueued the task, once.
        unsafe { on_device.followers.close(visit) };
        if !matches!(enqueued, Enqueued::Ticket(_)) && on_device.settling.arrive(1) {
            self.settle(task.clone());
        }
        true
    }

    fn settle_passed(&self, number: usize) -> bool {
        let device = self.device(number);
        if !device.is_busy() {
            return false;
        }
        let passed = device.take_passed();
        for task in &passed {
            let on_device = task.on_device.as_deref().expect("it is a task of a device");
            if on_device.settling.arrive(1) {
                self.settle(task.clone());
            }
        }
        !passed.is_empty()
    }

    /// Settles a task whose conditions are all met, and then the tasks that can settle because of it.
    fn settle(&self, task: TaskRef) {
        let mut more = vec![task];
        while let Some(task) = more.pop() {
            {
                let _role = Role::Runs.assume();
                // SAFETY: only the thread that brought the counter to zero settles the task.
                if let Some(work) = unsafe { task.work() }
                    && let Err(panic) = catch_unwind(AssertUnwindSafe(|| work.settle()))
                {
                    let error = Error::panicked("settling", &*panic);
                    let _ = catch_unwind(AssertUnwindSafe(|| work.fail(error)));
                }
                // SAFETY: as above; `work` is not used after this.
                let _ = catch_unwind(AssertUnwindSafe(|| drop(unsafe { task.take_work() })));
            }
            self.state.tasks.add(1);
            let visit = |successor: *const Task, late: bool| {
                // SAFETY: a successor is enrolled, hence alive, until both its counters reach zero.
                let follows = unsafe { &*successor };
                match follows.on_device.as_deref() {
                    // SAFETY: only the thread that completes the arrivals can settle the successor, and it has not
                    // settled it yet.
                    Some(on) if late && on.settling.arrive(1) => more.push(unsafe { TaskRef::again(successor) }),
                    // SAFETY: as in `enqueue`: only the thread that completes the arrivals can start the successor.
                    _ if !late && follows.join.arrive(1) => self.push(unsafe { TaskRef::again(successor) }),
                    _ => {}
                }
            };
            // SAFETY: this thread settled the task, once.
            unsafe { task.successors.close(visit) };
            self.state.in_flight.fetch_sub(1, Ordering::Release);
            if let Some(on_device) = task.on_device.as_deref() {
                let device = self.device(on_device.number);
                device.starved.store(false, Ordering::SeqCst);
                // A deferred task may be the oldest now.
                if !device.ready.is_empty() {
                    self.call_enqueuer(on_device.number);
                }
            }
        }
        self.published();
        self.share_work();
    }
}

/// The main loop of a device's thread, which counts as searching when it starts.
fn main(engine: &Engine, number: usize) {
    let state = &*engine.state;
    let device = engine.device(number);
    let _role = Role::Searches.assume();
    let parker = parker::current();
    let mut idle_since: Option<Instant> = None;
    while !state.pool.is_stopped() {
        gate::checkpoint();
        if engine.attend(number, TaskFilter::ANY) {
            idle_since = None;
            continue;
        }
        // The workers may all be busy with long tasks, and records must be planned before they can be enqueued.
        let fed = if state.feeder.has_work() { state.feeder.feed(engine) } else { Fed::Empty };
        if fed == Fed::Progress {
            engine.published();
            engine.share_work();
            idle_since = None;
            continue;
        }
        let at_most = match fed {
            Fed::Later(time) => time.min(LONGEST_BLOCK),
            _ => LONGEST_BLOCK,
        };
        if device.is_busy() {
            device.blocks.store(true, Ordering::SeqCst);
            if !device.has_ready(TaskFilter::ANY) {
                gate::outside(|| device.block(at_most));
            }
            device.blocks.store(false, Ordering::SeqCst);
            continue;
        }
        let now = Instant::now();
        if now - *idle_since.get_or_insert(now) < IDLE_LIMIT {
            std::hint::spin_loop();
            continue;
        }
        idle_since = None;
        let timeout = (fed != Fed::Empty).then_some(at_most);
        let look = || state.pool.is_stopped() || device.has_ready(TaskFilter::ANY) || device.is_busy();
        device.signals.sleep.sleep(&parker, timeout, &device.signals.counters, look);
    }
    device.signals.sleep.end_search(true);
}
