//! The host allocator. Small blocks have size classes and come from a cache of the calling thread. Large blocks come from
//! the heap that the scratch memory of kernels comes from, too.
//!
//! Invariant: every block is 64-byte aligned and belongs to exactly one of: the user, a thread's cache, the pool, the heap.
//! Trimming returns what nobody uses to the system.

use crate::heap::{HEAP, Heap, Use};
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
    heap: &'static Heap,
    live_large: AtomicUsize,
    taken_large: AtomicU64,
    blocks_large: AtomicU64,
    central: Mutex<Central>,
}

#[derive(Default)]
struct Central {
    /// Free small blocks by class.
    small: [Vec<Address>; CLASSES],
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
        Pool::on(&HEAP, ledger)
    }

    fn on(heap: &'static Heap, ledger: Arc<dyn BytesLedger>) -> Pool {
        let shared = Arc::new(Shared {
            ledger,
            heap,
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
        Box::new((self.0.central(), self.0.heap.lock()))
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
        self.0.heap.trim();
        let slabs = self.0.central().take_free_slabs();
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
            cached: self.0.heap.cached() + (central.slabs.len() * SLAB).saturating_sub(live_small),
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
        let capacity = large_capacity(bytes);
        let alloc = || self.0.heap.alloc(capacity, fresh);
        let ptr = alloc().or_else(|| {
            self.trim();
            alloc()
        })?;
        self.0.live_large.fetch_add(capacity, Relaxed);
        self.0.taken_large.fetch_add(capacity as u64, Relaxed);
        self.0.blocks_large.fetch_add(1, Relaxed);
        Some(Block { ptr, bytes, capacity })
    }

    fn free_large(&self, block: Block) {
        self.0.live_large.fetch_sub(block.capacity, Relaxed);
        self.0.heap.free(block.ptr, block.capacity, Use::Buffer);
    }
}

impl Central {
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

#[cfg(test)]
mod tests;
