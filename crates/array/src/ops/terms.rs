//! Helpers for composite ops: they submit ops at one line of the user's program and name the composite in errors.

use crate::array::{Arg, Array};
use crate::ops::{cast, pointwise, reduce, reshape};
use forerun_base::{DType, Error, ErrorKind, Kind, Loc, Result, Shape};
use forerun_ops::{Point, ReduceKind};
use std::borrow::Cow;

/// The line, and the name of the composite.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) op: &'static str,
    pub(crate) loc: Loc,
}

impl Terms {
    /// A pointwise op on one array.
    pub(crate) fn one(&self, point: Point, x: &Array) -> Result<Array> {
        pointwise(point, &[Arg::Array(x)], self.loc)
    }

    /// A pointwise op on two arguments.
    pub(crate) fn two<'a>(&self, point: Point, a: impl Into<Arg<'a>>, b: impl Into<Arg<'a>>) -> Result<Array> {
        pointwise(point, &[a.into(), b.into()], self.loc)
    }

    /// `a` where the condition holds, else `b`.
    pub(crate) fn choose<'a>(&self, c: &Array, a: impl Into<Arg<'a>>, b: impl Into<Arg<'a>>) -> Result<Array> {
        pointwise(Point::Where, &[Arg::Array(c), a.into(), b.into()], self.loc)
    }

    /// A reduction along one axis, which is kept with extent 1.
    pub(crate) fn along(&self, kind: ReduceKind, x: &Array, axis: usize) -> Result<Array> {
        reduce(kind, x, Some(&[axis as isize]), true, self.loc)
    }

    /// The array in a float dtype: its own, or the default one.
    pub(crate) fn float<'a>(&self, x: &'a Array) -> Result<Cow<'a, Array>> {
        match x.dtype().kind() {
            Kind::Complex => Err(Error::new(ErrorKind::Type, format!("not defined for {}", x.dtype())).in_op(self.op)),
            Kind::Float => Ok(Cow::Borrowed(x)),
            Kind::Bool | Kind::Int => cast(x, DType::default_float(), self.loc).map(Cow::Owned),
        }
    }

    /// The array in the carrier of its mean's dtype, so that rounding happens once, at the end.
    pub(crate) fn wide<'a>(&self, x: &'a Array) -> Result<Cow<'a, Array>> {
        match x.dtype().to_mean().carrier() {
            dtype if dtype == x.dtype() => Ok(Cow::Borrowed(x)),
            dtype => cast(x, dtype, self.loc).map(Cow::Owned),
        }
    }

    /// Normalises a negative axis.
    pub(crate) fn axis(&self, shape: &Shape, axis: isize) -> Result<usize> {
        shape.axis(axis).map_err(|e| e.in_op(self.op))
    }

    /// Reshapes a vector along one axis of a shape, so that it broadcasts over the others.
    pub(crate) fn lay(&self, what: &str, vector: &Array, shape: &Shape, axis: usize) -> Result<Array> {
        if *vector.shape() != [shape[axis]] {
            return Err(self.value(format!("{what} of shape {} does not fit axis {axis} of {shape}", vector.shape())));
        }
        let mut dims = vec![1; shape.rank()];
        dims[axis] = -1;
        reshape(vector, &dims, self.loc)
    }

    /// An error about a shape or an argument.
    pub(crate) fn value(&self, text: String) -> Error {
        Error::new(ErrorKind::Value, text).in_op(self.op)
    }
}
