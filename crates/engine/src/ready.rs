//! Ready tasks, and which of them may start.
//!
//! The admission rule, for a task that will allocate `b` bytes:
//!
//! 1. The oldest unfinished task may always start; so may a task with `b = 0`.
//! 2. Any other task must leave room for all older tasks: with `w` the bytes of all older unstarted tasks,
//!    `committed + w + b <= limit`.
//! 3. A source (a task without task inputs) also needs `b` plus the bytes of early sources to be within the prefetch
//!    allowance. A source is early while an older task is unfinished. Of one line, a source may be early if fewer than
//!    [`ITERATIONS_AHEAD`] others are, or if all of them together have at most [`SMALL_BYTES`]. Prefetching more than
//!    the next iteration of a loop hides no more latency and costs memory.
//!
//! Why peak <= max(limit, peak of the sync run): the promised bytes grow only when a task starts. A start by rule 2
//! leaves them within the limit, so consider a start by rule 1 alone: task `t` is the oldest unfinished task, and its
//! bytes do not fit.
//!
//! - Suppose a task younger than `t` has started. Let `y` be the last task that started by rule 2 while `t` had not
//!   started. At that moment `committed`, the bytes of `y` and the bytes `w` of all older unstarted tasks were within
//!   the limit together, and `w` included `t`. Since then only tasks older than `y` can have started, each by rule 1,
//!   and their bytes were part of `w` as well. Bytes that were freed only make room. So `t` fits: a contradiction.
//! - So no younger task has started. All older tasks have finished, as `t` is the oldest. The live bytes are therefore
//!   those of the sync run at the start of `t`, and so is the peak that `t` adds.
//!
//! By rule 2, if a task must wait, so must every younger task with `b > 0`. So only the heads of three queues are
//! examined: tasks without bytes, tasks with bytes, and sources.

use crate::config::Mode;
use crate::gate::Paused;
use crate::ledger::Ledger;
use crate::stats::Counter;
use crate::sync::{AtomicU64, AtomicUsize, Mutex, Ordering, Padded};
use crate::task::{OldestFirst, Task, TaskRef};
use std::any::Any;
use std::collections::{BinaryHeap, VecDeque};

/// Maximum number of early sources of one line, whatever their size. A line may exceed it within [`SMALL_BYTES`].
const ITERATIONS_AHEAD: usize = 1;
/// Maximum number of early bytes of one line beyond [`ITERATIONS_AHEAD`], however many sources they come from.
const SMALL_BYTES: usize = 2 << 20;

/// Which tasks the caller is willing to run.
#[derive(Clone, Copy)]
pub(crate) struct TaskFilter {
    /// Excludes tasks younger than this.
    pub(crate) age_limit: u64,
    /// Whether heavy tasks are allowed.
    pub(crate) heavy: bool,
}

impl TaskFilter {
    /// Allows every task.
    pub(crate) const ANY: TaskFilter = TaskFilter { age_limit: u64::MAX, heavy: true };

    fn allows(&self, task: &Task) -> bool {
        task.age() <= self.age_limit && (self.heavy || !task.heavy)
    }
}

/// The spawned tasks of one engine.
pub(crate) struct ReadyQueue {
    count: Padded<AtomicUsize>,
    tasks: Mutex<Tasks>,
    /// Number of times the oldest ready task was deferred.
    pub(crate) deferred: Counter,
}

struct Tasks {
    /// In order of age. Finished tasks are removed when they reach the front, or when most tasks are finished.
    unfinished: VecDeque<TaskRef>,
    queue: Queue,
    prefetch: usize,
    /// The sources that started early.
    early: Vec<Early>,
}

/// A source that started early.
struct Early {
    age: u64,
    bytes: usize,
    line: u32,
}

enum Queue {
    OldestFirst([BinaryHeap<OldestFirst>; 3]),
    Drawn { tasks: Vec<TaskRef>, order: Order, started: Vec<u64> },
}

enum Order {
    Random(u64),
    Given(Vec<u64>),
}

impl ReadyQueue {
    pub(crate) fn new(mode: &Mode, prefetch: usize) -> ReadyQueue {
        let drawn = |order| Queue::Drawn { tasks: Vec::new(), order, started: Vec::new() };
        let queue = match mode {
            Mode::Async | Mode::Sync => Queue::OldestFirst([BinaryHeap::new(), BinaryHeap::new(), BinaryHeap::new()]),
            Mode::Seeded(seed) => drawn(Order::Random(*seed)),
            Mode::Replay(ages) => drawn(Order::Given(ages.clone())),
        };
        let tasks = Tasks { unfinished: VecDeque::new(), queue, prefetch, early: Vec::new() };
        ReadyQueue { count: Padded(AtomicUsize::new(0)), tasks: Mutex::new(tasks), deferred: Counter::default() }
    }

    /// Whether no task is ready.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// Assigns a new task its age and keeps it until it has finished. All queues of an engine share one `ages` counter.
    pub(crate) fn enroll(&self, task: &mut TaskRef, ages: &AtomicU64, in_flight: usize) {
        let mut tasks = self.tasks.lock();
        // Under the lock, so that the tasks of one queue are enrolled in order of age.
        let age = ages.fetch_add(1, Ordering::Relaxed) + 1;
        // SAFETY: the caller has just created the task and holds the only reference.
        unsafe { task.set_age(age) };
        tasks.unfinished.push_back(task.clone());
        tasks.drop_finished(in_flight);
    }

    /// Queues a task whose predecessors are done.
    pub(crate) fn push(&self, task: TaskRef) {
        let mut tasks = self.tasks.lock();
        match &mut tasks.queue {
            Queue::OldestFirst(heaps) => heaps[class(&task)].push(OldestFirst(task)),
            Queue::Drawn { tasks, .. } => tasks.push(task),
        }
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns a started task that could not run to the queue.
    pub(crate) fn put_back(&self, task: &TaskRef, ledger: &Ledger) {
        task.unstart();
        ledger.expect(task.bytes);
        self.push(task.clone());
    }

    /// Removes and returns a task that may start now. Its bytes are promised and it is marked as started.
    pub(crate) fn take(&self, wish: TaskFilter, ledger: &Ledger) -> Option<TaskRef> {
        let mut tasks = self.tasks.lock();
        let task = tasks.take(wish, ledger, &self.deferred)?;
        self.count.fetch_sub(1, Ordering::Relaxed);
        tasks.start(&task, ledger);
        Some(task)
    }

    /// Starts a ready task that is in no queue, if it may start.
    pub(crate) fn start_directly(&self, task: &TaskRef, ledger: &Ledger) -> bool {
        let mut tasks = self.tasks.lock();
        if matches!(tasks.queue, Queue::Drawn { .. }) || !tasks.admits(task, ledger) {
            return false;
        }
        tasks.start(task, ledger);
        true
    }

    /// A random bit of the seed's sequence; `None` in modes without a seed.
    pub(crate) fn flip(&self) -> Option<bool> {
        match &mut self.tasks.lock().queue {
            Queue::Drawn { order: Order::Random(state), .. } => Some(splitmix(state) & 1 == 0),
            _ => None,
        }
    }

    /// Whether [`ReadyQueue::take`] would return a task.
    pub(crate) fn has(&self, wish: TaskFilter, ledger: &Ledger) -> bool {
        !self.is_empty() && self.tasks.lock().has(wish, ledger)
    }

    /// Bytes of the sources that started early and count against the prefetch allowance.
    pub(crate) fn prefetched(&self) -> usize {
        self.tasks.lock().early_bytes()
    }

    /// The ages of tasks in the order in which they started; recorded in the seeded and replay modes.
    pub(crate) fn schedule(&self) -> Vec<u64> {
        match &self.tasks.lock().queue {
            Queue::OldestFirst(_) => Vec::new(),
            Queue::Drawn { started, .. } => started.clone(),
        }
    }

    /// Takes the lock before a fork.
    pub(crate) fn lock_for_fork(&'static self) -> Box<dyn Any> {
        Box::new(self.tasks.lock())
    }

    /// The tasks that have not started, oldest first. None can start meanwhile, because the gate is closed.
    pub(crate) fn unstarted(&self, _paused: &Paused) -> Vec<TaskRef> {
        self.tasks.lock().unfinished.iter().filter(|task| !task.is_started()).cloned().collect()
    }

    /// Removes and returns the unfinished tasks, oldest first, when no thread can run them any more. With `started`,
    /// also those that had started and whose threads are gone.
    pub(crate) fn abandon(&self, started: bool) -> Vec<TaskRef> {
        let mut tasks = self.tasks.lock();
        match &mut tasks.queue {
            Queue::OldestFirst(heaps) => heaps.iter_mut().for_each(BinaryHeap::clear),
            Queue::Drawn { tasks, .. } => tasks.clear(),
        }
        self.count.store(0, Ordering::Relaxed);
        tasks.early.clear();
        tasks.unfinished.drain(..).filter(|task| !task.is_done() && (started || !task.is_started())).collect()
    }
}

/// Index of the queue that a task belongs to.
fn class(task: &Task) -> usize {
    match (task.bytes, task.source) {
        (0, _) => 0,
        (_, false) => 1,
        (_, true) => 2,
    }
}

impl Tasks {
    fn drop_finished(&mut self, in_flight: usize) {
        while self.unfinished.front().is_some_and(|task| task.is_done()) {
            self.unfinished.pop_front();
        }
        // A long task at the front must not keep all finished tasks behind it.
        if self.unfinished.len() > 2 * in_flight + 1024 {
            self.unfinished.retain(|task| !task.is_done());
        }
    }

    fn oldest_unfinished(&mut self) -> u64 {
        self.drop_finished(usize::MAX / 4);
        self.unfinished.front().map_or(u64::MAX, |task| task.age())
    }

    fn admits(&mut self, task: &Task, ledger: &Ledger) -> bool {
        if task.bytes == 0 || (!task.source && ledger.everything_fits()) {
            return true;
        }
        let oldest = self.oldest_unfinished();
        if task.age() == oldest {
            return true;
        }
        if task.source && !self.allows_early(task) {
            return false;
        }
        let older = self.unfinished.iter().take_while(|older| older.age() < task.age());
        let wanted = older.filter(|older| !older.is_started()).fold(task.bytes, |sum, o| sum.saturating_add(o.bytes));
        ledger.fits(wanted) || {
            // Bytes may have been released before `hold_back` took effect, so check once more after it.
            ledger.hold_back();
            ledger.fits(wanted)
        }
    }

    fn early_bytes(&mut self) -> usize {
        let oldest = self.oldest_unfinished();
        self.early.retain(|early| early.age > oldest);
        self.early.iter().map(|early| early.bytes).sum()
    }

    /// Rule 3: whether a source may start before older tasks are finished.
    fn allows_early(&mut self, task: &Task) -> bool {
        if self.early_bytes().saturating_add(task.bytes) > self.prefetch {
            return false;
        }
        let same_line = || self.early.iter().filter(|early| early.line == task.line);
        task.line == 0
            || same_line().count() < ITERATIONS_AHEAD
            || same_line().map(|early| early.bytes).sum::<usize>().saturating_add(task.bytes) <= SMALL_BYTES
    }

    fn start(&mut self, task: &Task, ledger: &Ledger) {
        if task.source && task.bytes > 0 && task.age() != self.oldest_unfinished() {
            self.early.push(Early { age: task.age(), bytes: task.bytes, line: task.line });
        }
        ledger.promise(task.bytes);
        task.start();
        if let Queue::Drawn { started, .. } = &mut self.queue {
            started.push(task.age());
        }
    }

    /// The heads of the three queues that the filter allows, oldest first.
    fn heads(&self, wish: TaskFilter) -> [Option<(u64, usize)>; 3] {
        let mut heads = [None; 3];
        if let Queue::OldestFirst(heaps) = &self.queue {
            for (at, heap) in heaps.iter().enumerate() {
                heads[at] = heap.peek().filter(|task| wish.allows(&task.0)).map(|task| (task.0.age(), at));
            }
            heads.sort_unstable_by_key(|head| head.map_or(u64::MAX, |(age, _)| age));
        }
        heads
    }

    fn head(&self, at: usize) -> TaskRef {
        match &self.queue {
            Queue::OldestFirst(heaps) => heaps[at].peek().expect("the head was just seen").0.clone(),
            Queue::Drawn { tasks, .. } => tasks[at].clone(),
        }
    }

    fn admitted_head(&mut self, wish: TaskFilter, ledger: &Ledger) -> Option<usize> {
        for (_, at) in self.heads(wish).into_iter().flatten() {
            let task = self.head(at);
            if self.admits(&task, ledger) {
                return Some(at);
            }
        }
        None
    }

    fn take(&mut self, wish: TaskFilter, ledger: &Ledger, deferred: &Counter) -> Option<TaskRef> {
        if matches!(self.queue, Queue::Drawn { .. }) {
            return self.draw(wish, ledger);
        }
        let first = self.heads(wish)[0];
        let at = self.admitted_head(wish, ledger);
        if first.is_some() && first.map(|(_, at)| at) != at {
            deferred.add(1);
        }
        match &mut self.queue {
            Queue::OldestFirst(heaps) => heaps[at?].pop().map(|task| task.0),
            Queue::Drawn { .. } => None,
        }
    }

    fn has(&mut self, wish: TaskFilter, ledger: &Ledger) -> bool {
        match &self.queue {
            Queue::OldestFirst(_) => self.admitted_head(wish, ledger).is_some(),
            Queue::Drawn { tasks, .. } => {
                let allowed: Vec<TaskRef> = tasks.iter().filter(|task| wish.allows(task)).cloned().collect();
                allowed.iter().any(|task| self.admits(task, ledger))
            }
        }
    }

    fn draw(&mut self, wish: TaskFilter, ledger: &Ledger) -> Option<TaskRef> {
        let Queue::Drawn { tasks, order, started } = &mut self.queue else { return None };
        // Sort by age first, so that the draw depends on which tasks are ready and not on the order of their arrival.
        tasks.sort_unstable_by_key(|task| task.age());
        let mut candidates: Vec<usize> = (0..tasks.len()).filter(|&at| wish.allows(&tasks[at])).collect();
        match order {
            Order::Random(state) => shuffle(&mut candidates, state),
            Order::Given(ages) => {
                let wanted = ages.get(started.len()).copied();
                candidates.sort_by_key(|&at| Some(tasks[at].age()) != wanted);
            }
        }
        for at in candidates {
            let task = self.head(at);
            if self.admits(&task, ledger) {
                if let Queue::Drawn { tasks, .. } = &mut self.queue {
                    tasks.swap_remove(at);
                }
                return Some(task);
            }
        }
        None
    }
}

/// Fisher-Yates shuffle.
fn shuffle(items: &mut [usize], state: &mut u64) {
    for last in (1..items.len()).rev() {
        items.swap(last, (splitmix(state) % (last as u64 + 1)) as usize);
    }
}

/// The next number of the splitmix64 generator.
fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
