//! Devices.

use crate::abi::{FORERUN_CPU, FORERUN_GPU, forerun_array, forerun_device, forerun_status};
use crate::caller::call;
use forerun::device::{accelerator_count, current_device, set_current_device};
use forerun::{Device, ops};

fn described(device: Device) -> forerun_device {
    match device {
        Device::Cpu(number) => forerun_device { kind: FORERUN_CPU, number: number.into() },
        Device::Gpu(number) => forerun_device { kind: FORERUN_GPU, number: number.into() },
    }
}

/// The number of GPUs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_gpu_count() -> usize {
    accelerator_count()
}

/// The device of an array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_device_of(x: *const forerun_array, out: *mut forerun_device) -> forerun_status {
    call(|caller| caller.put(out, described(caller.get(x)?.device())))
}

/// The device of this thread's new arrays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_current_device() -> forerun_device {
    described(current_device())
}

/// Sets the device of this thread's new arrays, which must exist.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_set_current_device(device: forerun_device) -> forerun_status {
    call(|caller| Ok(set_current_device(caller.device(device)?).map(drop)?))
}

/// A copy of the elements on another device. Does not wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_to_device(
    x: *const forerun_array,
    device: forerun_device,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| caller.give(out, ops::transfer(&*caller.get(x)?, caller.device(device)?, caller.loc())))
}
