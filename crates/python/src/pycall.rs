//! Calls from Rust into Python code.
//!
//! When the interpreter ends, Python before 3.14 terminates a daemon thread that requests the GIL by forced unwinding
//! of its stack. Rust frames cannot be unwound that way; the process would abort. Where Rust itself takes the GIL, PyO3
//! lets such a thread sleep forever, as later versions of Python do. But Python code called from Rust takes the GIL
//! too, whenever threads switch, and so does an import. This module handles those calls.
//!
//! Invariant: the bindings look up attributes, call, import and iterate only through this module. What is left to PyO3
//! only runs Python code in passing: conversions of numbers, and finalisers.

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use pyo3::{BoundObject, ffi};

mod raw {
    use pyo3::ffi::PyObject;

    // PyO3 declares these as functions that never unwind, so no destructor would run if they do. They are called only
    // through `opaque`: otherwise an optimising compiler sees both declarations of one symbol and trusts the other.
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

/// Dropped only during a forced unwinding of the stack: the thread then sleeps forever. It does not hold the GIL.
struct Stay;

impl Drop for Stay {
    fn drop(&mut self) {
        loop {
            // SAFETY: sleeping touches no memory.
            unsafe { libc::pause() };
        }
    }
}

/// Hides a function from the optimiser; only its type is known.
#[inline(always)]
fn opaque<F>(function: F) -> F {
    std::hint::black_box(function)
}

/// Runs a Python API function. It must be one of those above, called directly through `opaque`: Rust frames in between
/// would not stop the unwinding.
#[inline(always)]
fn guarded<'py>(py: Python<'py>, f: impl FnOnce() -> *mut ffi::PyObject) -> PyResult<Bound<'py, PyAny>> {
    let stay = Stay;
    let object = f();
    std::mem::forget(stay);
    // SAFETY: each of the functions returns a new reference, or null with an error set.
    unsafe { Bound::from_owned_ptr_or_err(py, object) }
}

/// Positional arguments: a Rust or Python tuple.
pub(crate) trait Args<'py>: IntoPyObject<'py, Target = PyTuple> {}
impl<'py, T: IntoPyObject<'py, Target = PyTuple>> Args<'py> for T {}

/// Calls an object with positional arguments.
pub(crate) fn call<'py>(callable: &Bound<'py, PyAny>, args: impl Args<'py>) -> PyResult<Bound<'py, PyAny>> {
    call_with(callable, args, None)
}

/// Calls an object with positional and keyword arguments.
pub(crate) fn call_with<'py>(
    callable: &Bound<'py, PyAny>,
    args: impl Args<'py>,
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = callable.py();
    let args = args.into_pyobject(py).map_err(Into::into)?.into_bound();
    let named = named.map_or(std::ptr::null_mut(), |named| named.as_ptr());
    // SAFETY: the callable, the tuple, and the dictionary unless it is null are alive, and the GIL is held.
    guarded(py, || unsafe {
        opaque(raw::PyObject_Call as unsafe extern "C-unwind" fn(_, _, _) -> _)(callable.as_ptr(), args.as_ptr(), named)
    })
}

/// Looks up an attribute of any object.
pub(crate) fn attribute<'py>(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let name = PyString::intern(object.py(), name);
    // SAFETY: both objects are alive, and the GIL is held.
    guarded(object.py(), || unsafe {
        opaque(raw::PyObject_GetAttr as unsafe extern "C-unwind" fn(_, _) -> _)(object.as_ptr(), name.as_ptr())
    })
}

/// Whether an object has an attribute.
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

/// Imports a module if needed and returns one of its functions.
pub(crate) fn function<'py>(py: Python<'py>, module: &str, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let module = PyString::intern(py, module);
    // SAFETY: the name is alive, and the GIL is held.
    let module = guarded(py, || unsafe {
        opaque(raw::PyImport_Import as unsafe extern "C-unwind" fn(_) -> _)(module.as_ptr())
    })?;
    attribute(&module, name)
}

/// Collects an iterable into a list: a generator runs Python code.
pub(crate) fn listed<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    // SAFETY: the object is alive, and the GIL is held.
    let list = guarded(object.py(), || unsafe {
        opaque(raw::PySequence_List as unsafe extern "C-unwind" fn(_) -> _)(object.as_ptr())
    })?;
    Ok(list.cast_into()?)
}
