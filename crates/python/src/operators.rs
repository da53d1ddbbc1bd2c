//! The array object in expressions: arithmetic, comparisons, products.
//!
//! Invariant: as for [`crate::array`].

use crate::array::{Any, PyArray};
use crate::error::raise;
use crate::loc::here;
use crate::methods::face;
use crate::operand;
use crate::submit;
use forerun::{Arg, Point, ops};
use pyo3::basic::CompareOp;
use pyo3::prelude::*;

#[pymethods]
impl PyArray {
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

    /// Python's ``round``: to integers, or to ``ndigits`` decimals.
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
}
