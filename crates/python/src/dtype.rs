//! Dtypes as Python objects; they do not import NumPy.

use crate::codes;
use crate::operand;
use crate::pycall;
use forerun::frontend::{ArgType, promote};
use forerun::{Arg, DType, Kind, Shape};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyComplex, PyString, PyTuple, PyType};

/// The type of an array's elements. Equal to NumPy's dtype of the same name and to its name, and usable in its place.
#[pyclass(frozen, name = "dtype", module = "forerun.np")]
pub(crate) struct PyDType(pub(crate) DType);

/// The singleton object of a dtype.
pub(crate) fn object(py: Python<'_>, dtype: DType) -> &Bound<'_, PyDType> {
    static OBJECTS: PyOnceLock<Vec<Py<PyDType>>> = PyOnceLock::new();
    let objects = OBJECTS.get_or_init(py, || {
        let object = |dtype| Py::new(py, PyDType(dtype)).expect("a dtype is a few bytes");
        DType::ALL.into_iter().map(object).collect()
    });
    objects[dtype as usize].bind(py)
}

/// Parses what a user may pass as a dtype: an object of this package or of NumPy, a name, a Python type.
pub(crate) fn dtype_of(object: &Bound<'_, PyAny>) -> PyResult<DType> {
    named(object)?.ok_or_else(|| refused(object))
}

/// The exception for an unsupported dtype.
#[cold]
pub(crate) fn refused(object: &Bound<'_, PyAny>) -> PyErr {
    // The `__str__` of a class is that of its instances.
    let text = match object.cast::<PyType>() {
        Ok(class) => class.name().map(|name| name.to_string()),
        Err(_) => pycall::method(object, "__str__", ()).map(|text| text.to_string()),
    };
    unknown(&text.unwrap_or_else(|_| "of this object".into()))
}

/// The exception for an unsupported dtype name.
#[cold]
pub(crate) fn unknown(text: &str) -> PyErr {
    let known = DType::ALL.map(DType::name).join(", ");
    PyTypeError::new_err(format!("dtype {text} is not supported; expected one of {known}"))
}

/// As [`dtype_of`] for an optional argument.
pub(crate) fn optional(object: Option<&Bound<'_, PyAny>>) -> PyResult<Option<DType>> {
    object.map(dtype_of).transpose()
}

pub(crate) fn named(object: &Bound<'_, PyAny>) -> PyResult<Option<DType>> {
    if let Ok(dtype) = object.cast::<PyDType>() {
        return Ok(Some(dtype.get().0));
    }
    let name = if let Ok(text) = object.cast::<PyString>() {
        let text = text.to_string();
        if let Some(dtype) = codes::read(&text) {
            return Ok(Some(dtype));
        }
        text
    } else if let Ok(class) = object.cast::<PyType>() {
        class.name()?.to_string()
    } else {
        match pycall::attribute(object, "name") {
            Ok(name) => name.extract().unwrap_or_default(),
            Err(_) => return Ok(None),
        }
    };
    Ok(DType::from_name(&name).or_else(|| codes::other_name(&name)))
}

/// The dtype of floats without an explicit dtype.
#[pyfunction]
pub(crate) fn default_float(py: Python<'_>) -> Bound<'_, PyDType> {
    object(py, DType::default_float()).clone()
}

/// Sets the default float of the process to float64, or back to float32.
#[pyfunction]
pub(crate) fn set_default_float(double: bool) {
    DType::set_default_float(double);
}

/// The dtype that arrays, dtypes and numbers promote to.
#[pyfunction]
#[pyo3(signature = (*operands))]
pub(crate) fn result_type<'py>(py: Python<'py>, operands: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyDType>> {
    let mut types = Vec::with_capacity(operands.len());
    for operand in operands.iter() {
        types.push(match operand::quick(&operand) {
            Some(Arg::Array(array)) => ArgType::Array(array.dtype(), array.shape()),
            Some(Arg::Scalar(scalar)) => ArgType::Scalar(scalar.kind()),
            None if operand.is_instance_of::<PyComplex>() => ArgType::Scalar(Kind::Complex),
            None => ArgType::Array(dtype_of(&operand)?, Shape::SCALAR),
        });
    }
    if types.is_empty() {
        return Err(PyValueError::new_err("result_type: at least one array or dtype is required"));
    }
    Ok(object(py, promote(&types)).clone())
}

#[pymethods]
impl PyDType {
    /// The dtype that an object describes: a dtype, NumPy's dtype, a name or a Python type.
    #[new]
    fn new(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Py<PyDType>> {
        Ok(self::object(py, dtype_of(object)?).clone().unbind())
    }

    /// NumPy's name of the dtype.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.name()
    }

    /// Bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.size()
    }

    /// NumPy's character for the kind: b, i, u, f or c.
    #[getter]
    fn kind(&self) -> char {
        codes::kind(self.0)
    }

    /// NumPy's character code of the dtype; for bfloat16, that of the package ``ml_dtypes``.
    #[getter]
    fn char(&self) -> char {
        codes::letter(self.0)
    }

    /// Byte order, kind and size, as in ``<f4``.
    #[getter]
    fn str(&self) -> String {
        let (order, size) = (if self.0.size() == 1 { '|' } else { '<' }, self.0.size());
        format!("{order}{}{size}", if self.0 == DType::BF16 { 'V' } else { self.kind() })
    }

    /// ``|`` for single bytes, else ``=``: elements have the machine's byte order.
    #[getter]
    fn byteorder(&self) -> char {
        if self.0.size() == 1 { '|' } else { '=' }
    }

    /// Whether elements have the machine's byte order: always True.
    #[getter]
    fn isnative(&self) -> bool {
        true
    }

    /// The constructor of a 0-d array from a number: the dtype itself.
    #[getter(r#type)]
    fn type_(slf: &Bound<'_, Self>) -> Py<PyDType> {
        slf.clone().unbind()
    }

    /// NumPy's dtype of the same name.
    #[getter(__numpy_dtype__)]
    fn numpy_dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.0 == DType::BF16 {
            return pycall::call(&pycall::function(py, "forerun._convert", "brain_dtype")?, ());
        }
        pycall::call(&pycall::function(py, "numpy", "dtype")?, (self.0.name(),))
    }

    /// NumPy's dtype of the same name, under the attribute that NumPy before 2.4 uses.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.numpy_dtype(py)
    }

    fn __call__<'py>(&self, py: Python<'py>, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        pycall::call(&pycall::function(py, "forerun.np", "array")?, (value, self::object(py, self.0)))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(named(other)? == Some(self.0))
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        PyString::intern(py, self.0.name()).hash()
    }

    fn __repr__(&self) -> String {
        format!("dtype('{}')", self.0.name())
    }

    fn __str__(&self) -> &'static str {
        self.0.name()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (&'static str,)) {
        (py.get_type::<PyDType>(), (self.0.name(),))
    }
}
