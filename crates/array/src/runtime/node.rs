//! Nodes: descriptor slots for cells and values.
//!
//! A node is two cache lines. The *front* line belongs to frontends: handle count, uses submitted, what the cell points
//! at. The *back* line belongs to whoever runs records: the state word, the bytes. Each side writes only its own line
//! on the hot path; what costs in a queue between two threads is lines that bounce between their cores.
//!
//! | who | front | back |
//! |---|---|---|
//! | the owning thread (whose window the node is from) | writes | writes `balance` of large values when it closes them |
//! | another frontend thread | counts handles, closes | adds a use to `balance`, sets FOREIGN |
//! | whoever runs the record that makes the value | - | writes bytes and state |
//! | whoever runs a record that reads it | - | reads; takes its use off `balance` |
//!
//! **Life of a value.** It is open while a cell points at it; a tape that needs it later points a cell of its own at it.
//! Closing it (the last such cell died or was pointed elsewhere: see [`crate::runtime::handles`]) means: no record submitted from now
//! on reads it. When it is closed and everything that makes or
//! reads it is done, its buffer goes back, on whatever thread that happens: see [`crate::runtime::uses`]. Values of at
//! most [`INLINE`] bytes have no buffer and skip all this.
//!
//! **Life of a slot.** The owner takes a slot back when its cell is dead, its value is closed and every record of its
//! own window that names it is done (`last <= completed`); uses by other windows show in `balance`.
//! A slot taken again gets the next generation; the back line need not be reset.

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

/// Values of at most this many bytes live in the node.
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

/// What lies in the node of a failed value; the bytes of a large good value are in its buffer.
struct Failure {
    error: Error,
    /// The inline bytes of the last good value of the cell, and how many writes have failed since.
    good: Option<([u64; INLINE / 8], u32)>,
}

/// A descriptor slot.
#[repr(C)]
pub(crate) struct Node {
    front: Front,
    back: Back,
}

// SAFETY: the protocol above says who may touch what; the inline bytes are written before the state is published and
// read only after it was seen.
unsafe impl Sync for Node {}
// SAFETY: as above.
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

    /// Takes the slot for a new value made by record `born` (counted from 1; 0 for none). Owner only.
    pub(crate) fn open(&self, meta: &Meta, handles: u32, born: u64) -> u32 {
        let front = &self.front;
        let generation = front.generation.load(Relaxed).wrapping_add(1);
        front.generation.store(generation, Relaxed);
        front.handles.store(handles, Relaxed);
        // A collection that finds this pointer gone has seen the copies of it.
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
        // SAFETY: set when the slot was opened; what a slot names is never collected: see `crate::runtime::intern_gc`.
        unsafe { &*self.front.meta.load(Relaxed) }
    }

    /// What the slot names, or named last: null before its first life.
    pub(crate) fn meta_pointer(&self) -> *const Meta {
        self.front.meta.load(Ordering::Acquire)
    }

    /// One past the index of the record that makes the value; 0 if it came from the host.
    pub(crate) fn born(&self) -> u64 {
        self.front.born.load(Relaxed)
    }

    /// What the cell points at.
    pub(crate) fn current(&self) -> &Node {
        // SAFETY: a live cell points at itself or at a value it keeps open.
        unsafe { &*self.front.current.load(Ordering::Acquire) }
    }

    pub(crate) fn add_handle(&self) {
        self.front.handles.fetch_add(1, Relaxed);
    }

    /// Gives up a handle; true if it was the last. The only holder needs no atomic exchange: nobody else can count.
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

    /// Runs `f` on the value the cell points at, kept open meanwhile. Only cells with several handles need the lock:
    /// a handle is never used from two threads at once.
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

    /// Points the cell at another value, which it holds from now on; returns the one it pointed at.
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

    /// Points the cell at another value if it still points at `old`; says whether.
    pub(crate) fn replace_current_if(&self, old: *const Node, new: &Node) -> bool {
        self.front.life.lock();
        let same = std::ptr::eq(self.current(), old);
        if same {
            self.front.current.store(new as *const Node as *mut Node, Ordering::Release);
        }
        self.front.life.unlock();
        same
    }

    /// The value is written over its first operand. Owner only, before its record is published.
    pub(crate) fn mark_rewrite(&self) {
        self.front.life.mark_rewrite();
    }

    /// Whether the value is written over its first operand.
    pub(crate) fn is_rewrite(&self) -> bool {
        self.front.life.is_rewrite()
    }

    /// One more cell points at the value, which the caller keeps open meanwhile.
    pub(crate) fn hold(&self) {
        self.front.life.hold();
    }

    /// A cell that was pointed elsewhere lets the value go. True if the slot is the caller's to retire.
    #[must_use]
    pub(crate) fn let_go(&self) -> bool {
        self.follow(Life::let_go).retire
    }

    /// The last handle of the cell is gone, and it points at its own value.
    #[inline]
    pub(crate) fn end_cell(&self) -> Ended {
        self.follow(Life::end_cell)
    }

    /// The last handle of the cell is gone; the value it pointed at was let go before.
    pub(crate) fn end_moved_cell(&self) -> Ended {
        self.front.life.end_moved_cell()
    }

    /// Ends a hold on the value, and closes it if that was the last. Once the word has changed the slot of a small value may
    /// be another's; that of a large one stays until its balance is closed too, and only now are all its uses known.
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

    /// A record at `index` (counted from 1) of the owner's window reads it. Owner only.
    pub(crate) fn use_by_owner(&self, index: u64) {
        self.front.uses.store(self.front.uses.load(Relaxed) + 1, Relaxed);
        self.front.last.store(index, Relaxed);
    }

    /// A record of another window reads it.
    pub(crate) fn use_by_other(&self) {
        self.front.life.mark_foreign();
        self.back.balance.announce();
    }

    /// A value from the host is about to be closed: until then its buffer stays.
    fn queue_host_bytes(&self) {
        let buffer = self.back.buffer.load(Relaxed);
        if !buffer.is_null() {
            // SAFETY: the value is closed, but its balance is not: its buffer stays.
            unsafe { &*buffer }.enter_queue();
        }
    }

    /// Closed, and by how many records of its window it is made and read; `None` while it is open or foreign.
    pub(crate) fn closed_uses(&self) -> Option<u32> {
        self.front.life.is_closed_at_home().then(|| self.front.uses.load(Relaxed))
    }

    /// Whether the owner may take the slot again, when records before `completed` are done.
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

    /// Whether the value is ready, one cell alone points at it, all that makes or reads it is done, and nobody else holds its
    /// bytes. The caller is inside [`Node::with_current`] of that cell: uses are announced there, so none comes meanwhile.
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

    /// Where the value stands, as its frontend sees it.
    pub(crate) fn status(&self) -> Status {
        self.back.state.load(self.generation())
    }

    /// Whether the record that makes the value has been planned or run. Only under the planner's lock.
    pub(crate) fn is_planned(&self) -> bool {
        self.back.generation.load(Relaxed) == self.generation()
    }

    /// Whether the value has, or will have, a buffer.
    pub(crate) fn is_large(&self) -> bool {
        devices::has_buffer(self.meta())
    }

    // ---- the back line: whoever runs records ----

    /// The record that makes it is being planned: its generation is the current one from here on.
    pub(crate) fn begin(&self, generation: u32) {
        if self.back.failed.load(Relaxed) != 0 {
            self.back.failed.store(0, Relaxed);
            // SAFETY: the flag says that the inline bytes hold the box of the slot's previous life; nobody reads that
            // life any more.
            drop(unsafe { Box::from_raw((*self.back.inline.get())[0] as *mut Failure) });
        }
        self.back.generation.store(generation, Relaxed);
    }

    /// Where the value stands, once its record was planned.
    pub(crate) fn planned_status(&self) -> Status {
        self.back.state.load(self.back.generation.load(Relaxed))
    }

    /// First byte of a ready value.
    pub(crate) fn data(&self) -> *mut u8 {
        let buffer = self.back.buffer.load(Relaxed);
        if buffer.is_null() {
            self.back.inline.get() as *mut u8
        } else {
            // SAFETY: a ready value that is still used keeps its buffer.
            unsafe { &*buffer }.ptr()
        }
    }

    /// Whether the value has a buffer, seen from the side that runs records.
    pub(crate) fn has_buffer(&self) -> bool {
        !self.back.buffer.load(Relaxed).is_null()
    }

    pub(crate) fn set_buffer(&self, buffer: *mut Buffer) {
        self.back.buffer.store(buffer, Relaxed);
    }

    /// The bytes are there: readers may look.
    pub(crate) fn publish_ready(&self, generation: u32) {
        self.back.state.publish(generation, Status::Ready);
    }

    /// A device was told to make it.
    pub(crate) fn publish_enqueued(&self, generation: u32, lane: u8, ticket: u64) {
        self.back.state.publish(generation, Status::Enqueued { lane, ticket: ticket as u32 & 0xff_ffff });
    }

    /// Uses of a value on a device that were enqueued and have not settled. Such values have a buffer, so their inline bytes
    /// are free but for the first word, where an error goes.
    fn enqueued(&self) -> &AtomicU64 {
        // SAFETY: the word is aligned, lives as long as the node, and for values on devices is only used as an atomic.
        unsafe { AtomicU64::from_ptr((self.back.inline.get() as *mut u64).add(1)) }
    }

    /// The value on a device gets its buffer: nothing was enqueued before. Whoever sees the buffer sees that.
    pub(crate) fn begin_enqueued(&self, buffer: *mut Buffer) {
        self.enqueued().store(0, Relaxed);
        self.back.buffer.store(buffer, Ordering::Release);
    }

    /// `uses` of the value were enqueued on the lane that gives memory back in its order. If all that is left of the value was,
    /// the buffer is the caller's to give back.
    pub(crate) fn note_enqueued(&self, uses: u32) -> Option<*mut Buffer> {
        self.enqueued().fetch_add(uses as u64, Ordering::Relaxed);
        self.donate_enqueued(0)
    }

    /// The uses have settled; before they are taken off the balance.
    pub(crate) fn end_enqueued(&self, uses: u32) {
        self.enqueued().fetch_sub(uses as u64, Ordering::Release);
    }

    /// The value is closed. If all its uses were enqueued, its buffer goes back now, in the order of the lane; the use that is
    /// announced here keeps the slot until that is done.
    fn close_on_device(&self, uses: u32) {
        let mut even = self.back.balance.close(uses + 1);
        if let Some(buffer) = self.donate_enqueued(1) {
            // SAFETY: the value's own count: the value has no buffer any more.
            unsafe { Buffer::release(buffer) };
        }
        even |= self.back.balance.done(1);
        if even {
            self.free_buffer();
        }
    }

    /// As [`Node::donate`], where uses that were enqueued count as done: the lane keeps the order.
    pub(crate) fn donate_enqueued(&self, uses: u32) -> Option<*mut Buffer> {
        let buffer = self.back.buffer.load(Ordering::Acquire);
        if buffer.is_null() {
            return None;
        }
        // The balance first: whoever settles takes its uses off it last. So a use in between is counted and not missed.
        let left = self.back.balance.left()?;
        if left != uses as u64 + self.enqueued().load(Ordering::Acquire) {
            return None;
        }
        // Whoever enqueues and whoever closes never both find that nothing else is left: each has a use of its own.
        self.take_buffer()
    }

    /// It will never be there. What its cell held before is kept, if it can be.
    pub(crate) fn publish_failed(&self, generation: u32, error: Error, last_good: Option<LastGood>) {
        let good = last_good.map(|last_good| {
            let writes = last_good.writes;
            let (words, buffer) = last_good.into_parts();
            if let Some(buffer) = buffer {
                self.set_buffer(buffer);
            }
            (words, writes)
        });
        // SAFETY: whoever makes the value owns its bytes until the state is published.
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

    /// A ready value itself, or the good one that a failed value keeps; `None` if its bytes were taken over, or if it is
    /// not settled. The caller has a use of the value, or holds it open.
    pub(crate) fn last_good(&self) -> Option<LastGood> {
        if !self.meta().device.is_host() {
            // A device may have been told to write over it before the failure is known.
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
            // SAFETY: the value's own count, given up once: the balance comes out even once.
            unsafe {
                (*buffer).leave_queue();
                Buffer::release(buffer);
            }
        }
        self.back.balance.mark_freed();
    }

    /// Records done with it: `count` uses, `foreign` of them from other windows. `large` is whether the value is too
    /// large for the node.
    pub(crate) fn done(&self, large: bool, count: u32, foreign: u32) {
        if large {
            if self.back.balance.done(count) {
                self.free_buffer();
            }
        } else if foreign > 0 {
            // Never closed, so it never comes out even; the owner looks for zero.
            let _ = self.back.balance.done(foreign);
        }
    }

    /// Takes the buffer if the caller's `uses` are all that is left of the value and nobody else holds the bytes.
    pub(crate) fn donate(&self, uses: u32) -> Option<*mut Buffer> {
        if !self.back.balance.is_left_to(uses) {
            return None;
        }
        self.take_buffer()
    }

    /// The buffer of a closed value, unless somebody else holds the bytes too.
    fn take_buffer(&self) -> Option<*mut Buffer> {
        let buffer = self.back.buffer.load(Relaxed);
        // SAFETY: our uses keep the buffer; the value is closed, so nobody can take a new reference.
        if buffer.is_null() || !unsafe { &*buffer }.is_unshared() {
            return None;
        }
        self.back.buffer.store(std::ptr::null_mut(), Relaxed);
        // SAFETY: as above.
        unsafe { &*buffer }.leave_queue();
        Some(buffer)
    }

    /// A reference to the buffer of a ready value, or `None` if its bytes are in the node.
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
        // SAFETY: the state was seen to be ready, so they are written and stay.
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
