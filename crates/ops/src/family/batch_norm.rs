//! Batch normalisation: the statistics of each channel over all other axes, and the normalisation by them.
//!
//! The moments are an input of `batch_norm_apply`; their gradient reaches the data through `batch_moments`. Each op has
//! the gradient of its own formula, so gradients of any order consist of these ops and pointwise ops.

use crate::gradient::Needs;
use crate::routine::{
    Attributes, Family, Flows, Given, GradientBuilder, GradientOperand, attributes, family, invalid, mistyped,
};
use crate::samples::{Look, Sample, call, x};
use crate::{AlongAxis, Point};
use forerun_base::DType::{self, F32, F64, I32};
use forerun_base::{Result, Scalar, Shape};

family! {
    /// Normalisation of each channel over all other axes.
    BatchNorm {
        Moments {
            name: "batch_moments",
            inputs: [x],
            attributes: AlongAxis,
            fallible: false,
            doc: "mean and variance of each channel: a row of means and a row of variances",
        }
        Apply {
            name: "batch_norm_apply",
            inputs: [x, gamma, beta, moments],
            attributes: Apply,
            fallible: false,
            doc: "(x - mean) / sqrt(variance + epsilon) * gamma + beta, with the moments of each channel",
        }
        Sums {
            name: "batch_norm_sums",
            inputs: [grad, x, moments],
            attributes: AlongAxis,
            fallible: false,
            doc: "for each channel the sum of grad, and the sum of grad * (x - mean): a row each",
        }
    }
}

attributes! {
    /// The attributes of `batch_norm_apply`.
    Apply {
        /// The axis of the channels.
        axis: isize,
        /// Added to the variance.
        epsilon: f64,
        /// Whether to use 1 instead of gamma.
        fix_gamma: bool,
    }
}

impl BatchNorm {
    /// Whether the kernels support a dtype.
    pub fn fits(dtype: DType) -> bool {
        matches!(dtype, F32 | F64)
    }
}

/// The extents before, along and after an axis.
fn around(shape: &Shape, axis: isize) -> Result<(usize, usize)> {
    let axis = shape.axis(axis)?;
    Ok((axis, shape[axis]))
}

impl Family for BatchNorm {
    fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
        let axis = match self {
            BatchNorm::Apply => Apply::read(attributes)?.axis,
            BatchNorm::Moments | BatchNorm::Sums => AlongAxis::read(attributes)?.axis,
        };
        let (dtype, shape) = given[0];
        if !BatchNorm::fits(dtype) {
            return mistyped(format!("not defined for {dtype}"));
        }
        let (_, channels) = around(&shape, axis)?;
        let (vector, rows) = (Shape::new(&[channels])?, Shape::new(&[2, channels])?);
        if shape.size() == 0 {
            return invalid(format!("there are no elements in {shape}"));
        }
        let wanted = match self {
            BatchNorm::Moments => vec![],
            BatchNorm::Apply => vec![vector, vector, rows],
            BatchNorm::Sums => vec![shape, rows],
        };
        for ((other, got), want) in given[1..].iter().zip(wanted) {
            if (*other, got) != (dtype, &want) {
                return invalid(format!("{other} {got} does not fit axis {axis} of {dtype} {shape}"));
            }
        }
        Ok((dtype, if self == BatchNorm::Apply { shape } else { rows }))
    }

    fn cost(self, given: &[Given], _: &Given, _: &[i64]) -> usize {
        given[0].1.size() / 2
    }

    fn needs(self, i: usize) -> Option<Needs> {
        let inputs = match self {
            BatchNorm::Moments => return Some(Needs { inputs: 0b1, output: true }),
            BatchNorm::Apply => [0b1010, 0b1001, 0, 0b1011][i],
            BatchNorm::Sums => return Some(Needs { inputs: [0b110, 0b101, 0][i], output: i == 2 }),
        };
        Some(Needs { inputs, output: false })
    }

    fn gradient<B: GradientBuilder>(self, b: &B, attributes: &[i64]) -> Flows<B> {
        let axis = match self {
            BatchNorm::Apply => Apply::read(attributes)?.axis,
            BatchNorm::Moments | BatchNorm::Sums => AlongAxis::read(attributes)?.axis,
        };
        let shape = b.given(0).1;
        let (axis, channels) = around(&shape, axis)?;
        let count = (shape.size() / channels) as f64;
        let mut laid = vec![1; shape.rank()];
        laid[axis] = channels as isize;
        // A row of moments or sums as a vector, and the same reshaped along the channel axis of the data.
        let row = |of: &B::Value, i: isize| b.reshape(&b.slice(of, 0, Some(i), Some(i + 1), 1)?, &[channels as isize]);
        let lay = |vector: &B::Value| b.reshape(vector, &laid);
        let number = |point, x: &B::Value, value: f64| {
            b.pointwise(point, &[x.into(), GradientOperand::Number(Scalar::Float(value))])
        };
        let rows = |mean: &B::Value, variance: &B::Value| {
            b.concatenate(&[&b.expand_dims(mean, 0)?, &b.expand_dims(variance, 0)?], 0)
        };
        let grad = b.grad();
        match self {
            BatchNorm::Moments => {
                let off = b.minus(b.input(0), &lay(&row(b.output(), 0)?)?)?;
                let mean = lay(&number(Point::Multiply, &row(grad, 0)?, 1.0 / count)?)?;
                let variance = lay(&number(Point::Multiply, &row(grad, 1)?, 2.0 / count)?)?;
                Ok(vec![Some(b.plus(&mean, &b.times(&off, &variance)?)?)])
            }
            BatchNorm::Apply => {
                let Apply { epsilon, fix_gamma, .. } = Apply::read(attributes)?;
                let moments = || b.input(3);
                let inverse = || {
                    let deviation =
                        b.pointwise(Point::Sqrt, &[(&number(Point::Add, &row(moments(), 1)?, epsilon)?).into()])?;
                    b.pointwise(Point::Reciprocal, &[(&deviation).into()])
                };
                let scaled = |by: B::Value| if fix_gamma { Ok(by) } else { b.times(&by, b.input(1)) };
                let data = b.if_wanted(0, || b.times(grad, &lay(&scaled(inverse()?)?)?))?;
                if !b.wants(1) && !b.wants(3) {
                    let beta = b.if_wanted(2, || {
                        let axes: Vec<isize> = (0..shape.rank()).filter(|a| *a != axis).map(|a| a as isize).collect();
                        b.reduce(crate::ReduceKind::Sum, grad, &axes, false)
                    })?;
                    return Ok(vec![data, None, beta, None]);
                }
                let sums =
                    b.routine(BatchNorm::Sums, &[grad, b.input(0), moments()], AlongAxis { axis: axis as isize })?;
                let (total, with) = (row(&sums, 0)?, row(&sums, 1)?);
                let gamma = match fix_gamma {
                    true => None,
                    false => b.if_wanted(1, || b.times(&with, &inverse()?))?,
                };
                let flows = b.if_wanted(3, || {
                    let inverse = inverse()?;
                    let by = scaled(inverse.clone())?;
                    let cube = b.times(&b.times(&by, &inverse)?, &inverse)?;
                    rows(&b.negative(&b.times(&total, &by)?)?, &number(Point::Multiply, &b.times(&with, &cube)?, -0.5)?)
                })?;
                let beta = b.if_wanted(2, || Ok(total.clone()))?;
                Ok(vec![data, gamma, beta, flows])
            }
            BatchNorm::Sums => {
                let (total, with) = (row(grad, 0)?, row(grad, 1)?);
                let first = b.if_wanted(0, || {
                    let off = b.minus(b.input(1), &lay(&row(b.input(2), 0)?)?)?;
                    b.plus(&b.times(&off, &lay(&with)?)?, &lay(&total)?)
                })?;
                let second = b.if_wanted(1, || b.times(b.input(0), &lay(&with)?))?;
                let third = b.if_wanted(2, || {
                    let mean = b.negative(&b.times(&with, &row(b.output(), 0)?)?)?;
                    rows(&mean, &number(Point::Multiply, &mean, 0.0)?)
                })?;
                Ok(vec![first, second, third])
            }
        }
    }

    fn samples() -> Vec<Sample> {
        let mut all = Vec::new();
        for (axis, input) in [
            (1, x([2, 3, 4])),
            (1, x([3, 2, 5, 4])),
            (-1, x([6, 3])),
            (0, x([4])),
            (1, x([2, 70])),
            (-1, x([3, 2, 20])),
            (1, x([3, 4, 2]).look(Look::Transposed)),
        ] {
            let rank = input.shape.len() as i64;
            let channels = input.shape[((axis + rank) % rank) as usize];
            let (vector, rows) = (x([channels]), x([2, channels]).values(crate::samples::Values::Positive));
            all.push(call("batch_moments").with("axis", axis).on([input.clone()]).of([F32, F64]));
            for fix_gamma in [false, true] {
                let apply =
                    call("batch_norm_apply").with("axis", axis).with("epsilon", 0.5).with("fix_gamma", fix_gamma);
                let inputs = [input.clone(), vector.clone(), vector.clone(), rows.clone()];
                all.push(apply.on(inputs).of([F32, F64]));
            }
            let inputs = [input.clone().look(Look::Dense), input, rows];
            all.push(call("batch_norm_sums").with("axis", axis).on(inputs).of([F32, F64]));
        }
        let apply = call("batch_norm_apply").with("axis", 1).with("epsilon", 0.0).with("fix_gamma", false);
        let text = "batch_norm_apply: float32 (2,) does not fit axis 1 of float32 (4, 3)";
        all.push(apply.on([x([4, 3]), x([3]), x([2]), x([2, 3])]).of([F32]).fails(text));
        let text = "batch_norm_sums: float32 (3, 4) does not fit axis 1 of float32 (4, 3)";
        all.push(call("batch_norm_sums").with("axis", 1).on([x([4, 3]), x([3, 4]), x([2, 3])]).of([F32]).fails(text));
        all.push(
            call("batch_moments").with("axis", 0).on([x([3])]).of([I32]).fails("batch_moments: not defined for int32"),
        );
        all.push(
            call("batch_moments")
                .with("axis", 1)
                .on([x([0, 3])])
                .of([F32])
                .fails("batch_moments: there are no elements in (0, 3)"),
        );
        all
    }
}
