//! Edges between tasks: a join counter on one side, a stack of successors on the other.
//!
//! The stack's head:
//!
//! | head | meaning | next |
//! |---|---|---|
//! | null | unfinished, nobody follows | an edge, or closed |
//! | an edge | unfinished; the edges hang on each other by `next` | another edge, or closed |
//! | closed | finished; stays so | |
//!
//! Anyone may push while the task is unfinished; who finds the stack closed has seen everything that the task wrote.
//! The one who finishes the task closes it once and owns the edges from then on. An edge lies inside the task it
//! leads to, which cannot run, hence not go away, before its join counter is down; so `next` is read before the
//! counter is lowered.
//!
//! The join counter starts at one for each edge plus one for whoever spawns; who brings it to zero makes the task
//! ready, and has seen what all predecessors wrote. Nothing here knows what a task is.

use crate::sync::{AtomicPtr, AtomicU32, Ordering, UnsafeCell};
use std::ptr;

/// One edge, leading to a `T` that contains it.
pub(crate) struct Edge<T> {
    next: UnsafeCell<*mut Edge<T>>,
    to: UnsafeCell<*const T>,
    late: UnsafeCell<bool>,
}

impl<T> Edge<T> {
    pub(crate) fn new() -> Edge<T> {
        Edge { next: UnsafeCell::new(ptr::null_mut()), to: UnsafeCell::new(ptr::null()), late: UnsafeCell::new(false) }
    }
}

/// The successors of one task.
pub(crate) struct Successors<T> {
    head: AtomicPtr<Edge<T>>,
}

/// An address that no edge has: edges are aligned to more than one byte.
fn closed<T>() -> *mut Edge<T> {
    ptr::without_provenance_mut(1)
}

impl<T> Successors<T> {
    pub(crate) fn new() -> Self {
        Successors { head: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Whether the task is finished; if so, what it wrote is visible.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.head.load(Ordering::Acquire) == closed()
    }

    /// Adds `to` as a successor, or says that the task is finished already. `late` is handed to whoever visits it.
    ///
    /// # Safety
    /// The edge is unused, nobody else touches it, and it and `to` live until `to`'s join counter is down.
    pub(crate) unsafe fn push(&self, edge: &Edge<T>, to: *const T, late: bool) -> bool {
        let edge = ptr::from_ref(edge).cast_mut();
        // SAFETY: the edge is not shared before the exchange below succeeds.
        unsafe {
            (*edge).to.with_mut(|p| *p = to);
            (*edge).late.with_mut(|p| *p = late);
        }
        let mut head = self.head.load(Ordering::Acquire);
        while head != closed() {
            // SAFETY: as above.
            unsafe { (*edge).next.with_mut(|p| *p = head) };
            // Release: whoever closes sees the edge's fields.
            match self.head.compare_exchange_weak(head, edge, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => head = now,
            }
        }
        false
    }

    /// Marks the task as finished and visits its successors.
    ///
    /// # Safety
    /// Called once. `visit` may lower the join counter of the task that it is given.
    pub(crate) unsafe fn close(&self, mut visit: impl FnMut(*const T, bool)) {
        // Release: who finds it closed sees what the task wrote. Acquire: the edges' fields.
        let mut edge = self.head.swap(closed(), Ordering::AcqRel);
        debug_assert!(edge != closed(), "a task finished twice");
        while !edge.is_null() {
            // SAFETY: the edge was pushed, and its task cannot go before its counter is lowered in `visit`, which
            // comes last.
            let (next, to, late) =
                unsafe { ((*edge).next.with(|p| *p), (*edge).to.with(|p| *p), (*edge).late.with(|p| *p)) };
            visit(to, late);
            edge = next;
        }
    }
}

/// How many predecessors are still to come.
pub(crate) struct Join(AtomicU32);

impl Join {
    /// Waits for `count` arrivals.
    pub(crate) fn new(count: u32) -> Join {
        Join(AtomicU32::new(count))
    }

    /// `count` of them are there; true for the one that completes the number.
    #[inline]
    pub(crate) fn arrive(&self, count: u32) -> bool {
        // Release: what the predecessor wrote goes along. Acquire: the last one takes over what all wrote.
        self.0.fetch_sub(count, Ordering::AcqRel) == count
    }
}
