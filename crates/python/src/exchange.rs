//! Exchange with NumPy through its array interface: out without a copy, in with one. NumPy has no bfloat16 of its own: its
//! elements go out as two bytes without a meaning, which `_convert.py` gives one.
//!
//! Invariant: what goes out without a copy is read-only and never changes; what comes in is copied before the call
//! returns.

use crate::array::PyArray;
use crate::device::{PyDevice, on};
use crate::error::raise;
use crate::loc::here;
use crate::pycall;
use crate::submit;
use forerun::{Array, DType, Kind, Layout, Shape, Snapshot, ops};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

/// Keeps the bytes alive that a NumPy array looks at.
#[pyclass(frozen, name = "snapshot", module = "forerun.np")]
pub(crate) struct PySnapshot(Snapshot);

#[pymethods]
impl PySnapshot {
    /// NumPy's array interface as a C struct: what it looks for first.
    #[getter]
    fn __array_struct__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (layout, dtype) = (self.0.layout(), self.0.dtype());
        let shape: Vec<isize> = layout.shape.iter().map(|extent| *extent as isize).collect();
        let strides: Vec<isize> = layout.strides().iter().map(|stride| stride * dtype.size() as isize).collect();
        let head = ArrayStruct {
            two: 2,
            nd: shape.len() as c_int,
            typekind: type_kind(dtype),
            itemsize: dtype.size() as c_int,
            // Not writable, because the flag that says so is absent.
            flags: ALIGNED | NOT_SWAPPED,
            shape: shape.as_ptr(),
            strides: strides.as_ptr(),
            data: self.0.ptr().cast(),
            descr: std::ptr::null(),
        };
        let exported = Box::new(Exported { head, _shape: shape, _strides: strides });
        let pointer = Box::into_raw(exported);
        // SAFETY: the pointer is not null, and the capsule owns what it points at from now on.
        let capsule = unsafe { ffi::PyCapsule_New(pointer.cast(), std::ptr::null(), Some(forget_exported)) };
        // SAFETY: a new reference, or null with an error set; in that case the few bytes stay allocated.
        unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
    }
}

/// The destructor of the capsules made above.
///
/// # Safety
/// Python calls it once for each of them.
unsafe extern "C" fn forget_exported(capsule: *mut ffi::PyObject) {
    // SAFETY: the capsule has no name and holds what `Box::into_raw` gave.
    unsafe { drop(Box::from_raw(ffi::PyCapsule_GetPointer(capsule, std::ptr::null()).cast::<Exported>())) };
}

/// The array's value as a read-only NumPy array over the same bytes.
pub(crate) fn to_numpy<'py>(py: Python<'py>, array: &Array, call: &'static str) -> PyResult<Bound<'py, PyAny>> {
    static AS_ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let snapshot = crate::wait::read(py, array, call, |array, wait| array.snapshot_with(wait))?;
    let as_array = match AS_ARRAY.get(py) {
        Some(known) => known.bind(py).clone(),
        None => {
            // Not inside the cell: the import runs Python code, a signal handler that comes here too perhaps.
            let found = pycall::function(py, "numpy", "asarray")?;
            let _ = AS_ARRAY.set(py, found.clone().unbind());
            found
        }
    };
    let elements = pycall::call(&as_array, (PySnapshot(snapshot),))?;
    match array.dtype() {
        DType::BF16 => pycall::call(&pycall::function(py, "forerun._convert", "brain_floats")?, (elements,)),
        _ => Ok(elements),
    }
}

/// Whether programs get a copy they may write in the place of the read-only array.
static WRITABLE: AtomicBool = AtomicBool::new(false);

/// Whether conversion to NumPy gives a writable copy. Returns the old setting.
#[pyfunction]
pub(crate) fn set_writable_asnumpy(on: bool) -> bool {
    WRITABLE.swap(on, Ordering::Relaxed)
}

/// Whether a conversion that does not say so itself copies.
pub(crate) fn writable() -> bool {
    WRITABLE.load(Ordering::Relaxed)
}

/// A copy of a NumPy array of a supported dtype, on a device or on the current one.
#[pyfunction]
#[pyo3(signature = (array, device = None))]
pub(crate) fn from_numpy(
    py: Python<'_>,
    array: &Bound<'_, PyAny>,
    device: Option<&Bound<'_, PyDevice>>,
) -> PyResult<Py<PyAny>> {
    // Held before the elements are looked at: others may change the array while the GIL is let go.
    crate::wait::make_host_room(py, pycall::attribute(array, "nbytes")?.extract()?)?;
    let capsule = pycall::attribute(array, "__array_struct__")?;
    // SAFETY: the capsule is alive and the GIL is held; a capsule without a name is what the protocol prescribes.
    let interface = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), std::ptr::null()) }.cast::<ArrayStruct>();
    if interface.is_null() {
        return Err(PyErr::fetch(py));
    }
    // SAFETY: the protocol promises this struct, alive as long as the capsule.
    let interface = unsafe { &*interface };
    let size = interface.itemsize as isize;
    let fits = |dtype: &DType| (type_kind(*dtype), dtype.size() as isize) == (interface.typekind, size);
    let Some(dtype) = DType::ALL.into_iter().find(fits) else {
        return Err(crate::dtype::refused(&pycall::attribute(array, "dtype")?));
    };
    if dtype == DType::BF16 && crate::dtype::named(&pycall::attribute(array, "dtype")?)? != Some(dtype) {
        return Err(crate::dtype::refused(&pycall::attribute(array, "dtype")?));
    }
    let rank = interface.nd as usize;
    // SAFETY: both point at one number for each dimension; without a dimension they may be null and are not read.
    let (shape, strides) = unsafe { (numbers(interface.shape, rank), numbers(interface.strides, rank)) };
    let plain = interface.flags & (ALIGNED | NOT_SWAPPED) == ALIGNED | NOT_SWAPPED;
    if !plain || strides.iter().any(|stride| stride % size != 0) {
        return from_numpy(py, &pycall::method(array, "astype", (dtype.name(),))?, device);
    }
    let shape: Vec<usize> = shape.iter().map(|extent| *extent as usize).collect();
    let strides: Vec<isize> = strides.iter().map(|stride| stride / size).collect();
    let layout = Layout::strided(Shape::new(&shape).map_err(raise)?, &strides);
    // SAFETY: the protocol promises that many elements at this address for as long as the array lives, and it
    // lives through this call; the GIL keeps other threads of Python from writing meanwhile.
    let copied = on(device, || unsafe { ops::from_host(interface.data.cast(), dtype, layout, here(py)) })?;
    submit::object(py, copied)
}

/// How an array lies in what its cell holds, in elements: how many those are, its first one, its strides.
#[pyfunction]
pub(crate) fn placement(x: &Bound<'_, PyArray>) -> (usize, u64, Vec<isize>) {
    let array = &x.get().0;
    (array.base().size(), array.offset(), array.layout().strides().to_vec())
}

/// NumPy's array interface as a C struct.
#[repr(C)]
struct ArrayStruct {
    two: c_int,
    nd: c_int,
    typekind: c_char,
    itemsize: c_int,
    flags: c_int,
    shape: *const isize,
    strides: *const isize,
    data: *const c_void,
    descr: *const c_void,
}

/// The struct with the numbers it points at.
#[repr(C)]
struct Exported {
    head: ArrayStruct,
    _shape: Vec<isize>,
    _strides: Vec<isize>,
}

const ALIGNED: c_int = 0x100;
const NOT_SWAPPED: c_int = 0x200;

/// # Safety
/// Unless `count` is 0, that many numbers must lie at `first` for as long as the result is used.
unsafe fn numbers<'a>(first: *const isize, count: usize) -> &'a [isize] {
    match count {
        0 => &[],
        // SAFETY: the caller promises it.
        _ => unsafe { std::slice::from_raw_parts(first, count) },
    }
}

/// How the array interface names the family of a dtype.
fn type_kind(dtype: DType) -> c_char {
    let letter = match dtype.kind() {
        Kind::Bool => b'b',
        Kind::Int if dtype.is_unsigned() => b'u',
        Kind::Int => b'i',
        Kind::Float if dtype == DType::BF16 => b'V',
        Kind::Float => b'f',
        Kind::Complex => b'c',
    };
    letter as c_char
}
