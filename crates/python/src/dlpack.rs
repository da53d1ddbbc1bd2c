//! DLPack: exports arrays as capsules, and imports them.
//!
//! | | export | import |
//! |---|---|---|
//! | versioned capsule | the bytes themselves, marked read-only; with `copy=True` a writable copy | copied |
//! | capsule before version 1.0 | a copy, because it cannot mark its bytes as read-only | copied |
//!
//! Invariant: an imported capsule is returned to its producer exactly once. Exported elements may be released with or
//! without the GIL.

use crate::device::{PyDevice, on};
use crate::error::raise;
use crate::loc::here;
use crate::{dtype, submit, wait};
use forerun::frontend::dlpack::{
    self, CUDA, Described, Foreign, HOST, IS_COPIED, Kept, READ_ONLY, Refusal, Unversioned, Versioned,
};
use forerun::{Array, Device, ops};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::CStr;

/// The names of capsules before and after they are consumed.
const PLAIN: &CStr = c"dltensor";
const PLAIN_TAKEN: &CStr = c"used_dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
const VERSIONED_TAKEN: &CStr = c"used_dltensor_versioned";

/// The destructor of capsules that were not consumed.
///
/// # Safety
/// Called once by Python, for a capsule created below.
unsafe extern "C" fn forget(capsule: *mut ffi::PyObject) {
    // SAFETY: the capsule is alive; an unchanged name means that it still owns its pointer.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) != 0 {
            Versioned::delete(ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast());
        } else if ffi::PyCapsule_IsValid(capsule, PLAIN.as_ptr()) != 0 {
            Unversioned::delete(ffi::PyCapsule_GetPointer(capsule, PLAIN.as_ptr()).cast());
        }
    }
}

/// The arguments of `__dlpack__`.
pub(crate) struct Asked<'a, 'py> {
    pub(crate) stream: Option<&'a Bound<'py, PyAny>>,
    pub(crate) max_version: Option<(u32, u32)>,
    pub(crate) device: Option<(i32, i32)>,
    pub(crate) copy: Option<bool>,
}

/// The protocol's number of an array's device.
pub(crate) fn device_of(array: &Array) -> PyResult<(i32, i32)> {
    dlpack::place_of(array.device()).ok_or_else(|| {
        PyBufferError::new_err(format!("__dlpack_device__: the memory of {} cannot be shared", array.device()))
    })
}

/// Exports an array as a capsule.
pub(crate) fn export<'py>(py: Python<'py>, array: &Array, asked: &Asked<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    let home = if asked.device == Some((HOST, 0)) { asked.device } else { None };
    let home = home.map_or_else(|| device_of(array), Ok)?;
    if let Some(other) = asked.device.filter(|device| *device != home) {
        return Err(PyBufferError::new_err(format!("__dlpack__: cannot export to device {other:?}, only to {home:?}")));
    }
    let in_place = home.0 == CUDA;
    check_stream(asked.stream, in_place)?;
    let versioned = asked.max_version.is_some_and(|(major, _)| major >= 1);
    // A capsule before version 1.0 cannot mark its bytes as read-only; a consumer that forbids a copy must not write.
    let copied = match asked.copy {
        Some(false) if !in_place && !array.device().is_host() => {
            return Err(PyBufferError::new_err(
                "__dlpack__: elements on a GPU cannot be exported to the host without a copy",
            ));
        }
        Some(copy) => copy,
        None => !versioned,
    };
    // A transfer from a device to the host is already a copy.
    let fetched = !in_place && !array.device().is_host();
    let own = if copied && !fetched { Some(ops::copy(&array.detach(), here(py)).map_err(raise)?) } else { None };
    let array = own.as_ref().unwrap_or(array);
    // A complete value may be read on any stream, so the consumer's stream need not wait for it.
    let kept = if fetched { fetch(py, array, "__dlpack__") } else { keep(py, array, "__dlpack__") }?;
    // From here on only the capsule holds the bytes of a copy, so the consumer may write them.
    drop(own);
    if versioned {
        let flags = if copied || fetched { IS_COPIED } else { READ_ONLY };
        capsule(py, Taken::Versioned(kept.export(home, flags)))
    } else {
        capsule(py, Taken::Plain(kept.export_plain(home)))
    }
}

/// Keeps the elements of an array on their device.
pub(crate) fn keep(py: Python<'_>, array: &Array, call: &'static str) -> PyResult<Kept> {
    let lent = wait::read(py, array, call, |array, wait| array.lend_with(wait))?;
    Ok(Kept::new(lent, array.device()))
}

/// Copies the elements of a device array to the host.
fn fetch(py: Python<'_>, array: &Array, call: &'static str) -> PyResult<Kept> {
    let snapshot = wait::read(py, array, call, |array, wait| array.snapshot_with(wait))?;
    Ok(Kept::new(snapshot.into(), Device::default()))
}

/// Rejects invalid streams: the host has none, and CUDA streams are numbers, of which 0 is ambiguous.
fn check_stream(stream: Option<&Bound<'_, PyAny>>, cuda: bool) -> PyResult<()> {
    let Some(stream) = stream.filter(|stream| !stream.is_none()) else { return Ok(()) };
    if !cuda {
        return Err(PyValueError::new_err("__dlpack__: host arrays have no stream"));
    }
    match stream.extract::<i64>() {
        Ok(number) if number == -1 || number > 0 => Ok(()),
        _ => Err(PyValueError::new_err("__dlpack__: a CUDA stream must be None, -1, 1, 2 or a handle")),
    }
}

/// A capsule that owns an exported tensor.
fn capsule(py: Python<'_>, owned: Taken) -> PyResult<Bound<'_, PyAny>> {
    let (pointer, name) = match owned {
        Taken::Plain(head) => (head.cast(), PLAIN),
        Taken::Versioned(head) => (head.cast(), VERSIONED),
    };
    // SAFETY: the pointer is not null, the name is static, and the capsule owns what it points at from now on.
    let made = unsafe { ffi::PyCapsule_New(pointer, name.as_ptr(), Some(forget)) };
    if !made.is_null() {
        std::mem::forget(owned);
    }
    // SAFETY: the result is a new reference, or null with an error set.
    unsafe { Bound::from_owned_ptr_or_err(py, made) }
}

/// The content of a capsule, returned to its producer when dropped.
enum Taken {
    Plain(*mut Unversioned),
    Versioned(*mut Versioned),
}

impl Taken {
    fn from(capsule: &Bound<'_, PyAny>) -> PyResult<Taken> {
        let py = capsule.py();
        // SAFETY: the object is alive and the GIL is held. The name is checked before the pointer is used, and the new
        // name tells the capsule's destructor and other consumers that the content is consumed.
        let take = |name: &CStr, taken: &'static CStr| unsafe {
            if ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) == 0 {
                return Ok(None);
            }
            let pointer = ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr());
            match ffi::PyCapsule_SetName(capsule.as_ptr(), taken.as_ptr()) {
                0 => Ok(Some(pointer)),
                _ => Err(PyErr::fetch(py)),
            }
        };
        if let Some(pointer) = take(VERSIONED, VERSIONED_TAKEN)? {
            return Ok(Taken::Versioned(pointer.cast()));
        }
        if let Some(pointer) = take(PLAIN, PLAIN_TAKEN)? {
            return Ok(Taken::Plain(pointer.cast()));
        }
        Err(PyTypeError::new_err("from_dlpack: __dlpack__ returned no capsule, or one that was already consumed"))
    }

    /// The checked description of the tensor.
    fn foreign(&self) -> PyResult<Foreign> {
        let described = match self {
            // SAFETY: the protocol guarantees the struct until the deleter is called.
            Taken::Plain(head) => Ok(unsafe { (**head).described() }),
            // SAFETY: as above.
            Taken::Versioned(head) => unsafe { Versioned::described(*head) },
        };
        described.and_then(Described::check).map_err(|refusal| match refusal {
            Refusal::Unreadable(text) => PyBufferError::new_err(format!("from_dlpack: {text}")),
            Refusal::Dtype(name) => dtype::unknown(&name),
            Refusal::Shape(error) => raise(error),
        })
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // SAFETY: the content is owned, so only this calls the deleter, once.
        unsafe {
            match *self {
                Taken::Plain(head) => Unversioned::delete(head),
                Taken::Versioned(head) => Versioned::delete(head),
            }
        }
    }
}

/// Creates an array from a capsule by a copy, on a device or on the current one.
#[pyfunction]
#[pyo3(signature = (capsule, device = None))]
pub(crate) fn from_capsule(
    py: Python<'_>,
    capsule: &Bound<'_, PyAny>,
    device: Option<&Bound<'_, PyDevice>>,
) -> PyResult<Py<PyAny>> {
    let taken = Taken::from(capsule)?;
    let foreign = taken.foreign()?;
    if !foreign.home.is_host() {
        return from_cuda(py, &foreign, device);
    }
    let Foreign { first, dtype, layout, .. } = foreign;
    wait::make_host_room(py, layout.shape.size() * dtype.size())?;
    // SAFETY: the protocol guarantees the elements of the layout until the deleter is called.
    let copied = on(device, || unsafe { ops::from_host(first, dtype, layout, here(py)) })?;
    submit::object(py, copied)
}

/// Creates an array from elements in device memory: copied on that device, then transferred if needed.
fn from_cuda(py: Python<'_>, foreign: &Foreign, wanted: Option<&Bound<'_, PyDevice>>) -> PyResult<Py<PyAny>> {
    let Foreign { first, dtype, layout, home } = *foreign;
    wait::announce(py, "from_dlpack")?;
    let (address, loc) = (first.addr(), here(py));
    let copied = py.detach(|| {
        // After this the producer's writes are complete, on whatever stream it made them.
        forerun::frontend::settle_device(home)?;
        let first = std::ptr::without_provenance_mut(address);
        // SAFETY: the protocol guarantees the elements of the layout until the deleter is called, and they are written.
        unsafe { ops::from_device(first, dtype, layout, home, loc) }
    });
    let copied = copied.map_err(raise)?;
    match wanted.map(|wanted| wanted.get().0).filter(|wanted| *wanted != home) {
        Some(wanted) => submit::object(py, ops::transfer(&copied, wanted, here(py))),
        None => submit::object(py, Ok(copied)),
    }
}
