//! Devices: which there are, which one a thread makes its arrays on, and what the runtime keeps for each accelerator.

use crate::holders::{Holder, Holders};
use crate::memory::empty_cache;
use crate::runtime::runtime;
use forerun_base::{BytesLedger, Device, Error, ErrorKind, Result, Settings};
use forerun_engine::{Budget, Driver};
use forerun_plan::{Accelerator, Lane, Meta};
use forerun_sim::{Options as SimOptions, Simulated};
use parking_lot::Mutex;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
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
}

/// Accelerators that the engine has room for.
const MOST: usize = 16;

/// The accelerators of this machine, or the simulated ones that the environment asks for. Looked for once, by the first who
/// asks.
pub(crate) fn accelerators() -> &'static [OwnDevice] {
    all(|| simulated(&Settings::environment()))
}

/// Puts simulated accelerators in the place of real ones. Fails if accelerators were looked for already.
pub fn simulate(count: usize, options: SimOptions) -> Result<()> {
    let mut asked = false;
    all(|| {
        asked = true;
        make(count, options)
    });
    let late = || Error::new(ErrorKind::Runtime, "devices were in use already").in_op("simulate");
    if asked { Ok(()) } else { Err(late()) }
}

fn all(find: impl FnOnce() -> Vec<Arc<dyn Accelerator>>) -> &'static [OwnDevice] {
    static ALL: OnceLock<Vec<OwnDevice>> = OnceLock::new();
    ALL.get_or_init(|| {
        let engine = &runtime().engine;
        let own = |(number, accelerator): (usize, Arc<dyn Accelerator>)| {
            engine.add_device(number, Arc::new(Driven(accelerator.clone())), accelerator.capacity());
            OwnDevice {
                number,
                ledger: engine.device_ledger(number),
                accelerator,
                holders: Holders::default(),
                waits: Mutex::default(),
                waits_told: AtomicU64::new(0),
                waits_skipped: AtomicU64::new(0),
            }
        };
        find().into_iter().take(MOST).enumerate().map(own).collect()
    })
}

fn simulated(settings: &Settings<'_>) -> Vec<Arc<dyn Accelerator>> {
    let time = |name| settings.number(name, 0).map_or(Duration::ZERO, |us| Duration::from_micros(us as u64));
    let Some(count) = settings.number("FORERUN_SIM_GPUS", 0) else { return Vec::new() };
    let options = SimOptions {
        latency: time("FORERUN_SIM_LATENCY_US"),
        jitter: time("FORERUN_SIM_JITTER_US"),
        seed: settings.number("FORERUN_SIM_SEED", 0).unwrap_or(0) as u64,
        memory: settings.number("FORERUN_SIM_MEMORY", 1).unwrap_or(SimOptions::default().memory),
    };
    make(count, options)
}

fn make(count: usize, options: SimOptions) -> Vec<Arc<dyn Accelerator>> {
    (0..count).map(|number| Arc::new(Simulated::new(number, options)) as Arc<dyn Accelerator>).collect()
}

/// The accelerator that a meta's elements live on.
pub(crate) fn of(device: Device) -> Option<&'static OwnDevice> {
    device.accelerator().map(|number| &accelerators()[number])
}

/// Whether a value with this meta has a buffer: the small ones of the host live in their nodes.
pub(crate) fn has_buffer(meta: &Meta) -> bool {
    meta.bytes > crate::node::INLINE || !meta.device.is_host()
}

/// How many accelerators there are.
pub fn accelerator_count() -> usize {
    accelerators().len()
}

/// Fails unless the device is there.
pub fn check_device(device: Device) -> Result<()> {
    let present = || accelerator_count();
    match device.accelerator() {
        Some(number) if number >= present() => {
            let noun = if present() == 1 { "GPU is" } else { "GPUs are" };
            Err(Error::new(ErrorKind::Runtime, format!("no device {device}: {} {noun} present", present())))
        }
        _ => Ok(()),
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

/// Runs `f` with another device as the current one. The device must be there.
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
pub(crate) fn common_device(op: &'static str, metas: &[&'static Meta]) -> Result<Device> {
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
        holders: own.holders.all(),
    })
}

/// How many bytes of an accelerator running ahead may take; the oldest unfinished task alone may go beyond.
pub fn set_device_budget(device: Device, bytes: usize) -> Result<()> {
    runtime().engine.set_device_budget(own(device)?.number, bytes);
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
