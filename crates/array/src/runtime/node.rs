//! Nodes: descriptor slots for cells and values.
//!
//! A node is two cache lines. The *front* line belongs to frontends: handle count, uses submitted, the cell's value
//! pointer. The *back* line belongs to the threads that run records: the state word and the bytes. On the hot path each
//! side writes only its own line, because the cost of a queue between two threads is the cache lines that bounce
//! between their cores.
//!
//! | who | front | back |
//! |---|---|---|
//! | the owning thread (whose window the node is from) | writes | writes `balance` when it closes large values |
//! | another frontend thread | counts handles, closes | adds a use to `balance`, sets FOREIGN |
//! | the thread that runs the record that produces the value | - | writes bytes and state |
//! | a thread that runs a record that reads it | - | reads; subtracts its use from `balance` |
//!
//! **Life of a value.** A value is open while a cell points at it; a tape that needs it later points a cell of its own
//! at it. The value is closed when the last such cell dies or is pointed elsewhere (see [`crate::runtime::handles`]):
//! no record submitted from now on reads it. When it is closed and every record that writes or reads it is done, its
//! buffer is freed, on any thread: see [`crate::runtime::uses`]. Values of at most [`INLINE`] bytes have no buffer and
//! skip all this.
//!
//! **Life of a slot.** The owner reclaims a slot when its cell is dead, its value is closed and every record of its own
//! window that names it is done (`last <= completed`); `balance` shows uses by other windows. A reused slot gets the
//! next generation; the back line need not be reset.

use crate::runtime::buffer::{Buffer, BufferRef};
use crate::runtime::devices;
use crate::runtime::handles::{Ended, Life};
use crate::runtime::last_good::{GoodBytes, LastGood};
use crate::runtime::retired_slots::Linked;
use crate::runtime::sync::{AtomicPtr, AtomicU32, AtomicU64, Ordering, Ordering::Relaxed};
use crate::runtime::uses::Balance;
use crate::runtime::window::Window;
use forerun_base::Error;
use forerun_engine::{Status, ValueState};
use forerun_plan::Meta;
use std::cell::UnsafeCell;

/// Values of at most this many bytes are stored in the node.
pub(crate) const INLINE: usize = 32;

#[repr(C, align(64))]
struct Front {
    handles: AtomicU32,
    generation: AtomicU32,
    meta: AtomicPtr<Meta>,
    uses: AtomicU32,
    life: Life,
    born: AtomicU64,
    last: AtomicU64,
    window: AtomicPtr<Window>,
    current: AtomicPtr<Node>,
    next: AtomicPtr<Node>,
}

#[repr(C, align(64))]
struct Back {
    state: ValueState,
    balance: Balance,
    buffer: AtomicPtr<Buffer>,
    generation: AtomicU32,
    failed: AtomicU32,
    inline: UnsafeCell<[u64; INLINE / 8]>,
}

/// Stored in the node of a failed value; the bytes of a large good value are in its buffer.
struct Failure {
    error: Error,
    /// The inline bytes of the last good value of the cell, and the number of failed writes since.
    good: Option<([u64; INLINE / 8], u32)>,
}

/// A descriptor slot.
#[repr(C)]
pub(crate) struct Node {
    front: Front,
    back: Back,
}

// SAFETY: the table above states which thread may access what. The inline bytes are written before the state is
// published and read only after it was seen.
unsafe impl Sync for Node {}
// SAFETY: the raw pointers of a node refer to slots, windows and buffers that any thread may reach.
unsafe impl Send for Node {}

impl Node {
    /// A slot that belongs to a window.
    pub(crate) fn new(window: *const Window) -> Node {
        Node {
            front: Front {
                handles: AtomicU32::new(0),
                generation: AtomicU32::new(0),
                meta: AtomicPtr::new(std::ptr::null_mut()),
                uses: AtomicU32::new(0),
                life: Life::new(),
                born: AtomicU64::new(0),
                last: AtomicU64::new(0),
                window: AtomicPtr::new(window as *mut Window),
                current: AtomicPtr::new(std::ptr::null_mut()),
                next: AtomicPtr::new(std::ptr::null_mut()),
            },
            back: Back {
                state: ValueState::new(),
                balance: Balance::new(),
                buffer: AtomicPtr::new(std::ptr::null_mut()),
                generation: AtomicU32::new(0),
                failed: AtomicU32::new(0),
                inline: UnsafeCell::new([0; INLINE / 8]),
            },
        }
    }

    // ---- the front line: frontends ----

    /// Takes the slot for a new value that record `born` produces (counted from 1; 0 for none). Owner only.
    pub(crate) fn open(&self, meta: &Meta, handles: u32, born: u64) -> u32 {
        let front = &self.front;
        let generation = front.generation.load(Relaxed).wrapping_add(1);
        front.generation.store(generation, Relaxed);
        front.handles.store(handles, Relaxed);
        // Release: a collection that no longer finds this pointer has seen the copies of it.
        front.meta.store(meta as *const Meta as *mut Meta, Ordering::Release);
        front.uses.store((born != 0) as u32, Relaxed);
        front.life.begin(handles > 0);
        front.born.store(born, Relaxed);
        front.last.store(born, Relaxed);
        front.current.store(self as *const Node as *mut Node, Relaxed);
        generation
    }

    pub(crate) fn window(&self) -> *const Window {
        self.front.window.load(Relaxed)
    }

    pub(crate) fn generation(&self) -> u32 {
        self.front.generation.load(Relaxed)
    }

    #[inline]
    pub(crate) fn meta(&self) -> &Meta {
        // SAFETY: set when the slot was opened; a meta that a slot names is never collected: see
        // `crate::runtime::intern_gc`.
        unsafe { &*self.front.meta.load(Relaxed) }
    }

    /// The meta that the slot names, or named last: null before its first use.
    pub(crate) fn meta_pointer(&self) -> *const Meta {
        self.front.meta.load(Ordering::Acquire)
    }

    /// One past the index of the record that produces the value; 0 if it came from the host.
    pub(crate) fn born(&self) -> u64 {
        self.front.born.load(Relaxed)
    }

    /// The value that the cell points at.
    pub(crate) fn current(&self) -> &Node {
        // SAFETY: a live cell points at itself or at a value that it keeps open.
        unsafe { &*self.front.current.load(Ordering::Acquire) }
    }

    pub(crate) fn add_handle(&self) {
        self.front.handles.fetch_add(1, Relaxed);
    }

    /// Gives up a handle; returns true if it was the last. The only holder needs no atomic exchange, because no other
    /// thread can count.
    pub(crate) fn drop_handle(&self) -> bool {
        if self.front.handles.load(Ordering::Acquire) == 1 {
            self.front.handles.store(0, Relaxed);
            return true;
        }
        self.front.handles.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Whether the cell has more than one handle.
    pub(crate) fn is_shared(&self) -> bool {
        self.front.handles.load(Ordering::Acquire) > 1
    }

    /// Runs `f` on the value that the cell points at, which stays open meanwhile. Only cells with several handles need
    /// the lock, because a handle is never used from two threads at once.
    pub(crate) fn with_current<R>(&self, f: impl FnOnce(&Node) -> R) -> R {
        let shared = self.is_shared();
        if shared {
            self.front.life.lock();
        }
        let result = f(self.current());
        if shared {
            self.front.life.unlock();
        }
        result
    }

    /// Points the cell at another value, which it holds from now on; returns the previous one.
    pub(crate) fn replace_current(&self, new: &Node) -> &Node {
        self.front.life.lock();
        let old = self.current();
        self.front.current.store(new as *const Node as *mut Node, Ordering::Release);
        self.front.life.unlock();
        old
    }

    /// Takes the slot for a cell that shares the value of another cell. Owner only.
    pub(crate) fn open_on(&self, value: &Node, meta: &Meta) {
        self.open(meta, 1, 0);
        meta.note_copy();
        self.front.life.begin_empty();
        if self.is_large() && self.back.balance.close(0) {
            self.free_buffer();
        }
        value.hold();
        self.front.current.store(value as *const Node as *mut Node, Relaxed);
    }

    /// Points the cell at another value if it still points at `old`; returns whether it did.
    pub(crate) fn replace_current_if(&self, old: *const Node, new: &Node) -> bool {
        self.front.life.lock();
        let same = std::ptr::eq(self.current(), old);
        if same {
            self.front.current.store(new as *const Node as *mut Node, Ordering::Release);
        }
        self.front.life.unlock();
        same
    }

    /// Marks the value as written over its first operand. Owner only, before its record is published.
    pub(crate) fn mark_rewrite(&self) {
        self.front.life.mark_rewrite();
    }

    /// Whether the value is written over its first operand.
    pub(crate) fn is_rewrite(&self) -> bool {
        self.front.life.is_rewrite()
    }

    /// Adds a cell that points at the value, which the caller keeps open meanwhile.
    pub(crate) fn hold(&self) {
        self.front.life.hold();
    }

    /// Releases the value for a cell that now points elsewhere. Returns true if the caller must retire the slot.
    #[must_use]
    pub(crate) fn let_go(&self) -> bool {
        self.follow(Life::let_go).retire
    }

    /// Ends a cell that points at its own value, after its last handle is gone.
    #[inline]
    pub(crate) fn end_cell(&self) -> Ended {
        self.follow(Life::end_cell)
    }

    /// Ends a cell whose last handle is gone and whose value was released before.
    pub(crate) fn end_moved_cell(&self) -> Ended {
        self.front.life.end_moved_cell()
    }

    /// Ends a hold on the value, and closes it if that was the last. Once the word has changed, the slot of a small
    /// value may be reused. The slot of a large value stays until its balance is closed too, and only now are all its
    /// uses known.
    #[inline]
    fn follow(&self, end: impl FnOnce(&Life) -> Ended) -> Ended {
        let (large, from_host) = (self.is_large(), self.born() == 0);
        let on_device = large && !self.meta().device.is_host();
        let ended = end(&self.front.life);
        if ended.closed && large {
            if from_host {
                self.queue_host_bytes();
            }
            let uses = self.front.uses.load(Relaxed);
            if on_device {
                self.close_on_device(uses);
            } else if self.back.balance.close(uses) {
                self.free_buffer();
            }
        }
        ended
    }

    pub(crate) fn is_attached(&self) -> bool {
        self.front.life.is_attached()
    }

    pub(crate) fn set_attached(&self, on: bool) {
        self.front.life.set_attached(on);
    }

    /// Notes that the record at `index` (counted from 1) of the owner's window reads it. Owner only.
    pub(crate) fn use_by_owner(&self, index: u64) {
        self.front.uses.store(self.front.uses.load(Relaxed) + 1, Relaxed);
        self.front.last.store(index, Relaxed);
    }

    /// Notes that a record of another window reads it.
    pub(crate) fn use_by_other(&self) {
        self.front.life.mark_foreign();
        self.back.balance.announce();
    }

    /// Marks the bytes of a host value that is about to be closed as queued.
    fn queue_host_bytes(&self) {
        let buffer = self.back.buffer.load(Relaxed);
        if !buffer.is_null() {
            // SAFETY: the value is closed but its balance is not, so it keeps its buffer.
            unsafe { &*buffer }.enter_queue();
        }
    }

    /// The number of records of its window that write or read a closed value; `None` while it is open or foreign.
    pub(crate) fn closed_uses(&self) -> Option<u32> {
        self.front.life.is_closed_at_home().then(|| self.front.uses.load(Relaxed))
    }

    /// Whether the owner may reuse the slot when records before `completed` are done.
    pub(crate) fn is_reclaimable(&self, completed: u64) -> bool {
        if self.front.last.load(Relaxed) > completed {
            return false;
        }
        if self.is_large() {
            self.back.balance.reset_if_freed()
        } else {
            !self.front.life.is_foreign() || self.back.balance.is_zero()
        }
    }

    /// Whether the value is ready, exactly one cell points at it, every record that writes or reads it is done, and
    /// nothing else shares its bytes. The caller is inside [`Node::with_current`] of that cell: uses are announced
    /// there, so none is added meanwhile.
    pub(crate) fn is_at_rest(&self) -> bool {
        let (front, back) = (&self.front, &self.back);
        if self.status() != Status::Ready || !front.life.is_held_once() {
            return false;
        }
        if self.is_large() {
            // SAFETY: an open value that is ready keeps its buffer.
            let buffer = unsafe { back.buffer.load(Relaxed).as_ref() };
            return back.balance.is_open_and_done(front.uses.load(Relaxed)) && buffer.is_some_and(Buffer::is_unshared);
        }
        // SAFETY: windows are never freed.
        let completed = unsafe { &*self.window() }.completed();
        front.last.load(Relaxed) <= completed && (!front.life.is_foreign() || back.balance.is_zero())
    }

    /// One past the last record of its own window that names the value.
    pub(crate) fn last_use(&self) -> u64 {
        self.front.last.load(Relaxed)
    }

    /// Whether the value is ready or failed, as its frontend sees it.
    pub(crate) fn is_settled(&self) -> bool {
        self.back.state.is_settled(self.generation())
    }

    /// The status of the value, as its frontend sees it.
    pub(crate) fn status(&self) -> Status {
        self.back.state.load(self.generation())
    }

    /// Whether the record that produces the value has been planned or run. Only under the planner's lock.
    pub(crate) fn is_planned(&self) -> bool {
        self.back.generation.load(Relaxed) == self.generation()
    }

    /// Whether the value has, or will have, a buffer.
    pub(crate) fn is_large(&self) -> bool {
        devices::has_buffer(self.meta())
    }

    // ---- the back line: threads that run records ----

    /// Starts a generation: the record that produces the value is being planned.
    pub(crate) fn begin(&self, generation: u32) {
        if self.back.failed.load(Relaxed) != 0 {
            self.back.failed.store(0, Relaxed);
            // SAFETY: the flag says that the inline bytes hold the box of the slot's previous life, which no thread
            // reads any more.
            drop(unsafe { Box::from_raw((*self.back.inline.get())[0] as *mut Failure) });
        }
        self.back.generation.store(generation, Relaxed);
    }

    /// The status of the value after its record was planned.
    pub(crate) fn planned_status(&self) -> Status {
        self.back.state.load(self.back.generation.load(Relaxed))
    }

    /// Address of the first byte of a ready value.
    pub(crate) fn data(&self) -> *mut u8 {
        let buffer = self.back.buffer.load(Relaxed);
        if buffer.is_null() {
            self.back.inline.get() as *mut u8
        } else {
            // SAFETY: a ready value that is still used keeps its buffer.
            unsafe { &*buffer }.ptr()
        }
    }

    /// Whether the value has a buffer, as seen by the threads that run records.
    pub(crate) fn has_buffer(&self) -> bool {
        !self.back.buffer.load(Relaxed).is_null()
    }

    pub(crate) fn set_buffer(&self, buffer: *mut Buffer) {
        self.back.buffer.store(buffer, Relaxed);
    }

    /// Publishes the value as ready.
    pub(crate) fn publish_ready(&self, generation: u32) {
        self.back.state.publish(generation, Status::Ready);
    }

    /// Publishes the value as enqueued on a device.
    pub(crate) fn publish_enqueued(&self, generation: u32, lane: u8, ticket: u64) {
        self.back.state.publish(generation, Status::Enqueued { lane, ticket: ticket as u32 & 0xff_ffff });
    }

    /// Number of enqueued and unsettled uses of a value on a device. Such values have a buffer, so their inline bytes
    /// are free except for the first word, which may hold an error.
    fn enqueued(&self) -> &AtomicU64 {
        // SAFETY: the word is aligned, lives as long as the node, and is used only as an atomic for values on devices.
        unsafe { AtomicU64::from_ptr((self.back.inline.get() as *mut u64).add(1)) }
    }

    /// Gives a value on a device its buffer, with no enqueued uses. A thread that sees the buffer sees that count.
    pub(crate) fn begin_enqueued(&self, buffer: *mut Buffer) {
        self.enqueued().store(0, Relaxed);
        self.back.buffer.store(buffer, Ordering::Release);
    }

    /// Notes that `uses` were enqueued on the lane in whose order memory is released. If these are the last uses of the
    /// value, the caller must release the returned buffer.
    pub(crate) fn note_enqueued(&self, uses: u32) -> Option<*mut Buffer> {
        self.enqueued().fetch_add(uses as u64, Ordering::Relaxed);
        self.donate_enqueued(0)
    }

    /// Notes that the uses have settled, before they are subtracted from the balance.
    pub(crate) fn end_enqueued(&self, uses: u32) {
        self.enqueued().fetch_sub(uses as u64, Ordering::Release);
    }

    /// Closes a value on a device. If all its uses were enqueued, its buffer is released now, in lane order; the use
    /// that is announced here keeps the slot until that is done.
    fn close_on_device(&self, uses: u32) {
        let mut must_free = self.back.balance.close(uses + 1);
        if let Some(buffer) = self.donate_enqueued(1) {
            // SAFETY: releases the value's own reference; the value has no buffer any more.
            unsafe { Buffer::release(buffer) };
        }
        must_free |= self.back.balance.done(1);
        if must_free {
            self.free_buffer();
        }
    }

    /// As [`Node::donate`], but enqueued uses count as done, because the lane keeps the order.
    pub(crate) fn donate_enqueued(&self, uses: u32) -> Option<*mut Buffer> {
        let buffer = self.back.buffer.load(Ordering::Acquire);
        if buffer.is_null() {
            return None;
        }
        // The balance is read first. A thread that settles subtracts its uses from it last, so a use that settles in
        // between is still counted in the balance, and the buffer is not taken too early.
        let left = self.back.balance.left()?;
        if left != uses as u64 + self.enqueued().load(Ordering::Acquire) {
            return None;
        }
        // The enqueuing and the closing thread cannot both find that nothing else is left: each has a use of its own.
        self.take_buffer()
    }

    /// Publishes the value as failed. Keeps the previous value of its cell, if possible.
    pub(crate) fn publish_failed(&self, generation: u32, error: Error, last_good: Option<LastGood>) {
        let good = last_good.map(|last_good| {
            let writes = last_good.writes;
            let (words, buffer) = last_good.into_parts();
            if let Some(buffer) = buffer {
                self.set_buffer(buffer);
            }
            (words, writes)
        });
        // SAFETY: the thread that computes the value owns its bytes until the state is published.
        unsafe { (*self.back.inline.get())[0] = Box::into_raw(Box::new(Failure { error, good })) as u64 };
        self.back.failed.store(1, Relaxed);
        self.back.state.publish(generation, Status::Failed);
    }

    fn failure(&self) -> &Failure {
        // SAFETY: the state was seen to be failed, so the box was written before; it lives as long as this generation.
        unsafe { &*((*self.back.inline.get())[0] as *const Failure) }
    }

    /// The cause of a failed value.
    pub(crate) fn error(&self) -> Error {
        self.failure().error.clone()
    }

    /// A ready value itself, or the good value that a failed one keeps; `None` if its bytes were reused, or if it is
    /// not settled. The caller has a use of the value, or holds it open.
    pub(crate) fn last_good(&self) -> Option<LastGood> {
        if !self.meta().device.is_host() {
            // The device may overwrite the bytes before the failure is known.
            return None;
        }
        let (words, writes) = match self.planned_status() {
            Status::Ready => (self.inline_bytes(), 0),
            Status::Failed => self.failure().good?,
            Status::Pending | Status::Enqueued { .. } => return None,
        };
        if !self.is_large() {
            return Some(LastGood { bytes: GoodBytes::Inline(words), writes });
        }
        // SAFETY: the value is settled, and the caller's use or hold keeps its buffer.
        let buffer = unsafe { self.share_buffer() }?;
        Some(LastGood { bytes: GoodBytes::Shared(buffer), writes })
    }

    fn free_buffer(&self) {
        let buffer = self.back.buffer.swap(std::ptr::null_mut(), Relaxed);
        if !buffer.is_null() {
            // SAFETY: the value's own reference is released once: the balance reaches its final state once.
            unsafe {
                (*buffer).leave_queue();
                Buffer::release(buffer);
            }
        }
        self.back.balance.mark_freed();
    }

    /// Notes that `count` uses are done, `foreign` of them from other windows. `large` is whether the value is too
    /// large for the node.
    pub(crate) fn done(&self, large: bool, count: u32, foreign: u32) {
        if large {
            if self.back.balance.done(count) {
                self.free_buffer();
            }
        } else if foreign > 0 {
            // It is never closed here, so it never reaches the final state; the owner checks for zero.
            let _ = self.back.balance.done(foreign);
        }
    }

    /// Takes the buffer if the caller's `uses` are the only ones left and nothing else shares the bytes.
    pub(crate) fn donate(&self, uses: u32) -> Option<*mut Buffer> {
        if !self.back.balance.is_left_to(uses) {
            return None;
        }
        self.take_buffer()
    }

    /// Takes the buffer of a closed value, unless something else shares the bytes.
    fn take_buffer(&self) -> Option<*mut Buffer> {
        let buffer = self.back.buffer.load(Relaxed);
        // SAFETY: our uses keep the buffer; the value is closed, so no thread can take a new reference.
        if buffer.is_null() || !unsafe { &*buffer }.is_unshared() {
            return None;
        }
        self.back.buffer.store(std::ptr::null_mut(), Relaxed);
        // SAFETY: our uses keep the buffer.
        unsafe { &*buffer }.leave_queue();
        Some(buffer)
    }

    /// Returns a reference to the buffer of a ready value, or `None` if its bytes are in the node.
    ///
    /// # Safety
    /// The caller holds the value open or has a use of it, and has seen that it is settled.
    pub(crate) unsafe fn share_buffer(&self) -> Option<BufferRef> {
        let buffer = self.back.buffer.load(Relaxed);
        // SAFETY: an open value, or one that is used, keeps its buffer.
        (!buffer.is_null()).then(|| unsafe { BufferRef::share(buffer) })
    }

    /// The inline bytes of a ready value.
    pub(crate) fn inline_bytes(&self) -> [u64; INLINE / 8] {
        // SAFETY: the state was seen to be ready, so the bytes are written and do not change.
        unsafe { *self.back.inline.get() }
    }
}

impl Linked for Node {
    fn link(&self) -> &AtomicPtr<Node> {
        &self.front.next
    }
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Node>() == 128);
