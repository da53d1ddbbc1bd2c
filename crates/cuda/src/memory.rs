//! Device memory: a memory pool of the driver, ordered by the compute lane, with a cache on top.
//!
//! Invariant: blocks are allocated and freed in the order of the compute lane. A freed block can be reused at once,
//! because its next user runs after the previous one. Sizes are rounded up to classes; a block serves only its class.
//!
//! Scratch memory serves a single launch. It is allocated and freed when the launch is enqueued, which may be later
//! than the allocation of values. Scratch therefore has its own blocks, which are never used for values and are kept,
//! because a graph may contain their addresses.

use crate::sys::{Driver, MemPool, PoolProps, Stream, driver_code as code};
use forerun_base::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Mutex;

/// Statistics of device memory, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryInfo {
    /// The memory of the device.
    pub total: usize,
    /// Free memory according to the driver.
    pub free: usize,
    /// Allocated bytes.
    pub live: usize,
    /// The largest number of bytes allocated at once.
    pub peak: usize,
    /// Cached bytes.
    pub cached: usize,
    /// The maximum number of bytes that may be allocated at once.
    pub limit: usize,
    /// The number of allocations, and how many the cache served.
    pub asked: u64,
    /// See `asked`.
    pub hits: u64,
    /// How often the cache was emptied because the driver was out of memory.
    pub emptied: u64,
}

/// An allocated block.
pub(crate) struct Taken {
    pub(crate) address: u64,
    /// The bytes of its class.
    pub(crate) bytes: usize,
    /// The ticket of the compute lane up to which commands may still use its previous contents; `None` if the block is
    /// new.
    pub(crate) since: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Memory {
    driver: &'static Driver,
    pool: MemPool,
    stream: Stream,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Free blocks of each class, each with the ticket of the compute lane up to which commands may still use it.
    spare: HashMap<usize, Vec<(u64, u64)>>,
    info: MemoryInfo,
    sealed: bool,
    /// Free scratch blocks of each class.
    scratch: HashMap<usize, Vec<u64>>,
}

/// The class of a size: multiples of 512 bytes; from 4 KiB on, four classes per power of two.
fn class_of(bytes: usize) -> usize {
    let bytes = bytes.max(1);
    if bytes <= 4096 {
        return bytes.next_multiple_of(512);
    }
    bytes.next_multiple_of(bytes.next_power_of_two() / 8)
}

/// Larger classes are not cached here, since the driver's pool caches them well enough.
const LARGE: usize = 1 << 30;
/// Larger scratch blocks return to the driver after their launch is enqueued.
const LARGE_SCRATCH: usize = 128 << 20;

impl Memory {
    pub(crate) fn new(driver: &'static Driver, device: i32, stream: Stream) -> Result<Memory> {
        let props = PoolProps {
            kind: 1,
            handles: 0,
            place: 1,
            device,
            security: std::ptr::null_mut(),
            most: 0,
            reserved: [0; 56],
        };
        let mut pool = std::ptr::null_mut();
        let mut all = u64::MAX;
        // SAFETY: the calls write one handle, and read the threshold as one 64-bit number.
        unsafe {
            driver.check((driver.pool_create)(&mut pool, &props), "cuMemPoolCreate")?;
            let threshold: *mut c_void = (&raw mut all).cast();
            let error = (driver.pool_set)(pool, code::POOL_RELEASE_THRESHOLD, threshold);
            driver.check(error, "cuMemPoolSetAttribute")?;
        }
        let memory = Memory { driver, pool, stream, state: Mutex::default() };
        let info = memory.info()?;
        // Leave memory for other uses: contexts, libraries, and a margin.
        memory.set_limit(info.free - info.free / 16);
        Ok(memory)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    pub(crate) fn set_limit(&self, bytes: usize) {
        self.state().info.limit = bytes;
    }

    pub(crate) fn alloc(&self, bytes: usize) -> Result<u64> {
        self.take(bytes).map(|taken| taken.address)
    }

    /// While sealed, only cached blocks are allocated: driver allocations are not allowed during a capture.
    pub(crate) fn seal(&self, on: bool) {
        self.state().sealed = on;
    }

    /// Allocates scratch for one launch, in launch order.
    pub(crate) fn scratch(&self, bytes: usize) -> Result<u64> {
        let class = class_of(bytes);
        let mut state = self.state();
        if let Some(address) = state.scratch.get_mut(&class).and_then(Vec::pop) {
            return Ok(address);
        }
        if state.sealed {
            return Err(Error::new(ErrorKind::Runtime, "cannot allocate device memory during a capture"));
        }
        self.ask(class)
    }

    /// Frees the scratch of a launch that was enqueued; the next launch may use it. Large blocks are not kept: a
    /// capture that needs one fails and is abandoned.
    pub(crate) fn give_scratch(&self, address: u64, bytes: usize) -> Result<()> {
        let class = class_of(bytes);
        if class > LARGE_SCRATCH {
            return self.give_back(address);
        }
        self.state().scratch.entry(class).or_default().push(address);
        Ok(())
    }

    /// Allocates a cached block, if there is one.
    pub(crate) fn take_cached(&self, bytes: usize) -> Option<Taken> {
        let class = class_of(bytes);
        let mut state = self.state();
        let (address, since) = state.spare.get_mut(&class).and_then(Vec::pop)?;
        state.info.asked += 1;
        state.info.hits += 1;
        state.info.cached -= class;
        state.charge(class);
        Some(Taken { address, bytes: class, since: Some(since) })
    }

    /// Whether a block of this size returns to the driver at once.
    pub(crate) fn is_large(bytes: usize) -> bool {
        class_of(bytes) > LARGE
    }

    pub(crate) fn take(&self, bytes: usize) -> Result<Taken> {
        let class = class_of(bytes);
        let mut state = self.state();
        state.info.asked += 1;
        if let Some((address, since)) = state.spare.get_mut(&class).and_then(Vec::pop) {
            state.info.hits += 1;
            state.info.cached -= class;
            state.charge(class);
            return Ok(Taken { address, bytes: class, since: Some(since) });
        }
        if state.sealed {
            return Err(Error::new(ErrorKind::Runtime, "cannot allocate device memory during a capture"));
        }
        if state.info.live + class > state.info.limit {
            return Err(self.exhausted(bytes, &state.info));
        }
        if state.info.live + state.info.cached + class > state.info.limit {
            self.release(&mut state)?;
        }
        // Escalate: try the driver's pool, then empty the cache, then wait for all enqueued work.
        for rung in 0..3 {
            match self.ask(class) {
                Ok(address) => {
                    state.charge(class);
                    return Ok(Taken { address, bytes: class, since: None });
                }
                Err(error) if error.kind() != ErrorKind::Memory => return Err(error),
                Err(_) if rung == 0 => {
                    state.info.emptied += 1;
                    self.release(&mut state)?;
                }
                Err(_) => {
                    // SAFETY: a stream and a pool of this device.
                    unsafe {
                        let error = (self.driver.stream_synchronize)(self.stream);
                        self.driver.check(error, "cuStreamSynchronize")?;
                        self.driver.check((self.driver.pool_trim)(self.pool, 0), "cuMemPoolTrimTo")?;
                    }
                }
            }
        }
        Err(self.exhausted(bytes, &state.info))
    }

    fn exhausted(&self, bytes: usize, info: &MemoryInfo) -> Error {
        let text = format!(
            "cannot allocate {bytes} bytes of device memory: {} bytes in use, limit {}, device total {}",
            info.live, info.limit, info.total
        );
        Error::new(ErrorKind::Memory, text)
    }

    fn ask(&self, class: usize) -> Result<u64> {
        let mut address = 0;
        // SAFETY: the pointer is to a local address, the only memory that the call writes.
        let error = unsafe { (self.driver.alloc_from)(&mut address, class, self.pool, self.stream) };
        self.driver.check(error, "cuMemAllocFromPoolAsync").map(|()| address)
    }

    pub(crate) fn free(&self, address: u64, bytes: usize) -> Result<()> {
        self.give(address, bytes, 0)
    }

    pub(crate) fn give(&self, address: u64, bytes: usize, since: u64) -> Result<()> {
        let class = class_of(bytes);
        let mut state = self.state();
        state.info.live -= class;
        if class > LARGE {
            return self.give_back(address);
        }
        state.info.cached += class;
        state.spare.entry(class).or_default().push((address, since));
        Ok(())
    }

    fn give_back(&self, address: u64) -> Result<()> {
        // SAFETY: the address came from the pool, and nobody uses it.
        self.driver.check(unsafe { (self.driver.free)(address, self.stream) }, "cuMemFreeAsync")
    }

    /// Returns the cache to the driver's pool.
    fn release(&self, state: &mut State) -> Result<()> {
        for (class, blocks) in state.spare.drain() {
            for (address, _) in blocks {
                state.info.cached -= class;
                self.give_back(address)?;
            }
        }
        Ok(())
    }

    pub(crate) fn empty_cache(&self) -> Result<()> {
        self.release(&mut self.state())?;
        // SAFETY: a stream and a pool of this device.
        unsafe {
            self.driver.check((self.driver.stream_synchronize)(self.stream), "cuStreamSynchronize")?;
            self.driver.check((self.driver.pool_trim)(self.pool, 0), "cuMemPoolTrimTo")
        }
    }

    pub(crate) fn info(&self) -> Result<MemoryInfo> {
        let (mut free, mut total, mut reserved) = (0, 0, 0u64);
        // SAFETY: the pointers are to local variables of the types that the calls write.
        unsafe {
            self.driver.check((self.driver.memory_info)(&mut free, &mut total), "cuMemGetInfo")?;
            let to: *mut c_void = (&raw mut reserved).cast();
            self.driver.check((self.driver.pool_get)(self.pool, code::POOL_RESERVED, to), "cuMemPoolGetAttribute")?;
        }
        let mut info = self.state().info;
        // Memory that the driver's pool has cached is available to this process.
        let kept = (reserved as usize).saturating_sub(info.live + info.cached);
        (info.total, info.free, info.cached) = (total, free, info.cached + kept);
        Ok(info)
    }
}

impl State {
    fn charge(&mut self, class: usize) {
        self.info.live += class;
        self.info.peak = self.info.peak.max(self.info.live);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_waste_little() {
        let mut bytes = 1usize;
        while bytes < 1 << 36 {
            let class = class_of(bytes);
            assert!(class >= bytes && class.is_multiple_of(512), "{bytes}");
            assert!(bytes <= 4096 || class - bytes <= bytes / 4, "{bytes} is served by {class}");
            assert_eq!(class_of(class), class);
            bytes += bytes / 7 + 1;
        }
        assert_eq!(class_of(0), 512);
        assert_eq!(class_of(64 << 20), 64 << 20);
    }
}
