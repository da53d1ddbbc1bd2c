//! Imports elements that another library holds in device memory, by copying them on the device.

use crate::array::wait::Wait;
use crate::array::{Arg, Array};
use crate::ops::{copy, full, pointwise, view_as};
use crate::runtime::buffer::Buffer;
use crate::runtime::devices::check_device;
use crate::runtime::window::window;
use forerun_base::{DType, Device, Layout, Loc, Result, Scalar, Shape};
use forerun_ops::Point;
use forerun_plan::Meta;

/// Creates an array from elements in the memory of an accelerator, copied on the device. Blocks until the copy is done.
///
/// # Safety
/// `address` must point at the first element in the memory of that device, all elements of the layout must be readable,
/// and they must have been written by the time of the call.
pub unsafe fn from_device(address: *mut u8, dtype: DType, layout: Layout, device: Device, loc: Loc) -> Result<Array> {
    check_device(device)?;
    if dtype == DType::Bool {
        // Other libraries treat any nonzero byte as true; kernels require 0 or 1. SAFETY: the caller's guarantee covers
        // this call; a byte has the size of a boolean.
        let bytes = unsafe { from_device(address, DType::U8, layout, device, loc) }?;
        return pointwise(Point::NotEqual, &[Arg::Array(&bytes), Arg::Scalar(Scalar::Int(0))], loc);
    }
    let Some((low, high)) = layout.extent() else {
        return crate::on_device(device, || full(&layout.shape, Scalar::Int(0), dtype, loc));
    };
    // A value is dense: it spans all elements from the lowest to the highest address, and the layout is a view of it.
    let meta = Meta::dense(dtype, Shape::of(&[(high - low + 1) as usize]), device);
    // SAFETY: the calling thread owns this window.
    let node = unsafe { window().take_node() };
    let generation = node.open(&meta, 1, 0);
    node.begin(generation);
    let span = Array::own(node);
    let first = address.wrapping_offset(low * dtype.size() as isize);
    node.begin_enqueued(Buffer::foreign(first, meta.bytes));
    node.publish_ready(generation);
    // A second reference prevents the copy from reusing the foreign bytes.
    let held = span.lend_with(&Wait { plain: true, ..Wait::default() })?;
    let copied = copy(&view_as(&span, layout, low.unsigned_abs() as u64)?, loc)?;
    drop(span);
    // Not interruptible: the copy reads foreign memory until it is done.
    copied.wait_to_read_with(&Wait { loc, call: "from_dlpack", allowed: true, ..Wait::default() })?;
    drop(held);
    Ok(copied)
}
