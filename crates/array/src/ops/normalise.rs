//! Composite normalisations: softmax, log-softmax, and layer, RMS, group, instance and batch norm.

use crate::Index;
use crate::array::{Arg, Array};
use crate::ops::terms::Terms;
use crate::ops::write::in_place_of;
use crate::ops::{copy, index, mean, reshape, routine};
use crate::runtime::devices;
use forerun_base::{Loc, Result};
use forerun_ops::batch_norm::Apply;
use forerun_ops::normalise::Layer;
use forerun_ops::{AlongAxis, BatchNorm, Normalise, Point, ReduceKind, Routine};

/// Exponentials along an axis, divided by their sum.
pub fn softmax(x: &Array, axis: isize, loc: Loc) -> Result<Array> {
    let t = Terms { op: "softmax", loc };
    let axis = t.axis(&x.shape(), axis)?;
    let x = t.float(x)?;
    if x.size() == 0 {
        return copy(&x, loc);
    }
    if in_rows(Normalise::Softmax, &[&x], axis) {
        return routine(Normalise::Softmax, &[&x], &(), loc);
    }
    let e = t.one(Point::Exp, &shifted(t, &x, axis)?)?;
    t.two(Point::Divide, &e, &t.along(ReduceKind::Sum, &e, axis)?)
}

/// The logarithm of [`softmax`], without underflow to zero.
pub fn log_softmax(x: &Array, axis: isize, loc: Loc) -> Result<Array> {
    let t = Terms { op: "log_softmax", loc };
    let axis = t.axis(&x.shape(), axis)?;
    let x = t.float(x)?;
    if x.size() == 0 {
        return copy(&x, loc);
    }
    if in_rows(Normalise::LogSoftmax, &[&x], axis) {
        return routine(Normalise::LogSoftmax, &[&x], &(), loc);
    }
    let s = shifted(t, &x, axis)?;
    let sum = t.along(ReduceKind::Sum, &t.one(Point::Exp, &s)?, axis)?;
    t.two(Point::Subtract, &s, &t.one(Point::Log, &sum)?)
}

/// Whether one kernel computes it: contiguous rows of one dtype, on a device that has the kernel.
fn in_rows(kind: Normalise, inputs: &[&Array], axis: usize) -> bool {
    let x = inputs[0];
    let given: Vec<_> = inputs.iter().map(|x| (x.dtype(), x.meta().shape())).collect();
    axis + 1 == x.ndim()
        && Normalise::fits(x.dtype(), x.shape()[axis])
        && inputs.iter().all(|other| other.dtype() == x.dtype())
        && devices::of(x.device()).is_none_or(|own| own.accelerator.runs(Routine::Normalise(kind), &given))
}

/// Subtracts the maximum along the axis, so that no exponential overflows and one of them is 1. The results do not
/// depend on what is subtracted, so no gradient flows through it.
fn shifted(t: Terms, x: &Array, axis: usize) -> Result<Array> {
    t.two(Point::Subtract, x, &t.along(ReduceKind::Max, &x.detach(), axis)?)
}

/// Normalises to mean 0 and variance 1 along an axis, then scales by `gamma` and shifts by `beta`, vectors along that
/// axis.
pub fn layer_norm(x: &Array, gamma: &Array, beta: &Array, axis: isize, eps: f64, loc: Loc) -> Result<Array> {
    let t = Terms { op: "layer_norm", loc };
    let shape = x.shape();
    let axis = t.axis(&shape, axis)?;
    let laid = (t.lay("gamma", gamma, &shape, axis)?, t.lay("beta", beta, &shape, axis)?);
    let x = t.float(x)?;
    let inputs = [&*x, gamma, beta];
    if in_rows(Normalise::Layer, &inputs, axis) {
        return routine(Normalise::Layer, &inputs, &Layer { epsilon: eps }, loc);
    }
    let (gamma, beta) = laid;
    let axes = [axis as isize];
    let (mean, variance) = moments(t, &x, &axes)?;
    scaled(t, standardised(t, &x, [&mean, &variance], eps)?, Some(&gamma), &beta)
}

/// Mean and variance over axes, which are kept with extent 1.
fn moments(t: Terms, x: &Array, axes: &[isize]) -> Result<(Array, Array)> {
    let centre = mean(x, Some(axes), true, t.loc)?;
    let off = t.two(Point::Subtract, x, &centre)?;
    let variance = mean(&t.one(Point::Square, &off)?, Some(axes), true, t.loc)?;
    Ok((centre, variance))
}

/// `(x - mean) / sqrt(variance + eps)`.
fn standardised(t: Terms, x: &Array, [mean, variance]: [&Array; 2], eps: f64) -> Result<Array> {
    let deviation = t.one(Point::Sqrt, &t.two(Point::Add, variance, eps)?)?;
    let inverse = t.one(Point::Reciprocal, &deviation)?;
    t.two(Point::Multiply, &t.two(Point::Subtract, x, mean)?, &inverse)
}

/// `x * gamma + beta`.
fn scaled(t: Terms, x: Array, gamma: Option<&Array>, beta: &Array) -> Result<Array> {
    let x = gamma.map_or_else(|| Ok(x.clone()), |gamma| t.two(Point::Multiply, &x, gamma))?;
    t.two(Point::Add, &x, beta)
}

/// Divides by the root of the mean square along an axis, then scales by `gamma`, a vector along that axis.
pub fn rms_norm(x: &Array, gamma: &Array, axis: isize, eps: f64, loc: Loc) -> Result<Array> {
    let t = Terms { op: "rms_norm", loc };
    let shape = x.shape();
    let axis = t.axis(&shape, axis)?;
    let gamma = t.lay("gamma", gamma, &shape, axis)?;
    let x = t.float(x)?;
    let square = mean(&t.one(Point::Square, &x)?, Some(&[axis as isize]), true, loc)?;
    let root = t.one(Point::Sqrt, &t.two(Point::Add, &square, eps)?)?;
    t.two(Point::Multiply, &t.two(Point::Divide, &*x, &root)?, &gamma)
}

/// Normalises to mean 0 and variance 1 in each group of channels (axis 1) of each sample, then scales by `gamma` and
/// shifts by `beta`, which have one element per channel.
pub fn group_norm(x: &Array, gamma: &Array, beta: &Array, groups: usize, eps: f64, loc: Loc) -> Result<Array> {
    let t = Terms { op: "group_norm", loc };
    let shape = x.shape();
    t.axis(&shape, 1)?;
    if groups == 0 || !shape[1].is_multiple_of(groups) {
        return Err(t.value(format!("{groups} groups do not divide the channels of {shape}")));
    }
    let (gamma, beta) = (t.lay("gamma", gamma, &shape, 1)?, t.lay("beta", beta, &shape, 1)?);
    let x = t.float(x)?;
    let extents = |dims: &[usize]| dims.iter().map(|extent| *extent as isize).collect::<Vec<_>>();
    let each = shape[1..].iter().product::<usize>() / groups;
    let apart = reshape(&x, &extents(&[shape[0], groups, each]), loc)?;
    let (mean, variance) = moments(t, &apart, &[2])?;
    let y = reshape(&standardised(t, &apart, [&mean, &variance], eps)?, &extents(&shape), loc)?;
    scaled(t, y, Some(&gamma), &beta)
}

/// Normalises to mean 0 and variance 1 in each channel of each sample, then scales by `gamma` and shifts by `beta`,
/// vectors along the channel axis. Samples lie along axis 0.
pub fn instance_norm(x: &Array, gamma: &Array, beta: &Array, axis: isize, eps: f64, loc: Loc) -> Result<Array> {
    let t = Terms { op: "instance_norm", loc };
    let shape = x.shape();
    let axis = t.axis(&shape, axis)?;
    if axis == 0 || shape.rank() < 3 {
        return Err(t.value(format!("needs samples, channels and further axes, got axis {axis} of {shape}")));
    }
    let (gamma, beta) = (t.lay("gamma", gamma, &shape, axis)?, t.lay("beta", beta, &shape, axis)?);
    let x = t.float(x)?;
    let others: Vec<isize> = (1..shape.rank()).filter(|d| *d != axis).map(|d| d as isize).collect();
    let (mean, variance) = moments(t, &x, &others)?;
    scaled(t, standardised(t, &x, [&mean, &variance], eps)?, Some(&gamma), &beta)
}

/// Whether there are kernels for the channels: of one dtype, on a device that has them.
fn in_channels(inputs: &[&Array; 3]) -> bool {
    let x = inputs[0];
    let given = [(x.dtype(), x.meta().shape())];
    x.size() > 0
        && BatchNorm::fits(x.dtype())
        && inputs.iter().all(|other| other.dtype() == x.dtype())
        && devices::of(x.device()).is_none_or(|own| own.accelerator.runs(Routine::BatchNorm(BatchNorm::Apply), &given))
}

/// Options of [`batch_norm`].
#[derive(Clone, Copy, Debug)]
pub struct BatchNormOptions {
    /// The channel axis; statistics are computed over all others.
    pub axis: isize,
    /// Added to the variance.
    pub eps: f64,
    /// The fraction of the running statistics that an update keeps.
    pub momentum: f64,
    /// Treats `gamma` as 1.
    pub fix_gamma: bool,
    /// Normalises by the batch statistics and updates the running ones; otherwise normalises by the running ones.
    pub training: bool,
}

/// The per-channel vectors of [`batch_norm`].
#[derive(Clone, Copy)]
pub struct Channels<'a> {
    /// Scales.
    pub gamma: &'a Array,
    /// Shifts.
    pub beta: &'a Array,
    /// Running means; updated in training.
    pub mean: &'a Array,
    /// Running variances; updated in training.
    pub variance: &'a Array,
}

/// Normalises every channel to mean 0 and variance 1, then scales and shifts. Returns the result and the mean and
/// variance that it used.
pub fn batch_norm(x: &Array, channels: Channels<'_>, how: BatchNormOptions, loc: Loc) -> Result<[Array; 3]> {
    let t = Terms { op: "batch_norm", loc };
    let shape = x.shape();
    let axis = t.axis(&shape, how.axis)?;
    let gamma = t.lay("gamma", channels.gamma, &shape, axis)?;
    let beta = t.lay("beta", channels.beta, &shape, axis)?;
    let running =
        [t.lay("running_mean", channels.mean, &shape, axis)?, t.lay("running_var", channels.variance, &shape, axis)?];
    let x = t.float(x)?;
    let inputs = [&*x, channels.gamma, channels.beta];
    let fused = how.training && in_channels(&inputs);
    let mut rows = None;
    let [mean, variance] = if how.training {
        let others: Vec<isize> = (0..shape.rank()).filter(|d| *d != axis).map(|d| d as isize).collect();
        let (mean, variance) = if fused {
            let moments = routine(BatchNorm::Moments, &[&x], &AlongAxis { axis: axis as isize }, loc)?;
            let row = |i: isize| t.lay("moments", &index(&moments, &[Index::At(i)])?, &shape, axis);
            let both = (row(0)?, row(1)?);
            rows = Some(moments);
            both
        } else {
            moments(t, &x, &others)?
        };
        for (running, batch) in running.iter().zip([&mean, &variance]) {
            // Running statistics are not learned: they are detached from the tape, which would otherwise grow with
            // every batch.
            let step = t.two(Point::Multiply, &batch.detach(), 1.0 - how.momentum)?;
            // A single write, so that the previous statistics can be restored if the batch fails.
            in_place_of(Point::MultiplyAdd, running, &[how.momentum.into(), Arg::Array(&step)], loc)?;
        }
        [mean, variance]
    } else {
        running
    };
    if let Some(moments) = rows {
        let how = Apply { axis: axis as isize, epsilon: how.eps, fix_gamma: how.fix_gamma };
        let y = routine(BatchNorm::Apply, &[&x, channels.gamma, channels.beta, &moments], &how, loc)?;
        return Ok([y, mean, variance]);
    }
    let gamma = (!how.fix_gamma).then_some(&gamma);
    let y = scaled(t, standardised(t, &x, [&mean, &variance], how.eps)?, gamma, &beta)?;
    Ok([y, mean, variance])
}
