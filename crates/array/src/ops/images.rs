//! Convolutions with a bias, and pooling, over images in one to three dimensions.

use crate::array::Array;
use crate::ops::terms::Terms;
use crate::ops::{mean, reduce, routine};
use forerun_base::{Loc, Result};
use forerun_ops::convolution::Window;
use forerun_ops::pooling::Pool;
use forerun_ops::{Convolution, List, Point, Pooling, ReduceKind};

/// A convolution, plus a bias per filter.
pub fn convolution(x: &Array, weight: &Array, bias: Option<&Array>, window: &Window, loc: Loc) -> Result<Array> {
    let t = Terms { op: "convolution", loc };
    let y = routine(Convolution::Forward, &[x, weight], window, loc)?;
    biased(t, y, bias, window)
}

/// A transposed convolution, plus a bias per channel of the result. Without extents the result is as small as can be,
/// and `adjust` elements larger.
pub fn convolution_transpose(
    x: &Array,
    weight: &Array,
    bias: Option<&Array>,
    window: &Window,
    adjust: &[i64],
    loc: Loc,
) -> Result<Array> {
    let t = Terms { op: "convolution_transpose", loc };
    let mut window = window.clone();
    let (shape, kernel) = (x.shape(), weight.shape());
    if window.extents.is_empty() && (3..=5).contains(&shape.rank()) && shape.rank() == kernel.rank() {
        let first = if window.channels_last { 1 } else { 2 };
        for axis in 0..shape.rank() - 2 {
            let lists = [&window.stride, &window.padding, &window.dilation].map(|list| list.get(axis).copied());
            let ([Some(stride), Some(padding), Some(dilation)], Some(adjust)) = (lists, adjust.get(axis)) else {
                return Err(t.value(format!("an argument has too few numbers for {shape}")));
            };
            let (count, reach) = (shape[first + axis] as i64, kernel[first + axis] as i64);
            if *adjust < 0 || *adjust >= stride {
                return Err(t.value(format!("adjustment must be from 0 to stride {stride} - 1, got {adjust}")));
            }
            // Numbers of up to 64 bits, so nothing overflows 128.
            let [stride, padding, dilation] = [stride, padding, dilation].map(i128::from);
            let extent = i128::from(count - 1) * stride + i128::from(reach - 1) * dilation + 1 - 2 * padding;
            let extent = i64::try_from(extent + i128::from(*adjust));
            window.extents.push(extent.map_err(|_| t.value(format!("the result of {shape} has too many elements")))?);
        }
    }
    let y = routine(Convolution::Transpose, &[x, weight], &window, loc)?;
    biased(t, y, bias, &window)
}

fn biased(t: Terms, y: Array, bias: Option<&Array>, window: &Window) -> Result<Array> {
    let Some(bias) = bias else { return Ok(y) };
    let shape = y.shape();
    let axis = if window.channels_last { shape.rank() - 1 } else { 1 };
    t.two(Point::Add, &y, &t.lay("bias", bias, &shape, axis)?)
}

/// What pooling makes of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PoolKind {
    /// Its maximum.
    Max,
    /// Its mean; with `true`, padding counts as zeros.
    Average(bool),
    /// Its sum.
    Sum,
    /// The p-th root of the sum of p-th powers of absolute values.
    Lp(f64),
}

/// Windows reduced to one element each. The divisor of the attributes follows from the kind.
pub fn pooling(x: &Array, kind: PoolKind, pool: &Pool, loc: Loc) -> Result<Array> {
    let t = Terms { op: "pooling", loc };
    let x = t.float(x)?;
    let divisor = match kind {
        PoolKind::Average(true) => 1,
        PoolKind::Average(false) => 2,
        _ => 0,
    };
    let pool = Pool { divisor, ..pool.clone() };
    match kind {
        PoolKind::Max => routine(Pooling::Max, &[&x, &x], &pool, loc),
        PoolKind::Average(_) | PoolKind::Sum => routine(Pooling::Average, &[&x], &pool, loc),
        PoolKind::Lp(p) => rooted(t, &powers(t, &x, p)?, p, |x| routine(Pooling::Average, &[x], &pool, loc)),
    }
}

/// One window over all of each image; its axes stay with extent 1.
pub fn global_pooling(x: &Array, kind: PoolKind, channels_last: bool, loc: Loc) -> Result<Array> {
    let t = Terms { op: "pooling", loc };
    let x = t.float(x)?;
    let shape = x.shape();
    if !(3..=5).contains(&shape.rank()) {
        return Err(t.value(format!("needs data of 3 to 5 dimensions, got {shape}")));
    }
    let first = if channels_last { 1 } else { 2 };
    let axes: Vec<isize> = (first..first + shape.rank() - 2).map(|axis| axis as isize).collect();
    let sum = |x: &Array| reduce(ReduceKind::Sum, x, Some(&axes), true, loc);
    match kind {
        PoolKind::Average(_) => mean(&x, Some(&axes), true, loc),
        PoolKind::Sum => sum(&x),
        PoolKind::Lp(p) => rooted(t, &powers(t, &x, p)?, p, sum),
        // A reduction would share what flows back among equal elements.
        PoolKind::Max => {
            let kernel: List<i64> = axes.iter().map(|axis| shape[*axis as usize] as i64).collect();
            let (stride, padding) = (List::from_elem(1, kernel.len()), List::from_elem(0, kernel.len()));
            let (extents, divisor, ceil, adaptive) = (List::new(), 0, false, false);
            pooling(&x, kind, &Pool { kernel, stride, padding, extents, divisor, ceil, adaptive, channels_last }, loc)
        }
    }
}

fn powers(t: Terms, x: &Array, p: f64) -> Result<Array> {
    let magnitude = t.one(Point::Abs, x)?;
    match p {
        1.0 => Ok(magnitude),
        2.0 => t.one(Point::Square, x),
        _ => t.two(Point::Power, &magnitude, p),
    }
}

fn rooted(t: Terms, powers: &Array, p: f64, sum: impl Fn(&Array) -> Result<Array>) -> Result<Array> {
    let total = sum(powers)?;
    match p {
        1.0 => Ok(total),
        2.0 => t.one(Point::Sqrt, &total),
        _ => t.two(Point::Power, &total, 1.0 / p),
    }
}
