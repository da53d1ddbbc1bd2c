//! Devices: which exist, the default device for new arrays, their memory, and simulated accelerators.

pub use forerun_array::{
    DeviceStats, SimOptions, accelerator_count, check_device, current_device, device_stats, empty_device_cache,
    on_device, reset_device_peak, set_current_device, set_device_budget, set_fast_products, simulate,
};
