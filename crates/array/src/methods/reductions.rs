//! Reductions: over all elements, along one axis, or over several.

use crate::methods::pairs::methods;
use crate::ops::terms::Terms;
use crate::{Arg, Array, ops};
use forerun_base::{Kind, Loc, Result};
use forerun_ops::{Point, ReduceKind};

/// The axes of a reduction: all of them without a list.
type Axes<'a> = Option<&'a [isize]>;

/// A reduction, given the array, the axes, whether to keep them, and the user's line.
type Reduce = fn(&Array, Axes<'_>, bool, Loc) -> Result<Array>;

/// Three pairs of methods for each reduction.
macro_rules! reductions {
    ($($what:literal $computed:literal $reduce:expr;
        $all:ident $try_all:ident $axis:ident $try_axis:ident $axes:ident $try_axes:ident;)*) => {
        methods! {$(
            #[doc = concat!($what, " of all elements.\n\n```\n# use forerun_array as forerun;\nuse forerun::prelude::*;\n",
                "let x = Array::from([[1.0, 2.0], [3.0, 4.0]]);\nassert_eq!(x.", stringify!($all), "().to_string(), ",
                $computed, ");\n```")]
            $all, $try_all(&self) -> Array |loc| {
                let reduce: Reduce = $reduce;
                reduce(self, None, false, loc)
            }
            #[doc = concat!($what, " along an axis.")]
            $axis, $try_axis(&self, axis: isize) -> Array |loc| {
                let reduce: Reduce = $reduce;
                reduce(self, Some(&[axis]), false, loc)
            }
            #[doc = concat!($what, " over axes, which are kept with extent 1 if `keepdims`.")]
            $axes, $try_axes(&self, axes: &[isize], keepdims: bool) -> Array |loc| {
                let reduce: Reduce = $reduce;
                reduce(self, Some(axes), keepdims, loc)
            }
        )*}
    };
}

reductions! {
    "The sum" "\"10.\"" |x, axes, keep, loc| ops::reduce(ReduceKind::Sum, x, axes, keep, loc);
        sum try_sum sum_axis try_sum_axis sum_axes try_sum_axes;
    "The product" "\"24.\"" |x, axes, keep, loc| ops::reduce(ReduceKind::Prod, x, axes, keep, loc);
        prod try_prod prod_axis try_prod_axis prod_axes try_prod_axes;
    "The maximum" "\"4.\"" |x, axes, keep, loc| ops::reduce(ReduceKind::Max, x, axes, keep, loc);
        max try_max max_axis try_max_axis max_axes try_max_axes;
    "The minimum" "\"1.\"" |x, axes, keep, loc| ops::reduce(ReduceKind::Min, x, axes, keep, loc);
        min try_min min_axis try_min_axis min_axes try_min_axes;
    "The maximum, ignoring NaN," "\"4.\"" |x, axes, keep, loc| ops::reduce(ReduceKind::NanMax, x, axes, keep, loc);
        nanmax try_nanmax nanmax_axis try_nanmax_axis nanmax_axes try_nanmax_axes;
    "The minimum, ignoring NaN," "\"1.\"" |x, axes, keep, loc| ops::reduce(ReduceKind::NanMin, x, axes, keep, loc);
        nanmin try_nanmin nanmin_axis try_nanmin_axis nanmin_axes try_nanmin_axes;
    "The arithmetic mean" "\"2.5\"" ops::mean; mean try_mean mean_axis try_mean_axis mean_axes try_mean_axes;
    "The variance" "\"1.25\"" |x, axes, keep, loc| ops::var(x, axes, 0.0, keep, loc);
        var try_var var_axis try_var_axis var_axes try_var_axes;
    "The standard deviation" "\"1.11803399\"" |x, axes, keep, loc| ops::std(x, axes, 0.0, keep, loc);
        std try_std std_axis try_std_axis std_axes try_std_axes;
    "Whether any is true," "\"True\"" ops::any; any try_any any_axis try_any_axis any_axes try_any_axes;
    "Whether all are true," "\"True\"" ops::all; all try_all all_axis try_all_axis all_axes try_all_axes;
    "The number of nonzero elements" "\"4\"" ops::count_nonzero;
        count_nonzero try_count_nonzero count_nonzero_axis try_count_nonzero_axis count_nonzero_axes try_count_nonzero_axes;
    "The square root of the sum of squares" "\"5.47722558\"" ops::norm;
        norm try_norm norm_axis try_norm_axis norm_axes try_norm_axes;
    "The sum, ignoring NaN," "\"10.\"" |x, axes, keep, loc| without_nan(ReduceKind::Sum, 0, x, axes, keep, loc);
        nansum try_nansum nansum_axis try_nansum_axis nansum_axes try_nansum_axes;
    "The product, ignoring NaN," "\"24.\"" |x, axes, keep, loc| without_nan(ReduceKind::Prod, 1, x, axes, keep, loc);
        nanprod try_nanprod nanprod_axis try_nanprod_axis nanprod_axes try_nanprod_axes;
    "The mean, ignoring NaN," "\"2.5\"" nan_mean; nanmean try_nanmean nanmean_axis try_nanmean_axis nanmean_axes try_nanmean_axes;
    "The maximum less the minimum" "\"3.\"" spread; ptp try_ptp ptp_axis try_ptp_axis ptp_axes try_ptp_axes;
    "The logarithm of the sum of exponentials" "\"4.4401897\"" log_sum_exp;
        logsumexp try_logsumexp logsumexp_axis try_logsumexp_axis logsumexp_axes try_logsumexp_axes;
}

methods! {
    /// The position of the first maximum among all elements, in row-major order.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// assert_eq!(Array::from([1.0, 5.0, 5.0]).argmax().item::<i64>()?, 1);
    /// # Ok::<(), Error>(())
    /// ```
    argmax, try_argmax(&self) -> Array |loc| { ops::reduce(ReduceKind::ArgMax, self, None, false, loc) }
    /// The position of the first maximum along an axis.
    argmax_axis, try_argmax_axis(&self, axis: isize) -> Array |loc| {
        ops::reduce(ReduceKind::ArgMax, self, Some(&[axis]), false, loc)
    }
    /// The position of the first minimum among all elements, in row-major order.
    argmin, try_argmin(&self) -> Array |loc| { ops::reduce(ReduceKind::ArgMin, self, None, false, loc) }
    /// The position of the first minimum along an axis.
    argmin_axis, try_argmin_axis(&self, axis: isize) -> Array |loc| {
        ops::reduce(ReduceKind::ArgMin, self, Some(&[axis]), false, loc)
    }
    /// The variance over axes, or over all without a list, with `ddof` subtracted from the count.
    var_with, try_var_with(&self, axes: Option<&[isize]>, ddof: f64, keepdims: bool) -> Array |loc| {
        ops::var(self, axes, ddof, keepdims, loc)
    }
    /// The standard deviation over axes, or over all without a list, with `ddof` subtracted from the count.
    std_with, try_std_with(&self, axes: Option<&[isize]>, ddof: f64, keepdims: bool) -> Array |loc| {
        ops::std(self, axes, ddof, keepdims, loc)
    }
}

/// A reduction with another number instead of each NaN.
fn without_nan(kind: ReduceKind, other: i64, x: &Array, axes: Axes<'_>, keepdims: bool, loc: Loc) -> Result<Array> {
    if !matches!(x.dtype().kind(), Kind::Float | Kind::Complex) {
        return ops::reduce(kind, x, axes, keepdims, loc);
    }
    let t = Terms { op: "nansum", loc };
    ops::reduce(kind, &t.choose(&t.one(Point::IsNan, x)?, other, x)?, axes, keepdims, loc)
}

fn nan_mean(x: &Array, axes: Axes<'_>, keepdims: bool, loc: Loc) -> Result<Array> {
    if !matches!(x.dtype().kind(), Kind::Float | Kind::Complex) {
        return ops::mean(x, axes, keepdims, loc);
    }
    let t = Terms { op: "nanmean", loc };
    let count = ops::count_nonzero(&t.one(Point::LogicalNot, &t.one(Point::IsNan, x)?)?, axes, keepdims, loc)?;
    t.two(Point::Divide, &without_nan(ReduceKind::Sum, 0, x, axes, keepdims, loc)?, &count)
}

fn spread(x: &Array, axes: Axes<'_>, keepdims: bool, loc: Loc) -> Result<Array> {
    let end = |kind| ops::reduce(kind, x, axes, keepdims, loc);
    Terms { op: "ptp", loc }.two(Point::Subtract, &end(ReduceKind::Max)?, &end(ReduceKind::Min)?)
}

/// The largest element is subtracted, so that no exponential overflows.
fn log_sum_exp(x: &Array, axes: Axes<'_>, keepdims: bool, loc: Loc) -> Result<Array> {
    let t = Terms { op: "logsumexp", loc };
    let x = t.float(x)?;
    let largest = ops::reduce(ReduceKind::Max, &x.detach(), axes, true, loc)?;
    let largest = t.choose(&t.one(Point::IsFinite, &largest)?, &largest, 0)?;
    let exponentials = ops::pointwise(Point::Exp, &[Arg::Array(&t.two(Point::Subtract, &*x, &largest)?)], loc)?;
    let sum = t.one(Point::Log, &ops::reduce(ReduceKind::Sum, &exponentials, axes, true, loc)?)?;
    let made = t.two(Point::Add, &sum, &largest)?;
    if keepdims { Ok(made) } else { ops::reduce(ReduceKind::Max, &made, axes, false, loc) }
}
