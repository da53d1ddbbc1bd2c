//! The host allocator. Small blocks have size classes and come from a cache of the calling thread. Large blocks are
//! mapped on 2 MiB boundaries with huge pages requested, and cached up to a limit while their sizes stay in demand, so
//! a program over many shapes does not keep a block of every size.
//!
//! Invariant: every block is 64-byte aligned and belongs to exactly one of: the user, a thread's cache, the pool.
//! Cached memory beyond the limit is unmapped, so it returns to the system; trimming unmaps the rest.

use crate::pages::{HUGE, map, show_to_sanitizer, unmap};
use crate::reserve;
use crate::size_class::{CLASSES, SMALL, class_bytes, class_of, large_capacity};
use forerun_base::{BytesLedger, fail_point};
use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicIsize, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// The unit that small blocks are cut from. Slabs are aligned to their size, so a block's address gives its slab.
const SLAB: usize = HUGE;
/// Bytes that the pool may cache in addition to the number of live bytes. A program that requests again what was unmapped
/// raises the limit: see [`Central::allowance`].
const KEEP: usize = 128 << 20;
/// A cached large block is unmapped if this many large blocks were freed since it was last used.
const IDLE: u64 = 4096;
/// The pool looks for idle blocks after this many frees of large blocks.
const SWEEP: u64 = 512;
/// Bytes that a thread may cache per size class.
const THREAD_KEEP: usize = 64 * 1024;

/// A block of memory. Return it to the pool that allocated it.
#[derive(Debug)]
pub struct Block {
    /// The first byte, 64-byte aligned.
    pub ptr: NonNull<u8>,
    /// Requested bytes.
    pub bytes: usize,
    capacity: usize,
}

// SAFETY: a block is an address range owned by its holder.
unsafe impl Send for Block {}
// SAFETY: as above; sharing a block shares an address only.
unsafe impl Sync for Block {}

impl Block {
    /// The actual size in bytes.
    pub fn capacity(&self) -> usize {
        self.capacity
    }
}

/// Statistics of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolStats {
    /// Bytes of allocated blocks.
    pub live: usize,
    /// Bytes cached for reuse.
    pub cached: usize,
    /// Total bytes ever allocated.
    pub taken: u64,
    /// Total number of blocks ever allocated.
    pub blocks: u64,
}

/// The host allocator.
pub struct Pool(Arc<Shared>);

struct Shared {
    ledger: Arc<dyn BytesLedger>,
    live_large: AtomicUsize,
    taken_large: AtomicU64,
    blocks_large: AtomicU64,
    central: Mutex<Central>,
}

#[derive(Default)]
struct Central {
    /// Free small blocks by class.
    small: [Vec<Address>; CLASSES],
    /// Free large blocks by capacity, each with the value of `returned` when it was freed. The newest block is reused
    /// first, so idle blocks are at the front.
    large: BTreeMap<usize, Vec<(Address, u64)>>,
    cached_large: usize,
    /// Bytes that were unmapped because of the limit, and not mapped again since.
    evicted: usize,
    /// Bytes by which the limit exceeds [`KEEP`]. Training holds much more memory at the end of the forward pass than at the
    /// end of the backward pass; without it, every step would unmap the difference and fault it in again.
    allowance: usize,
    /// The number of large blocks freed so far.
    returned: u64,
    /// The used bytes of each slab, by address.
    slabs: BTreeMap<usize, usize>,
    /// The slab that new small blocks are cut from.
    slab: Option<Address>,
    /// Statistics of small blocks, one set per thread.
    counts: Vec<Arc<Counts>>,
    /// The statistics of threads that ended, and of blocks that bypassed a thread's cache.
    left: Counts,
}

/// Statistics of small blocks. Each thread writes only its own, so no read-modify-write is needed.
#[derive(Default)]
struct Counts {
    live: AtomicIsize,
    taken: AtomicU64,
    blocks: AtomicU64,
}

impl Counts {
    #[inline]
    fn give_out(&self, bytes: usize) {
        self.live.store(self.live.load(Relaxed) + bytes as isize, Relaxed);
        self.taken.store(self.taken.load(Relaxed) + bytes as u64, Relaxed);
        self.blocks.store(self.blocks.load(Relaxed) + 1, Relaxed);
    }

    #[inline]
    fn take_back(&self, bytes: usize) {
        self.live.store(self.live.load(Relaxed) - bytes as isize, Relaxed);
    }

    fn add(&self, other: &Counts) {
        self.live.store(self.live.load(Relaxed) + other.live.load(Relaxed), Relaxed);
        self.taken.store(self.taken.load(Relaxed) + other.taken.load(Relaxed), Relaxed);
        self.blocks.store(self.blocks.load(Relaxed) + other.blocks.load(Relaxed), Relaxed);
    }
}

#[derive(Clone, Copy, Debug)]
struct Address(NonNull<u8>);

// SAFETY: the address of a free block that nobody else uses.
unsafe impl Send for Address {}

/// Maps pages.
fn fresh(bytes: usize) -> Option<NonNull<u8>> {
    fail_point!("pool.pages", _error => return None);
    if !reserve::restore_common() {
        return None;
    }
    map(bytes).or_else(|| if reserve::give_up_kept() { map(bytes) } else { None })
}

/// Every pool, for [`trim_all`].
static POOLS: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());

/// Returns all cached memory of all pools to the system. Must not be called while a pool is in use.
pub(crate) fn trim_all() {
    let pools = POOLS.try_lock().map_or_else(|_| Vec::new(), |pools| pools.iter().filter_map(Weak::upgrade).collect());
    pools.into_iter().for_each(|shared| Pool(shared).trim());
}

struct Cache {
    pool: Arc<Shared>,
    free: [Vec<Address>; CLASSES],
    counts: Arc<Counts>,
}

impl Drop for Cache {
    fn drop(&mut self) {
        let mut central = self.pool.central();
        for (class, free) in self.free.iter_mut().enumerate() {
            central.small[class].append(free);
        }
        central.left.add(&self.counts);
        central.counts.retain(|c| !Arc::ptr_eq(c, &self.counts));
    }
}

thread_local! {
    static CACHE: RefCell<Option<Cache>> = const { RefCell::new(None) };
}

impl Shared {
    fn central(&self) -> MutexGuard<'_, Central> {
        self.central.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl Pool {
    /// Creates an empty pool that reports live bytes to the ledger.
    pub fn new(ledger: Arc<dyn BytesLedger>) -> Pool {
        let shared = Arc::new(Shared {
            ledger,
            live_large: AtomicUsize::new(0),
            taken_large: AtomicU64::new(0),
            blocks_large: AtomicU64::new(0),
            central: Mutex::new(Central::default()),
        });
        let mut pools = POOLS.lock().unwrap_or_else(|e| e.into_inner());
        pools.retain(|pool| pool.strong_count() > 0);
        pools.push(Arc::downgrade(&shared));
        reserve::restore_common();
        Pool(shared)
    }

    /// Holds the pool's lock during a fork, so that the child finds it unlocked.
    pub fn hold(&'static self) -> Box<dyn Any> {
        Box::new(self.0.central())
    }

    /// Allocates a block of at least `bytes`; `None` if the system is out of memory.
    #[inline]
    pub fn alloc(&self, bytes: usize) -> Option<Block> {
        fail_point!("pool.block", _error => return None);
        let block = if bytes <= SMALL { self.alloc_small(bytes)? } else { self.alloc_large(bytes)? };
        self.0.ledger.charge(block.capacity);
        show_to_sanitizer(block.ptr, block.bytes, block.capacity);
        debug_assert!(block.ptr.addr().get().is_multiple_of(64) && block.bytes <= block.capacity, "{block:?}");
        Some(block)
    }

    /// Frees a block.
    #[inline]
    pub fn free(&self, block: Block) {
        self.0.ledger.release(block.capacity);
        show_to_sanitizer(block.ptr, 0, block.capacity);
        if block.capacity <= SMALL { self.free_small(block) } else { self.free_large(block) }
    }

    /// Returns all cached memory to the system. A slab is returned only if none of its blocks is in use or in another
    /// thread's cache.
    pub fn trim(&self) {
        let _ = CACHE.try_with(|cache| {
            let mut cache = cache.try_borrow_mut().ok()?;
            let cache = self.own(&mut cache)?;
            let mut central = self.0.central();
            for (class, free) in cache.free.iter_mut().enumerate() {
                central.small[class].append(free);
            }
            Some(())
        });
        let (large, slabs) = {
            let mut central = self.0.central();
            (central.cached_large, central.evicted, central.allowance) = (0, 0, 0);
            (std::mem::take(&mut central.large), central.take_free_slabs())
        };
        for (capacity, blocks) in large {
            blocks.into_iter().for_each(|(block, _)| unmap(block.0, capacity));
        }
        slabs.into_iter().for_each(|slab| unmap(slab.0, SLAB));
    }

    /// Returns the calling thread's cache to its pool. Call it before the thread ends.
    pub fn leave() {
        let kept = CACHE.try_with(|cache| cache.try_borrow_mut().ok().and_then(|mut cache| cache.take()));
        drop(kept);
    }

    /// Statistics: live, cached and total allocations.
    pub fn stats(&self) -> PoolStats {
        let central = self.0.central();
        let small = Counts::default();
        central.counts.iter().for_each(|counts| small.add(counts));
        small.add(&central.left);
        let live_small = small.live.load(Relaxed).max(0) as usize;
        PoolStats {
            live: live_small + self.0.live_large.load(Relaxed),
            cached: central.cached_large + (central.slabs.len() * SLAB).saturating_sub(live_small),
            taken: small.taken.load(Relaxed) + self.0.taken_large.load(Relaxed),
            blocks: small.blocks.load(Relaxed) + self.0.blocks_large.load(Relaxed),
        }
    }

    #[inline]
    fn alloc_small(&self, bytes: usize) -> Option<Block> {
        let (class, capacity) = class_of(bytes);
        let address = CACHE
            .try_with(|cache| {
                let mut cache = cache.try_borrow_mut().ok()?;
                let cache = self.own(&mut cache)?;
                if let Some(address) = cache.free[class].pop() {
                    cache.counts.give_out(capacity);
                    return Some(address);
                }
                self.refill(cache, class, capacity)
            })
            .ok()
            .flatten();
        let address = match address {
            Some(address) => address,
            None => self.alloc_shared(class, capacity)?,
        };
        Some(Block { ptr: address.0, bytes, capacity })
    }

    #[inline]
    fn free_small(&self, block: Block) {
        let (class, capacity) = class_of(block.capacity);
        let address = Address(block.ptr);
        let kept = CACHE
            .try_with(|cache| {
                let mut cache = cache.try_borrow_mut().ok()?;
                let cache = self.own(&mut cache)?;
                cache.counts.take_back(capacity);
                cache.free[class].push(address);
                if cache.free[class].len() * capacity > THREAD_KEEP.max(2 * capacity) {
                    self.spill(cache, class);
                }
                Some(())
            })
            .ok()
            .flatten();
        if kept.is_none() {
            let mut central = self.0.central();
            central.small[class].push(address);
            central.left.take_back(capacity);
        }
    }

    /// The thread's cache if it belongs to this pool. It belongs to the first pool that the thread uses.
    #[inline]
    fn own<'a>(&self, cache: &'a mut Option<Cache>) -> Option<&'a mut Cache> {
        if cache.is_none() {
            let counts = Arc::new(Counts::default());
            self.0.central().counts.push(counts.clone());
            *cache = Some(Cache { pool: self.0.clone(), free: Default::default(), counts });
        }
        cache.as_mut().filter(|cache| Arc::ptr_eq(&cache.pool, &self.0))
    }

    #[cold]
    fn refill(&self, cache: &mut Cache, class: usize, capacity: usize) -> Option<Address> {
        let batch = (THREAD_KEEP / 2 / capacity).clamp(1, 64);
        let mut central = self.0.central();
        for _ in 0..batch {
            match central.take_small(class, capacity) {
                Some(address) => cache.free[class].push(address),
                None => break,
            }
        }
        drop(central);
        let address = cache.free[class].pop()?;
        cache.counts.give_out(capacity);
        Some(address)
    }

    #[cold]
    fn spill(&self, cache: &mut Cache, class: usize) {
        let keep = cache.free[class].len() / 2;
        self.0.central().small[class].extend(cache.free[class].drain(keep..));
    }

    #[cold]
    fn alloc_shared(&self, class: usize, capacity: usize) -> Option<Address> {
        let mut central = self.0.central();
        let address = central.take_small(class, capacity)?;
        central.left.give_out(capacity);
        Some(address)
    }

    fn alloc_large(&self, bytes: usize) -> Option<Block> {
        if bytes > isize::MAX as usize / 4 {
            return None;
        }
        let wanted = large_capacity(bytes);
        let reused = {
            let mut central = self.0.central();
            let fit = central.large.range(wanted..=wanted + wanted / 4).next().map(|(&capacity, _)| capacity);
            if fit.is_none() {
                let again = central.evicted.min(wanted);
                central.evicted -= again;
                central.allowance += again;
            }
            fit.and_then(|capacity| {
                let blocks = central.large.get_mut(&capacity)?;
                let (address, _) = blocks.pop()?;
                if blocks.is_empty() {
                    central.large.remove(&capacity);
                }
                central.cached_large -= capacity;
                Some((address.0, capacity))
            })
        };
        let (ptr, capacity) = match reused {
            Some(found) => found,
            None => {
                let mapped = fresh(wanted).or_else(|| {
                    self.trim();
                    fresh(wanted)
                });
                (mapped?, wanted)
            }
        };
        self.0.live_large.fetch_add(capacity, Relaxed);
        self.0.taken_large.fetch_add(capacity as u64, Relaxed);
        self.0.blocks_large.fetch_add(1, Relaxed);
        Some(Block { ptr, bytes, capacity })
    }

    fn free_large(&self, block: Block) {
        let live = self.0.live_large.fetch_sub(block.capacity, Relaxed) - block.capacity;
        let mut excess = Vec::new();
        {
            let mut central = self.0.central();
            central.returned += 1;
            let now = central.returned;
            central.large.entry(block.capacity).or_default().push((Address(block.ptr), now));
            central.cached_large += block.capacity;
            if now.is_multiple_of(SWEEP) {
                central.take_idle(now, &mut excess);
            }
            while central.cached_large > KEEP + central.allowance + live {
                // Largest first: fewest system calls, and least likely to be requested again.
                let Some(mut last) = central.large.last_entry() else { break };
                let capacity = *last.key();
                if let Some((address, _)) = last.get_mut().pop() {
                    excess.push((address, capacity));
                }
                if last.get().is_empty() {
                    last.remove();
                }
                central.evicted += capacity;
                central.cached_large -= capacity;
            }
        }
        for (address, capacity) in excess {
            unmap(address.0, capacity);
        }
    }
}

impl Central {
    /// Removes the large blocks that have been idle for long.
    fn take_idle(&mut self, now: u64, idle: &mut Vec<(Address, usize)>) {
        let before = idle.len();
        self.large.retain(|&capacity, blocks| {
            let count = blocks.partition_point(|(_, came)| now - came > IDLE);
            idle.extend(blocks.drain(..count).map(|(address, _)| (address, capacity)));
            !blocks.is_empty()
        });
        let bytes = idle[before..].iter().map(|(_, capacity)| capacity).sum::<usize>();
        self.cached_large -= bytes;
        self.allowance = self.allowance.saturating_sub(bytes);
        self.evicted /= 2;
    }

    fn take_small(&mut self, class: usize, capacity: usize) -> Option<Address> {
        if let Some(address) = self.small[class].pop() {
            return Some(address);
        }
        let room = self.slab.filter(|slab| self.cut(*slab) + capacity <= SLAB);
        let slab = match room {
            Some(slab) => slab,
            None => Address(fresh(SLAB)?),
        };
        self.slab = Some(slab);
        let used = self.slabs.entry(slab.0.as_ptr() as usize).or_default();
        *used += capacity;
        // SAFETY: the offset stays within the slab.
        Some(Address(unsafe { slab.0.add(*used - capacity) }))
    }

    fn cut(&self, slab: Address) -> usize {
        self.slabs.get(&(slab.0.as_ptr() as usize)).copied().unwrap_or(0)
    }

    /// Removes the slabs whose blocks are all free here.
    fn take_free_slabs(&mut self) -> Vec<Address> {
        let slab_of = |block: &Address| block.0.as_ptr() as usize / SLAB * SLAB;
        let mut free: BTreeMap<usize, usize> = BTreeMap::new();
        for (class, blocks) in self.small.iter().enumerate() {
            blocks.iter().for_each(|block| *free.entry(slab_of(block)).or_default() += class_bytes(class));
        }
        free.retain(|slab, bytes| self.slabs.get(slab) == Some(bytes));
        for blocks in &mut self.small {
            blocks.retain(|block| !free.contains_key(&slab_of(block)));
        }
        self.slabs.retain(|slab, _| !free.contains_key(slab));
        self.slab = self.slab.filter(|slab| !free.contains_key(&(slab.0.as_ptr() as usize)));
        free.into_keys().filter_map(|slab| NonNull::new(slab as *mut u8)).map(Address).collect()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let central = self.central.get_mut().unwrap_or_else(|e| e.into_inner());
        for (&capacity, blocks) in &central.large {
            for (block, _) in blocks {
                unmap(block.0, capacity);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn blocks_are_distinct_aligned_and_counted() {
        let ledger = Arc::new(Count::default());
        let pool = Pool::new(ledger.clone());
        let sizes = [0, 1, 64, 65, 1000, 32 << 10, (32 << 10) + 1, 1 << 20, 3 << 20, 20 << 20];
        let blocks: Vec<Block> = sizes.iter().flat_map(|&s| [s, s]).map(|s| pool.alloc(s).unwrap()).collect();
        for (i, a) in blocks.iter().enumerate() {
            assert_eq!(a.ptr.as_ptr() as usize % if a.capacity() >= HUGE { HUGE } else { 64 }, 0);
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
        let pool = Pool::new(Arc::new(Count::default()));
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
        let pool = Pool::new(Arc::new(Count::default()));
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
        let pool = Pool::new(Arc::new(Count::default()));
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
        assert!(pool.stats().cached < 1 << 20, "{}", pool.stats().cached);
        assert_eq!(pool.0.central().allowance, 0);
    }

    #[test]
    fn sizes_that_are_not_asked_for_again_are_given_back() {
        let pool = Pool::new(Arc::new(Count::default()));
        let of_many_sizes: Vec<Block> = (1..100).map(|i| pool.alloc(i * 100_000).unwrap()).collect();
        of_many_sizes.into_iter().for_each(|block| pool.free(block));
        let again = |bytes: usize| pool.free(pool.alloc(bytes).unwrap());
        again(300_000);
        let full = pool.stats().cached;
        assert!(full > 100 << 20, "{full}");
        (0..IDLE / 2).for_each(|_| again(300_000));
        assert_eq!(pool.stats().cached, full);
        (0..IDLE).for_each(|_| again(300_000));
        assert!(pool.stats().cached < 1 << 20, "{}", pool.stats().cached);
    }

    #[test]
    fn absurd_sizes_fail_and_nothing_breaks() {
        let pool = Pool::new(Arc::new(Count::default()));
        assert!(pool.alloc(usize::MAX).is_none());
        assert!(pool.alloc(isize::MAX as usize - 5).is_none());
        assert!(pool.alloc(1 << 47).is_none());
        pool.free(pool.alloc(10).unwrap());
        assert_eq!(pool.stats().live, 0);
    }

    #[test]
    fn blocks_may_be_freed_by_other_threads() {
        let pool = Pool::new(Arc::new(Count::default()));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let blocks: Vec<Block> = (0..1000).map(|i| pool.alloc(i).unwrap()).collect();
                let pool = &pool;
                scope.spawn(move || blocks.into_iter().for_each(|b| pool.free(b)));
            }
        });
        assert_eq!(pool.stats().live, 0);
    }
}
