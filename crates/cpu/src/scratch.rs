//! Scratch memory: a global allocator that keeps large blocks out of the general heap, and buffers for kernels.
//!
//! Matrix products pack their operands into buffers of about a megabyte, allocated and freed around every block. In the
//! general heap, such buffers between small allocations that other threads free later cause fragmentation: the heap
//! grew by tens of megabytes in a training loop. They come from the heap of the large arrays instead, so a network needs no memory
//! for both at a time, and a buffer of one thread is of use to the next. A thread keeps the last one for its next product if it is small.
//!
//! If the system refuses an allocation, the allocator releases a reserve and retries: see [`crate::reserve`].

use crate::heap::{HEAP, Use};
use crate::size_class::{SMALL, large_capacity};
use crate::{pages, reserve};
use std::alloc::{GlobalAlloc, Layout, System, handle_alloc_error};
use std::cell::Cell;
use std::ptr::{NonNull, null_mut};

/// Sizes that come from the heap of large blocks; the system allocator handles smaller and larger ones.
const LEAST_BYTES: usize = 512 << 10;
const MOST_BYTES: usize = 8 << 20;
/// The largest block that a thread keeps.
const SPARE: usize = 1 << 20;

/// An allocator for programs that compute products: `#[global_allocator] static ALLOCATOR: ScratchAllocator = ...`.
#[derive(Debug, Default)]
pub struct ScratchAllocator;

/// The block that the thread freed last, and its size; null if there is none. It is given back when the thread ends.
struct Spare(Cell<(*mut u8, usize)>);

impl Spare {
    /// Stores a block and returns the previous one.
    fn replace(&self, block: (*mut u8, usize)) -> (*mut u8, usize) {
        self.0.replace(block)
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        free(self.replace((null_mut(), 0)));
    }
}

fn alloc(size: usize) -> *mut u8 {
    let take = || HEAP.alloc(size, pages::map).map_or(null_mut(), NonNull::as_ptr);
    match take() {
        none if none.is_null() => {
            HEAP.trim();
            reserve::last_resort(take)
        }
        found => found,
    }
}

fn free((block, size): (*mut u8, usize)) {
    if let Some(block) = NonNull::new(block) {
        HEAP.free(block, size, Use::Scratch);
    }
}

/// Uninitialised memory for a kernel.
pub(crate) struct Scratch(NonNull<u8>, Layout);

impl Scratch {
    /// At least one byte, aligned to 64.
    pub(crate) fn new(bytes: usize) -> Scratch {
        let size = if bytes > SMALL { large_capacity(bytes) } else { bytes.max(1) };
        let layout = Layout::from_size_align(size, 64).expect("no kernel needs as much");
        // SAFETY: the size is not zero.
        let block = if bytes > SMALL { alloc(size) } else { unsafe { std::alloc::alloc(layout) } };
        Scratch(NonNull::new(block).unwrap_or_else(|| handle_alloc_error(layout)), layout)
    }

    /// The first byte.
    pub(crate) fn first<T>(&self) -> *mut T {
        self.0.as_ptr().cast()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.1.size() > SMALL {
            free((self.0.as_ptr(), self.1.size()));
        } else {
            // SAFETY: allocated above, with this layout.
            unsafe { std::alloc::dealloc(self.0.as_ptr(), self.1) };
        }
    }
}

thread_local! {
    static LAST: Spare = const { Spare(Cell::new((null_mut(), 0))) };
}

fn size_of_block(layout: Layout) -> Option<usize> {
    ((LEAST_BYTES..=MOST_BYTES).contains(&layout.size()) && layout.align() <= 4096)
        .then(|| large_capacity(layout.size()))
}

// SAFETY: blocks are whole pages of the heap or a freed block, at least as large as requested and page-aligned. `alloc` and
// `dealloc` choose the same path, since both depend on the layout alone.
unsafe impl GlobalAlloc for ScratchAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(size) = size_of_block(layout) else {
            // SAFETY: guaranteed by the caller.
            let found = unsafe { System.alloc(layout) };
            if !found.is_null() {
                return found;
            }
            // SAFETY: guaranteed by the caller.
            return reserve::last_resort(|| unsafe { System.alloc(layout) });
        };
        let spare = LAST.try_with(|spare| spare.replace((null_mut(), 0))).unwrap_or((null_mut(), 0));
        if spare.1 == size {
            return spare.0;
        }
        free(spare);
        alloc(size)
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        let Some(size) = size_of_block(layout) else {
            // SAFETY: guaranteed by the caller.
            return unsafe { System.dealloc(ptr, layout) };
        };
        // A thread that is ending keeps nothing.
        free(match size {
            0..=SPARE => LAST.try_with(|spare| spare.replace((ptr, size))).unwrap_or((ptr, size)),
            _ => (ptr, size),
        });
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
        let layout = Layout::from_size_align(SPARE, 64).unwrap();
        let before = resident();
        for _ in 0..100 {
            let thread = std::thread::spawn(move || {
                // SAFETY: the layout has nonzero size; each block is freed once, with its own layout.
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
        // SAFETY: the layout has nonzero size; each block is freed once, with its own layout.
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
