//! Gradients.

use crate::abi::{FORERUN_GRAD_ADD, FORERUN_GRAD_WRITE, forerun_array, forerun_status};
use crate::caller::{Caller, Outcome, call};
use crate::error::Failure;
use crate::handle::{Borrowed, give};
use forerun::Array;
use forerun::grad::{self, GradReq};

/// Turns recording for this thread on or off; returns the previous setting. While it is on, ops are recorded if a
/// gradient can flow to one of their inputs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_set_recording(on: bool) -> bool {
    grad::set_recording(on)
}

/// Whether this thread records.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_is_recording() -> bool {
    grad::is_recording()
}

/// Turns training mode for this thread on or off; returns the previous setting. Networks behave differently in it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_set_training(on: bool) -> bool {
    grad::set_training(on)
}

/// Whether this thread is in training mode.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_is_training() -> bool {
    grad::is_training()
}

/// Makes an array a variable, with a gradient of zeros. `how`: FORERUN_GRAD_WRITE or FORERUN_GRAD_ADD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_attach_grad(x: *const forerun_array, how: i32) -> forerun_status {
    call(|caller| {
        let how = match how {
            FORERUN_GRAD_WRITE => GradReq::Write,
            FORERUN_GRAD_ADD => GradReq::Add,
            _ => return Err(Failure::value(format!("{how} is not a way to store gradients")).within("attach_grad")),
        };
        Ok(grad::attach_grad(&*caller.get(x)?, how, caller.loc())?)
    })
}

/// The gradient of a variable. Backward writes to this array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_grad(x: *const forerun_array, out: *mut *mut forerun_array) -> forerun_status {
    call(|caller| {
        let found = grad::gradient_of(&*caller.get(x)?);
        let (gradient, _) = found
            .ok_or_else(|| Failure::value("the array has no gradient: it needs forerun_attach_grad").within("grad"))?;
        caller.give(out, Ok(gradient))
    })
}

/// Another handle to the same elements, through which no gradient flows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_detach(x: *const forerun_array, out: *mut *mut forerun_array) -> forerun_status {
    call(|caller| caller.give(out, Ok(caller.get(x)?.detach())))
}

/// Gradients of heads: `None` for ones.
fn head_gradients<'a>(
    caller: &'a Caller,
    gradients: *const *const forerun_array,
    count: usize,
) -> Outcome<Vec<Option<Borrowed<'a, forerun_array>>>> {
    if gradients.is_null() {
        return Ok((0..count).map(|_| None).collect());
    }
    let one = |handle: &*const forerun_array| (!handle.is_null()).then(|| caller.get(*handle)).transpose();
    caller.slice(gradients, count, "the gradients")?.iter().map(one).collect()
}

/// Computes the gradients of all variables that the heads were computed from while recording. `head_gradients` may be
/// null, and each of its handles: ones. `retain`: keep what was recorded, so that this can be called again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_backward(
    heads: *const *const forerun_array,
    head_count: usize,
    head_gradients: *const *const forerun_array,
    retain: bool,
) -> forerun_status {
    call(|caller| {
        let heads = caller.all(heads, head_count)?;
        let gradients = self::head_gradients(caller, head_gradients, head_count)?;
        let heads: Vec<&Array> = heads.iter().map(|head| &**head).collect();
        let gradients: Vec<Option<&Array>> = gradients.iter().map(|gradient| gradient.as_deref()).collect();
        Ok(grad::backward(&heads, &gradients, retain, caller.loc())?)
    })
}

/// Computes the gradients of these variables and returns them, one each in `outputs`; the stored gradients do not change.
/// `create_graph`: record the computation too, so that it can be differentiated again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_gradients(
    heads: *const *const forerun_array,
    head_count: usize,
    head_gradients: *const *const forerun_array,
    variables: *const *const forerun_array,
    variable_count: usize,
    retain: bool,
    create_graph: bool,
    outputs: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| {
        let (heads, variables) = (caller.all(heads, head_count)?, caller.all(variables, variable_count)?);
        let gradients = self::head_gradients(caller, head_gradients, head_count)?;
        if variable_count > 0 {
            caller.writable(outputs)?;
        }
        let heads: Vec<&Array> = heads.iter().map(|head| &**head).collect();
        let variables: Vec<&Array> = variables.iter().map(|variable| &**variable).collect();
        let gradients: Vec<Option<&Array>> = gradients.iter().map(|gradient| gradient.as_deref()).collect();
        let found = grad::gradients(&heads, &variables, &gradients, retain, create_graph, caller.loc())?;
        caller.put_all(outputs, variable_count, found.into_iter().map(give::<forerun_array>))
    })
}
