//! Helpers for losses and layers: pointwise ops at one line of the user's program.

use forerun_array::{Arg, Array, ops};
use forerun_base::{Error, ErrorKind, Loc, Result};
use forerun_ops::Point;

/// A pointwise op on one array.
pub(crate) fn one(point: Point, x: &Array, loc: Loc) -> Result<Array> {
    ops::pointwise(point, &[Arg::Array(x)], loc)
}

/// A pointwise op on two arguments.
pub(crate) fn two<'a>(point: Point, a: impl Into<Arg<'a>>, b: impl Into<Arg<'a>>, loc: Loc) -> Result<Array> {
    ops::pointwise(point, &[a.into(), b.into()], loc)
}

/// An error about an argument or a shape.
pub(crate) fn value(op: &'static str, text: String) -> Error {
    Error::new(ErrorKind::Value, text).in_op(op)
}

/// Extents as `reshape` takes them.
pub(crate) fn extents(shape: &[usize]) -> Vec<isize> {
    shape.iter().map(|d| *d as isize).collect()
}
