//! Calls from Rust into Python code.
//!
//! When its interpreter ends, Python before 3.14 ends a daemon thread that wants the GIL: it unwinds the thread's stack
//! by force. Rust's frames cannot be unwound so; the process would abort. PyO3 lets such a thread sleep for ever, as later
//! versions of Python do, where Rust itself takes the GIL. Python code that Rust called takes it too, whenever threads
//! take turns, and so does an import; hence this room.
//!
//! Invariant: the face looks attributes up, calls, imports and goes through things here only. What is left to PyO3 is what
//! runs Python code of others in passing: conversions of numbers, and finalisers.

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use pyo3::{BoundObject, ffi};

mod raw {
    use pyo3::ffi::PyObject;

    // PyO3 declares these as functions that never unwind, so nothing would be run when they do. They are called through
    // `opaque` only: in an optimised build the compiler sees both declarations of one symbol and believes the other.
    unsafe extern "C-unwind" {
        pub(super) fn PyObject_Call(
            callable: *mut PyObject,
            args: *mut PyObject,
            kwargs: *mut PyObject,
        ) -> *mut PyObject;
        pub(super) fn PyObject_GetAttr(object: *mut PyObject, name: *mut PyObject) -> *mut PyObject;
        pub(super) fn PyImport_Import(name: *mut PyObject) -> *mut PyObject;
        pub(super) fn PySequence_List(object: *mut PyObject) -> *mut PyObject;
    }
}

/// Dropped only while a stack is unwound by force: the thread sleeps for ever. It does not hold the GIL.
struct Stay;

impl Drop for Stay {
    fn drop(&mut self) {
        loop {
            // SAFETY: sleeping touches no memory.
            unsafe { libc::pause() };
        }
    }
}

/// A function that the compiler knows nothing of but its type.
#[inline(always)]
fn opaque<F>(function: F) -> F {
    std::hint::black_box(function)
}

/// Runs a function of Python's. It must be one of those above, called directly through `opaque`: frames of Rust in between have nothing to
/// stop the unwinding.
#[inline(always)]
fn guarded<'py>(py: Python<'py>, f: impl FnOnce() -> *mut ffi::PyObject) -> PyResult<Bound<'py, PyAny>> {
    let stay = Stay;
    let object = f();
    std::mem::forget(stay);
    // SAFETY: each of the functions gives a new reference, or null with an error set.
    unsafe { Bound::from_owned_ptr_or_err(py, object) }
}

/// Positional arguments: a tuple of Rust's or of Python's.
pub(crate) trait Args<'py>: IntoPyObject<'py, Target = PyTuple> {}
impl<'py, T: IntoPyObject<'py, Target = PyTuple>> Args<'py> for T {}

/// Calls something with positional arguments.
pub(crate) fn call<'py>(callable: &Bound<'py, PyAny>, args: impl Args<'py>) -> PyResult<Bound<'py, PyAny>> {
    call_with(callable, args, None)
}

/// Calls something with positional and named arguments.
pub(crate) fn call_with<'py>(
    callable: &Bound<'py, PyAny>,
    args: impl Args<'py>,
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = callable.py();
    let args = args.into_pyobject(py).map_err(Into::into)?.into_bound();
    let named = named.map_or(std::ptr::null_mut(), |named| named.as_ptr());
    // SAFETY: a callable, a tuple and a dictionary or null, all alive, and the GIL is held.
    guarded(py, || unsafe {
        opaque(raw::PyObject_Call as unsafe extern "C-unwind" fn(_, _, _) -> _)(callable.as_ptr(), args.as_ptr(), named)
    })
}

/// An attribute of an object of anybody's.
pub(crate) fn attribute<'py>(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let name = PyString::intern(object.py(), name);
    // SAFETY: both objects are alive, and the GIL is held.
    guarded(object.py(), || unsafe {
        opaque(raw::PyObject_GetAttr as unsafe extern "C-unwind" fn(_, _) -> _)(object.as_ptr(), name.as_ptr())
    })
}

/// Whether an object of anybody's has an attribute.
pub(crate) fn has(object: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    match attribute(object, name) {
        Err(error) if error.is_instance_of::<PyAttributeError>(object.py()) => Ok(false),
        found => found.map(|_| true),
    }
}

/// Calls a method.
pub(crate) fn method<'py>(object: &Bound<'py, PyAny>, name: &str, args: impl Args<'py>) -> PyResult<Bound<'py, PyAny>> {
    call(&attribute(object, name)?, args)
}

/// A function of a module, which is imported if it was not yet.
pub(crate) fn function<'py>(py: Python<'py>, module: &str, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let module = PyString::intern(py, module);
    // SAFETY: the name is alive, and the GIL is held.
    let module = guarded(py, || unsafe {
        opaque(raw::PyImport_Import as unsafe extern "C-unwind" fn(_) -> _)(module.as_ptr())
    })?;
    attribute(&module, name)
}

/// What there is to go through, as a list: a generator is Python code.
pub(crate) fn listed<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    // SAFETY: the object is alive, and the GIL is held.
    let list = guarded(object.py(), || unsafe {
        opaque(raw::PySequence_List as unsafe extern "C-unwind" fn(_) -> _)(object.as_ptr())
    })?;
    Ok(list.cast_into()?)
}
