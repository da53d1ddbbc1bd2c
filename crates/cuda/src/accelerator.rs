//! The [`Accelerator`] of a CUDA device: lanes with tickets, memory ordered by the compute lane, kernels.
//!
//! The enqueuing thread launches kernels on the compute stream in batches. Small copies use the same stream, through
//! pinned slots; large ones use the copier threads. A device fault is detected when a caller polls for progress. From
//! then on the device is lost, and every command counts as completed with an error.

use crate::batch::Batch;
use crate::copier::Copier;
use crate::gpu::{DeviceIo, Gpu};
use crate::memory::{Memory, Taken};
use crate::pinned::Slots;
use crate::run::{Complain, LaunchableKernel, complaint};
use crate::sys::Nvtx;
use forerun_base::{Error, ErrorKind, Result, WordHash};
use forerun_ops::user_kernel::KernelSource;
use forerun_ops::{Given, Routine};
use forerun_plan::{Accelerator, DeviceBlock, Io, Kernel, Lane, Launchable, Launches};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, TryLockError, Weak};
use std::time::{Duration, Instant};

/// Copies of at most this many bytes use the compute stream: waiting for another stream would cost more.
const SMALL_COPY: usize = 64 << 10;
/// How long a wait spins before it sleeps, and the length of each sleep.
const LOOK: Duration = Duration::from_millis(2);
const NAP: Duration = Duration::from_micros(30);

/// The remaining work after a command has completed.
enum Rest {
    /// Copy bytes from a pinned slot to their destination.
    Fetch { slot: usize, to: usize, bytes: usize },
    /// Read the kernel's status, which tells whether it found invalid data.
    Status { slot: usize, complain: Arc<Complain> },
    /// The launch failed.
    Failed(Error),
}

struct Pending {
    statuses: Slots,
    fetches: Slots,
    rests: HashMap<u64, Rest, WordHash>,
}

/// A CUDA device; see the module docs.
pub struct Cuda {
    /// A reference to this device, for its kernels.
    own: Weak<Cuda>,
    number: usize,
    gpu: Arc<Gpu>,
    /// Launches that are not yet submitted.
    batch: Mutex<Batch>,
    /// Whether the batch has launches, and the last ticket it has issued. Both are written under its lock, which may be
    /// held while a whole batch is submitted.
    holds: AtomicBool,
    given: AtomicU64,
    /// A mark that the compute stream is known to have passed, and the last ticket that completed with it or a later
    /// one.
    mark: AtomicU64,
    passed: AtomicU64,
    copiers: [Arc<Copier>; 2],
    pending: Mutex<Pending>,
    /// The number of entries in `rests`.
    rests: AtomicUsize,
    lost: OnceLock<Error>,
    /// Whether this process is a forked child of the one that opened the device.
    forked: AtomicBool,
    nudged: Mutex<bool>,
    bell: Condvar,
}

impl Cuda {
    /// The number of devices; 0 without a driver.
    pub fn count() -> usize {
        Gpu::count()
    }

    /// Opens a device.
    pub fn open(number: usize) -> Result<Arc<Cuda>> {
        let gpu = Gpu::open(number)?;
        gpu.warm_up();
        let copiers = [Copier::new(Lane::In), Copier::new(Lane::Out)];
        let pending = Pending {
            statuses: Slots::new(gpu.driver, Gpu::STATUS_BYTES, 128),
            fetches: Slots::new(gpu.driver, SMALL_COPY, 8),
            rests: HashMap::default(),
        };
        Ok(Arc::new_cyclic(|own| Cuda {
            own: own.clone(),
            number,
            gpu,
            batch: Mutex::default(),
            holds: AtomicBool::new(false),
            given: AtomicU64::new(0),
            mark: AtomicU64::new(0),
            passed: AtomicU64::new(0),
            rests: AtomicUsize::new(0),
            copiers,
            pending: Mutex::new(pending),
            lost: OnceLock::new(),
            forked: AtomicBool::new(false),
            nudged: Mutex::new(false),
            bell: Condvar::new(),
        }))
    }

    /// The device itself.
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn refuse_if_lost(&self) -> Result<()> {
        if self.forked.load(Ordering::Relaxed) {
            let text = format!("gpu({}) cannot be used in a forked process", self.number);
            return Err(Error::new(ErrorKind::Runtime, text));
        }
        self.lost.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Marks the device as lost after an unrecoverable error.
    fn lose_to(&self, error: Error) -> Error {
        let text = format!("gpu({}) is lost: {error}", self.number);
        self.lost.get_or_init(|| Error::new(ErrorKind::Runtime, text)).clone()
    }

    fn batch(&self) -> MutexGuard<'_, Batch> {
        self.batch.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The batch, unless another thread holds its lock: pollers try again instead of sleeping.
    fn batch_if_free(&self) -> Option<MutexGuard<'_, Batch>> {
        match self.batch.try_lock() {
            Ok(batch) => Some(batch),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Submits the batch; with `more`, only if the device is about to run out of work. Pollers call this, so it takes
    /// the lock only if there is something to submit.
    fn flush_batch(&self, more: bool) {
        if !self.holds.load(Ordering::Relaxed) {
            return;
        }
        // The thread that holds the lock may be submitting already.
        let Some(mut batch) = (if more { self.batch_if_free() } else { Some(self.batch()) }) else { return };
        if !more || batch.is_due() {
            // The next caller that asks gets the error of a lost device.
            let _ = self.submit(&mut batch);
        }
    }

    /// The last completed ticket, given that the stream has passed this mark.
    fn pass(&self, mark: u64) -> u64 {
        if self.mark.load(Ordering::Acquire) < mark
            && let Some(mut batch) = self.batch_if_free()
        {
            let ticket = batch.pass(mark);
            self.passed.fetch_max(ticket, Ordering::Release);
            self.mark.fetch_max(mark, Ordering::Release);
        }
        self.passed.load(Ordering::Acquire)
    }

    /// Submits all pending launches to the device.
    fn submit(&self, batch: &mut Batch) -> Result<()> {
        self.holds.store(false, Ordering::Relaxed);
        // SAFETY: the caller of each launch guarantees its addresses until the launch completes.
        let failed = unsafe { batch.submit(&self.gpu) }.map_err(|error| self.lose_to(error))?;
        for (ticket, error) in failed {
            self.leave(ticket, Rest::Failed(error));
        }
        Ok(())
    }

    /// Sets the remaining work after a command has completed. A failure replaces an earlier entry.
    fn leave(&self, ticket: u64, rest: Rest) {
        if self.pending().rests.insert(ticket, rest).is_none() {
            self.rests.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes a ticket for a command that was enqueued on the compute stream directly, after the batch was submitted.
    fn take_ticket(&self, batch: &mut Batch) -> Result<u64> {
        let ticket = batch.take_ticket(&self.gpu).map_err(|error| self.lose_to(error))?;
        self.given.store(ticket, Ordering::Release);
        Ok(ticket)
    }

    fn copier(&self, lane: Lane) -> Option<&Arc<Copier>> {
        match lane {
            Lane::Compute => None,
            Lane::In => Some(&self.copiers[0]),
            Lane::Out => Some(&self.copiers[1]),
        }
    }

    fn finish(&self, rest: Rest) -> Result<()> {
        match rest {
            Rest::Failed(error) => Err(error),
            Rest::Fetch { slot, to, bytes } => {
                // SAFETY: the copy into the slot has completed; the caller of `copy_out` guarantees the destination.
                unsafe { std::ptr::copy_nonoverlapping(slot as *const u8, to as *mut u8, bytes) };
                self.pending().fetches.give_back(slot);
                Ok(())
            }
            Rest::Status { slot, complain } => {
                // SAFETY: a page-aligned slot of `STATUS_BYTES`, whose kernel has completed.
                let raised = Gpu::read_status(unsafe { &*(slot as *const [u8; Gpu::STATUS_BYTES]) });
                self.pending().statuses.give_back(slot);
                raised.map_or(Ok(()), |raised| Err(complain(raised)))
            }
        }
    }
}

/// Reads a slice of addresses as 64-bit words.
///
/// # Safety
/// As for [`std::slice::from_raw_parts`].
unsafe fn words_of<'a>(first: *const u64, count: usize) -> &'a [u64] {
    const { assert!(size_of::<*const u8>() == size_of::<u64>()) };
    // SAFETY: the caller guarantees `count` words.
    unsafe { std::slice::from_raw_parts(first, count) }
}

/// A kernel on one device.
struct CudaKernel {
    device: Weak<Cuda>,
    kernel: Arc<LaunchableKernel>,
    /// The error for a raised status, if the kernel can raise one.
    may_raise: Option<Arc<Complain>>,
}

impl Launchable for CudaKernel {
    unsafe fn launch(&self, io: Io<'_>) -> Result<()> {
        let device = self.device.upgrade().ok_or_else(|| Error::new(ErrorKind::Runtime, "the device was closed"))?;
        device.refuse_if_lost()?;
        // SAFETY: the slices are valid, and an address has the size of a word, which `words_of` asserts.
        let (inputs, outputs) = unsafe {
            (
                words_of(io.inputs.as_ptr().cast(), io.inputs.len()),
                words_of(io.outputs.as_ptr().cast(), io.outputs.len()),
            )
        };
        let status = match &self.may_raise {
            None => 0,
            Some(_) => {
                device.gpu.enter()?;
                let slot = device.pending().statuses.take()?;
                // SAFETY: a slot of `STATUS_BYTES` that was just allocated, so nobody else uses it.
                unsafe { std::ptr::write_bytes(slot as *mut u8, 0, Gpu::STATUS_BYTES) };
                slot
            }
        };
        let io = DeviceIo { inputs, outputs, scalars: io.scalars, status: status as u64 };
        let mut batch = device.batch();
        let (ticket, is_full) = batch.push(&self.kernel, io);
        device.holds.store(true, Ordering::Relaxed);
        device.given.store(ticket, Ordering::Release);
        if let Some(complain) = &self.may_raise {
            device.leave(ticket, Rest::Status { slot: status, complain: complain.clone() });
        }
        if is_full { device.submit(&mut batch) } else { Ok(()) }
    }
}

impl Accelerator for Cuda {
    fn describe(&self) -> String {
        self.gpu.name().to_owned()
    }

    fn capacity(&self) -> usize {
        self.gpu.memory_info().map_or(0, |info| info.limit)
    }

    fn alloc(&self, bytes: usize) -> Option<DeviceBlock> {
        self.refuse_if_lost().ok()?;
        if let Some(Taken { address, bytes, since: Some(since) }) = self.gpu.memory.take_cached(bytes) {
            return Some(DeviceBlock { address: std::ptr::without_provenance_mut(address as usize), bytes, since });
        }
        // The driver allocates and frees memory in stream order, so pending launches go first.
        let mut batch = self.batch();
        self.submit(&mut batch).ok()?;
        let taken = self.gpu.take_block(bytes).ok()?;
        // Other lanes wait for this ticket before they touch the memory.
        let since = match taken.since {
            Some(since) => since,
            None => self.take_ticket(&mut batch).ok()?,
        };
        Some(DeviceBlock {
            address: std::ptr::without_provenance_mut(taken.address as usize),
            bytes: taken.bytes,
            since,
        })
    }

    fn free(&self, block: DeviceBlock) {
        if self.refuse_if_lost().is_ok() {
            // Large blocks are freed in stream order, which is not allowed during a capture; the batch's lock excludes
            // captures.
            let mut batch = Memory::is_large(block.bytes).then(|| self.batch());
            if batch.as_mut().is_some_and(|batch| self.submit(batch).is_err()) {
                return;
            }
            // All commands that use the block have tickets.
            let since = self.given.load(Ordering::Acquire);
            // A block that cannot be freed is lost with the device.
            let _ = self.gpu.give_block(block.address.addr() as u64, block.bytes, since);
        }
    }

    fn cached(&self) -> usize {
        self.gpu.memory_info().map_or(0, |info| info.cached)
    }

    fn empty_cache(&self) {
        let mut batch = self.batch();
        if self.submit(&mut batch).is_ok() {
            let _ = self.gpu.empty_cache();
        }
    }

    fn compile(&self, kernel: &Kernel) -> Arc<dyn Launchable> {
        let may_raise = complaint(kernel);
        Arc::new(CudaKernel { device: self.own.clone(), kernel: self.gpu.compile(kernel), may_raise })
    }

    fn shows_ranges(&self) -> bool {
        Nvtx::of_process().is_some()
    }

    fn begin_range(&self, label: &str) {
        // Pending launches belong to earlier ranges.
        self.flush_batch(false);
        if let Some(nvtx) = Nvtx::of_process() {
            nvtx.begin(label);
        }
    }

    fn end_range(&self) {
        self.flush_batch(false);
        if let Some(nvtx) = Nvtx::of_process() {
            nvtx.end();
        }
    }

    fn runs(&self, routine: Routine, given: &[Given]) -> bool {
        self.gpu.runs(routine, given)
    }

    fn check_user_kernel(&self, source: &KernelSource) -> Result<()> {
        self.refuse_if_lost()?;
        self.gpu.check_user_kernel(source)
    }

    unsafe fn copy_in(&self, from: *const u8, to: *mut u8, bytes: usize) -> Result<Lane> {
        self.refuse_if_lost()?;
        let lane = self.copy_lane(Lane::In, bytes);
        // SAFETY: the caller upholds the same contract.
        unsafe {
            match self.copier(lane) {
                Some(copier) => copier.copy(&self.gpu, from.addr(), to.addr(), bytes),
                None => {
                    let mut batch = self.batch();
                    self.submit(&mut batch)?;
                    self.gpu.copy_in_small(from, to.addr() as u64, bytes)?;
                    self.take_ticket(&mut batch)?;
                }
            }
        }
        Ok(lane)
    }

    unsafe fn copy_out(&self, from: *const u8, to: *mut u8, bytes: usize) -> Result<Lane> {
        self.refuse_if_lost()?;
        let lane = self.copy_lane(Lane::Out, bytes);
        // SAFETY: the caller upholds the same contract.
        unsafe {
            match self.copier(lane) {
                Some(copier) => copier.copy(&self.gpu, from.addr(), to.addr(), bytes),
                None => {
                    self.gpu.enter()?;
                    let slot = self.pending().fetches.take()?;
                    let mut batch = self.batch();
                    self.submit(&mut batch)?;
                    self.gpu.copy_out_small(from.addr() as u64, slot as *mut u8, bytes)?;
                    let ticket = self.take_ticket(&mut batch)?;
                    self.leave(ticket, Rest::Fetch { slot, to: to.addr(), bytes });
                }
            }
        }
        Ok(lane)
    }

    fn copy_lane(&self, direction: Lane, bytes: usize) -> Lane {
        if bytes <= SMALL_COPY { Lane::Compute } else { direction }
    }

    fn wait(&self, lane: Lane, other: Lane, ticket: u64) {
        let waited = match (self.copier(lane), self.copier(other)) {
            (Some(copier), Some(other)) => {
                copier.after(&self.gpu, other, ticket);
                Ok(())
            }
            (Some(copier), None) => {
                let mut batch = self.batch();
                let submitted = if ticket > batch.submitted { self.submit(&mut batch) } else { Ok(()) };
                copier.after_compute(&self.gpu, batch.mark_of(ticket));
                submitted
            }
            (None, Some(copier)) => {
                let mut batch = self.batch();
                let submitted = self.submit(&mut batch);
                submitted.and_then(|()| copier.hold_back(&self.gpu, Lane::Compute, ticket))
            }
            (None, None) => Ok(()),
        };
        if let Err(error) = waited {
            self.lose_to(error);
        }
    }

    fn last_ticket(&self, lane: Lane) -> u64 {
        match self.copier(lane) {
            Some(copier) => copier.enqueued(),
            None => self.given.load(Ordering::Acquire),
        }
    }

    fn passed(&self, lane: Lane) -> u64 {
        if self.refuse_if_lost().is_err() {
            return self.last_ticket(lane);
        }
        let passed = match self.copier(lane) {
            Some(copier) => copier.passed(&self.gpu),
            None => self.gpu.passed(Lane::Compute).map(|mark| self.pass(mark.0)),
        };
        // From here on the device is lost: every command counts as completed, with an error.
        passed.unwrap_or_else(|error| {
            self.lose_to(error);
            self.last_ticket(lane)
        })
    }

    fn outcome(&self, lane: Lane, ticket: u64) -> Result<()> {
        self.refuse_if_lost()?;
        match self.copier(lane) {
            Some(copier) => copier.outcome(ticket),
            None if self.rests.load(Ordering::Relaxed) == 0 => Ok(()),
            None => {
                let Some(rest) = self.pending().rests.remove(&ticket) else { return Ok(()) };
                self.rests.fetch_sub(1, Ordering::Relaxed);
                self.finish(rest)
            }
        }
    }

    fn block(&self, tickets: &[u64], at_most: u64) {
        let start = Instant::now();
        let deadline = start + Duration::from_micros(at_most);
        let has_passed =
            || tickets.iter().zip(Lane::ALL).any(|(ticket, lane)| *ticket > 0 && self.passed(lane) >= *ticket);
        loop {
            self.flush_batch(true);
            if has_passed() {
                return;
            }
            let mut nudged = self.nudged.lock().unwrap_or_else(|e| e.into_inner());
            let now = Instant::now();
            if std::mem::take(&mut *nudged) || now >= deadline {
                return;
            }
            if now - start > LOOK {
                drop(self.bell.wait_timeout(nudged, NAP));
            } else {
                drop(nudged);
                std::hint::spin_loop();
            }
        }
    }

    fn nudge(&self) {
        *self.nudged.lock().unwrap_or_else(|e| e.into_inner()) = true;
        self.bell.notify_all();
    }

    fn set_fast_products(&self, on: bool) {
        let mut batch = self.batch();
        // Pending launches and captured graphs belong to the previous setting. The next caller gets the error of a lost
        // device.
        let _ = self.submit(&mut batch);
        batch.forget_graphs();
        self.gpu.set_tf32(on);
    }

    fn launches(&self) -> Launches {
        self.batch().counts
    }

    fn flush(&self, more: bool) {
        self.flush_batch(more);
    }

    fn stop(&self) {
        self.gpu.stop();
    }

    fn cuda_number(&self) -> Option<usize> {
        Some(self.number)
    }

    fn settle_all(&self) -> Result<()> {
        self.refuse_if_lost()?;
        self.flush_batch(false);
        self.gpu.synchronize_all().map_err(|error| self.lose_to(error))
    }

    fn lose(&self) {
        self.forked.store(true, Ordering::Relaxed);
    }
}
