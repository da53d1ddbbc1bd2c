//! A process's allocator that keeps large scratch memory out of the general heap.
//!
//! Products pack their operands into about a megabyte, taken and given back around every block. In the general heap such
//! blocks, between small ones that other threads free later, leave holes: it grew by tens of megabytes in a training
//! loop. Here they are pages of their own, and each thread keeps the last one it gave back for its next product.
//!
//! What the system refuses is asked for again once a reserve was given up: see [`crate::reserve`].

use crate::{pages, reserve};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::{NonNull, null_mut};

/// Sizes that are pages of their own, huge ones where there are; smaller and larger sizes are the system allocator's.
const LEAST: usize = 512 << 10;
const MOST: usize = 8 << 20;

/// An allocator for programs that compute products: `#[global_allocator] static ALLOCATOR: ScratchAllocator = ...`.
#[derive(Debug, Default)]
pub struct ScratchAllocator;

/// A block that its thread gave back last, and its size; none if the address is null. Any thread that waits may multiply, so
/// it goes back when the thread ends.
struct Spare(Cell<(*mut u8, usize)>);

impl Spare {
    /// Leaves a block here in the place of the one that was.
    fn replace(&self, block: (*mut u8, usize)) -> (*mut u8, usize) {
        self.0.replace(block)
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        unmap(self.replace((null_mut(), 0)));
    }
}

fn unmap((block, size): (*mut u8, usize)) {
    if let Some(block) = NonNull::new(block) {
        pages::unmap(block, size);
    }
}

thread_local! {
    static SPARE: Spare = const { Spare(Cell::new((null_mut(), 0))) };
}

fn size_of_block(layout: Layout) -> Option<usize> {
    ((LEAST..=MOST).contains(&layout.size()) && layout.align() <= 4096)
        .then(|| layout.size().next_multiple_of(pages::HUGE))
}

// SAFETY: blocks are fresh pages or one that was given back, at least as large as asked and aligned to pages; a layout
// is given back the way it was taken, since both ways depend on the layout alone.
unsafe impl GlobalAlloc for ScratchAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(size) = size_of_block(layout) else {
            // SAFETY: the caller's promise.
            let found = unsafe { System.alloc(layout) };
            if !found.is_null() {
                return found;
            }
            // SAFETY: as above.
            return reserve::last_resort(|| unsafe { System.alloc(layout) });
        };
        let spare = SPARE.try_with(|spare| spare.replace((null_mut(), 0))).unwrap_or((null_mut(), 0));
        if spare.1 == size {
            return spare.0;
        }
        unmap(spare);
        let map = || pages::map(size).map_or(null_mut(), NonNull::as_ptr);
        match map() {
            none if none.is_null() => reserve::last_resort(map),
            found => found,
        }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        let Some(size) = size_of_block(layout) else {
            // SAFETY: the caller's promise.
            return unsafe { System.dealloc(ptr, layout) };
        };
        // A thread that is ending keeps nothing.
        unmap(SPARE.try_with(|spare| spare.replace((ptr, size))).unwrap_or((ptr, size)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_that_ends_keeps_nothing() {
        let resident = || {
            let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
            pages.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096
        };
        let layout = Layout::from_size_align(2 << 20, 64).unwrap();
        let before = resident();
        for _ in 0..100 {
            let thread = std::thread::spawn(move || {
                // SAFETY: a layout of nonzero size; what is taken is given back once, under its own layout.
                unsafe {
                    let block = ScratchAllocator.alloc(layout);
                    block.write_bytes(1, layout.size());
                    ScratchAllocator.dealloc(block, layout);
                }
            });
            thread.join().unwrap();
        }
        let grown = resident().saturating_sub(before);
        assert!(grown < 50 << 20, "{grown} bytes are left of 100 threads");
    }

    #[test]
    fn a_block_comes_back_to_its_thread() {
        let layout = Layout::from_size_align(1 << 20, 64).unwrap();
        // SAFETY: a layout of nonzero size; what is taken is given back once, under its own layout.
        unsafe {
            let first = ScratchAllocator.alloc(layout);
            first.write_bytes(7, layout.size());
            ScratchAllocator.dealloc(first, layout);
            let second = ScratchAllocator.alloc_zeroed(layout);
            assert_eq!(first, second);
            assert!(std::slice::from_raw_parts(second, layout.size()).iter().all(|b| *b == 0));
            let other = Layout::from_size_align(5 << 20, 4096).unwrap();
            let third = ScratchAllocator.alloc(other);
            third.write_bytes(1, other.size());
            ScratchAllocator.dealloc(second, layout);
            ScratchAllocator.dealloc(third, other);
            let small = Layout::from_size_align(100, 8).unwrap();
            let fourth = ScratchAllocator.alloc(small);
            fourth.write_bytes(1, 100);
            ScratchAllocator.dealloc(fourth, small);
        }
    }
}
