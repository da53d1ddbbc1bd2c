//! A task: work, a place in the order of submission, a join counter and successors.
//!
//! Life: spawned -> ready (join counter down) -> started -> finished (successors closed). The work is dropped when it
//! has run, before the successors learn of it, so that a reference kept on a finished task keeps no buffer alive. The
//! engine holds one reference from spawning until it has seen the task finished.
//!
//! A task of a device is told to the device when those before it were (enqueued); it finishes later, when its lane has
//! passed it and those it followed have settled. So it has a second join counter, and followers beside successors.

use crate::edges::{Edge, Join, Successors};
use crate::sync::{AtomicBool, AtomicUsize, Ordering, UnsafeCell};
use crate::work::{TaskSpec, Work};
use std::cmp;
use std::ops::Deref;
use std::ptr::NonNull;

/// Predecessors beyond these take one more allocation.
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

/// An edge for each predecessor.
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

/// What a task of a device has beyond others.
pub(crate) struct OnDevice {
    /// Which device.
    pub(crate) number: usize,
    /// The tasks that may be enqueued once this one is.
    pub(crate) followers: Successors<Task>,
    /// Down when the lane has passed the task and all that it followed have settled.
    pub(crate) settling: Join,
    /// One for each task it follows.
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

// SAFETY: the work is Send and Sync and is taken out by one thread only (see `take_work`); edges follow the rules of
// `edges`.
unsafe impl Send for Task {}
// SAFETY: as above.
unsafe impl Sync for Task {}

impl Task {
    /// Whether it has finished; if so, what it wrote is visible.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.successors.is_closed()
    }

    /// Its place in the global order of submission; the first is 1.
    #[inline]
    pub fn age(&self) -> u64 {
        self.age
    }

    pub(crate) fn is_started(&self) -> bool {
        self.started.load(Ordering::Acquire)
    }

    /// Notes that it runs or is about to.
    pub(crate) fn start(&self) {
        self.started.store(true, Ordering::Release);
    }

    /// It could not be started after all.
    pub(crate) fn unstart(&self) {
        self.started.store(false, Ordering::Release);
    }

    pub(crate) fn edge(&self, index: usize) -> &Edge<Task> {
        self.edges.at(index)
    }

    /// The work, where it lies; `None` if it was cancelled.
    ///
    /// # Safety
    /// Only the thread that runs the task may call this, and the reference ends before `take_work`.
    pub(crate) unsafe fn work(&self) -> Option<&dyn Work> {
        // SAFETY: nobody takes the work of a started task but the thread that runs it.
        self.work.with(|work| unsafe { (*work).as_deref() })
    }

    /// The work, once.
    ///
    /// # Safety
    /// Only the thread that runs (or cancels) the task may call this; a forked child, for those that ran.
    pub(crate) unsafe fn take_work(&self) -> Option<Box<dyn Work>> {
        self.work.with_mut(|work| {
            // SAFETY: one thread alone may call, and nobody else looks into the cell.
            unsafe { (*work).take() }
        })
    }
}

/// A counted reference to a task. (Not an `Arc`: one count is enough, and its last drop is one that sanitizers
/// understand.)
pub struct TaskRef(NonNull<Task>);

// SAFETY: it gives shared access to a task, which is Send and Sync, and the count is atomic.
unsafe impl Send for TaskRef {}
// SAFETY: as above.
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

    /// Puts the task into the order of submission.
    ///
    /// # Safety
    /// This is the only reference.
    pub(crate) unsafe fn set_age(&mut self, age: u64) {
        // SAFETY: nobody else can reach the task.
        unsafe { self.0.as_mut() }.age = age;
    }

    /// One more reference to a task known by its address.
    ///
    /// # Safety
    /// Somebody holds a reference for the duration of the call.
    pub(crate) unsafe fn again(task: *const Task) -> TaskRef {
        // SAFETY: the task is alive, as promised.
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
        // Acquire on every drop, not by a fence on the last one alone: sanitizers do not see fences.
        if self.references.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: this was the last reference to a task made by `Box::leak`.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

impl Deref for TaskRef {
    type Target = Task;
    #[inline]
    fn deref(&self) -> &Task {
        // SAFETY: this reference keeps the task alive, and tasks are only reached by shared references.
        unsafe { self.0.as_ref() }
    }
}

/// Ordered by age, the oldest greatest: what a heap gives first.
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
