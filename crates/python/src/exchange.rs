//! Exchange with NumPy through its array interface: export without a copy, import with one. NumPy has no bfloat16: its
//! elements are exported as untyped two-byte elements, which `_convert.py` interprets.
//!
//! Invariant: a buffer exported without a copy is read-only and never changes; imported elements are copied before the
//! call returns.

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

/// Keeps the bytes of a NumPy array alive.
#[pyclass(frozen, name = "snapshot", module = "forerun.np")]
pub(crate) struct PySnapshot(Snapshot);

#[pymethods]
impl PySnapshot {
    /// NumPy's array interface as a C struct, which NumPy looks for first.
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
            // Read-only, because the flag for writable is absent.
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
        // SAFETY: the result is a new reference, or null with an error set; in that case a few bytes stay allocated.
        unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
    }
}

/// The destructor of the capsules created above.
///
/// # Safety
/// Called once by Python for each of them.
unsafe extern "C" fn forget_exported(capsule: *mut ffi::PyObject) {
    // SAFETY: the capsule has no name and holds a pointer from `Box::into_raw`.
    unsafe { drop(Box::from_raw(ffi::PyCapsule_GetPointer(capsule, std::ptr::null()).cast::<Exported>())) };
}

/// The array's value as a read-only NumPy array over the same bytes.
pub(crate) fn to_numpy<'py>(py: Python<'py>, array: &Array, call: &'static str) -> PyResult<Bound<'py, PyAny>> {
    static AS_ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let snapshot = crate::wait::read(py, array, call, |array, wait| array.snapshot_with(wait))?;
    let as_array = match AS_ARRAY.get(py) {
        Some(known) => known.bind(py).clone(),
        None => {
            // Outside the cell's initialiser: the import runs Python code, perhaps a signal handler that gets here too.
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

/// Whether conversions return a writable copy instead of a read-only array.
static WRITABLE: AtomicBool = AtomicBool::new(false);

/// Sets whether conversion to NumPy returns a writable copy. Returns the previous setting.
#[pyfunction]
pub(crate) fn set_writable_asnumpy(on: bool) -> bool {
    WRITABLE.swap(on, Ordering::Relaxed)
}

/// Whether a conversion copies by default.
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
    // Blocks before the elements are read, because others may change the array while the GIL is released.
    crate::wait::make_host_room(py, pycall::attribute(array, "nbytes")?.extract()?)?;
    let capsule = pycall::attribute(array, "__array_struct__")?;
    // SAFETY: the capsule is alive and the GIL is held; the protocol prescribes a capsule without a name.
    let interface = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), std::ptr::null()) }.cast::<ArrayStruct>();
    if interface.is_null() {
        return Err(PyErr::fetch(py));
    }
    // SAFETY: the protocol guarantees this struct as long as the capsule lives.
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
    // SAFETY: both point at one number per dimension; without dimensions they may be null and are not read.
    let (shape, strides) = unsafe { (numbers(interface.shape, rank), numbers(interface.strides, rank)) };
    let plain = interface.flags & (ALIGNED | NOT_SWAPPED) == ALIGNED | NOT_SWAPPED;
    if !plain || strides.iter().any(|stride| stride % size != 0) {
        return from_numpy(py, &pycall::method(array, "astype", (dtype.name(),))?, device);
    }
    let shape: Vec<usize> = shape.iter().map(|extent| *extent as usize).collect();
    let strides: Vec<isize> = strides.iter().map(|stride| stride / size).collect();
    let layout = Layout::strided(Shape::new(&shape).map_err(raise)?, &strides);
    // SAFETY: the protocol guarantees that many elements at this address as long as the array lives, and it lives
    // through this call. The GIL keeps other Python threads from writing meanwhile.
    let copied = on(device, || unsafe { ops::from_host(interface.data.cast(), dtype, layout, here(py)) })?;
    submit::object(py, copied)
}

/// The position of an array in its cell, in elements: the cell's size, the offset, and the strides.
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
/// Unless `count` is 0, there must be that many numbers at `first` for as long as the result is used.
unsafe fn numbers<'a>(first: *const isize, count: usize) -> &'a [isize] {
    match count {
        0 => &[],
        // SAFETY: the caller guarantees `count` numbers at `first`.
        _ => unsafe { std::slice::from_raw_parts(first, count) },
    }
}

/// The array interface's character for the kind of a dtype.
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
