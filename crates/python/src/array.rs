//! The array object: every slot and method is a conversion and one call.
//!
//! Invariant: a method waits only if it is a blocker, and every wait goes through [`crate::wait`].

use crate::advanced;
use crate::buffer;
use crate::cuda_interface;
use crate::device::PyDevice;
use crate::dlpack;
use crate::dtype::{self, PyDType};
use crate::error::raise;
use crate::exchange::{to_numpy, writable};
use crate::index;
use crate::loc::here;
use crate::methods::face;
use crate::operand;
use crate::pycall;
use crate::row_iter::Rows;
use crate::submit;
use crate::wait;
use forerun::{Array, DType, Device, Kind, Scalar, ops};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyDict, PyFloat, PyInt, PyTuple};
use std::cell::Cell;
use std::ffi::c_int;

thread_local! {
    /// The address of the array whose error a notebook has just shown: it asks for the next representation even so.
    static SHOWN: Cell<usize> = const { Cell::new(0) };
}

/// An asynchronous array: a handle, available immediately, to a value that may still be computed.
#[pyclass(frozen, name = "ndarray", module = "forerun.np")]
pub(crate) struct PyArray(pub(crate) Array);

// SAFETY: an array may move between threads but not be used by two at once. Python code reaches this wrapper only with
// the GIL held (the module does not declare itself free-threaded), and code that runs without the GIL uses a clone.
unsafe impl Sync for PyArray {}

pub(crate) type Any<'a, 'py> = &'a Bound<'py, PyAny>;

impl PyArray {
    fn item_now(&self, py: Python<'_>, call: &'static str) -> PyResult<Scalar> {
        wait::read(py, &self.0, call, |array, wait| array.item_with(wait))
    }
}

#[pymethods]
impl PyArray {
    /// Makes NumPy arrays defer to this class in expressions.
    #[classattr]
    fn __array_priority__() -> f64 {
        1000.0
    }

    fn __getitem__(&self, py: Python<'_>, index: Any) -> PyResult<Py<PyAny>> {
        if let Some(positions) = index::Positions::of(index) {
            return submit::object(py, ops::at(&self.0, positions.all()));
        }
        if let Some(places) = operand::plain_array(index)
            && let Some(made) = ops::get_rows(&self.0, places, here(py))
        {
            return submit::object(py, made);
        }
        match index::basic(index)? {
            Some(items) => submit::object(py, ops::index(&self.0, &items)),
            None => advanced::get(py, &self.0, index),
        }
    }

    fn __setitem__(&self, py: Python<'_>, index: Any, value: Any) -> PyResult<()> {
        if self.0.ndim() > 0 && index::is_whole(index) {
            return submit::assign(py, &self.0, value);
        }
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
            Scalar::Complex(..) => {
                Err(PyTypeError::new_err("cannot convert a complex number to float; use its real part"))
            }
            number => Ok(number.as_f64()),
        }
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyComplex>> {
        let number = self.item_now(py, "complex")?;
        Ok(PyComplex::from_doubles(py, number.as_f64(), number.imaginary()))
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.item_now(py, "int")? {
            // Python's own conversion handles integers of any length, and the errors for NaN and infinity.
            Scalar::Float(value) => pycall::call(&py.get_type::<PyInt>(), (value,)),
            Scalar::Int(value) => Ok(value.into_pyobject(py)?.into_any()),
            Scalar::Large(value) => Ok(value.into_pyobject(py)?.into_any()),
            Scalar::Complex(..) => {
                Err(PyTypeError::new_err("cannot convert a complex number to int; use its real part"))
            }
            Scalar::Bool(value) => Ok(i64::from(value).into_pyobject(py)?.into_any()),
        }
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.0.dtype().kind() {
            Kind::Int if self.0.ndim() == 0 => self.__int__(py),
            _ => Err(PyTypeError::new_err(format!(
                "only 0-d integer arrays can be an index, got {} of shape {}",
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
        let to_repr = pycall::function(py, "forerun._text", "to_repr")?;
        pycall::call(&to_repr, (to_numpy(py, &self.0, "repr")?, self.0.dtype().name(), device))
    }

    fn __str__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let values = to_numpy(py, &self.0, "str")?;
        match self.0.dtype() {
            DType::BF16 => pycall::call(&pycall::function(py, "forerun._text", "to_str")?, (values,)),
            _ => pycall::method(&values, "__str__", ()),
        }
    }

    /// A small table for notebooks; None if the array is not a table, or if the notebook shows its error already.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (py, array) = (slf.py(), &slf.get().0);
        let shown = SHOWN.replace(0) == slf.as_ptr() as usize;
        let values = match to_numpy(py, array, "repr") {
            Err(_) if shown => return Ok(None),
            values => values?,
        };
        let title = format!("{}, {}, {}", array.shape(), array.dtype(), array.device());
        let to_html = pycall::function(py, "forerun._text", "to_html")?;
        pycall::call(&to_html, (values, title)).map(Some)
    }

    /// The output of notebooks and shells.
    fn _repr_pretty_<'py>(slf: &Bound<'py, Self>, printer: Any<'_, 'py>, cycle: bool) -> PyResult<Bound<'py, PyAny>> {
        let _ = cycle;
        let text = slf.get().__repr__(slf.py()).inspect_err(|_| SHOWN.set(slf.as_ptr() as usize))?;
        pycall::method(printer, "text", (text,))
    }

    fn __format__<'py>(&self, py: Python<'py>, spec: Any<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let value = if self.0.ndim() == 0 {
            python_scalar(py, self.item_now(py, "format")?)?
        } else {
            to_numpy(py, &self.0, "format")?
        };
        pycall::method(&value, "__format__", (spec,))
    }

    /// NumPy's conversion: a read-only view of the value's bytes, or a copy where requested or needed.
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
        pycall::call(&pycall::function(py, "forerun._convert", "to_numpy")?, (array, dtype, copy))
    }

    /// NumPy's ufuncs on arrays of this class run as ops of this package.
    #[pyo3(signature = (ufunc, method, *inputs, **options))]
    fn __array_ufunc__<'py>(
        slf: &Bound<'py, Self>,
        ufunc: Any<'_, 'py>,
        method: Any<'_, 'py>,
        inputs: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let applied = pycall::function(slf.py(), "forerun._protocols", "array_ufunc")?;
        pycall::call(&applied, (ufunc, method, inputs, options))
    }

    /// NumPy's functions on arrays of this class run as those of `forerun.np`.
    fn __array_function__<'py>(
        slf: &Bound<'py, Self>,
        func: Any<'_, 'py>,
        types: Any<'_, 'py>,
        args: Any<'_, 'py>,
        kwargs: Any<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let applied = pycall::function(slf.py(), "forerun._protocols", "array_function")?;
        pycall::call(&applied, (func, types, args, kwargs))
    }

    /// The namespace of the array's functions, as the array API standard requires.
    #[pyo3(signature = (api_version = None))]
    fn __array_namespace__<'py>(
        slf: &Bound<'py, Self>,
        api_version: Option<Any<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        pycall::call(&pycall::function(slf.py(), "forerun._protocols", "namespace")?, (api_version,))
    }

    /// Exports the elements through DLPack: read-only unless they are copied.
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

    /// The device of the elements in DLPack's numbering.
    fn __dlpack_device__(&self) -> PyResult<(i32, i32)> {
        dlpack::device_of(&self.0)
    }

    /// Exports the elements to CUDA libraries, read-only; arrays on other devices lack this attribute.
    #[getter]
    fn __cuda_array_interface__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        cuda_interface::describe(slf)
    }

    /// Python's buffer protocol: the bytes, read-only.
    ///
    /// # Safety
    /// Called by Python with a view to fill in.
    unsafe fn __getbuffer__(slf: &Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        // SAFETY: Python passes a view to fill in.
        unsafe { buffer::fill(slf, view, flags) }
    }

    /// Releases a buffer view.
    ///
    /// # Safety
    /// Called once by Python, for a view that was filled in.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: Python passes a view that was filled in, once.
        unsafe { buffer::release(view) }
    }

    /// How to pickle the array, with its bytes out of band if the protocol supports that.
    fn __reduce_ex__<'py>(slf: &Bound<'py, Self>, protocol: Any<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        pycall::call(&pycall::function(slf.py(), "forerun._pickles", "reduce")?, (slf, protocol))
    }

    /// A copy, for `copy.copy`.
    fn __copy__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.copy(py)
    }

    /// A copy, for `copy.deepcopy`.
    fn __deepcopy__(&self, py: Python<'_>, _memo: Any) -> PyResult<Py<PyAny>> {
        self.copy(py)
    }

    /// The extent of each dimension.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.shape().iter())
    }

    /// The real parts of the elements; for a real array, the array itself.
    #[getter]
    fn real<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py(), "real", (slf,))
    }

    /// The imaginary parts of the elements; for a real array, zeros.
    #[getter]
    fn imag<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py(), "imag", (slf,))
    }

    /// The complex conjugate.
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

    /// The device of the array.
    #[getter]
    pub(crate) fn device(&self) -> PyDevice {
        PyDevice(self.0.device())
    }

    /// The device of the array, under MXNet's name.
    #[getter]
    fn ctx(&self) -> PyDevice {
        self.device()
    }

    /// The device of the array, under MXNet's older name.
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

    /// Waits until the value is computed; raises the error if that failed.
    fn wait_to_read(&self, py: Python<'_>) -> PyResult<()> {
        wait::read(py, &self.0, "wait_to_read", |array, wait| array.wait_to_read_with(wait))
    }

    /// Waits until the value is computed, after which the array may be written.
    fn wait_to_write(&self, py: Python<'_>) -> PyResult<()> {
        wait::read(py, &self.0, "wait_to_write", |array, wait| array.wait_to_read_with(wait))
    }

    /// Waits and, if the last write to the array failed, restores its last good value. Returns the number of writes
    /// undone: 0 if the array is good. Raises if there is no previous value, as after an assignment to the whole array.
    fn restore(&self, py: Python<'_>) -> PyResult<u32> {
        wait::read(py, &self.0, "restore", |array, wait| array.restore_with(wait))
    }

    /// The value as a read-only NumPy array, without a copy. It does not change when the array is written. After
    /// ``engine.set_writable_asnumpy(True)`` it is a copy that may be written.
    fn asnumpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let array = to_numpy(py, &self.0, "asnumpy")?;
        if writable() { pycall::method(&array, "copy", ()) } else { Ok(array) }
    }

    /// The only element, or the one at an index, as a Python number.
    #[pyo3(signature = (*index))]
    fn item<'py>(&self, py: Python<'py>, index: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        if index.is_empty() {
            return python_scalar(py, self.item_now(py, "item")?);
        }
        let element = PyArray(index::element(&self.0, index)?);
        python_scalar(py, element.item_now(py, "item")?)
    }

    /// ``await x`` waits in the running event loop until the value is computed, and returns the array.
    fn __await__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        pycall::call(&pycall::function(slf.py(), "forerun._asyncio", "settle")?, (slf,))
    }

    /// ``await x.item_async()`` returns the only element, or the one at an index, without blocking the event loop.
    #[pyo3(signature = (*index))]
    fn item_async<'py>(slf: &Bound<'py, Self>, index: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let (py, array) = (slf.py(), slf.as_any());
        let args = std::iter::once(array.clone()).chain(index.iter());
        pycall::call(&pycall::function(py, "forerun._asyncio", "item")?, PyTuple::new(py, args.collect::<Vec<_>>())?)
    }

    /// The elements as nested lists of Python numbers.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        pycall::method(&to_numpy(py, &self.0, "tolist")?, "tolist", ())
    }

    /// The bytes of the elements in row-major order, or with ``order="F"`` in column-major order.
    #[pyo3(signature = (order = "C"))]
    fn tobytes<'py>(&self, py: Python<'py>, order: &str) -> PyResult<Bound<'py, PyBytes>> {
        buffer::bytes_of(py, &self.0, order)
    }

    /// Writes the elements to a file in row-major order: as bytes, or with ``sep`` as text.
    #[pyo3(signature = (fid, sep = "", format = "%s"))]
    fn tofile<'py>(slf: &Bound<'py, Self>, fid: Any<'_, 'py>, sep: &str, format: &str) -> PyResult<Bound<'py, PyAny>> {
        pycall::call(&pycall::function(slf.py(), "forerun._files", "tofile")?, (slf, fid, sep, format))
    }
}

/// Converts a scalar to a Python number.
pub(crate) fn python_scalar(py: Python<'_>, scalar: Scalar) -> PyResult<Bound<'_, PyAny>> {
    Ok(match scalar {
        Scalar::Bool(value) => PyBool::new(py, value).to_owned().into_any(),
        Scalar::Int(value) => value.into_pyobject(py)?.into_any(),
        Scalar::Large(value) => value.into_pyobject(py)?.into_any(),
        Scalar::Float(value) => PyFloat::new(py, value).into_any(),
        Scalar::Complex(re, im) => PyComplex::from_doubles(py, re, im).into_any(),
    })
}
