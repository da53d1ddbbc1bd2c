//! Tests of the allocator.

use super::*;
use crate::heap::{IDLE, KEEP};
use crate::size_class::large_capacity;

#[derive(Default)]
struct Count(AtomicIsize);

impl BytesLedger for Count {
    fn charge(&self, bytes: usize) {
        self.0.fetch_add(bytes as isize, Relaxed);
    }
    fn release(&self, bytes: usize) {
        self.0.fetch_sub(bytes as isize, Relaxed);
    }
}

/// A pool with a heap of its own: tests run side by side.
fn pool(ledger: Arc<Count>) -> Pool {
    Pool::on(Box::leak(Box::new(Heap::new())), ledger)
}

#[test]
fn blocks_are_distinct_aligned_and_counted() {
    let ledger = Arc::new(Count::default());
    let pool = pool(ledger.clone());
    let sizes = [0, 1, 64, 65, 1000, 32 << 10, (32 << 10) + 1, 1 << 20, 3 << 20, 20 << 20];
    let blocks: Vec<Block> = sizes.iter().flat_map(|&s| [s, s]).map(|s| pool.alloc(s).unwrap()).collect();
    for (i, a) in blocks.iter().enumerate() {
        assert_eq!(a.ptr.as_ptr() as usize % 64, 0);
        // SAFETY: the bytes belong to the block.
        unsafe { std::ptr::write_bytes(a.ptr.as_ptr(), i as u8, a.bytes) };
    }
    for (i, a) in blocks.iter().enumerate() {
        // SAFETY: the bytes belong to the block and were written above.
        assert!((0..a.bytes).all(|j| unsafe { a.ptr.as_ptr().add(j).read() } == i as u8));
    }
    assert_eq!(pool.stats().live as isize, ledger.0.load(Relaxed));
    let total: usize = blocks.iter().map(Block::capacity).sum();
    assert_eq!(pool.stats().live, total);
    for block in blocks {
        pool.free(block);
    }
    assert_eq!((pool.stats().live, ledger.0.load(Relaxed)), (0, 0));
    assert!(pool.stats().cached >= 40 << 20);
    assert_eq!((pool.stats().taken, pool.stats().blocks), (total as u64, sizes.len() as u64 * 2));
    pool.trim();
    assert_eq!(pool.stats().cached, 0);
}

#[test]
fn trimming_leaves_what_is_in_use() {
    let pool = pool(Arc::new(Count::default()));
    let mut blocks: Vec<Block> = (0..1000).map(|i| pool.alloc(1 + i * 31).unwrap()).collect();
    let kept = blocks.remove(500);
    // SAFETY: the bytes belong to the block.
    unsafe { std::ptr::write_bytes(kept.ptr.as_ptr(), 7, kept.bytes) };
    blocks.into_iter().for_each(|b| pool.free(b));
    let before = pool.stats().cached;
    assert!(before > 2 * SLAB);
    pool.trim();
    assert!(pool.stats().cached < SLAB, "one slab is left, for the block in use");
    // SAFETY: the bytes belong to the block.
    assert!((0..kept.bytes).all(|j| unsafe { kept.ptr.as_ptr().add(j).read() } == 7));
    let again: Vec<Block> = (0..1000).map(|i| pool.alloc(1 + i * 31).unwrap()).collect();
    again.into_iter().for_each(|b| pool.free(b));
    pool.free(kept);
    pool.trim();
    assert_eq!(pool.stats().cached, 0);
}

#[test]
fn what_is_kept_is_bounded_and_reused() {
    let pool = pool(Arc::new(Count::default()));
    let first = pool.alloc(64 << 20).unwrap();
    let address = first.ptr;
    pool.free(first);
    let again = pool.alloc(64 << 20).unwrap();
    assert_eq!(again.ptr, address);
    pool.free(again);
    let many: Vec<Block> = (0..8).map(|_| pool.alloc(48 << 20).unwrap()).collect();
    many.into_iter().for_each(|b| pool.free(b));
    assert!(pool.stats().cached <= KEEP);
}

#[test]
fn what_is_requested_again_is_kept() {
    let pool = pool(Arc::new(Count::default()));
    let step = || {
        let blocks: Vec<Block> = (0..8).map(|_| pool.alloc(48 << 20).unwrap()).collect();
        let addresses: Vec<_> = blocks.iter().map(|block| block.ptr).collect();
        blocks.into_iter().for_each(|block| pool.free(block));
        addresses
    };
    step();
    assert!(pool.stats().cached <= KEEP, "a program that frees much once keeps little");
    step();
    assert_eq!(pool.stats().cached, 8 * large_capacity(48 << 20), "a program that repeats it keeps all of it");
    let again = |bytes: usize| pool.free(pool.alloc(bytes).unwrap());
    (0..2 * IDLE).for_each(|_| again(300_000));
    assert_eq!(pool.stats().cached, HUGE);
    assert_eq!(pool.0.heap.allowance(), 0);
}

#[test]
fn sizes_that_are_not_asked_for_again_are_given_back() {
    let pool = pool(Arc::new(Count::default()));
    let of_many_sizes: Vec<Block> = (1..100).map(|i| pool.alloc(i * 100_000).unwrap()).collect();
    of_many_sizes.into_iter().for_each(|block| pool.free(block));
    let again = |bytes: usize| pool.free(pool.alloc(bytes).unwrap());
    again(300_000);
    let full = pool.stats().cached;
    assert!(full > 100 << 20, "{full}");
    (0..IDLE / 2).for_each(|_| again(300_000));
    assert_eq!(pool.stats().cached, full);
    (0..2 * IDLE).for_each(|_| again(300_000));
    assert_eq!(pool.stats().cached, HUGE);
}

/// Blocks of every size share what is free, so a program needs hardly more memory than it holds at a time.
#[cfg(target_os = "linux")]
#[test]
fn free_memory_serves_every_size() {
    let pool = pool(Arc::new(Count::default()));
    let mapped = || pool.stats().live + pool.stats().cached;
    for bytes in (1..=40).map(|i| i * 1_000_000) {
        let blocks: Vec<Block> = (0..60_000_000 / bytes).map(|_| pool.alloc(bytes).unwrap()).collect();
        blocks.into_iter().for_each(|block| pool.free(block));
        assert!(mapped() <= 80 << 20, "{bytes}: {}", mapped());
    }
}

/// Of every two neighbours one is in use, so no free range is long, and the pages between them move together.
#[cfg(target_os = "linux")]
#[test]
fn free_pages_move_together() {
    let pool = pool(Arc::new(Count::default()));
    let mut blocks: Vec<Block> = (0..20).map(|_| pool.alloc(4 << 20).unwrap()).collect();
    for (i, block) in blocks.iter().enumerate() {
        // SAFETY: the bytes belong to the block.
        unsafe { std::ptr::write_bytes(block.ptr.as_ptr(), i as u8, block.bytes) };
    }
    let kept: Vec<Block> = (0..10).map(|i| blocks.remove(i)).collect();
    blocks.into_iter().for_each(|block| pool.free(block));
    let large = pool.alloc(30 << 20).unwrap();
    assert_eq!(pool.stats(), PoolStats { live: 70 << 20, cached: 10 << 20, taken: 110 << 20, blocks: 21 });
    // SAFETY: the bytes belong to the block.
    unsafe { std::ptr::write_bytes(large.ptr.as_ptr(), 77, large.bytes) };
    for (i, block) in kept.iter().enumerate() {
        // SAFETY: the bytes belong to the block and were written above.
        assert!((0..block.bytes).all(|j| unsafe { block.ptr.as_ptr().add(j).read() } == 2 * i as u8));
    }
    kept.into_iter().chain([large]).for_each(|block| pool.free(block));
    pool.trim();
    assert_eq!(pool.stats().cached, 0);
}

#[test]
fn absurd_sizes_fail_and_nothing_breaks() {
    let pool = pool(Arc::new(Count::default()));
    assert!(pool.alloc(usize::MAX).is_none());
    assert!(pool.alloc(isize::MAX as usize - 5).is_none());
    assert!(pool.alloc(1 << 47).is_none());
    pool.free(pool.alloc(10).unwrap());
    assert_eq!(pool.stats().live, 0);
}

#[test]
fn blocks_may_be_freed_by_other_threads() {
    let pool = pool(Arc::new(Count::default()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let blocks: Vec<Block> = (0..1000).map(|i| pool.alloc(i).unwrap()).collect();
            let pool = &pool;
            scope.spawn(move || blocks.into_iter().for_each(|b| pool.free(b)));
        }
    });
    assert_eq!(pool.stats().live, 0);
}

#[test]
fn blocks_keep_what_they_hold_while_pages_move() {
    let pool = pool(Arc::new(Count::default()));
    std::thread::scope(|scope| {
        let run = |thread: u64| {
            let pool = &pool;
            scope.spawn(move || {
                let mut state = thread;
                let mut below = |n: usize| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 33) as usize % n
                };
                // The first and the last word of each page hold the block's number.
                let words = |block: &Block| {
                    let (first, words) = (block.ptr.as_ptr().cast::<u64>(), block.bytes / 8);
                    (0..words).filter(move |at| at % 512 == 0 || at + 1 == words).map(move |at| first.wrapping_add(at))
                };
                let mut held: Vec<(u64, Block)> = Vec::new();
                for number in 0..150 {
                    // Whole huge pages, and anything.
                    let bytes = if below(2) == 0 { (1 + below(6)) << 21 } else { 8 + below(9 << 20) };
                    let block = pool.alloc(bytes).unwrap();
                    // SAFETY: the words belong to the block.
                    words(&block).for_each(|word| unsafe { word.write(number << 8 | thread) });
                    held.push((number, block));
                    while held.len() > 1 + below(12) {
                        let (number, block) = held.swap_remove(below(held.len()));
                        // SAFETY: the words belong to the block and were written above.
                        assert!(words(&block).all(|word| unsafe { word.read() } == number << 8 | thread));
                        pool.free(block);
                    }
                }
                held.into_iter().for_each(|(_, block)| pool.free(block));
            })
        };
        // A scope ends before its threads have given their small blocks back; a join does not.
        let threads: Vec<_> = (1..4).map(run).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(pool.stats().live, 0);
    pool.trim();
    assert_eq!(pool.stats().cached, 0);
}
