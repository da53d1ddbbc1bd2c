//! Elements that another library keeps on an accelerator, copied there.

use crate::array::wait::Wait;
use crate::array::{Arg, Array};
use crate::ops::{copy, full, pointwise, view_as};
use crate::runtime::buffer::Buffer;
use crate::runtime::devices::check_device;
use crate::runtime::window::window;
use forerun_base::{DType, Device, Layout, Loc, Result, Scalar, Shape};
use forerun_ops::Point;
use forerun_plan::Meta;

/// An array of elements in the memory of an accelerator, copied there before this returns: it waits for the copy.
///
/// # Safety
/// `address` must be the first of as many elements in the memory of that device as the layout reaches, and they must have been
/// written by the time of the call.
pub unsafe fn from_device(address: *mut u8, dtype: DType, layout: Layout, device: Device, loc: Loc) -> Result<Array> {
    check_device(device)?;
    if dtype == DType::Bool {
        // Other libraries take any byte but 0 for true; kernels count on 0 and 1.
        // SAFETY: the caller's promise is this one; a byte is as large as a truth value.
        let bytes = unsafe { from_device(address, DType::U8, layout, device, loc) }?;
        return pointwise(Point::NotEqual, &[Arg::Array(&bytes), Arg::Scalar(Scalar::Int(0))], loc);
    }
    let Some((low, high)) = layout.extent() else {
        return crate::on_device(device, || full(&layout.shape, Scalar::Int(0), dtype, loc));
    };
    // A value is dense: all that lies between the first and the last element, which the layout is then a view of.
    let meta = Meta::dense(dtype, Shape::of(&[(high - low + 1) as usize]), device);
    // SAFETY: our own window.
    let node = unsafe { window().take_node() };
    let generation = node.open(&meta, 1, 0);
    node.begin(generation);
    let span = Array::own(node);
    let first = address.wrapping_offset(low * dtype.size() as isize);
    node.begin_enqueued(Buffer::foreign(first, meta.bytes));
    node.publish_ready(generation);
    // A second holder: the bytes are not ours to be taken over by the copy.
    let held = span.lend_with(&Wait { plain: true, ..Wait::default() })?;
    let copied = copy(&view_as(&span, layout, low.unsigned_abs() as u64)?, loc)?;
    drop(span);
    // Not to be interrupted: the copy reads what belongs to others until it is done.
    copied.wait_to_read_with(&Wait { loc, call: "from_dlpack", allowed: true, ..Wait::default() })?;
    drop(held);
    Ok(copied)
}
