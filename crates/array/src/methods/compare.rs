//! Comparisons of whole arrays. They wait and return a `bool`, so `Array` has no `PartialEq`: [`Array::equal`] compares
//! element by element without a wait.

use crate::array::wait::Wait;
use crate::functions::by_name::to_dtype;
use crate::methods::pairs::methods;
use crate::ops::terms::Terms;
use crate::{Arg, Array, ArrayLike, ops};
use forerun_base::{DType, Kind, Loc, Result, Scalar};
use forerun_ops::Point;

impl Array {
    /// Waits and returns whether both have the same shape and elements.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// assert!(Array::from([1, 2]).array_equal(&Array::from([1.0, 2.0]))?);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn array_equal(&self, other: &Array) -> Result<bool> {
        let loc = Loc::caller();
        if self.shape() != other.shape() {
            return Ok(false);
        }
        let equal = ops::pointwise(Point::Equal, &[Arg::Array(self), Arg::Array(other)], loc);
        truth("array_equal", equal.and_then(|equal| ops::all(&equal, None, false, loc)), loc)
    }

    /// Waits and returns whether all elements are close, as [`Array::isclose`] decides.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// assert!((ones([2]) * 0.1 + 0.2).allclose(0.3)?);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn allclose(&self, other: impl ArrayLike) -> Result<bool> {
        let loc = Loc::caller();
        let close = close(self, other.as_arg(), 1e-5, 1e-8, loc);
        truth("allclose", close.and_then(|close| ops::all(&close, None, false, loc)), loc)
    }

    /// The same with other tolerances.
    #[track_caller]
    pub fn allclose_with(&self, other: impl ArrayLike, relative: f64, absolute: f64) -> Result<bool> {
        let loc = Loc::caller();
        let close = close(self, other.as_arg(), relative, absolute, loc);
        truth("allclose", close.and_then(|close| ops::all(&close, None, false, loc)), loc)
    }
}

methods! {
    /// Whether each element differs from the other's by at most `1e-8 + 1e-5 * |other|`, or both are the same infinity.
    isclose, try_isclose(&self, other: impl ArrayLike) -> Array |loc| { close(self, other.as_arg(), 1e-5, 1e-8, loc) }
    /// The same with other tolerances.
    isclose_with, try_isclose_with(&self, other: impl ArrayLike, relative: f64, absolute: f64) -> Array |loc| {
        close(self, other.as_arg(), relative, absolute, loc)
    }
}

fn truth(call: &'static str, held: Result<Array>, loc: Loc) -> Result<bool> {
    let held = held.map_err(|error| error.submitted_at(loc))?;
    Ok(held.item_with(&Wait::at(loc, call))? == Scalar::Bool(true))
}

fn close(x: &Array, other: Arg<'_>, relative: f64, absolute: f64, loc: Loc) -> Result<Array> {
    let t = Terms { op: "isclose", loc };
    // Differences of integers might overflow, and booleans have none.
    let float = |x: &Array| match x.dtype().kind() {
        Kind::Bool | Kind::Int => to_dtype(x, DType::F64, loc),
        Kind::Float | Kind::Complex => Ok(x.clone()),
    };
    let x = float(x)?;
    let there = match other {
        Arg::Array(other) => Some(float(other)?),
        Arg::Scalar(_) => None,
    };
    let y = there.as_ref().map_or(other, Arg::Array);
    let off = t.one(Point::Abs, &t.two(Point::Subtract, &x, y)?)?;
    let near = match (&there, other) {
        (None, Arg::Scalar(number)) => {
            let bound = number.as_f64().hypot(number.imaginary()) * relative + absolute;
            t.two(Point::LessEqual, &off, if bound.is_finite() { bound } else { -1.0 })?
        }
        _ => {
            let magnitude = ops::pointwise(Point::Abs, &[y], loc)?;
            let bound = t.two(Point::Add, &t.two(Point::Multiply, &magnitude, relative)?, absolute)?;
            t.two(Point::LogicalAnd, &t.two(Point::LessEqual, &off, &bound)?, &t.one(Point::IsFinite, &bound)?)?
        }
    };
    t.two(Point::LogicalOr, &near, &t.two(Point::Equal, &x, y)?)
}
