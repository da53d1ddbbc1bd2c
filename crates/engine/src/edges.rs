//! Edges between tasks: a join counter on the successor, a stack of successors on the predecessor.
//!
//! The head of the stack:
//!
//! | head | meaning | next |
//! |---|---|---|
//! | null | unfinished, no successors | an edge, or closed |
//! | an edge | unfinished; edges are linked by `next` | another edge, or closed |
//! | closed | finished; final | |
//!
//! Any thread may push while the task is unfinished. A thread that finds the stack closed sees everything that the task
//! wrote. The thread that finishes the task closes the stack once and owns the edges from then on. An edge is stored
//! inside the task it leads to. That task cannot run, and so cannot be freed, before its join counter reaches zero;
//! `next` is therefore read before the counter is decremented.
//!
//! The join counter starts at the number of edges plus one for the spawning thread. The thread that brings it to zero
//! makes the task ready, and sees everything that the predecessors wrote. This module does not know what a task is.

use crate::sync::{AtomicPtr, AtomicU32, Ordering, UnsafeCell};
use std::ptr;

/// One edge, leading to a `T` that contains it.
pub(crate) struct Edge<T> {
    next: UnsafeCell<*mut Edge<T>>,
    to: UnsafeCell<*const T>,
    /// See [`Successors::push`].
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

/// The head of a closed stack. No edge has this address, because edges are aligned to more than one byte.
fn closed<T>() -> *mut Edge<T> {
    ptr::without_provenance_mut(1)
}

impl<T> Successors<T> {
    pub(crate) fn new() -> Self {
        Successors { head: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Whether the task is finished; if so, everything it wrote is visible.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.head.load(Ordering::Acquire) == closed()
    }

    /// Adds `to` as a successor; returns false if the task is already finished. `late` is passed on to the visitor: the
    /// successor was allowed to start earlier, and only its settling waits for this edge (see `device.rs`).
    ///
    /// # Safety
    /// The edge is unused, no other thread accesses it, and the edge and `to` live until `to`'s join counter is zero.
    pub(crate) unsafe fn push(&self, edge: &Edge<T>, to: *const T, late: bool) -> bool {
        let edge = ptr::from_ref(edge).cast_mut();
        // SAFETY: the edge is not shared before the exchange below succeeds.
        unsafe {
            (*edge).to.with_mut(|p| *p = to);
            (*edge).late.with_mut(|p| *p = late);
        }
        let mut head = self.head.load(Ordering::Acquire);
        while head != closed() {
            // SAFETY: the edge is not shared before the exchange succeeds.
            unsafe { (*edge).next.with_mut(|p| *p = head) };
            // Release: the thread that closes the stack sees the edge's fields.
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
    /// Called once. `visit` may decrement the join counter of the task that it gets.
    pub(crate) unsafe fn close(&self, mut visit: impl FnMut(*const T, bool)) {
        // Release: a thread that finds the stack closed sees what the task wrote. Acquire: the edges' fields.
        let mut edge = self.head.swap(closed(), Ordering::AcqRel);
        debug_assert!(edge != closed(), "a task finished twice");
        while !edge.is_null() {
            // SAFETY: the edge was pushed, and its task cannot be freed before `visit` decrements its counter, which
            // comes last.
            let (next, to, late) =
                unsafe { ((*edge).next.with(|p| *p), (*edge).to.with(|p| *p), (*edge).late.with(|p| *p)) };
            visit(to, late);
            edge = next;
        }
    }
}

/// Number of outstanding predecessors.
pub(crate) struct Join(AtomicU32);

impl Join {
    /// A counter that waits for `count` arrivals.
    pub(crate) fn new(count: u32) -> Join {
        Join(AtomicU32::new(count))
    }

    /// Notes `count` arrivals; returns true for the call that completes the number.
    #[inline]
    pub(crate) fn arrive(&self, count: u32) -> bool {
        // Release: passes on what the predecessor wrote. Acquire: the last arrival sees what all of them wrote.
        self.0.fetch_sub(count, Ordering::AcqRel) == count
    }
}
