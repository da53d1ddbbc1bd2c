//! A device as plans and engines see it: lanes with tickets, memory in the order of the compute lane, kernels.
//!
//! Launches are told to the compute stream by whoever issues. Small copies go there too, by way of pinned slots; large ones to the
//! copiers. A fault of the device shows when somebody asks how far it is: from then on it is lost, everything counts as
//! passed and has failed.

use crate::batch::Batch;
use crate::copier::Copier;
use crate::gpu::{Gpu, Io as DeviceIo};
use crate::lanes::Lane as OwnLane;
use crate::memory::{Memory, Taken};
use crate::pinned::Slots;
use crate::run::{Complain, Launch, complaint};
use crate::sys::Nvtx;
use forerun_base::{Error, ErrorKind, Result, WordHash};
use forerun_ops::{Given, Routine};
use forerun_plan::{Accelerator, DeviceBlock, DeviceKernel, Io, Kernel, Lane, Launches};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, TryLockError};
use std::time::{Duration, Instant};

/// Copies of at most this many bytes are told to the compute lane: waiting for another lane costs more.
const SMALL_COPY: usize = 64 << 10;
/// How long a wait looks before it naps, and how long a nap is.
const LOOK: Duration = Duration::from_millis(2);
const NAP: Duration = Duration::from_micros(30);

/// What is left to do once a command has passed.
enum Rest {
    /// Bytes wait in a slot for their place.
    Fetch { slot: usize, to: usize, bytes: usize },
    /// A status says whether the kernel found something that it cannot take.
    Status { slot: usize, complain: Arc<Complain> },
    /// It was never launched.
    Failed(Error),
}

struct Pending {
    statuses: Slots,
    fetches: Slots,
    rests: HashMap<u64, Rest, WordHash>,
}

/// A device; see the module.
pub struct Cuda {
    number: usize,
    gpu: Arc<Gpu>,
    /// What was launched and not told yet.
    batch: Mutex<Batch>,
    /// Whether there is anything in it, and the tickets it gave so far; written under its lock, which may be held for as long as it takes
    /// to tell the device a turn.
    holds: AtomicBool,
    given: AtomicU64,
    /// A mark that the compute lane is known to have passed, and the last ticket that passed with it or a later one.
    mark: AtomicU64,
    passed: AtomicU64,
    copiers: [Arc<Copier>; 2],
    pending: Mutex<Pending>,
    /// How many commands have something left to do.
    rests: AtomicUsize,
    lost: OnceLock<Error>,
    /// The process was forked, and this is the child.
    forked: AtomicBool,
    nudged: Mutex<bool>,
    bell: Condvar,
}

impl Cuda {
    /// How many devices there are; none without a driver.
    pub fn count() -> usize {
        Gpu::count()
    }

    /// Opens a device.
    pub fn open(number: usize) -> Result<Arc<Cuda>> {
        let gpu = Gpu::open(number)?;
        gpu.warm_up();
        let copiers = [Copier::new(OwnLane::ToDevice), Copier::new(OwnLane::FromDevice)];
        let pending = Pending {
            statuses: Slots::new(gpu.driver, Gpu::STATUS_BYTES, 128),
            fetches: Slots::new(gpu.driver, SMALL_COPY, 8),
            rests: HashMap::default(),
        };
        Ok(Arc::new(Cuda {
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

    /// A call went wrong in a way that the device does not get over.
    fn lose_to(&self, error: Error) -> Error {
        let text = format!("gpu({}) is lost: {error}", self.number);
        self.lost.get_or_init(|| Error::new(ErrorKind::Runtime, text)).clone()
    }

    fn batch(&self) -> MutexGuard<'_, Batch> {
        self.batch.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The batch, unless somebody has it. Those who look again and again need not sleep for it.
    fn batch_if_free(&self) -> Option<MutexGuard<'_, Batch>> {
        match self.batch.try_lock() {
            Ok(batch) => Some(batch),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Tells the device what is held, unless more is about to come with which it should go. Those who look again and again
    /// ask this way, so it takes the lock only for something.
    fn flush(&self, more: bool) {
        if !self.holds.load(Ordering::Relaxed) {
            return;
        }
        // Whoever has it may be telling the device already.
        let Some(mut batch) = (if more { self.batch_if_free() } else { Some(self.batch()) }) else { return };
        if !more || batch.is_due() {
            // A device that was lost says so to whoever asks it next.
            let _ = self.tell(&mut batch);
        }
    }

    /// The last ticket passed, when the lane has passed this mark.
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

    /// Tells the device everything that is held.
    fn tell(&self, batch: &mut Batch) -> Result<()> {
        self.holds.store(false, Ordering::Relaxed);
        // SAFETY: each launch was promised to hold from when it was held until it has passed.
        let failed = unsafe { batch.tell(&self.gpu) }.map_err(|error| self.lose_to(error))?;
        for (ticket, error) in failed {
            self.leave(ticket, Rest::Failed(error));
        }
        Ok(())
    }

    /// Something is left to do once a command has passed. The last word wins: what failed has nothing else left.
    fn leave(&self, ticket: u64, rest: Rest) {
        if self.pending().rests.insert(ticket, rest).is_none() {
            self.rests.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Marks the end of a command of the compute lane that is told at once, after everything that is held.
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
                // SAFETY: the copy into the slot has passed; whoever told it promised the place.
                unsafe { std::ptr::copy_nonoverlapping(slot as *const u8, to as *mut u8, bytes) };
                self.pending().fetches.give_back(slot);
                Ok(())
            }
            Rest::Status { slot, complain } => {
                // SAFETY: a slot of that size, which the kernel is done with.
                let raised = Gpu::read_status(unsafe { &*(slot as *const [u8; Gpu::STATUS_BYTES]) });
                self.pending().statuses.give_back(slot);
                raised.map_or(Ok(()), |raised| Err(complain(raised)))
            }
        }
    }
}

/// Addresses as the words they are.
///
/// # Safety
/// As for [`std::slice::from_raw_parts`], of words that addresses fit.
unsafe fn words_of<'a>(first: *const u64, count: usize) -> &'a [u64] {
    const { assert!(size_of::<*const u8>() == size_of::<u64>()) };
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(first, count) }
}

/// A kernel of one device.
struct CudaKernel {
    device: std::sync::Weak<Cuda>,
    launch: Arc<Launch>,
    /// What a raised status says, of a kernel that may raise one.
    may_raise: Option<Arc<Complain>>,
}

impl DeviceKernel for CudaKernel {
    unsafe fn launch(&self, io: Io<'_>) -> Result<()> {
        let device = self.device.upgrade().ok_or_else(|| Error::new(ErrorKind::Runtime, "the device is gone"))?;
        device.refuse_if_lost()?;
        // SAFETY: addresses are 64-bit numbers on every machine that has such a device.
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
                // SAFETY: a slot of that size that nobody else has.
                unsafe { std::ptr::write_bytes(slot as *mut u8, 0, Gpu::STATUS_BYTES) };
                slot
            }
        };
        let io = DeviceIo { inputs, outputs, scalars: io.scalars, status: status as u64 };
        let mut batch = device.batch();
        let (ticket, ends) = batch.hold(&self.launch, io);
        device.holds.store(true, Ordering::Relaxed);
        device.given.store(ticket, Ordering::Release);
        if let Some(complain) = &self.may_raise {
            device.leave(ticket, Rest::Status { slot: status, complain: complain.clone() });
        }
        if ends { device.tell(&mut batch) } else { Ok(()) }
    }
}

/// A device that plans can be run on. (A newtype: kernels need to find the way back to the shared device.)
pub struct SharedCuda(pub Arc<Cuda>);

impl Accelerator for SharedCuda {
    fn describe(&self) -> String {
        self.0.gpu.name().to_owned()
    }

    fn capacity(&self) -> usize {
        self.0.gpu.memory_info().map_or(0, |info| info.limit)
    }

    fn alloc(&self, bytes: usize) -> Option<DeviceBlock> {
        let device = &*self.0;
        device.refuse_if_lost().ok()?;
        if let Some(Taken { address, bytes, since: Some(since) }) = device.gpu.memory.take_cached(bytes) {
            return Some(DeviceBlock { address: std::ptr::without_provenance_mut(address as usize), bytes, since });
        }
        // The driver makes memory, and takes it back, in the order of the compute lane.
        let mut batch = device.batch();
        device.tell(&mut batch).ok()?;
        let taken = device.gpu.take_block(bytes).ok()?;
        // Other lanes wait for this place in it.
        let since = match taken.since {
            Some(since) => since,
            None => device.take_ticket(&mut batch).ok()?,
        };
        Some(DeviceBlock {
            address: std::ptr::without_provenance_mut(taken.address as usize),
            bytes: taken.bytes,
            since,
        })
    }

    fn free(&self, block: DeviceBlock) {
        let device = &*self.0;
        if device.refuse_if_lost().is_ok() {
            // The driver takes large ones back in the order of the lane, which must not be captured meanwhile.
            let mut batch = Memory::is_large(block.bytes).then(|| device.batch());
            if batch.as_mut().is_some_and(|batch| device.tell(batch).is_err()) {
                return;
            }
            // Those who used it have their tickets.
            let since = device.given.load(Ordering::Acquire);
            // A block that cannot be given back is lost with the device.
            let _ = device.gpu.give_block(block.address.addr() as u64, block.bytes, since);
        }
    }

    fn cached(&self) -> usize {
        self.0.gpu.memory_info().map_or(0, |info| info.cached)
    }

    fn empty_cache(&self) {
        let mut batch = self.0.batch();
        if self.0.tell(&mut batch).is_ok() {
            let _ = self.0.gpu.empty_cache();
        }
    }

    fn compile(&self, kernel: &Kernel) -> Arc<dyn DeviceKernel> {
        let may_raise = complaint(kernel);
        Arc::new(CudaKernel { device: Arc::downgrade(&self.0), launch: self.0.gpu.compile(kernel), may_raise })
    }

    fn shows_ranges(&self) -> bool {
        Nvtx::of_process().is_some()
    }

    fn begin_range(&self, label: &str) {
        // What was held belongs to others.
        self.0.flush(false);
        if let Some(nvtx) = Nvtx::of_process() {
            nvtx.begin(label);
        }
    }

    fn end_range(&self) {
        self.0.flush(false);
        if let Some(nvtx) = Nvtx::of_process() {
            nvtx.end();
        }
    }

    fn runs(&self, routine: Routine, given: &[Given]) -> bool {
        self.0.gpu.runs(routine, given)
    }

    unsafe fn copy_in(&self, from: *const u8, to: *mut u8, bytes: usize) -> Result<Lane> {
        let device = &*self.0;
        device.refuse_if_lost()?;
        let lane = self.copy_lane(Lane::In, bytes);
        // SAFETY: the caller's promise is this one.
        unsafe {
            match device.copier(lane) {
                Some(copier) => copier.copy(&device.gpu, from.addr(), to.addr(), bytes),
                None => {
                    let mut batch = device.batch();
                    device.tell(&mut batch)?;
                    device.gpu.copy_in_small(from, to.addr() as u64, bytes)?;
                    device.take_ticket(&mut batch)?;
                }
            }
        }
        Ok(lane)
    }

    unsafe fn copy_out(&self, from: *const u8, to: *mut u8, bytes: usize) -> Result<Lane> {
        let device = &*self.0;
        device.refuse_if_lost()?;
        let lane = self.copy_lane(Lane::Out, bytes);
        // SAFETY: the caller's promise is this one.
        unsafe {
            match device.copier(lane) {
                Some(copier) => copier.copy(&device.gpu, from.addr(), to.addr(), bytes),
                None => {
                    device.gpu.enter()?;
                    let slot = device.pending().fetches.take()?;
                    let mut batch = device.batch();
                    device.tell(&mut batch)?;
                    device.gpu.copy_out_small(from.addr() as u64, slot as *mut u8, bytes)?;
                    let ticket = device.take_ticket(&mut batch)?;
                    device.leave(ticket, Rest::Fetch { slot, to: to.addr(), bytes });
                }
            }
        }
        Ok(lane)
    }

    fn copy_lane(&self, direction: Lane, bytes: usize) -> Lane {
        if bytes <= SMALL_COPY { Lane::Compute } else { direction }
    }

    fn wait(&self, lane: Lane, other: Lane, ticket: u64) {
        let device = &*self.0;
        let told = match (device.copier(lane), device.copier(other)) {
            (Some(copier), Some(other)) => {
                copier.after(&device.gpu, other, ticket);
                Ok(())
            }
            (Some(copier), None) => {
                let mut batch = device.batch();
                let told = if ticket > batch.told { device.tell(&mut batch) } else { Ok(()) };
                copier.after_compute(&device.gpu, batch.mark_of(ticket));
                told
            }
            (None, Some(copier)) => {
                let mut batch = device.batch();
                let told = device.tell(&mut batch);
                told.and_then(|()| copier.hold_back(&device.gpu, OwnLane::Compute, ticket))
            }
            (None, None) => Ok(()),
        };
        if let Err(error) = told {
            device.lose_to(error);
        }
    }

    fn told(&self, lane: Lane) -> u64 {
        match self.0.copier(lane) {
            Some(copier) => copier.told(),
            None => self.0.given.load(Ordering::Acquire),
        }
    }

    fn passed(&self, lane: Lane) -> u64 {
        let device = &*self.0;
        if device.refuse_if_lost().is_err() {
            return self.told(lane);
        }
        let passed = match device.copier(lane) {
            Some(copier) => copier.passed(&device.gpu),
            None => device.gpu.passed(OwnLane::Compute).map(|mark| device.pass(mark.0)),
        };
        // Before the device was found to be lost, nothing was; afterwards everything has passed, and failed.
        passed.unwrap_or_else(|error| {
            device.lose_to(error);
            self.told(lane)
        })
    }

    fn outcome(&self, lane: Lane, ticket: u64) -> Result<()> {
        let device = &*self.0;
        device.refuse_if_lost()?;
        match device.copier(lane) {
            Some(copier) => copier.outcome(ticket),
            None if device.rests.load(Ordering::Relaxed) == 0 => Ok(()),
            None => {
                let Some(rest) = device.pending().rests.remove(&ticket) else { return Ok(()) };
                device.rests.fetch_sub(1, Ordering::Relaxed);
                device.finish(rest)
            }
        }
    }

    fn block(&self, tickets: &[u64], at_most: u64) {
        let device = &*self.0;
        let start = Instant::now();
        let deadline = start + Duration::from_micros(at_most);
        let has_passed =
            || tickets.iter().zip(Lane::ALL).any(|(ticket, lane)| *ticket > 0 && self.passed(lane) >= *ticket);
        loop {
            device.flush(true);
            if has_passed() {
                return;
            }
            let mut nudged = device.nudged.lock().unwrap_or_else(|e| e.into_inner());
            let now = Instant::now();
            if std::mem::take(&mut *nudged) || now >= deadline {
                return;
            }
            if now - start > LOOK {
                drop(device.bell.wait_timeout(nudged, NAP));
            } else {
                drop(nudged);
                std::hint::spin_loop();
            }
        }
    }

    fn nudge(&self) {
        *self.0.nudged.lock().unwrap_or_else(|e| e.into_inner()) = true;
        self.0.bell.notify_all();
    }

    fn set_fast_products(&self, on: bool) {
        let mut batch = self.0.batch();
        // What is held was launched under the former setting, and graphs were captured under it. A device that was lost says so to
        // whoever asks it next.
        let _ = self.0.tell(&mut batch);
        batch.forget_graphs();
        self.0.gpu.set_tf32(on);
    }

    fn launches(&self) -> Launches {
        self.0.batch().counts
    }

    fn flush(&self, more: bool) {
        self.0.flush(more);
    }

    fn stop(&self) {
        self.0.gpu.stop();
    }

    fn cuda_number(&self) -> Option<usize> {
        Some(self.0.number)
    }

    fn settle_all(&self) -> Result<()> {
        let device = &*self.0;
        device.refuse_if_lost()?;
        device.flush(false);
        device.gpu.synchronize_all().map_err(|error| device.lose_to(error))
    }

    fn lose(&self) {
        self.0.forked.store(true, Ordering::Relaxed);
    }
}
