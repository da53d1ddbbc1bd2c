//! Large blocks: the buffers of large arrays and the scratch memory of kernels, for all threads.
//!
//! Blocks are cut from huge pages. What is freed is joined with its free neighbours and cut again, whatever the size. If no free
//! range is long enough, free huge pages from several places move together; new pages are mapped only for what is missing. So a
//! process needs hardly more memory than its blocks had at a time. Free pages are kept, up to a limit and while they are in demand.
//!
//! Invariant: every page is in one block or free, and blocks start on a page.

use crate::extents::Extents;
use crate::pages::{HUGE, move_into, unmap};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard};

/// Bytes that are kept in addition to the number of bytes in blocks. A program that requests again what was unmapped raises the
/// limit: see [`State::allowance`].
pub(crate) const KEEP: usize = 128 << 20;
/// Buffers are freed this many times before what was free all the while is unmapped.
pub(crate) const IDLE: u64 = 4096;

/// The heap of the process.
pub(crate) static HEAP: Heap = Heap::new();

/// A heap of large blocks.
pub(crate) struct Heap(Mutex<State>);

pub(crate) struct State {
    free: Extents,
    /// Bytes in blocks.
    live: usize,
    /// Bytes that were unmapped because of the limit, and not mapped again since.
    evicted: usize,
    /// Bytes by which the limit exceeds [`KEEP`]. Training holds much more memory at the end of the forward pass than at the
    /// end of the backward pass; without it, every step would unmap the difference and fault it in again.
    allowance: usize,
    /// The number of buffers freed so far.
    returned: u64,
    /// The least that was free since the last time that `returned` was a multiple of [`IDLE`].
    least: usize,
}

/// Where a block is used.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Use {
    /// The buffer of an array.
    Buffer,
    /// Scratch memory. Kernels take it so often that it says nothing about what is idle.
    Scratch,
}

impl Heap {
    pub(crate) const fn new() -> Heap {
        let none = Extents::new();
        Heap(Mutex::new(State { free: none, live: 0, evicted: 0, allowance: 0, returned: 0, least: 0 }))
    }

    /// Locks the heap: before a fork, so that the child finds it unlocked.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Bytes that are free.
    pub(crate) fn cached(&self) -> usize {
        self.lock().free.bytes()
    }

    /// Bytes by which the limit was raised.
    #[cfg(test)]
    pub(crate) fn allowance(&self) -> usize {
        self.lock().allowance
    }

    /// A block of `capacity` bytes, which are whole pages; `map` maps pages.
    pub(crate) fn alloc(&self, capacity: usize, map: impl Fn(usize) -> Option<NonNull<u8>>) -> Option<NonNull<u8>> {
        let found = self.lock().take(capacity);
        found.or_else(|| self.grow(capacity, map))
    }

    /// Frees a block.
    pub(crate) fn free(&self, block: NonNull<u8>, capacity: usize, of: Use) {
        let start = block.as_ptr() as usize;
        let excess = {
            let mut state = self.lock();
            state.live -= capacity;
            state.free.free(start..start + capacity);
            state.take_excess(of)
        };
        excess.into_iter().for_each(unmap_range);
    }

    /// Returns all free pages to the system.
    pub(crate) fn trim(&self) {
        let all = {
            let mut state = self.lock();
            (state.evicted, state.allowance, state.least) = (0, 0, 0);
            state.free.take_all()
        };
        all.for_each(unmap_range);
    }

    /// A block that no free range has room for, from free huge pages and new ones.
    #[cold]
    fn grow(&self, capacity: usize, map: impl Fn(usize) -> Option<NonNull<u8>>) -> Option<NonNull<u8>> {
        let total = capacity.next_multiple_of(HUGE);
        let pages = self.lock().take_pages(total);
        let pages: Vec<usize> = pages.into_iter().flat_map(|range| range.step_by(HUGE)).collect();
        let target = map(total);
        let moved = target.map_or(Err(0), |target| move_into(target, &pages));
        let mut state = self.lock();
        for page in &pages[moved.unwrap_or_else(|moved| moved)..] {
            state.free.free(*page..page + HUGE);
        }
        let (Some(target), Ok(moved)) = (target, moved) else {
            drop(state);
            target.into_iter().for_each(|target| unmap(target, total));
            return None;
        };
        let again = state.evicted.min(total - moved * HUGE);
        state.evicted -= again;
        state.allowance += again;
        state.live += capacity;
        let start = target.as_ptr() as usize;
        state.free.free(start + capacity..start + total);
        Some(target)
    }
}

fn unmap_range(range: Range<usize>) {
    if let Some(start) = NonNull::new(range.start as *mut u8) {
        unmap(start, range.len());
    }
}

impl State {
    fn take(&mut self, capacity: usize) -> Option<NonNull<u8>> {
        let found = self.free.take(capacity)?;
        self.live += capacity;
        self.least = self.least.min(self.free.bytes());
        NonNull::new(found as *mut u8)
    }

    /// Takes free huge pages.
    fn take_pages(&mut self, bytes: usize) -> Vec<Range<usize>> {
        let pages = self.free.take_units(HUGE, bytes);
        self.least = self.least.min(self.free.bytes());
        pages
    }

    /// Takes the free huge pages that are not kept: those beyond the limit, and those that have been idle for long.
    fn take_excess(&mut self, of: Use) -> Vec<Range<usize>> {
        let sum = |pages: &[Range<usize>]| pages.iter().map(Range::len).sum::<usize>();
        let mut excess = Vec::new();
        let limit = KEEP + self.allowance + self.live;
        if self.free.bytes() > limit {
            excess = self.take_pages((self.free.bytes() - limit).next_multiple_of(HUGE));
            self.evicted += sum(&excess);
        }
        self.returned += (of == Use::Buffer) as u64;
        if of == Use::Buffer && self.returned.is_multiple_of(IDLE) {
            let idle = self.take_pages(self.least);
            self.allowance = self.allowance.saturating_sub(sum(&idle));
            self.evicted /= 2;
            self.least = self.free.bytes();
            excess.extend(idle);
        }
        excess
    }
}
