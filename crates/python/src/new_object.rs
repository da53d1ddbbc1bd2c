//! Creates array objects and writes their handles in place.
//!
//! PyO3 copies a value twice on its way into an object, sixteen bytes at a time. Such a copy stalls until the words of
//! the handle, which were just stored, have left the store buffer, behind all earlier stores, including the record in
//! the window. That takes a quarter of the time of a small op. So once PyO3 has created the first object and shown
//! where it stores the value, other objects are allocated in the same way, and the handle is written there directly.

use crate::array::PyArray;
use crate::pycall;
use forerun::Array;
use pyo3::ffi;
use pyo3::prelude::*;
use std::sync::OnceLock;

/// How objects of the class are allocated.
struct Mould {
    kind: *mut ffi::PyTypeObject,
    alloc: ffi::allocfunc,
    /// Offset of the value in bytes.
    before: usize,
}

// SAFETY: it consists of a type that is never freed, and a function.
unsafe impl Send for Mould {}
// SAFETY: it is never changed after it was created.
unsafe impl Sync for Mould {}

/// `None` if an object contains more than the value.
static MOULD: OnceLock<Option<Mould>> = OnceLock::new();

/// Creates an array object.
#[inline(always)]
pub(crate) fn object(py: Python<'_>, array: Array) -> PyResult<Py<PyAny>> {
    match MOULD.get() {
        Some(Some(mould)) => cast(py, mould, array),
        _ => first(py, array),
    }
}

#[inline(always)]
fn cast(py: Python<'_>, mould: &Mould, array: Array) -> PyResult<Py<PyAny>> {
    // SAFETY: this is the type's own allocator, called with the GIL held. It returns an object of the type without its
    // value, which is written before any other code sees the object, and the reference is ours.
    unsafe {
        let object = (mould.alloc)(mould.kind, 0);
        if object.is_null() {
            return Err(PyErr::fetch(py));
        }
        object.cast::<u8>().add(mould.before).cast::<PyArray>().write(PyArray(array));
        Ok(Bound::from_owned_ptr(py, object).unbind())
    }
}

#[cold]
#[inline(never)]
fn first(py: Python<'_>, array: Array) -> PyResult<Py<PyAny>> {
    let object = Bound::new(py, PyArray(array))?;
    MOULD.get_or_init(|| take_mould(&object));
    Ok(object.into_any().unbind())
}

fn take_mould(object: &Bound<'_, PyArray>) -> Option<Mould> {
    let kind = object.get_type().as_type_ptr();
    let before = (object.get() as *const PyArray).addr() - object.as_ptr().addr();
    let bytes: usize = pycall::attribute(object.get_type().as_any(), "__basicsize__").and_then(|b| b.extract()).ok()?;
    // SAFETY: PyO3 created the type, and its slot holds a function of that type.
    let alloc = unsafe {
        let slot = ffi::PyType_GetSlot(kind, ffi::Py_tp_alloc);
        std::mem::transmute::<*mut std::ffi::c_void, Option<ffi::allocfunc>>(slot)?
    };
    (bytes == before + size_of::<PyArray>()).then_some(Mould { kind, alloc, before })
}
