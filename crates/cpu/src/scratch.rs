//! A global allocator that keeps large scratch blocks out of the general heap.
//!
//! Matrix products pack their operands into buffers of about a megabyte, allocated and freed around every block. In the
//! general heap, such buffers between small allocations that other threads free later cause fragmentation: the heap
//! grew by tens of megabytes in a training loop. This allocator maps them separately, and each thread keeps the last
//! one for its next product.
//!
//! If the system refuses an allocation, the allocator releases a reserve and retries: see [`crate::reserve`].

use crate::{pages, reserve};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::{NonNull, null_mut};

/// Sizes that are mapped separately, with huge pages where possible; the system allocator handles smaller and larger
/// ones.
const LEAST_BYTES: usize = 512 << 10;
const MOST_BYTES: usize = 8 << 20;

/// An allocator for programs that compute products: `#[global_allocator] static ALLOCATOR: ScratchAllocator = ...`.
#[derive(Debug, Default)]
pub struct ScratchAllocator;

/// The block that the thread freed last, and its size; null if there is none. It is unmapped when the thread ends.
struct Spare(Cell<(*mut u8, usize)>);

impl Spare {
    /// Stores a block and returns the previous one.
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
    ((LEAST_BYTES..=MOST_BYTES).contains(&layout.size()) && layout.align() <= 4096)
        .then(|| layout.size().next_multiple_of(pages::HUGE))
}

// SAFETY: blocks are fresh pages or a freed block, at least as large as requested and page-aligned. `alloc` and
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
            // SAFETY: guaranteed by the caller.
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
