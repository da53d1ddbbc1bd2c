//! Sorting, counting, cumulative sums, differences and quantiles.

use crate::array::index::Index;
use crate::functions::by_name::{call, float_of, to_dtype};
use crate::methods::pairs::methods;
use crate::ops::terms::Terms;
use crate::{Array, ops};
use forerun_base::{DType, Kind, Loc, Result};
use forerun_ops::samples::Value;
use forerun_ops::{Point, Promotion, ReduceKind};

fn along(name: &'static str, x: &Array, axis: isize, loc: Loc) -> Result<Array> {
    call(name, Promotion::Given, &[x], &[("axis", Value::from(axis as i64))], loc)
}

methods! {
    /// The sums of all elements up to each one along an axis.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// assert_eq!(Array::from([1, 2, 3]).cumsum(0).to_string(), "[1 3 6]");
    /// ```
    cumsum, try_cumsum(&self, axis: isize) -> Array |loc| { along("cumsum", &counted(self, loc)?, axis, loc) }
    /// The products of all elements up to each one along an axis.
    cumprod, try_cumprod(&self, axis: isize) -> Array |loc| { along("cumprod", &counted(self, loc)?, axis, loc) }
    /// The differences of neighbours along an axis.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// assert_eq!(Array::from([1, 4, 9]).diff(-1).to_string(), "[3 5]");
    /// ```
    diff, try_diff(&self, axis: isize) -> Array |loc| {
        let place = self.shape().axis(axis).map_err(|error| error.in_op("diff"))?;
        let part = |start, stop| {
            let mut items = vec![Index::ALL; place];
            items.push(Index::Slice { start, stop, step: 1 });
            ops::index(self, &items)
        };
        let point = if self.dtype() == DType::Bool { Point::NotEqual } else { Point::Subtract };
        Terms { op: "diff", loc }.two(point, &part(Some(1), None)?, &part(None, Some(-1))?)
    }
    /// The quantile `q` of all elements, interpolated linearly.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// assert_eq!(Array::from([4.0, 1.0, 2.0]).quantile(0.75).to_string(), "3.");
    /// ```
    quantile, try_quantile(&self, q: f64) -> Array |loc| { quantile("quantile", &ops::reshape(self, &[-1], loc)?, q, -1, loc) }
    /// The quantile `q` along an axis, interpolated linearly.
    quantile_axis, try_quantile_axis(&self, q: f64, axis: isize) -> Array |loc| { quantile("quantile", self, q, axis, loc) }
    /// The percentile `q` of all elements, interpolated linearly.
    percentile, try_percentile(&self, q: f64) -> Array |loc| {
        quantile("percentile", &ops::reshape(self, &[-1], loc)?, q / 100.0, -1, loc)
    }
    /// The median of all elements.
    median, try_median(&self) -> Array |loc| { quantile("median", &ops::reshape(self, &[-1], loc)?, 0.5, -1, loc) }
    /// The median along an axis.
    median_axis, try_median_axis(&self, axis: isize) -> Array |loc| { quantile("median", self, 0.5, axis, loc) }
    /// The mean with weights of the same shape.
    average, try_average(&self, weights: &Array) -> Array |loc| {
        let t = Terms { op: "average", loc };
        let total = |x: &Array| ops::reduce(ReduceKind::Sum, x, None, false, loc);
        t.two(Point::Divide, &total(&t.two(Point::Multiply, self, weights)?)?, &total(weights)?)
    }
    /// The `count` largest elements along an axis in descending order, and their positions.
    topk, try_topk(&self, count: usize, axis: isize) -> (Array, Array) |loc| {
        let attributes =
            [("axis", Value::from(axis as i64)), ("descending", Value::from(true)), ("count", Value::from(count as i64))];
        let places = call("argtop", Promotion::Given, &[self], &attributes, loc)?;
        let axis = [("axis", Value::from(axis as i64))];
        Ok((call("take_along_axis", Promotion::Given, &[self, &places], &axis, loc)?, places))
    }
    /// The positions at which elements of `values` belong into this sorted vector: before equal ones.
    searchsorted, try_searchsorted(&self, values: &Array) -> Array |loc| {
        call("searchsorted", Promotion::Common, &[self, values], &[], loc)
    }
    /// Whether each element is among others.
    isin, try_isin(&self, others: &Array) -> Array |loc| {
        call("among", Promotion::Common, &[&ops::reshape(others, &[-1], loc)?, self], &[], loc)
    }
    /// The values of the piecewise linear function through `(points, values)` at these positions.
    interp, try_interp(&self, points: &Array, values: &Array) -> Array |loc| {
        let dtype = if float_of(&[self, points, values]) == DType::F64 { DType::F64 } else { DType::F32 };
        let float = |x: &Array| to_dtype(x, dtype, loc);
        call("interp", Promotion::Given, &[&float(points)?, &float(self)?, &float(values)?], &[], loc)
    }
    /// The covariance of variables in rows, with observations in columns.
    cov, try_cov(&self) -> Array |loc| { covariance(self, loc) }
    /// The correlation coefficients of variables in rows, with observations in columns.
    corrcoef, try_corrcoef(&self) -> Array |loc| {
        let t = Terms { op: "corrcoef", loc };
        let c = covariance(self, loc)?;
        let d = t.one(Point::Sqrt, &ops::diagonal(&c, 0, 0, 1)?)?;
        t.two(Point::Divide, &t.two(Point::Divide, &c, &ops::expand_dims(&d, -1)?)?, &d)
    }
}

/// Booleans are summed as integers.
fn counted(x: &Array, loc: Loc) -> Result<Array> {
    if x.dtype() == DType::Bool { to_dtype(x, DType::DEFAULT_INT, loc) } else { Ok(x.clone()) }
}

fn covariance(x: &Array, loc: Loc) -> Result<Array> {
    let t = Terms { op: "cov", loc };
    if x.ndim() != 2 {
        return Err(t.value(format!("needs a matrix: {}", x.shape())));
    }
    let x = t.wide(x)?;
    let off = t.two(Point::Subtract, &*x, &ops::mean(&x, Some(&[1]), true, loc)?)?;
    let product = ops::matmul(&off, &ops::transpose(&off, None)?, loc)?;
    t.two(Point::Divide, &product, (x.shape()[1] as f64 - 1.0).max(0.0))
}

/// A quantile along an axis, between two ranks that are known from the extent.
fn quantile(op: &'static str, x: &Array, q: f64, axis: isize, loc: Loc) -> Result<Array> {
    let t = Terms { op, loc };
    if !(0.0..=1.0).contains(&q) {
        return Err(t.value(format!("the share of smaller elements must be between 0 and 1: {q}")));
    }
    let axis = t.axis(&x.shape(), axis)?;
    let count = x.shape()[axis];
    if count == 0 {
        return Err(t.value("no elements along the axis".to_owned()));
    }
    let dtype = match x.dtype() {
        DType::F32 | DType::F64 => x.dtype(),
        dtype if matches!(dtype.kind(), Kind::Bool | Kind::Int) => DType::default_float(),
        dtype if dtype.kind() == Kind::Float => DType::F32,
        dtype => return Err(t.value(format!("not defined for {dtype}"))),
    };
    let place = q * (count - 1) as f64;
    let last = ops::swapaxes(&to_dtype(x, dtype, loc)?, axis as isize, -1)?;
    let attributes =
        [("places", Value::from([place.floor() as i64])), ("shares", Value::from(vec![place - place.floor()]))];
    let made = ops::index(&call("quantile", Promotion::Given, &[&last], &attributes, loc)?, &[Index::At(0)])?;
    // The axis that was last stands in the place of the one that is gone.
    let mut order: Vec<isize> = (0..made.ndim() as isize).collect();
    if axis < order.len() {
        let moved = order.remove(axis);
        order.push(moved);
    }
    let made = ops::transpose(&made, Some(&order))?;
    let rounded = if x.dtype().kind() == Kind::Float { to_dtype(&made, x.dtype(), loc)? } else { made };
    Ok(rounded)
}
