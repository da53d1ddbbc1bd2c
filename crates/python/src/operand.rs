//! Operands of an expression with an array: another array, a Python number, or an object that is converted to an array.
//!
//! Invariant: the usual operands (exact types) are recognised by one pointer comparison each and allocate nothing.

use crate::array::PyArray;
use crate::error::raise;
use crate::loc::here;
use crate::pycall;
use forerun::device::current_device;
use forerun::frontend::on_device;
use forerun::{Arg, Array, DType, Device, Error, ErrorKind, Kind, Loc, Scalar, ops};
use pyo3::PyTypeInfo;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyComplexMethods, PyFloat, PyInt, PyList, PyTuple};

/// An operand that needed conversion.
pub(crate) enum Operand<'py> {
    /// An array, passed directly or converted.
    Array(Bound<'py, PyArray>),
    /// A number without a dtype.
    Scalar(Scalar),
}

impl Operand<'_> {
    /// The operand as an argument of an op.
    pub(crate) fn arg(&self) -> Arg<'_> {
        match self {
            Operand::Array(array) => Arg::Array(&array.get().0),
            Operand::Scalar(scalar) => Arg::Scalar(*scalar),
        }
    }

    /// The operand as an array; a number gets its default dtype.
    pub(crate) fn array(&self, loc: Loc) -> PyResult<Array> {
        match self {
            Operand::Array(array) => Ok(array.get().0.clone()),
            Operand::Scalar(scalar) => ops::full(&[], *scalar, scalar.default_dtype(), loc).map_err(raise),
        }
    }
}

/// The array, if the object is one.
#[inline(always)]
pub(crate) fn plain_array<'a>(object: &'a Bound<'_, PyAny>) -> Option<&'a Array> {
    // SAFETY: the object is alive and the GIL is held.
    let class = unsafe { ffi::Py_TYPE(object.as_ptr()) };
    if class != PyArray::type_object_raw(object.py()) {
        return None;
    }
    // SAFETY: the type was just compared, and the class has no subclasses.
    Some(&unsafe { object.cast_unchecked::<PyArray>() }.get().0)
}

/// The operand if its type is exactly array, float, int or bool.
#[inline(always)]
pub(crate) fn quick<'a>(object: &'a Bound<'_, PyAny>) -> Option<Arg<'a>> {
    if let Some(array) = plain_array(object) {
        return Some(Arg::Array(array));
    }
    let pointer = object.as_ptr();
    // SAFETY: the object is alive and the GIL is held.
    let class = unsafe { ffi::Py_TYPE(pointer) };
    if class == &raw mut ffi::PyFloat_Type {
        // SAFETY: the object is exactly a float, for which this cannot fail.
        return Some(Arg::Scalar(Scalar::Float(unsafe { ffi::PyFloat_AsDouble(pointer) })));
    }
    if class == &raw mut ffi::PyLong_Type {
        return narrow(object).map(|value| Arg::Scalar(Scalar::Int(value)));
    }
    if class == &raw mut ffi::PyBool_Type {
        // SAFETY: there are two bool objects, and this returns one of them.
        return Some(Arg::Scalar(Scalar::Bool(pointer == unsafe { ffi::Py_True() })));
    }
    None
}

/// The value of an int object if it fits into 64 bits.
#[inline(always)]
fn narrow(object: &Bound<'_, PyAny>) -> Option<i64> {
    let mut overflow = 0;
    // SAFETY: the object is an int or of a subclass, for which only overflow can occur, and that sets no error.
    let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(object.as_ptr(), &mut overflow) };
    (overflow == 0).then_some(value)
}

/// Converts any operand; `None` for an object that cannot be one. `beside` is the array it is combined with, if any: a
/// converted array is created on its device.
#[cold]
pub(crate) fn convert<'py>(object: &Bound<'py, PyAny>, beside: Option<&Array>) -> PyResult<Option<Operand<'py>>> {
    match quick(object) {
        Some(Arg::Array(_)) => return Ok(Some(Operand::Array(object.cast::<PyArray>()?.clone()))),
        Some(Arg::Scalar(scalar)) => return Ok(Some(Operand::Scalar(scalar))),
        None => {}
    }
    if object.is_instance_of::<PyInt>() {
        if let Some(value) = narrow(object) {
            return Ok(Some(Operand::Scalar(Scalar::Int(value))));
        }
        if let Ok(value) = object.extract::<u64>() {
            return Ok(Some(Operand::Scalar(Scalar::Large(value))));
        }
        // As in NumPy, an integer of any size may be combined with a float array; an integer array cannot hold it.
        if beside.is_some_and(|array| array.dtype().kind() == Kind::Float) {
            return Ok(Some(Operand::Scalar(Scalar::Float(object.extract()?))));
        }
        let dtype = beside.map_or(DType::DEFAULT_INT, Array::dtype);
        return Err(PyOverflowError::new_err(format!("integer {object} is out of bounds for {dtype}")));
    }
    if let Ok(number) = object.cast::<PyComplex>() {
        return Ok(Some(Operand::Scalar(Scalar::Complex(number.real(), number.imag()))));
    }
    if object.is_instance_of::<PyFloat>() {
        return Ok(Some(Operand::Scalar(Scalar::Float(object.extract()?))));
    }
    let sequence = object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>();
    if !sequence && !pycall::has(object, "__array__")? {
        return Ok(None);
    }
    // NumPy scalars are treated like Python numbers: they do not affect the width of the result.
    let operand = pycall::function(object.py(), "forerun._convert", "operand")?;
    let home = beside.map_or_else(current_device, Array::device);
    let converted = on_device(home, || pycall::call(&operand, (object,)))?;
    match quick(&converted) {
        Some(Arg::Array(_)) => Ok(Some(Operand::Array(converted.cast_into::<PyArray>()?))),
        Some(Arg::Scalar(scalar)) => Ok(Some(Operand::Scalar(scalar))),
        None => match converted.cast::<PyComplex>() {
            Ok(number) => Ok(Some(Operand::Scalar(Scalar::Complex(number.real(), number.imag())))),
            Err(_) => Ok(None),
        },
    }
}

/// The device for converted operands: that of the first array.
pub(crate) fn home<'a, 'py: 'a>(objects: impl IntoIterator<Item = &'a Bound<'py, PyAny>>) -> Device {
    let device = |object: &Bound<'py, PyAny>| object.cast::<PyArray>().ok().map(|array| array.get().0.device());
    objects.into_iter().find_map(device).unwrap_or_else(current_device)
}

/// The operand as an array, created on that device if it is not one.
pub(crate) fn array(object: &Bound<'_, PyAny>, op: &'static str, home: Device) -> PyResult<Array> {
    match quick(object) {
        Some(Arg::Array(array)) => Ok(array.clone()),
        _ => on_device(home, || required(object, op)?.array(here(object.py()))),
    }
}

/// Converts an operand, or fails.
pub(crate) fn required<'py>(object: &Bound<'py, PyAny>, op: &'static str) -> PyResult<Operand<'py>> {
    convert(object, None)?.ok_or_else(|| {
        let name = object.get_type().name().map_or_else(|_| "object".into(), |name| name.to_string());
        raise(Error::new(ErrorKind::Type, format!("cannot take an operand of type {name}")).in_op(op))
    })
}

/// Parses a number.
pub(crate) fn scalar(object: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    if let Some(Arg::Scalar(scalar)) = quick(object) {
        return Ok(scalar);
    }
    match convert(object, None)? {
        Some(Operand::Scalar(scalar)) => Ok(scalar),
        Some(Operand::Array(array)) if array.get().0.ndim() == 0 => {
            let py = object.py();
            crate::wait::read(py, &array.get().0, "item", |array, wait| array.item_with(wait))
        }
        _ => Err(PyTypeError::new_err(format!("expected a number, got {}", pycall::method(object, "__repr__", ())?))),
    }
}
