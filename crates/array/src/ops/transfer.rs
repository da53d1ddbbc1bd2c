//! Transfers between devices.

use crate::array::Array;
use crate::ops::copy;
use crate::runtime::devices::check_device;
use crate::runtime::recipe::Recipe;
use crate::runtime::submit::submit;
use crate::runtime::window::window;
use forerun_base::{Device, Error, Loc, Result};
use forerun_ops::Op;
use forerun_plan::{Attrs, Meta, Signature};

/// Copies the elements to another device, without blocking. Copies even if they are already on that device.
pub fn transfer(x: &Array, device: Device, loc: Loc) -> Result<Array> {
    check_device(device).map_err(|e| e.in_op(Op::Transfer.name()))?;
    if device == x.device() {
        return copy(x, loc);
    }
    if !x.layout().is_dense() {
        return transfer(&copy(x, loc)?, device, loc);
    }
    if !x.device().is_host() && !device.is_host() {
        // Two accelerators exchange data through the host, because each knows only the host.
        return transfer(&transfer(x, Device::default(), loc)?, device, loc);
    }
    let out = Meta::dense(x.dtype(), x.shape(), device);
    let key = (Op::Transfer.code(), [x.meta().id, out.id, 0]);
    // SAFETY: the calling thread owns this window, and interning does not access it.
    let owner = unsafe { window().owner() };
    let (recipe, _) = owner.recipe(key, || {
        Ok::<_, Error>((Recipe::of(Signature::of(Op::Transfer, &[x.meta()], Attrs::None, &out)), x.dtype()))
    })?;
    Ok(submit(recipe, &[x.input()], [0; 2], loc))
}
