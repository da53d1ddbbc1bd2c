//! DLPack: arrays in and out of other libraries.

use crate::abi::{forerun_array, forerun_status};
use crate::caller::{Caller, Outcome, call};
use crate::error::Failure;
use forerun::device::on_device;
use forerun::frontend::dlpack::{
    Described, Foreign, IS_COPIED, Kept, READ_ONLY, Refusal, Unversioned, Versioned, place_of,
};
use forerun::frontend::{make_host_room, settle_device};
use forerun::{Array, ops};

/// DLPack's managed tensor with a version: dlpack.h defines it.
pub struct managed_versioned {
    _opaque: [u8; 0],
}

/// DLPack's managed tensor before version 1.0: dlpack.h defines it.
pub struct managed_unversioned {
    _opaque: [u8; 0],
}

fn unreadable(text: String) -> Failure {
    Failure::value(text).within("from_dlpack")
}

/// Waits for an array, and keeps its elements where they are or copies them.
fn keep(caller: &Caller, x: &Array, copied: bool) -> Outcome<(Kept, (i32, i32))> {
    let place = place_of(x.device())
        .ok_or_else(|| Failure::value(format!("the memory of {} cannot be shared", x.device())).within("to_dlpack"))?;
    let own = copied.then(|| ops::copy(&x.detach(), caller.loc())).transpose()?;
    let lent = own.as_ref().unwrap_or(x).lend_with(&caller.wait("to_dlpack"))?;
    Ok((Kept::new(lent, x.device()), place))
}

/// Waits for an array and exports its elements, which stay alive until the tensor's deleter is called. They are not
/// copied, and must not be written; with `copy` they are a copy that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_to_dlpack(
    x: *const forerun_array,
    copy: bool,
    out: *mut *mut managed_versioned,
) -> forerun_status {
    call(|caller| {
        caller.writable(out)?;
        let (kept, place) = keep(caller, &*caller.get(x)?, copy)?;
        caller.put(out, kept.export(place, if copy { IS_COPIED } else { READ_ONLY }).cast())
    })
}

/// The same for libraries that know DLPack before version 1.0 only: always a copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_to_dlpack_unversioned(
    x: *const forerun_array,
    out: *mut *mut managed_unversioned,
) -> forerun_status {
    call(|caller| {
        caller.writable(out)?;
        let (kept, place) = keep(caller, &*caller.get(x)?, true)?;
        caller.put(out, kept.export_plain(place).cast())
    })
}

/// Copies a tensor that was checked.
fn copied(caller: &Caller, described: &Described) -> Outcome<Array> {
    let foreign = described.check().map_err(|refusal| match refusal {
        Refusal::Unreadable(text) => unreadable(text),
        Refusal::Dtype(name) => Failure::kind(format!("dtype {name} is not supported")).within("from_dlpack"),
        Refusal::Shape(error) => error.into(),
    })?;
    let Foreign { first, dtype, layout, home } = foreign;
    if home.is_host() {
        make_host_room(layout.shape.size() * dtype.size(), &caller.wait("from_dlpack"))?;
        // SAFETY: the header demands a valid tensor, whose elements can be read.
        return Ok(on_device(home, || unsafe { ops::from_host(first, dtype, layout, caller.loc()) })??);
    }
    // After this the producer's writes are complete, on whatever stream it made them.
    settle_device(home)?;
    // SAFETY: as above.
    Ok(unsafe { ops::from_device(first, dtype, layout, home, caller.loc()) }?)
}

/// Creates an array by copying the elements of a tensor. The tensor stays the caller's, who calls its deleter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_from_dlpack(
    managed: *const managed_versioned,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| {
        if managed.is_null() {
            return Err(unreadable("the tensor is null".to_owned()));
        }
        // SAFETY: the header demands a valid tensor.
        let described = unsafe { Versioned::described(managed.cast()) };
        let described = described.map_err(|refusal| match refusal {
            Refusal::Unreadable(text) | Refusal::Dtype(text) => unreadable(text),
            Refusal::Shape(error) => error.into(),
        })?;
        caller.writable(out)?;
        caller.give(out, Ok(copied(caller, described)?))
    })
}

/// The same for a tensor before version 1.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_from_dlpack_unversioned(
    managed: *const managed_unversioned,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| {
        // SAFETY: the header demands null or a valid tensor.
        let managed = unsafe { managed.cast::<Unversioned>().as_ref() };
        let described = managed.ok_or_else(|| unreadable("the tensor is null".to_owned()))?.described();
        caller.writable(out)?;
        caller.give(out, Ok(copied(caller, described)?))
    })
}
