//! Shapes: views with other dimensions, and rearranged copies.

use crate::array::index::Index;
use crate::methods::pairs::methods;
use crate::ops::terms::Terms;
use crate::runtime::devices::on_device;
use crate::{Arg, Array, ops};
use forerun_base::{Error, ErrorKind, Loc, Result, Scalar};
use forerun_ops::Point;

methods! {
    /// The same elements under another shape: a view where the layout allows it. One extent may be -1: what is left.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// assert_eq!(arange(0, 4, 1).reshape([2, -1]).to_string(), "[[0 1]\n [2 3]]");
    /// ```
    reshape, try_reshape(&self, dims: impl AsRef<[isize]>) -> Array |loc| { ops::reshape(self, dims.as_ref(), loc) }
    /// The elements as a vector: a view where the layout allows it.
    ravel, try_ravel(&self) -> Array |loc| { ops::reshape(self, &[-1], loc) }
    /// A copy of the elements as a vector.
    flatten, try_flatten(&self) -> Array |loc| { ops::copy(&ops::reshape(self, &[-1], loc)?, loc) }
    /// Reverses the dimensions: a view.
    t, try_t(&self) -> Array |_loc| { ops::transpose(self, None) }
    /// Permutes the dimensions: a view.
    transpose, try_transpose(&self, axes: &[isize]) -> Array |_loc| { ops::transpose(self, Some(axes)) }
    /// Exchanges two dimensions: a view.
    swapaxes, try_swapaxes(&self, first: isize, second: isize) -> Array |_loc| { ops::swapaxes(self, first, second) }
    /// Moves a dimension to another place: a view.
    moveaxis, try_moveaxis(&self, from: isize, to: isize) -> Array |_loc| {
        let axis = |axis| self.shape().axis(axis).map_err(|error| error.in_op("moveaxis"));
        let (from, to) = (axis(from)?, axis(to)?);
        let mut order: Vec<isize> = (0..self.ndim() as isize).collect();
        let moved = order.remove(from);
        order.insert(to, moved);
        ops::transpose(self, Some(&order))
    }
    /// Inserts a dimension of extent 1: a view.
    expand_dims, try_expand_dims(&self, axis: isize) -> Array |_loc| { ops::expand_dims(self, axis) }
    /// Removes the dimensions of extent 1: a view.
    squeeze, try_squeeze(&self) -> Array |_loc| { ops::squeeze(self, None) }
    /// Removes one dimension, whose extent must be 1: a view.
    squeeze_axis, try_squeeze_axis(&self, axis: isize) -> Array |_loc| { ops::squeeze(self, Some(&[axis])) }
    /// Broadcasts to a shape: a view, which cannot be written.
    broadcast_to, try_broadcast_to(&self, shape: impl AsRef<[usize]>) -> Array |_loc| {
        ops::broadcast_to(self, shape.as_ref())
    }
    /// Reverses the elements along an axis: a view.
    flip, try_flip(&self, axis: isize) -> Array |_loc| { ops::flip(self, Some(&[axis])) }
    /// Turns matrices counterclockwise by 90 degrees, `times` times.
    rot90, try_rot90(&self, times: i32) -> Array |_loc| {
        match times.rem_euclid(4) {
            0 => Ok(self.clone()),
            1 => ops::flip(&ops::swapaxes(self, 0, 1)?, Some(&[0])),
            2 => ops::flip(self, Some(&[0, 1])),
            _ => ops::swapaxes(&ops::flip(self, Some(&[0]))?, 0, 1),
        }
    }
    /// Shifts the elements along an axis; those past the end re-enter at the start.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// assert_eq!(arange(0, 4, 1).roll(1, 0).to_string(), "[3 0 1 2]");
    /// ```
    roll, try_roll(&self, shift: isize, axis: isize) -> Array |loc| { ops::roll(self, shift, Some(axis), loc) }
    /// Repeats each element `count` times along an axis.
    repeat, try_repeat(&self, count: usize, axis: isize) -> Array |loc| {
        let axis = self.shape().axis(axis).map_err(|error| error.in_op("repeat"))?;
        ops::repeat(self, count, axis, loc)?.ok_or_else(|| too_many("repeat"))
    }
    /// Tiles the array: a number of copies along each of the last axes.
    tile, try_tile(&self, counts: impl AsRef<[usize]>) -> Array |loc| {
        ops::tile(self, counts.as_ref(), loc)?.ok_or_else(|| too_many("tile"))
    }
    /// A copy with `before` and `after` elements of one value around each axis.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// assert_eq!(Array::from([1, 2]).pad(&[(1, 2)], 0).to_string(), "[0 1 2 0 0]");
    /// ```
    pad, try_pad(&self, widths: &[(usize, usize)], value: impl Into<Scalar>) -> Array |loc| {
        let shape = self.shape();
        if widths.len() != shape.rank() {
            let text = format!("{} pairs of widths for an array of {} dimensions", widths.len(), shape.rank());
            return Err(Error::new(ErrorKind::Value, text).in_op("pad"));
        }
        let value = on_device(self.device(), || ops::full(&[], value.into(), self.dtype(), loc))?;
        let mut padded = self.clone();
        for (axis, (before, after)) in widths.iter().enumerate() {
            let mut edge = padded.shape().to_vec();
            let mut parts = Vec::new();
            for width in [*before, *after] {
                edge[axis] = width;
                parts.push(ops::broadcast_to(&value, &edge)?);
            }
            padded = ops::concatenate(&[&parts[0], &padded, &parts[1]], axis as isize, loc)?;
        }
        Ok(padded)
    }
    /// Splits into a number of parts of one extent along an axis: views.
    split, try_split(&self, parts: usize, axis: isize) -> Vec<Array> |_loc| {
        let axis = self.shape().axis(axis).map_err(|error| error.in_op("split"))?;
        let extent = self.shape()[axis];
        if parts == 0 || !extent.is_multiple_of(parts) {
            let text = format!("{parts} parts do not divide {extent} elements along axis {axis}");
            return Err(Error::new(ErrorKind::Value, text).in_op("split"));
        }
        let width = (extent / parts) as isize;
        let part = |at: isize| {
            let mut items = vec![Index::ALL; axis];
            items.push(Index::from(at * width..(at + 1) * width));
            ops::index(self, &items)
        };
        (0..parts as isize).map(part).collect()
    }
    /// The `k`-th diagonal of a matrix: a view. Of a vector, a matrix with it on its `k`-th diagonal.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// assert_eq!(Array::from([[1, 2], [3, 4]]).diag(0).to_string(), "[1 4]");
    /// assert_eq!(Array::from([1, 2]).diag(0).to_string(), "[[1 0]\n [0 2]]");
    /// ```
    diag, try_diag(&self, k: isize) -> Array |loc| {
        if self.ndim() != 1 {
            return ops::diagonal(self, k, 0, 1);
        }
        let n = self.size() + k.unsigned_abs();
        let made = on_device(self.device(), || ops::full(&[n, n], Scalar::Int(0), self.dtype(), loc))?;
        ops::assign(&ops::diagonal(&made, k, 0, 1)?, Arg::Array(self), loc)?;
        Ok(made)
    }
    /// The `k`-th diagonal of the last two axes, as the last axis: a view.
    diagonal, try_diagonal(&self, k: isize) -> Array |_loc| { ops::diagonal(self, k, -2, -1) }
    /// The sum of the diagonal of a matrix.
    trace, try_trace(&self) -> Array |loc| {
        ops::reduce(forerun_ops::ReduceKind::Sum, &ops::diagonal(self, 0, 0, 1)?, Some(&[-1]), false, loc)
    }
    /// Matrices with zeros above the `k`-th diagonal.
    tril, try_tril(&self, k: isize) -> Array |loc| { triangle(self, k, false, loc) }
    /// Matrices with zeros below the `k`-th diagonal.
    triu, try_triu(&self, k: isize) -> Array |loc| { triangle(self, k, true, loc) }
}

fn too_many(op: &'static str) -> Error {
    Error::new(ErrorKind::Value, "needs more than the maximum number of dimensions").in_op(op)
}

/// Matrices with zeros on one side of the `k`-th diagonal.
pub(crate) fn triangle(x: &Array, k: isize, upper: bool, loc: Loc) -> Result<Array> {
    let t = Terms { op: if upper { "triu" } else { "tril" }, loc };
    let shape = x.shape();
    if shape.rank() < 2 {
        return Err(t.value(format!("needs at least two dimensions: {shape}")));
    }
    let line = |count: usize| ops::arange(0.into(), (count as i64).into(), 1.into(), None, loc);
    let kept = on_device(x.device(), || {
        let rows = ops::expand_dims(&t.two(Point::Add, &line(shape[shape.rank() - 2])?, k as i64)?, -1)?;
        let columns = line(shape[shape.rank() - 1])?;
        t.two(if upper { Point::GreaterEqual } else { Point::LessEqual }, &columns, &rows)
    })?;
    t.choose(&kept, x, &on_device(x.device(), || ops::full(&[], Scalar::Int(0), x.dtype(), loc))?)
}
