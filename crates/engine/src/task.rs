//! A task: its work, age, join counter and successors.
//!
//! States: spawned -> ready (join counter zero) -> started -> finished (successors closed). The work is dropped after
//! it has run and before the successors are notified, so that a reference to a finished task keeps no buffer alive. The
//! engine holds one reference from spawning until it has seen the task finished.
//!
//! A device task is enqueued once its predecessors on that device are. It finishes later, when its lane has passed its
//! ticket and the tasks it follows have settled. It therefore has a second join counter, and followers besides
//! successors.

use crate::edges::{Edge, Join, Successors};
use crate::sync::{AtomicBool, AtomicUsize, Ordering, UnsafeCell};
use crate::work::{TaskSpec, Work};
use std::cmp;
use std::ops::Deref;
use std::ptr::NonNull;

/// More predecessors than this take one more allocation.
const INLINE_EDGES: usize = 4;

/// A task; see the module.
pub struct Task {
    references: AtomicUsize,
    age: u64,
    pub(crate) bytes: usize,
    pub(crate) source: bool,
    pub(crate) line: u32,
    pub(crate) heavy: bool,
    started: AtomicBool,
    pub(crate) join: Join,
    pub(crate) successors: Successors<Task>,
    work: UnsafeCell<Option<Box<dyn Work>>>,
    edges: Edges,
    pub(crate) on_device: Option<Box<OnDevice>>,
}

/// One edge per predecessor.
struct Edges {
    first: [Edge<Task>; INLINE_EDGES],
    more: Box<[Edge<Task>]>,
}

impl Edges {
    fn new(predecessors: usize) -> Edges {
        Edges {
            first: std::array::from_fn(|_| Edge::new()),
            more: (INLINE_EDGES..predecessors).map(|_| Edge::new()).collect(),
        }
    }

    fn at(&self, index: usize) -> &Edge<Task> {
        if index < INLINE_EDGES { &self.first[index] } else { &self.more[index - INLINE_EDGES] }
    }
}

/// The additional state of a device task.
pub(crate) struct OnDevice {
    /// The device's number.
    pub(crate) number: usize,
    /// The tasks that may be enqueued after this one.
    pub(crate) followers: Successors<Task>,
    /// Reaches zero when the lane has passed the task and all tasks that it follows have settled.
    pub(crate) settling: Join,
    /// One edge per task that it follows.
    edges: Edges,
}

impl OnDevice {
    fn new(number: usize, predecessors: usize) -> OnDevice {
        OnDevice {
            number,
            followers: Successors::new(),
            settling: Join::new(predecessors as u32 + 1),
            edges: Edges::new(predecessors),
        }
    }

    pub(crate) fn edge(&self, index: usize) -> &Edge<Task> {
        self.edges.at(index)
    }
}

// SAFETY: the work is Send and Sync and only one thread takes it (see `take_work`); edges follow the rules of `edges`.
unsafe impl Send for Task {}
// SAFETY: shared references only reach atomics, the Sync work, and cells that one thread at a time accesses.
unsafe impl Sync for Task {}

impl Task {
    /// Whether the task has finished; if so, everything it wrote is visible.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.successors.is_closed()
    }

    /// Its place in the global submission order; the first task has age 1.
    #[inline]
    pub fn age(&self) -> u64 {
        self.age
    }

    pub(crate) fn is_started(&self) -> bool {
        self.started.load(Ordering::Acquire)
    }

    /// Marks the task as started.
    pub(crate) fn start(&self) {
        self.started.store(true, Ordering::Release);
    }

    /// Reverts `start`, when the task could not run.
    pub(crate) fn unstart(&self) {
        self.started.store(false, Ordering::Release);
    }

    pub(crate) fn edge(&self, index: usize) -> &Edge<Task> {
        self.edges.at(index)
    }

    /// A reference to the work; `None` if the task was cancelled.
    ///
    /// # Safety
    /// Only the thread that runs the task may call this, and the reference ends before `take_work`.
    pub(crate) unsafe fn work(&self) -> Option<&dyn Work> {
        // SAFETY: only the thread that runs a started task takes its work.
        self.work.with(|work| unsafe { (*work).as_deref() })
    }

    /// Takes the work out of the task.
    ///
    /// # Safety
    /// Only the thread that runs or cancels the task may call this; in a forked child, also for tasks that were
    /// running.
    pub(crate) unsafe fn take_work(&self) -> Option<Box<dyn Work>> {
        self.work.with_mut(|work| {
            // SAFETY: only one thread may call this, and no other thread accesses the cell.
            unsafe { (*work).take() }
        })
    }
}

/// A counted reference to a task. (Not an `Arc`: one count is enough, and sanitizers understand its last drop.)
pub struct TaskRef(NonNull<Task>);

// SAFETY: it gives shared access to a task, which is Send and Sync, and the count is atomic.
unsafe impl Send for TaskRef {}
// SAFETY: a shared reference only gives shared access to the task, which is Sync.
unsafe impl Sync for TaskRef {}

impl TaskRef {
    pub(crate) fn new(spec: TaskSpec, predecessors: usize, device: Option<usize>) -> TaskRef {
        let task = Task {
            references: AtomicUsize::new(1),
            age: 0,
            bytes: spec.work.bytes(),
            source: spec.source,
            line: spec.work.line(),
            heavy: spec.work.is_heavy(),
            started: AtomicBool::new(false),
            join: Join::new(predecessors as u32 + 1),
            successors: Successors::new(),
            work: UnsafeCell::new(Some(spec.work)),
            edges: Edges::new(predecessors),
            on_device: device.map(|number| Box::new(OnDevice::new(number, predecessors))),
        };
        TaskRef(NonNull::from(Box::leak(Box::new(task))))
    }

    /// Assigns the task's place in the submission order.
    ///
    /// # Safety
    /// This is the only reference.
    pub(crate) unsafe fn set_age(&mut self, age: u64) {
        // SAFETY: this is the only reference, so no other thread can reach the task.
        unsafe { self.0.as_mut() }.age = age;
    }

    /// Creates another reference to a task from its address.
    ///
    /// # Safety
    /// A reference to the task exists for the duration of the call.
    pub(crate) unsafe fn again(task: *const Task) -> TaskRef {
        // SAFETY: the caller guarantees that the task is alive.
        unsafe { (*task).references.fetch_add(1, Ordering::Relaxed) };
        TaskRef(NonNull::new(task.cast_mut()).expect("a task has an address"))
    }
}

impl Clone for TaskRef {
    fn clone(&self) -> Self {
        // SAFETY: this reference keeps the task alive.
        unsafe { TaskRef::again(self.0.as_ptr()) }
    }
}

impl Drop for TaskRef {
    fn drop(&mut self) {
        // Acquire on every drop, instead of a fence on the last one: sanitizers do not understand fences.
        if self.references.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: this was the last reference to a task created by `Box::leak`.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

impl Deref for TaskRef {
    type Target = Task;
    #[inline]
    fn deref(&self) -> &Task {
        // SAFETY: this reference keeps the task alive, and tasks are accessed only by shared references.
        unsafe { self.0.as_ref() }
    }
}

/// Ordered by age with the oldest as the greatest, so that a heap pops it first.
pub(crate) struct OldestFirst(pub(crate) TaskRef);

impl PartialEq for OldestFirst {
    fn eq(&self, other: &Self) -> bool {
        self.0.age == other.0.age
    }
}

impl Eq for OldestFirst {}

impl PartialOrd for OldestFirst {
    fn partial_cmp(&self, other: &Self) -> Option<cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OldestFirst {
    fn cmp(&self, other: &Self) -> cmp::Ordering {
        other.0.age.cmp(&self.0.age)
    }
}
