//! Creates arrays from Python numbers and nested lists and tuples of them, without NumPy.
//!
//! Invariant: anything that is not exactly a bool, an int or a float, or lists and tuples of them with one shape, is
//! left to NumPy, so that there is one definition of the conversion.

use crate::device::{PyDevice, on};
use crate::dtype;
use crate::loc::here;
use crate::operand;
use crate::submit;
use forerun::{Arg, DType, Layout, Result, Shape, ops};
use pyo3::ffi;
use pyo3::prelude::*;

/// Maximum number of dimensions; more are left to NumPy.
const MOST_DIMENSIONS: usize = 8;

/// The numbers of a sequence in row-major order. Integers become floats at the first float.
enum Numbers {
    Bools(Vec<u8>),
    Ints(Vec<i64>),
    Floats(Vec<f64>),
}

impl Numbers {
    fn push_bool(&mut self, value: bool) {
        match self {
            Numbers::Bools(bools) => bools.push(value as u8),
            Numbers::Ints(ints) => ints.push(value as i64),
            Numbers::Floats(floats) => floats.push(value as u8 as f64),
        }
    }

    fn push_int(&mut self, value: i64) {
        match self {
            Numbers::Bools(bools) => {
                let mut ints: Vec<i64> = bools.iter().map(|value| *value as i64).collect();
                ints.push(value);
                *self = Numbers::Ints(ints);
            }
            Numbers::Ints(ints) => ints.push(value),
            Numbers::Floats(floats) => floats.push(value as f64),
        }
    }

    fn push_float(&mut self, value: f64) {
        match self {
            Numbers::Bools(bools) => {
                let mut floats: Vec<f64> = bools.iter().map(|value| *value as f64).collect();
                floats.push(value);
                *self = Numbers::Floats(floats);
            }
            Numbers::Ints(ints) => {
                let mut floats: Vec<f64> = ints.iter().map(|value| *value as f64).collect();
                floats.push(value);
                *self = Numbers::Floats(floats);
            }
            Numbers::Floats(floats) => floats.push(value),
        }
    }
}

/// Borrowed access to a list or a tuple.
#[derive(Clone, Copy)]
struct Items {
    object: *mut ffi::PyObject,
    is_list: bool,
}

impl Items {
    /// # Safety
    /// The object must be alive and the GIL held, here and while the result is used.
    unsafe fn of(object: *mut ffi::PyObject) -> Option<Items> {
        // SAFETY: the caller guarantees that the object is alive and the GIL held.
        unsafe {
            let is_list = ffi::PyList_CheckExact(object) != 0;
            (is_list || ffi::PyTuple_CheckExact(object) != 0).then_some(Items { object, is_list })
        }
    }

    /// # Safety
    /// As for [`Items::of`].
    unsafe fn len(self) -> usize {
        // SAFETY: the object's type was checked in `of`.
        let count =
            unsafe { if self.is_list { ffi::PyList_Size(self.object) } else { ffi::PyTuple_Size(self.object) } };
        count as usize
    }

    /// # Safety
    /// As for [`Items::of`]; `at` must be below the length.
    unsafe fn get(self, at: usize) -> *mut ffi::PyObject {
        // SAFETY: as above, and `at` is below the length; no code runs meanwhile that could change a list.
        unsafe {
            if self.is_list {
                ffi::PyList_GetItem(self.object, at as isize)
            } else {
                ffi::PyTuple_GetItem(self.object, at as isize)
            }
        }
    }
}

/// The extents, from the first item at each depth.
///
/// # Safety
/// As for [`Items::of`].
unsafe fn extents(object: *mut ffi::PyObject) -> Option<Vec<usize>> {
    let mut extents = Vec::new();
    let mut here = object;
    // SAFETY: items of a living sequence are alive.
    while let Some(items) = unsafe { Items::of(here) } {
        // SAFETY: items of a living sequence are alive.
        let count = unsafe { items.len() };
        // An empty sequence does not determine a dtype.
        if count == 0 || extents.len() == MOST_DIMENSIONS {
            return None;
        }
        extents.push(count);
        // SAFETY: there is a first item.
        here = unsafe { items.get(0) };
    }
    Some(extents)
}

/// Reads the numbers of a sequence with these extents; `None` if it has others.
///
/// # Safety
/// As for [`Items::of`].
unsafe fn read(object: *mut ffi::PyObject, extents: &[usize], numbers: &mut Numbers) -> Option<()> {
    // SAFETY: the caller guarantees that the object and its items are alive and the GIL held.
    unsafe {
        let Some((&extent, inner)) = extents.split_first() else { return read_number(object, numbers) };
        let items = Items::of(object).filter(|items| items.len() == extent)?;
        (0..extent).try_for_each(|at| read(items.get(at), inner, numbers))
    }
}

/// # Safety
/// As for [`Items::of`].
unsafe fn read_number(object: *mut ffi::PyObject, numbers: &mut Numbers) -> Option<()> {
    // SAFETY: the caller guarantees that the object is alive and the GIL held; types are checked before values are
    // read, which then cannot fail.
    unsafe {
        let class = ffi::Py_TYPE(object);
        if class == &raw mut ffi::PyFloat_Type {
            numbers.push_float(ffi::PyFloat_AsDouble(object));
        } else if class == &raw mut ffi::PyLong_Type {
            let mut overflow = 0;
            let value = ffi::PyLong_AsLongLongAndOverflow(object, &mut overflow);
            if overflow != 0 {
                return None;
            }
            numbers.push_int(value);
        } else if class == &raw mut ffi::PyBool_Type {
            numbers.push_bool(object == ffi::Py_True());
        } else {
            return None;
        }
        Some(())
    }
}

/// Creates an array from Python numbers; `None` for anything that is left to NumPy.
#[pyfunction]
#[pyo3(signature = (object, dtype = None, device = None))]
pub(crate) fn from_python(
    py: Python<'_>,
    object: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyDevice>>,
) -> PyResult<Option<Py<PyAny>>> {
    if dtype.is_none()
        && let Some(Arg::Scalar(number)) = operand::quick(object)
    {
        let dtype = number.default_dtype();
        return submit::object(py, copied(py, &[number.to_bits(dtype)], dtype, Shape::SCALAR, device)?).map(Some);
    }
    // SAFETY: the object is alive and the GIL is held.
    let Some(extents) = (unsafe { extents(object.as_ptr()) }) else { return Ok(None) };
    let mut numbers = Numbers::Bools(Vec::with_capacity(extents.iter().product::<usize>().min(1 << 12)));
    // SAFETY: as above, the object is alive and the GIL is held.
    if unsafe { read(object.as_ptr(), &extents, &mut numbers) }.is_none() {
        return Ok(None);
    }
    let wanted = dtype::optional(dtype)?;
    let Ok(shape) = Shape::new(&extents) else { return Ok(None) };
    let made = match (numbers, wanted) {
        (Numbers::Bools(bools), None | Some(DType::Bool)) => copied(py, &bools, DType::Bool, shape, device),
        (Numbers::Ints(ints), None | Some(DType::I64)) => copied(py, &ints, DType::I64, shape, device),
        (Numbers::Floats(floats), None) if DType::default_float() == DType::F64 => {
            copied(py, &floats, DType::F64, shape, device)
        }
        (Numbers::Floats(floats), Some(DType::F64)) => copied(py, &floats, DType::F64, shape, device),
        (Numbers::Floats(floats), None | Some(DType::F32)) => {
            let narrow: Vec<f32> = floats.into_iter().map(|value| value as f32).collect();
            copied(py, &narrow, DType::F32, shape, device)
        }
        // NumPy does the conversion.
        _ => return Ok(None),
    };
    submit::object(py, made?).map(Some)
}

/// Copies elements; one that is wider than its dtype has the value in its first bytes.
fn copied<T: Copy>(
    py: Python<'_>,
    elements: &[T],
    dtype: DType,
    shape: Shape,
    device: Option<&Bound<'_, PyDevice>>,
) -> PyResult<Result<forerun::Array>> {
    debug_assert!(size_of_val(elements) >= dtype.size() * shape.size());
    crate::wait::make_host_room(py, size_of_val(elements))?;
    // SAFETY: there are as many bytes as the dtype and the shape require, and they live through the call.
    on(device, || unsafe { ops::from_host(elements.as_ptr().cast(), dtype, Layout::dense(shape), here(py)) })
}
