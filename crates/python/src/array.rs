//! The array object: every slot and method is a conversion and one call.
//!
//! Invariant: a method waits only if it is a blocker, and every wait goes through [`crate::wait`].

use crate::advanced;
use crate::autograd;
use crate::buffer;
use crate::cuda_interface;
use crate::device::{self, PyDevice};
use crate::dlpack;
use crate::dtype::{self, PyDType};
use crate::error::raise;
use crate::exchange::{to_numpy, writable};
use crate::index;
use crate::layers;
use crate::loc::here;
use crate::operand::{self, Operand};
use crate::outcall;
use crate::rows::Rows;
use crate::submit;
use crate::wait;
use forerun::{Arg, Array, DType, Device, Kind, Point, ReduceKind, Scalar, on_device, ops};
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyDict, PyFloat, PyInt, PySlice, PyTuple};
use std::ffi::c_int;

/// An asynchronous array: a handle that is there at once, on a value that may still be computed.
#[pyclass(frozen, freelist = 256, name = "ndarray", module = "forerun.np")]
pub(crate) struct PyArray(pub(crate) Array);

// SAFETY: an array may move between threads but not be used by two at once. Python code reaches this wrapper only with
// the GIL held (the module does not declare itself free-threaded), and what runs without it works on a clone.
unsafe impl Sync for PyArray {}

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

impl PyArray {
    fn item_now(&self, py: Python<'_>, call: &'static str) -> PyResult<Scalar> {
        wait::read(py, &self.0, call, |array, wait| array.item_with(wait))
    }

    fn reduced(&self, py: Python<'_>, kind: ReduceKind, axis: Option<Any>, keepdims: bool) -> PyResult<Py<PyAny>> {
        let axes = index::axes(axis)?;
        submit::object(py, ops::reduce(kind, &self.0, axes.as_deref(), keepdims, here(py)))
    }

    /// A total in the dtype that was asked for; without one, small integers make a wide one.
    fn total(
        &self,
        py: Python<'_>,
        kind: ReduceKind,
        axis: Option<Any>,
        dtype: Option<Any>,
        keepdims: bool,
    ) -> PyResult<Py<PyAny>> {
        let (axes, asked) = (index::axes(axis)?, dtype::optional(dtype)?);
        let total = ops::reduce(kind, &self.as_dtype(py, dtype)?, axes.as_deref(), keepdims, here(py));
        submit::object(
            py,
            total.and_then(|total| match asked {
                Some(dtype) if dtype != total.dtype() => ops::cast(&total, dtype, here(py)),
                _ => Ok(total),
            }),
        )
    }

    fn as_dtype(&self, py: Python<'_>, dtype: Option<Any>) -> PyResult<Array> {
        match dtype::optional(dtype)? {
            Some(dtype) if dtype != self.0.dtype() => ops::cast(&self.0, dtype, here(py)).map_err(raise),
            _ => Ok(self.0.clone()),
        }
    }
}

#[pymethods]
impl PyArray {
    /// NumPy's arrays leave an expression with one of ours to us.
    #[classattr]
    fn __array_priority__() -> f64 {
        1000.0
    }

    fn __add__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        submit::binary(py, Point::Add, self, other, false)
    }

    fn __radd__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        submit::binary(py, Point::Add, self, other, true)
    }

    fn __iadd__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        submit::in_place(py, Point::Add, self, other)
    }

    fn __sub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        submit::binary(py, Point::Subtract, self, other, false)
    }

    fn __rsub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        submit::binary(py, Point::Subtract, self, other, true)
    }

    fn __isub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        submit::in_place(py, Point::Subtract, self, other)
    }

    fn __mul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        submit::binary(py, Point::Multiply, self, other, false)
    }

    fn __rmul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        submit::binary(py, Point::Multiply, self, other, true)
    }

    fn __imul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        submit::in_place(py, Point::Multiply, self, other)
    }

    fn __truediv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        submit::binary(py, Point::Divide, self, other, false)
    }

    fn __rtruediv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        submit::binary(py, Point::Divide, self, other, true)
    }

    fn __itruediv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        submit::in_place(py, Point::Divide, self, other)
    }

    fn __floordiv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        submit::binary(py, Point::FloorDivide, self, other, false)
    }

    fn __rfloordiv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        submit::binary(py, Point::FloorDivide, self, other, true)
    }

    fn __ifloordiv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        submit::in_place(py, Point::FloorDivide, self, other)
    }

    fn __mod__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        submit::binary(py, Point::Remainder, self, other, false)
    }

    fn __rmod__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        submit::binary(py, Point::Remainder, self, other, true)
    }

    fn __imod__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        submit::in_place(py, Point::Remainder, self, other)
    }

    fn __and__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        submit::binary(py, Point::BitwiseAnd, self, other, false)
    }

    fn __rand__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        submit::binary(py, Point::BitwiseAnd, self, other, true)
    }

    fn __iand__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        submit::in_place(py, Point::BitwiseAnd, self, other)
    }

    fn __or__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        submit::binary(py, Point::BitwiseOr, self, other, false)
    }

    fn __ror__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        submit::binary(py, Point::BitwiseOr, self, other, true)
    }

    fn __ior__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        submit::in_place(py, Point::BitwiseOr, self, other)
    }

    fn __xor__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        submit::binary(py, Point::BitwiseXor, self, other, false)
    }

    fn __rxor__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        submit::binary(py, Point::BitwiseXor, self, other, true)
    }

    fn __ixor__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        submit::in_place(py, Point::BitwiseXor, self, other)
    }

    fn __lshift__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        submit::binary(py, Point::LeftShift, self, other, false)
    }

    fn __rlshift__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        submit::binary(py, Point::LeftShift, self, other, true)
    }

    fn __ilshift__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        submit::in_place(py, Point::LeftShift, self, other)
    }

    fn __rshift__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        submit::binary(py, Point::RightShift, self, other, false)
    }

    fn __rrshift__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        submit::binary(py, Point::RightShift, self, other, true)
    }

    fn __irshift__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        submit::in_place(py, Point::RightShift, self, other)
    }

    fn __pow__(&self, py: Python<'_>, other: Any, modulo: Option<Any>) -> PyResult<Py<PyAny>> {
        match modulo {
            None => submit::binary(py, Point::Power, self, other, false),
            Some(_) => Ok(py.NotImplemented()),
        }
    }

    fn __rpow__(&self, py: Python<'_>, other: Any, modulo: Option<Any>) -> PyResult<Py<PyAny>> {
        match modulo {
            None => submit::binary(py, Point::Power, self, other, true),
            Some(_) => Ok(py.NotImplemented()),
        }
    }

    fn __ipow__(&self, py: Python<'_>, other: Any, _modulo: Option<Any>) -> PyResult<()> {
        submit::in_place(py, Point::Power, self, other)
    }

    fn __divmod__(&self, py: Python<'_>, other: Any) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
        let quotient = submit::binary(py, Point::FloorDivide, self, other, false)?;
        Ok((quotient, submit::binary(py, Point::Remainder, self, other, false)?))
    }

    fn __rdivmod__(&self, py: Python<'_>, other: Any) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
        let quotient = submit::binary(py, Point::FloorDivide, self, other, true)?;
        Ok((quotient, submit::binary(py, Point::Remainder, self, other, true)?))
    }

    /// Python's ``round``: to whole numbers, or to so many decimals.
    #[pyo3(signature = (ndigits = None))]
    fn __round__<'py>(slf: &Bound<'py, Self>, ndigits: Option<i32>) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py(), "round", (slf, ndigits.unwrap_or(0)))
    }

    fn __matmul__(&self, py: Python<'_>, other: Any) -> PyResult<Py<PyAny>> {
        submit::matmul(py, self, other, false)
    }

    fn __rmatmul__(&self, py: Python<'_>, other: Any) -> PyResult<Py<PyAny>> {
        submit::matmul(py, self, other, true)
    }

    fn __imatmul__(&self, py: Python<'_>, other: Any) -> PyResult<()> {
        let loc = here(py);
        let product = ops::matmul(&self.0, &operand::array(other, "matmul", self.0.device())?, loc);
        ops::assign(&self.0, Arg::Array(&product.map_err(raise)?), loc).map_err(raise)
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        submit::unary(py, Point::Negative, self)
    }

    fn __pos__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        submit::object(py, ops::copy(&self.0, here(py)))
    }

    fn __abs__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        submit::unary(py, Point::Abs, self)
    }

    fn __invert__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        submit::unary(py, Point::Invert, self)
    }

    fn __richcmp__(&self, py: Python<'_>, other: Any, op: CompareOp) -> PyResult<Py<PyAny>> {
        let point = match op {
            CompareOp::Lt => Point::Less,
            CompareOp::Le => Point::LessEqual,
            CompareOp::Eq => Point::Equal,
            CompareOp::Ne => Point::NotEqual,
            CompareOp::Gt => Point::Greater,
            CompareOp::Ge => Point::GreaterEqual,
        };
        submit::binary(py, point, self, other, false)
    }

    fn __getitem__(&self, py: Python<'_>, index: Any) -> PyResult<Py<PyAny>> {
        if let Some(positions) = index::Positions::of(index) {
            return submit::object(py, ops::at(&self.0, positions.all()));
        }
        match index::basic(index)? {
            Some(items) => submit::object(py, ops::index(&self.0, &items)),
            None => advanced::get(py, &self.0, index),
        }
    }

    fn __setitem__(&self, py: Python<'_>, index: Any, value: Any) -> PyResult<()> {
        if let Some(positions) = index::Positions::of(index) {
            return submit::assign(py, &ops::at(&self.0, positions.all()).map_err(raise)?, value);
        }
        match index::basic(index)? {
            Some(items) => submit::assign(py, &ops::index(&self.0, &items).map_err(raise)?, value),
            None => advanced::set(py, &self.0, index, value),
        }
    }

    fn __len__(&self) -> PyResult<usize> {
        self.0.shape().first().copied().ok_or_else(|| PyTypeError::new_err("len() of a 0-d array"))
    }

    fn __iter__(&self) -> PyResult<Rows> {
        match self.0.ndim() {
            0 => Err(PyTypeError::new_err("iteration over a 0-d array")),
            _ => Ok(Rows::of(&self.0)),
        }
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        if self.0.size() != 1 {
            let text = format!("the truth value of an array of shape {} is ambiguous", self.0.shape());
            return Err(PyValueError::new_err(text));
        }
        Ok(match self.item_now(py, "bool")? {
            Scalar::Bool(value) => value,
            Scalar::Int(value) => value != 0,
            Scalar::Large(_) => true,
            Scalar::Float(value) => value != 0.0,
            Scalar::Complex(re, im) => re != 0.0 || im != 0.0,
        })
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        match self.item_now(py, "float")? {
            Scalar::Complex(..) => Err(PyTypeError::new_err("a complex number is no float; take its real part")),
            number => Ok(number.as_f64()),
        }
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyComplex>> {
        let number = self.item_now(py, "complex")?;
        Ok(PyComplex::from_doubles(py, number.as_f64(), number.imaginary()))
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.item_now(py, "int")? {
            // Python's own conversion knows integers of any length, and what to say of NaN and infinity.
            Scalar::Float(value) => outcall::call(&py.get_type::<PyInt>(), (value,)),
            Scalar::Int(value) => Ok(value.into_pyobject(py)?.into_any()),
            Scalar::Large(value) => Ok(value.into_pyobject(py)?.into_any()),
            Scalar::Complex(..) => Err(PyTypeError::new_err("a complex number is no integer; take its real part")),
            Scalar::Bool(value) => Ok(i64::from(value).into_pyobject(py)?.into_any()),
        }
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.0.dtype().kind() {
            Kind::Int if self.0.ndim() == 0 => self.__int__(py),
            _ => Err(PyTypeError::new_err(format!(
                "only 0-d integer arrays are an index, not {} of shape {}",
                self.0.dtype(),
                self.0.shape()
            ))),
        }
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let device = match self.0.device() {
            Device::Cpu(_) => None,
            device @ Device::Gpu(_) => Some(PyDevice(device)),
        };
        let to_repr = outcall::function(py, "forerun._text", "to_repr")?;
        outcall::call(&to_repr, (to_numpy(py, &self.0, "repr")?, self.0.dtype().name(), device))
    }

    fn __str__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let values = to_numpy(py, &self.0, "str")?;
        match self.0.dtype() {
            DType::BF16 => outcall::call(&outcall::function(py, "forerun._text", "to_str")?, (values,)),
            _ => outcall::method(&values, "__str__", ()),
        }
    }

    /// A small table for notebooks; None for what is no table.
    fn _repr_html_<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let title = format!("{}, {}, {}", self.0.shape(), self.0.dtype(), self.0.device());
        let to_html = outcall::function(py, "forerun._text", "to_html")?;
        outcall::call(&to_html, (to_numpy(py, &self.0, "repr")?, title))
    }

    /// What notebooks and shells print.
    fn _repr_pretty_<'py>(slf: &Bound<'py, Self>, printer: Any<'_, 'py>, cycle: bool) -> PyResult<Bound<'py, PyAny>> {
        let _ = cycle;
        outcall::method(printer, "text", (slf.get().__repr__(slf.py())?,))
    }

    fn __format__<'py>(&self, py: Python<'py>, spec: Any<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let value = if self.0.ndim() == 0 {
            python_scalar(py, self.item_now(py, "format")?)?
        } else {
            to_numpy(py, &self.0, "format")?
        };
        outcall::method(&value, "__format__", (spec,))
    }

    /// NumPy's conversion: a read-only view of the value's bytes, or a copy where one is asked for or needed.
    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<Any<'_, 'py>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        buffer::raise_missed(slf)?;
        let (py, array) = (slf.py(), &slf.get().0);
        if copy == Some(false) && !array.device().is_host() {
            let text = format!("__array__: elements on {} cannot reach the host without a copy", array.device());
            return Err(PyValueError::new_err(text));
        }
        let array = to_numpy(py, array, "numpy.asarray")?;
        let copy = copy.or(writable().then_some(true));
        outcall::call(&outcall::function(py, "forerun._convert", "to_numpy")?, (array, dtype, copy))
    }

    /// NumPy's ufuncs on arrays of ours are ops of ours.
    #[pyo3(signature = (ufunc, method, *inputs, **options))]
    fn __array_ufunc__<'py>(
        slf: &Bound<'py, Self>,
        ufunc: Any<'_, 'py>,
        method: Any<'_, 'py>,
        inputs: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let applied = outcall::function(slf.py(), "forerun._protocols", "array_ufunc")?;
        outcall::call(&applied, (ufunc, method, inputs, options))
    }

    /// NumPy's functions on arrays of ours are those of `forerun.np`.
    fn __array_function__<'py>(
        slf: &Bound<'py, Self>,
        func: Any<'_, 'py>,
        types: Any<'_, 'py>,
        args: Any<'_, 'py>,
        kwargs: Any<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let applied = outcall::function(slf.py(), "forerun._protocols", "array_function")?;
        outcall::call(&applied, (func, types, args, kwargs))
    }

    /// The namespace whose functions take the array, as the array API standard asks for it.
    #[pyo3(signature = (*, api_version = None))]
    fn __array_namespace__<'py>(
        slf: &Bound<'py, Self>,
        api_version: Option<Any<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        outcall::call(&outcall::function(slf.py(), "forerun._protocols", "namespace")?, (api_version,))
    }

    /// The elements for another library, as DLPack describes them: read-only where nothing is copied.
    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Any<'_, 'py>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        dlpack::export(py, &self.0, &dlpack::Asked { stream, max_version, device: dl_device, copy })
    }

    /// The device of the elements, as DLPack numbers it.
    fn __dlpack_device__(&self) -> PyResult<(i32, i32)> {
        dlpack::device_of(&self.0)
    }

    /// The elements for libraries of CUDA, read-only; arrays elsewhere have no such attribute.
    #[getter]
    fn __cuda_array_interface__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        cuda_interface::describe(slf)
    }

    /// Python's buffer protocol: the bytes, read-only.
    ///
    /// # Safety
    /// Python calls it, with a view to fill in.
    unsafe fn __getbuffer__(slf: &Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        // SAFETY: as Python promises.
        unsafe { buffer::fill(slf, view, flags) }
    }

    /// The end of a view.
    ///
    /// # Safety
    /// Python calls it once, for a view that was filled in.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: as Python promises.
        unsafe { buffer::release(view) }
    }

    /// How to pickle the array, with its bytes apart where the protocol can.
    fn __reduce_ex__<'py>(slf: &Bound<'py, Self>, protocol: Any<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        outcall::call(&outcall::function(slf.py(), "forerun._pickles", "reduce")?, (slf, protocol))
    }

    /// A copy, for `copy.copy`.
    fn __copy__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.copy(py)
    }

    /// A copy, for `copy.deepcopy`.
    fn __deepcopy__(&self, py: Python<'_>, _memo: Any) -> PyResult<Py<PyAny>> {
        self.copy(py)
    }

    /// The number of elements of each dimension.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.shape().iter())
    }

    /// The real parts of the elements; of a real array, the array itself.
    #[getter]
    fn real<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py(), "real", (slf,))
    }

    /// The imaginary parts of the elements; of a real array, zeros.
    #[getter]
    fn imag<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py(), "imag", (slf,))
    }

    /// The elements with their imaginary parts negated.
    fn conj<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py(), "conj", (slf,))
    }

    /// The type of the elements.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyDType> {
        dtype::object(py, self.0.dtype()).clone()
    }

    /// The number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.0.size()
    }

    /// The number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.0.ndim()
    }

    /// Bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.dtype().size()
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.size() * self.0.dtype().size()
    }

    /// The device the array lives on.
    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice(self.0.device())
    }

    /// The device the array lives on, by its older name.
    #[getter]
    fn ctx(&self) -> PyDevice {
        self.device()
    }

    /// The device the array lives on, by its oldest name.
    #[getter]
    fn context(&self) -> PyDevice {
        self.device()
    }

    /// A view with the dimensions in reverse order.
    #[getter(T)]
    fn reversed(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        submit::object(py, ops::transpose(&self.0, None))
    }

    /// A view with the last two dimensions exchanged.
    #[getter(mT)]
    fn matrix_transposed<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py(), "matrix_transpose", (slf,))
    }

    /// Waits until the value is there; raises the error if computing it failed.
    fn wait_to_read(&self, py: Python<'_>) -> PyResult<()> {
        wait::read(py, &self.0, "wait_to_read", |array, wait| array.wait_to_read_with(wait))
    }

    /// Waits until the value is there. A value is written once, so whoever may read may also write.
    fn wait_to_write(&self, py: Python<'_>) -> PyResult<()> {
        wait::read(py, &self.0, "wait_to_write", |array, wait| array.wait_to_read_with(wait))
    }

    /// Waits, and if what was last written to the array failed, gives it back its last good value. Returns how many writes
    /// it took back: 0 if the array is good. Raises if no value from before is left: after an assignment to the whole.
    fn restore(&self, py: Python<'_>) -> PyResult<u32> {
        wait::read(py, &self.0, "restore", |array, wait| array.restore_with(wait))
    }

    /// The value as a read-only NumPy array, without a copy. It stays as it is when the array changes.
    /// After ``engine.set_writable_asnumpy(True)`` it is a copy that may be written.
    fn asnumpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let array = to_numpy(py, &self.0, "asnumpy")?;
        if writable() { outcall::method(&array, "copy", ()) } else { Ok(array) }
    }

    /// The only element, or the one at an index, as a Python number.
    #[pyo3(signature = (*index))]
    fn item<'py>(&self, py: Python<'py>, index: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        if index.is_empty() {
            return python_scalar(py, self.item_now(py, "item")?);
        }
        let element = PyArray(index::view(&self.0, index)?);
        python_scalar(py, element.item_now(py, "item")?)
    }

    /// ``await x`` waits in the running event loop until the value is there, and gives the array.
    fn __await__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        outcall::call(&outcall::function(slf.py(), "forerun._asyncio", "settle")?, (slf,))
    }

    /// ``await x.item_async()``: the only element, or the one at an index, without blocking the event loop.
    #[pyo3(signature = (*index))]
    fn item_async<'py>(slf: &Bound<'py, Self>, index: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let (py, array) = (slf.py(), slf.as_any());
        let args = std::iter::once(array.clone()).chain(index.iter());
        outcall::call(&outcall::function(py, "forerun._asyncio", "item")?, PyTuple::new(py, args.collect::<Vec<_>>())?)
    }

    /// The elements as nested lists of Python numbers.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        outcall::method(&to_numpy(py, &self.0, "tolist")?, "tolist", ())
    }

    /// The bytes of the elements in row-major order, or with ``order="F"`` in column-major order.
    #[pyo3(signature = (order = "C"))]
    fn tobytes<'py>(&self, py: Python<'py>, order: &str) -> PyResult<Bound<'py, PyBytes>> {
        buffer::bytes_of(py, &self.0, order)
    }

    /// Writes the elements to a file in row-major order: their bytes, or with ``sep`` as text between separators.
    #[pyo3(signature = (fid, sep = "", format = "%s"))]
    fn tofile<'py>(slf: &Bound<'py, Self>, fid: Any<'_, 'py>, sep: &str, format: &str) -> PyResult<Bound<'py, PyAny>> {
        outcall::call(&outcall::function(slf.py(), "forerun._files", "tofile")?, (slf, fid, sep, format))
    }

    /// The elements in another dtype. Without ``copy`` the array itself, where it has that dtype already.
    #[pyo3(signature = (dtype, copy = true))]
    fn astype(slf: &Bound<'_, Self>, dtype: Any, copy: bool) -> PyResult<Py<PyAny>> {
        let (py, array, dtype) = (slf.py(), &slf.get().0, dtype::dtype_of(dtype)?);
        match (dtype == array.dtype(), copy) {
            (true, false) => Ok(slf.clone().into_any().unbind()),
            (true, true) => submit::object(py, ops::copy(array, here(py))),
            (false, _) => submit::object(py, ops::cast(array, dtype, here(py))),
        }
    }

    /// A copy.
    fn copy(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        submit::object(py, ops::copy(&self.0, here(py)))
    }

    /// Makes the array a variable: backward writes, or adds to, its gradient.
    #[pyo3(signature = (grad_req = "write"))]
    fn attach_grad(&self, py: Python<'_>, grad_req: &str) -> PyResult<()> {
        autograd::attach_grad(&self.0, grad_req, here(py))
    }

    /// The gradient of a variable; None for an array that is none.
    #[getter]
    fn grad(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        autograd::gradient(py, &self.0)
    }

    /// Takes the array off the tape.
    fn drop_grad(&self) {
        forerun::grad::drop_grad(&self.0);
    }

    /// The same elements, through which no gradient flows back.
    fn detach(&self) -> PyArray {
        PyArray(self.0.detach())
    }

    /// Computes the gradients of all variables that this was computed from, while recording.
    #[pyo3(signature = (out_grad = None, retain_graph = false, train_mode = true))]
    fn backward(
        &self,
        py: Python<'_>,
        out_grad: Option<&Bound<'_, PyArray>>,
        retain_graph: bool,
        train_mode: bool,
    ) -> PyResult<()> {
        let _ = train_mode;
        autograd::backward_from(py, &self.0, out_grad, retain_graph)
    }

    /// The array on a device.
    fn as_in_ctx(slf: &Bound<'_, Self>, device: &Bound<'_, PyDevice>) -> PyResult<Py<PyAny>> {
        if *device.get() == slf.get().device() {
            return Ok(slf.clone().into_any().unbind());
        }
        let py = slf.py();
        submit::object(py, ops::transfer(&slf.get().0, device.get().0, here(py)))
    }

    /// The same under MXNet's older name.
    fn as_in_context(slf: &Bound<'_, Self>, device: &Bound<'_, PyDevice>) -> PyResult<Py<PyAny>> {
        PyArray::as_in_ctx(slf, device)
    }

    /// The same under the name of the array API; the device may be named by a string. Work is ordered by what it reads and
    /// writes, so there are no streams.
    #[pyo3(signature = (device, /, *, stream = None))]
    fn to_device(slf: &Bound<'_, Self>, device: Any, stream: Option<Any>) -> PyResult<Py<PyAny>> {
        match stream {
            None => PyArray::as_in_ctx(slf, &Bound::new(slf.py(), device::of(device)?)?),
            Some(_) => Err(PyValueError::new_err("to_device: there are no streams to choose from")),
        }
    }

    /// Copies the elements into another array, which it returns, or to a device, as a new array.
    fn copyto<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        let loc = here(py);
        if let Ok(device) = other.cast::<PyDevice>() {
            return submit::object(py, ops::transfer(&self.0, device.get().0, loc));
        }
        let Ok(array) = other.cast::<PyArray>() else {
            let kind = other.get_type().name()?;
            return Err(PyTypeError::new_err(format!("copyto: needs an array or a device, not {kind}")));
        };
        ops::assign(&array.get().0, Arg::Array(&self.0), loc).map_err(raise)?;
        crate::wait::leave_room(py)?;
        Ok(other.clone().unbind())
    }

    /// The elements under another shape; one dimension may be -1. A view where that is possible.
    #[pyo3(signature = (*shape))]
    fn reshape(&self, py: Python<'_>, shape: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
        submit::object(py, ops::reshape(&self.0, &index::spread(shape)?, here(py)))
    }

    /// A view with the dimensions in another order; without an order, reversed.
    #[pyo3(signature = (*axes))]
    fn transpose(&self, py: Python<'_>, axes: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
        let reversed = axes.is_empty() || (axes.len() == 1 && axes.get_item(0)?.is_none());
        let axes = if reversed { None } else { Some(index::spread(axes)?) };
        submit::object(py, ops::transpose(&self.0, axes.as_deref()))
    }

    /// A view without dimensions of extent 1.
    #[pyo3(signature = (axis = None))]
    fn squeeze(&self, py: Python<'_>, axis: Option<Any>) -> PyResult<Py<PyAny>> {
        submit::object(py, ops::squeeze(&self.0, index::axes(axis)?.as_deref()))
    }

    /// A view with one more dimension.
    fn expand_dims(&self, py: Python<'_>, axis: isize) -> PyResult<Py<PyAny>> {
        submit::object(py, ops::expand_dims(&self.0, axis))
    }

    /// A view with repeated dimensions.
    fn broadcast_to(&self, py: Python<'_>, shape: Any) -> PyResult<Py<PyAny>> {
        submit::object(py, ops::broadcast_to(&self.0, &index::shape(shape)?))
    }

    /// A view with two dimensions exchanged.
    fn swapaxes<'py>(slf: &Bound<'py, Self>, axis1: isize, axis2: isize) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py(), "swapaxes", (slf, axis1, axis2))
    }

    /// Each element several times along an axis; without one, those of the flattened array.
    #[pyo3(signature = (repeats, axis = None))]
    fn repeat<'py>(slf: &Bound<'py, Self>, repeats: Any<'_, 'py>, axis: Option<isize>) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py(), "repeat", (slf, repeats, axis))
    }

    /// Copies side by side.
    fn tile<'py>(slf: &Bound<'py, Self>, reps: Any<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py(), "tile", (slf, reps))
    }

    /// Rounded to so many decimals, ties to even.
    #[pyo3(signature = (decimals = 0))]
    fn round<'py>(slf: &Bound<'py, Self>, decimals: i32) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py(), "round", (slf, decimals))
    }

    /// A diagonal of two axes, as the last axis.
    #[pyo3(signature = (offset = 0, axis1 = 0, axis2 = 1))]
    fn diagonal<'py>(slf: &Bound<'py, Self>, offset: isize, axis1: isize, axis2: isize) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py(), "diagonal", (slf, offset, axis1, axis2))
    }

    /// The sum of a diagonal of two axes.
    #[pyo3(signature = (offset = 0, axis1 = 0, axis2 = 1, dtype = None))]
    fn trace<'py>(
        slf: &Bound<'py, Self>,
        offset: isize,
        axis1: isize,
        axis2: isize,
        dtype: Option<Any<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py(), "trace", (slf, offset, axis1, axis2, dtype))
    }

    /// Whether every element over axes is true.
    #[pyo3(signature = (axis = None, *, keepdims = false))]
    fn all<'py>(slf: &Bound<'py, Self>, axis: Option<Any<'_, 'py>>, keepdims: bool) -> PyResult<Bound<'py, PyAny>> {
        face_with(slf.py(), "all", (slf, axis), keepdims)
    }

    /// Whether some element over axes is true.
    #[pyo3(signature = (axis = None, *, keepdims = false))]
    fn any<'py>(slf: &Bound<'py, Self>, axis: Option<Any<'_, 'py>>, keepdims: bool) -> PyResult<Bound<'py, PyAny>> {
        face_with(slf.py(), "any", (slf, axis), keepdims)
    }

    /// A copy in one dimension.
    fn flatten(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let loc = here(py);
        submit::object(py, ops::copy(&self.0, loc).and_then(|copy| ops::reshape(&copy, &[-1], loc)))
    }

    /// The elements in one dimension; a view where that is possible.
    fn ravel(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        submit::object(py, ops::reshape(&self.0, &[-1], here(py)))
    }

    /// NumPy's dot.
    fn dot(&self, py: Python<'_>, other: Any) -> PyResult<Py<PyAny>> {
        let loc = here(py);
        submit::object(py, ops::dot(&self.0, &operand::array(other, "dot", self.0.device())?, loc))
    }

    /// The sum over axes.
    #[pyo3(signature = (axis = None, dtype = None, *, keepdims = false))]
    fn sum(&self, py: Python<'_>, axis: Option<Any>, dtype: Option<Any>, keepdims: bool) -> PyResult<Py<PyAny>> {
        self.total(py, ReduceKind::Sum, axis, dtype, keepdims)
    }

    /// The product over axes.
    #[pyo3(signature = (axis = None, dtype = None, *, keepdims = false))]
    fn prod(&self, py: Python<'_>, axis: Option<Any>, dtype: Option<Any>, keepdims: bool) -> PyResult<Py<PyAny>> {
        self.total(py, ReduceKind::Prod, axis, dtype, keepdims)
    }

    /// The mean over axes.
    #[pyo3(signature = (axis = None, dtype = None, *, keepdims = false))]
    fn mean(&self, py: Python<'_>, axis: Option<Any>, dtype: Option<Any>, keepdims: bool) -> PyResult<Py<PyAny>> {
        let axes = index::axes(axis)?;
        submit::object(py, ops::mean(&self.as_dtype(py, dtype)?, axes.as_deref(), keepdims, here(py)))
    }

    /// The variance over axes.
    #[pyo3(signature = (axis = None, dtype = None, ddof = 0.0, *, keepdims = false))]
    fn var(
        &self,
        py: Python<'_>,
        axis: Option<Any>,
        dtype: Option<Any>,
        ddof: f64,
        keepdims: bool,
    ) -> PyResult<Py<PyAny>> {
        let axes = index::axes(axis)?;
        submit::object(py, ops::var(&self.as_dtype(py, dtype)?, axes.as_deref(), ddof, keepdims, here(py)))
    }

    /// The standard deviation over axes.
    #[pyo3(signature = (axis = None, dtype = None, ddof = 0.0, *, keepdims = false))]
    fn std(
        &self,
        py: Python<'_>,
        axis: Option<Any>,
        dtype: Option<Any>,
        ddof: f64,
        keepdims: bool,
    ) -> PyResult<Py<PyAny>> {
        let axes = index::axes(axis)?;
        submit::object(py, ops::std(&self.as_dtype(py, dtype)?, axes.as_deref(), ddof, keepdims, here(py)))
    }

    /// Nothing below `min` or above `max`.
    #[pyo3(signature = (min = None, max = None))]
    fn clip(&self, py: Python<'_>, min: Option<Any>, max: Option<Any>) -> PyResult<Py<PyAny>> {
        let bound = |object| on_device(self.0.device(), || operand::required(object, "clip"));
        let (low, high) = (min.map(bound).transpose()?, max.map(bound).transpose()?);
        let (low, high) = (low.as_ref().map(Operand::arg), high.as_ref().map(Operand::arg));
        submit::object(py, ops::clip(&self.0, low, high, here(py)))
    }

    /// Rows along an axis, named by indices; without an axis, elements of the flattened array.
    #[pyo3(signature = (indices, axis = None, mode = "raise"))]
    fn take(&self, py: Python<'_>, indices: Any, axis: Option<isize>, mode: &str) -> PyResult<Py<PyAny>> {
        let indices = operand::array(indices, "take", self.0.device())?;
        layers::taken(py, &self.0, &indices, axis, mode)
    }

    /// The positions of elements that are not zero, an array for each dimension.
    fn nonzero<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py(), "nonzero", (slf,))
    }

    /// Writes values at positions in the flattened array.
    #[pyo3(signature = (indices, values, mode = "raise"))]
    fn put(slf: &Bound<'_, Self>, indices: Any, values: Any, mode: &str) -> PyResult<()> {
        face(slf.py(), "put", (slf, indices, values, mode)).map(|_| ())
    }

    /// The rows along an axis for which a condition holds.
    #[pyo3(signature = (condition, axis = None))]
    fn compress<'py>(
        slf: &Bound<'py, Self>,
        condition: Any<'_, 'py>,
        axis: Option<isize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py(), "compress", (condition, slf, axis))
    }

    /// Each element from the choice that this one names there.
    #[pyo3(signature = (choices, mode = "raise"))]
    fn choose<'py>(slf: &Bound<'py, Self>, choices: Any<'_, 'py>, mode: &str) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py(), "choose", (slf, choices, mode))
    }

    /// Writes one value everywhere.
    fn fill(&self, py: Python<'_>, value: Any) -> PyResult<()> {
        submit::assign(py, &self.0, value)
    }

    /// The elements in one dimension, to go through, read and write.
    #[getter]
    fn flat<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        outcall::call(&outcall::function(slf.py(), "forerun.np.iteration", "flatiter")?, (slf,))
    }

    #[setter]
    fn set_flat(slf: &Bound<'_, Self>, values: Any) -> PyResult<()> {
        let everywhere = PySlice::full(slf.py());
        outcall::method(&PyArray::flat(slf)?, "__setitem__", (everywhere, values)).map(|_| ())
    }

    /// The largest element over axes; NaN if any is.
    #[pyo3(signature = (axis = None, *, keepdims = false))]
    fn max(&self, py: Python<'_>, axis: Option<Any>, keepdims: bool) -> PyResult<Py<PyAny>> {
        self.reduced(py, ReduceKind::Max, axis, keepdims)
    }

    /// The smallest element over axes; NaN if any is.
    #[pyo3(signature = (axis = None, *, keepdims = false))]
    fn min(&self, py: Python<'_>, axis: Option<Any>, keepdims: bool) -> PyResult<Py<PyAny>> {
        self.reduced(py, ReduceKind::Min, axis, keepdims)
    }

    /// The index of the first largest element along an axis.
    #[pyo3(signature = (axis = None, *, keepdims = false))]
    fn argmax(&self, py: Python<'_>, axis: Option<isize>, keepdims: bool) -> PyResult<Py<PyAny>> {
        let axes = axis.map(|axis| [axis]);
        let axes = axes.as_ref().map(|axes| &axes[..]);
        submit::object(py, ops::reduce(ReduceKind::ArgMax, &self.0, axes, keepdims, here(py)))
    }

    /// The index of the first smallest element along an axis.
    #[pyo3(signature = (axis = None, *, keepdims = false))]
    fn argmin(&self, py: Python<'_>, axis: Option<isize>, keepdims: bool) -> PyResult<Py<PyAny>> {
        let axes = axis.map(|axis| [axis]);
        let axes = axes.as_ref().map(|axes| &axes[..]);
        submit::object(py, ops::reduce(ReduceKind::ArgMin, &self.0, axes, keepdims, here(py)))
    }
}

/// A function of `forerun.np` that is written in Python.
fn face<'py>(py: Python<'py>, name: &str, args: impl outcall::Args<'py>) -> PyResult<Bound<'py, PyAny>> {
    outcall::call(&outcall::function(py, "forerun.np", name)?, args)
}

fn face_with<'py>(
    py: Python<'py>,
    name: &str,
    args: impl outcall::Args<'py>,
    keepdims: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let named = PyDict::new(py);
    named.set_item("keepdims", keepdims)?;
    outcall::call_with(&outcall::function(py, "forerun.np", name)?, args, Some(&named))
}

pub(crate) fn python_scalar(py: Python<'_>, scalar: Scalar) -> PyResult<Bound<'_, PyAny>> {
    Ok(match scalar {
        Scalar::Bool(value) => PyBool::new(py, value).to_owned().into_any(),
        Scalar::Int(value) => value.into_pyobject(py)?.into_any(),
        Scalar::Large(value) => value.into_pyobject(py)?.into_any(),
        Scalar::Float(value) => PyFloat::new(py, value).into_any(),
        Scalar::Complex(re, im) => PyComplex::from_doubles(py, re, im).into_any(),
    })
}
