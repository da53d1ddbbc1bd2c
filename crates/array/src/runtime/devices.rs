//! Devices: which there are, which one a thread makes its arrays on, and what the runtime keeps for each accelerator.

use crate::observe::holders::{Holder, Holders};
use crate::runtime::memory::empty_cache;
use crate::runtime::runtime;
use forerun_base::{BytesLedger, Device, Error, ErrorKind, Result, Settings};
use forerun_cuda::Cuda;
use forerun_engine::{Budget, Driver};
use forerun_plan::{Accelerator, Lane, Launches, Meta};
use forerun_sim::{Options as SimOptions, Simulated};
use parking_lot::Mutex;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// What the runtime keeps for an accelerator.
pub(crate) struct OwnDevice {
    pub(crate) number: usize,
    pub(crate) accelerator: Arc<dyn Accelerator>,
    pub(crate) ledger: Arc<dyn BytesLedger>,
    pub(crate) holders: Holders,
    /// Up to which ticket of each other lane each lane was told to wait.
    waits: Mutex<[[u64; Lane::COUNT]; Lane::COUNT]>,
    waits_told: AtomicU64,
    waits_skipped: AtomicU64,
}

impl OwnDevice {
    /// What is told to `lane` from now on comes after that ticket of `other`; told only if it does not already.
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

/// An accelerator, as the engine drives it.
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

/// Accelerators that the engine has room for.
const MOST: usize = 16;

/// An accelerator that is there, opened by the first who uses it: that may take a while.
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

/// The accelerators of this machine, or the simulated ones that the environment asks for. Looked for once, by the first who
/// asks.
static PRESENT: OnceLock<Vec<Present>> = OnceLock::new();

/// The accelerators were found by a process of which this is a forked child: a driver does not live through that.
static FORKED: AtomicBool = AtomicBool::new(false);

/// In a forked child: the accelerators are lost, those that were not opened too.
pub(crate) fn lose_all() {
    FORKED.store(PRESENT.get().is_some(), Relaxed);
    accelerators().for_each(|device| device.accelerator.lose());
}

fn present(find: impl FnOnce() -> Vec<Present>) -> &'static [Present] {
    PRESENT.get_or_init(|| {
        let mut found = find();
        found.truncate(MOST);
        found
    })
}

fn all() -> &'static [Present] {
    present(|| simulated(&Settings::environment()).unwrap_or_else(cuda))
}

/// The accelerators that are in use; looks for none.
pub(crate) fn accelerators() -> impl Iterator<Item = &'static OwnDevice> {
    PRESENT.get().into_iter().flatten().filter_map(|present| present.own.get()?.as_ref().ok())
}

/// Puts simulated accelerators in the place of real ones. Fails if accelerators were looked for already.
pub fn simulate(count: usize, options: SimOptions) -> Result<()> {
    let mut asked = false;
    present(|| {
        asked = true;
        make(count, options)
    });
    let late = || Error::new(ErrorKind::Runtime, "devices were in use already").in_op("simulate");
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

/// The accelerator that elements live on; `None` for the host.
///
/// # Panics
/// If nobody has checked it: every device that a program names goes through [`check_device`], which says why one cannot be
/// opened, before anything is placed there.
pub(crate) fn of(device: Device) -> Option<&'static OwnDevice> {
    let opened = |number: usize| all()[number].own(number);
    device.accelerator().map(|number| opened(number).unwrap_or_else(|e| panic!("{device} was not checked: {e}")))
}

/// Whether a value with this meta has a buffer: the small ones of the host live in their nodes.
pub(crate) fn has_buffer(meta: &Meta) -> bool {
    meta.bytes > crate::runtime::node::INLINE || !meta.device.is_host()
}

/// How many accelerators there are.
pub fn accelerator_count() -> usize {
    all().len()
}

/// Fails unless the device is there and can be used.
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

/// Where the calling thread makes arrays that come from nothing but parameters.
#[inline]
pub fn current_device() -> Device {
    CURRENT.get()
}

/// The same for the calling thread from now on; returns the former one. The device must be there.
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

/// The device of the host on which data for the current device is first copied.
pub(crate) fn host_device() -> Device {
    let current = current_device();
    if current.is_host() { current } else { Device::default() }
}

/// The device of all operands, or which two differ.
pub(crate) fn common_device(op: &'static str, metas: &[&Meta]) -> Result<Device> {
    let Some(first) = metas.first() else { return Ok(current_device()) };
    match metas.iter().find(|meta| meta.device != first.device) {
        None => Ok(first.device),
        Some(other) => {
            let text = format!(
                "the operands live on {} and {}: bring them together with as_in_ctx",
                first.device, other.device
            );
            Err(Error::new(ErrorKind::Value, text).in_op(op))
        }
    }
}

/// What an accelerator is, and what its memory is used for.
#[derive(Clone, Debug)]
pub struct DeviceStats {
    /// What it is, for people.
    pub description: String,
    /// Bytes of its memory that values may take.
    pub capacity: usize,
    /// Live bytes, their peak, what is wanted beyond, and the limit.
    pub budget: Budget,
    /// Bytes kept for reuse.
    pub cached: usize,
    /// How often a lane was told to wait for another.
    pub waits: u64,
    /// How often that was not needed.
    pub waits_skipped: u64,
    /// How kernels were launched.
    pub launches: Launches,
    /// Who holds live bytes, line by line, the largest first. Buffers below 4 KiB are left out.
    pub holders: Vec<Holder>,
}

/// What an accelerator is doing; fails if it is not there.
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

/// The number of an accelerator among the devices of CUDA, if other libraries can reach its memory that way.
pub fn cuda_number(device: Device) -> Option<usize> {
    of(device)?.accelerator.cuda_number()
}

/// Blocks the caller until everything is done that anybody told an accelerator so far, other libraries included.
pub fn settle_device(device: Device) -> Result<()> {
    own(device)?.accelerator.settle_all()
}

/// How many bytes of an accelerator running ahead may take; the oldest unfinished task alone may go beyond.
pub fn set_device_budget(device: Device, bytes: usize) -> Result<()> {
    runtime().engine.set_device_budget(own(device)?.number, bytes);
    Ok(())
}

/// Whether products of float32 on an accelerator may keep fewer bits of their factors, where it is faster that way.
pub fn set_fast_products(device: Device, on: bool) -> Result<()> {
    own(device)?.accelerator.set_fast_products(on);
    Ok(())
}

/// Lets the peak of an accelerator start again from what is live now.
pub fn reset_device_peak(device: Device) -> Result<()> {
    runtime().engine.reset_device_peak(own(device)?.number);
    Ok(())
}

/// Gives the bytes that a device keeps for reuse back; those of the host for any of its devices.
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
    of(device).ok_or_else(|| Error::new(ErrorKind::Value, format!("{device} is the host: it has no memory of its own")))
}
