//! Devices: which ones exist, the current device of each thread, and the runtime's state per accelerator.

use crate::observe::holders::{Holder, Holders};
use crate::runtime::memory::empty_cache;
use crate::runtime::runtime;
use forerun_base::Mutex;
use forerun_base::{BytesLedger, Device, Error, ErrorKind, Result, Settings};
use forerun_cuda::Cuda;
use forerun_engine::{Budget, Driver};
use forerun_ops::user_kernel::{KernelSource, intern};
use forerun_plan::{Accelerator, Lane, Launches, Meta};
use forerun_sim::{Options as SimOptions, Simulated};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The runtime's state for one accelerator.
pub(crate) struct OwnDevice {
    pub(crate) number: usize,
    pub(crate) accelerator: Arc<dyn Accelerator>,
    pub(crate) ledger: Arc<dyn BytesLedger>,
    pub(crate) holders: Holders,
    /// For each lane, the last ticket of each other lane that it already waits for.
    waits: Mutex<[[u64; Lane::COUNT]; Lane::COUNT]>,
    waits_told: AtomicU64,
    waits_skipped: AtomicU64,
}

impl OwnDevice {
    /// Makes later commands of `lane` wait for that ticket of `other`, unless they already do.
    pub(crate) fn follow(&self, lane: Lane, other: Lane, ticket: u64) {
        if lane == other {
            return;
        }
        let known = &mut self.waits.lock()[lane as usize][other as usize];
        if *known >= ticket || self.accelerator.passed(other) >= ticket {
            self.waits_skipped.fetch_add(1, Relaxed);
            return;
        }
        *known = ticket;
        self.waits_told.fetch_add(1, Relaxed);
        self.accelerator.wait(lane, other, ticket);
    }
}

/// Adapts an accelerator to the engine's `Driver`.
struct Driven(Arc<dyn Accelerator>);

impl Driver for Driven {
    fn lanes(&self) -> usize {
        Lane::COUNT
    }

    fn passed(&self, lane: usize) -> u64 {
        self.0.passed(Lane::ALL[lane])
    }

    fn block(&self, tickets: &[u64], at_most: Duration) {
        self.0.block(tickets, at_most.as_micros() as u64);
    }

    fn nudge(&self) {
        self.0.nudge();
    }

    fn flush(&self, more: bool) {
        self.0.flush(more);
    }
}

/// Maximum number of accelerators.
const MOST_ACCELERATORS: usize = 16;

/// A detected accelerator. It is opened at its first use, because that may take a while.
struct Present {
    open: Box<dyn Fn() -> Result<Arc<dyn Accelerator>> + Send + Sync>,
    own: OnceLock<Result<OwnDevice>>,
}

impl Present {
    fn own(&'static self, number: usize) -> Result<&'static OwnDevice> {
        let own = self.own.get_or_init(|| {
            if FORKED.load(Relaxed) {
                let text = format!("gpu({number}) cannot be used in a forked process");
                return Err(Error::new(ErrorKind::Runtime, text));
            }
            let accelerator = (self.open)()?;
            let engine = &runtime().engine;
            engine.add_device(number, Arc::new(Driven(accelerator.clone())), accelerator.capacity());
            Ok(OwnDevice {
                number,
                ledger: engine.device_ledger(number),
                accelerator,
                holders: Holders::default(),
                waits: Mutex::default(),
                waits_told: AtomicU64::new(0),
                waits_skipped: AtomicU64::new(0),
            })
        });
        own.as_ref().map_err(Error::clone)
    }
}

/// The accelerators of this machine, or the simulated ones that the environment requests. Detected once, at the first
/// use.
static PRESENT: OnceLock<Vec<Present>> = OnceLock::new();

/// Set in a forked child of a process that had detected accelerators: a driver does not survive a fork.
static FORKED: AtomicBool = AtomicBool::new(false);

/// Marks all accelerators as lost in a forked child, including those that were not opened.
pub(crate) fn lose_all() {
    FORKED.store(PRESENT.get().is_some(), Relaxed);
    accelerators().for_each(|device| device.accelerator.lose());
}

fn present(find: impl FnOnce() -> Vec<Present>) -> &'static [Present] {
    PRESENT.get_or_init(|| {
        let mut found = find();
        found.truncate(MOST_ACCELERATORS);
        found
    })
}

fn all() -> &'static [Present] {
    present(|| simulated(&Settings::environment()).unwrap_or_else(cuda))
}

/// The accelerators in use; detects none.
pub(crate) fn accelerators() -> impl Iterator<Item = &'static OwnDevice> {
    PRESENT.get().into_iter().flatten().filter_map(|present| present.own.get()?.as_ref().ok())
}

/// Replaces real accelerators by simulated ones. Fails if accelerators were already detected.
pub fn simulate(count: usize, options: SimOptions) -> Result<()> {
    let mut asked = false;
    present(|| {
        asked = true;
        make(count, options)
    });
    let late = || Error::new(ErrorKind::Runtime, "devices are already in use").in_op("simulate");
    if asked { Ok(()) } else { Err(late()) }
}

fn cuda() -> Vec<Present> {
    let open = |number: usize| -> Result<Arc<dyn Accelerator>> { Ok(Cuda::open(number)?) };
    let present = |number| Present { open: Box::new(move || open(number)), own: OnceLock::new() };
    (0..Cuda::count()).map(present).collect()
}

fn simulated(settings: &Settings<'_>) -> Option<Vec<Present>> {
    let time = |name| settings.number(name, 0).map_or(Duration::ZERO, |us| Duration::from_micros(us as u64));
    let count = settings.number("FORERUN_SIM_GPUS", 0)?;
    let options = SimOptions {
        latency: time("FORERUN_SIM_LATENCY_US"),
        jitter: time("FORERUN_SIM_JITTER_US"),
        seed: settings.number("FORERUN_SIM_SEED", 0).unwrap_or(0) as u64,
        memory: settings.number("FORERUN_SIM_MEMORY", 1).unwrap_or(SimOptions::default().memory),
    };
    Some(make(count, options))
}

fn make(count: usize, options: SimOptions) -> Vec<Present> {
    let open = move |number| -> Result<Arc<dyn Accelerator>> { Ok(Arc::new(Simulated::new(number, options))) };
    let present = |number| Present { open: Box::new(move || open(number)), own: OnceLock::new() };
    (0..count).map(present).collect()
}

/// The accelerator that a device refers to; `None` for the host.
///
/// # Panics
/// If nobody has checked it: every device that a program names goes through [`check_device`], which says why one cannot be
/// opened, before anything is placed there.
pub(crate) fn of(device: Device) -> Option<&'static OwnDevice> {
    let opened = |number: usize| all()[number].own(number);
    device.accelerator().map(|number| opened(number).unwrap_or_else(|e| panic!("{device} was not checked: {e}")))
}

/// Whether a value with this meta has a buffer; small host values are stored in their nodes.
pub(crate) fn has_buffer(meta: &Meta) -> bool {
    meta.bytes > crate::runtime::node::INLINE || !meta.device.is_host()
}

/// Number of accelerators.
pub fn accelerator_count() -> usize {
    all().len()
}

/// Fails unless the device exists and can be used.
pub fn check_device(device: Device) -> Result<()> {
    let Some(number) = device.accelerator() else { return Ok(()) };
    match all().get(number) {
        Some(present) => present.own(number).map(drop),
        None => {
            let count = accelerator_count();
            let noun = if count == 1 { "GPU is" } else { "GPUs are" };
            Err(Error::new(ErrorKind::Runtime, format!("no device {device}: {count} {noun} present")))
        }
    }
}

thread_local! {
    static CURRENT: Cell<Device> = const { Cell::new(Device::Cpu(0)) };
}

/// The device on which the calling thread creates arrays that have no array inputs.
#[inline]
pub fn current_device() -> Device {
    CURRENT.get()
}

/// Sets the current device of the calling thread; returns the previous one. The device must exist.
pub fn set_current_device(device: Device) -> Result<Device> {
    check_device(device)?;
    Ok(CURRENT.replace(device))
}

/// Runs `f` with another device as the current one: that of an array, or one that [`check_device`] has accepted.
pub fn on_device<R>(device: Device, f: impl FnOnce() -> R) -> R {
    struct Back(Device);
    impl Drop for Back {
        fn drop(&mut self) {
            CURRENT.set(self.0);
        }
    }
    let _back = Back(CURRENT.replace(device));
    f()
}

/// The host device to which data for the current device is copied first.
pub(crate) fn host_device() -> Device {
    let current = current_device();
    if current.is_host() { current } else { Device::default() }
}

/// The common device of all operands, or an error that names two different ones.
pub(crate) fn common_device(op: &'static str, metas: &[&Meta]) -> Result<Device> {
    let Some(first) = metas.first() else { return Ok(current_device()) };
    match metas.iter().find(|meta| meta.device != first.device) {
        None => Ok(first.device),
        Some(other) => {
            let text = format!(
                "operands are on {} and {}: move them to one device with as_in_ctx",
                first.device, other.device
            );
            Err(Error::new(ErrorKind::Value, text).in_op(op))
        }
    }
}

/// Description and memory statistics of an accelerator.
#[derive(Clone, Debug)]
pub struct DeviceStats {
    /// A human-readable description.
    pub description: String,
    /// Bytes of its memory that values may use.
    pub capacity: usize,
    /// Live bytes, peak, requested bytes and limit.
    pub budget: Budget,
    /// Bytes kept for reuse.
    pub cached: usize,
    /// Number of times a lane was made to wait for another.
    pub waits: u64,
    /// Number of such waits that were not needed.
    pub waits_skipped: u64,
    /// Counters of kernel launches.
    pub launches: Launches,
    /// Live bytes by source line, the largest first. Buffers below 4 KiB are not counted.
    pub holders: Vec<Holder>,
}

/// Statistics of an accelerator; fails if it does not exist.
pub fn device_stats(device: Device) -> Result<DeviceStats> {
    let own = own(device)?;
    Ok(DeviceStats {
        description: own.accelerator.describe(),
        capacity: own.accelerator.capacity(),
        budget: runtime().engine.device_budget(own.number),
        cached: own.accelerator.cached(),
        waits: own.waits_told.load(Relaxed),
        waits_skipped: own.waits_skipped.load(Relaxed),
        launches: own.accelerator.launches(),
        holders: own.holders.all(),
    })
}

/// The CUDA device number of an accelerator, if other libraries can access its memory that way.
pub fn cuda_number(device: Device) -> Option<usize> {
    of(device)?.accelerator.cuda_number()
}

/// Blocks until all work submitted to an accelerator so far is done, including that of other libraries.
pub fn settle_device(device: Device) -> Result<()> {
    own(device)?.accelerator.settle_all()
}

/// Compiles a user's kernel in CUDA C for an accelerator, and returns the number by which `user_kernel` knows it. Without a
/// function, the source is only checked.
pub fn user_kernel(device: Device, source: KernelSource) -> Result<i64> {
    own(device)?.accelerator.check_user_kernel(&source)?;
    Ok(if source.function.is_empty() { 0 } else { intern(source) })
}

/// Sets the limit on live bytes of an accelerator; only the oldest unfinished task may exceed it.
pub fn set_device_budget(device: Device, bytes: usize) -> Result<()> {
    runtime().engine.set_device_budget(own(device)?.number, bytes);
    Ok(())
}

/// Whether float32 products on an accelerator may round their factors to fewer bits where that is faster.
pub fn set_fast_products(device: Device, on: bool) -> Result<()> {
    own(device)?.accelerator.set_fast_products(on);
    Ok(())
}

/// Resets the peak of an accelerator to its live bytes.
pub fn reset_device_peak(device: Device) -> Result<()> {
    runtime().engine.reset_device_peak(own(device)?.number);
    Ok(())
}

/// Releases the bytes that a device keeps for reuse; for a host device, those of the host's pool.
pub fn empty_device_cache(device: Device) -> Result<()> {
    check_device(device)?;
    match of(device) {
        Some(own) => own.accelerator.empty_cache(),
        None => empty_cache(),
    }
    Ok(())
}

fn own(device: Device) -> Result<&'static OwnDevice> {
    check_device(device)?;
    of(device).ok_or_else(|| Error::new(ErrorKind::Value, format!("{device} is the host, which has no device memory")))
}
