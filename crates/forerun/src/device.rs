//! Devices: which exist, the default device for new arrays, their memory, and simulated accelerators.

pub use forerun_array::{
    DeviceStats, SimOptions, accelerator_count, check_device, current_device, device_stats, empty_device_cache,
    reset_device_peak, set_current_device, set_device_budget, set_fast_products, simulate,
};
use forerun_base::{Device, Result};

/// Runs `f` with another device as the current one of the calling thread; fails if it is not there or cannot be used.
pub fn on_device<R>(device: Device, f: impl FnOnce() -> R) -> Result<R> {
    check_device(device)?;
    Ok(forerun_array::on_device(device, f))
}
