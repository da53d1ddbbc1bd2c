//! Routines: functions over dense arrays.

use crate::array::Array;
use crate::ops::{copy, transfer};
use crate::runtime::devices::{self, common_device, current_device};
use crate::runtime::recipe::Recipe;
use crate::runtime::recipe_memo::ListKey;
use crate::runtime::submit::{SubmitInput, submit};
use crate::runtime::window::window;
use forerun_base::{Device, Loc, Result};
use forerun_ops::{Attributes, Given, Op, Routine};
use forerun_plan::{Attrs, Meta, Signature};
use smallvec::SmallVec;

/// Submits a routine. Views are copied first. If the device has no kernel for it, the host runs it between two
/// transfers, without a wait.
pub fn routine(
    routine: impl Into<Routine>,
    inputs: &[&Array],
    attributes: &impl Attributes,
    loc: Loc,
) -> Result<Array> {
    routine_with(routine.into(), inputs, &attributes.encode(), None, loc)
}

/// The same with attributes encoded as integers, for callers that look the routine up by name.
pub fn routine_encoded(routine: Routine, inputs: &[&Array], attributes: &[i64], loc: Loc) -> Result<Array> {
    routine_with(routine, inputs, attributes, None, loc)
}

/// Whether the device of the inputs has a kernel for a routine; otherwise the host runs it between two transfers.
pub fn has_kernel(routine: Routine, inputs: &[&Array]) -> bool {
    let given: Vec<Given> = inputs.iter().map(|x| (x.dtype(), x.shape())).collect();
    let home = inputs.first().map_or_else(current_device, |x| x.device());
    devices::of(home).is_none_or(|own| own.accelerator.runs(routine, &given))
}

/// The same with immediates from the caller, for a routine that draws no random numbers.
pub(crate) fn routine_with(
    routine: Routine,
    inputs: &[&Array],
    attributes: &[i64],
    immediates: Option<[u64; 2]>,
    loc: Loc,
) -> Result<Array> {
    let window = window();
    let home = inputs.first().map_or_else(current_device, |x| x.device());
    let key = ListKey::new(Op::Routine(routine), home, inputs.iter().map(|x| x.meta().id), attributes);
    // SAFETY: the calling thread owns this window, and no other reference to the owner's part is alive.
    if let Some(recipe) = unsafe { window.owner() }.listed(&key) {
        let operands: SmallVec<[SubmitInput<'_>; 4]> = inputs.iter().map(|x| x.input()).collect();
        let out = &recipe.signature.out;
        let immediates = immediates.unwrap_or_else(|| draw(routine, &(out.dtype, out.shape())));
        return Ok(submit(recipe, &operands, immediates, loc));
    }
    let name = routine.name();
    let metas: Vec<&Meta> = inputs.iter().map(|x| x.meta()).collect();
    let device = if metas.is_empty() { home } else { common_device(name, &metas)? };
    let given: Vec<Given> = metas.iter().map(|m| (m.dtype, m.shape())).collect();
    let (dtype, shape) = routine.infer(&given, attributes)?;
    if devices::of(device).is_some_and(|own| !own.accelerator.runs(routine, &given)) {
        let near = inputs.iter().map(|x| transfer(x, Device::default(), loc)).collect::<Result<Vec<Array>>>()?;
        let near: Vec<&Array> = near.iter().collect();
        let made = devices::on_device(Device::default(), || routine_with(routine, &near, attributes, immediates, loc))?;
        return transfer(&made, device, loc);
    }
    let all_dense = metas.iter().all(|meta| meta.dense);
    let dense = |x: &&Array| if x.meta().dense { Ok((*x).clone()) } else { copy(x, loc) };
    let inputs: Vec<Array> = inputs.iter().map(dense).collect::<Result<_>>()?;
    let metas: Vec<&Meta> = inputs.iter().map(|x| x.meta()).collect();
    let out = Meta::dense(dtype, shape, device);
    let signature = Signature::of(Op::Routine(routine), &metas, Attrs::Routine(attributes.into()), &out);
    let operands: Vec<SubmitInput<'_>> = inputs.iter().map(|x| x.input()).collect();
    let immediates = immediates.unwrap_or_else(|| draw(routine, &(dtype, shape)));
    let recipe = Recipe::of(signature);
    let recipe = if all_dense {
        // SAFETY: the calling thread owns this window, and no other reference to the owner's part is alive.
        unsafe { window.owner() }.remember_listed(key, &recipe)
    } else {
        window.keep(recipe)
    };
    Ok(submit(recipe, &operands, immediates, loc))
}

/// The key and the first block of its random numbers, for a routine that needs some.
pub(crate) fn draw(routine: Routine, out: &Given) -> [u64; 2] {
    match routine.blocks(out) {
        0 => [0; 2],
        blocks => {
            let window = window();
            // SAFETY: the calling thread owns this window, and no other reference to the owner's part is alive.
            let stream = &mut unsafe { window.owner() }.random;
            stream.draw(window.number, blocks)
        }
    }
}
