//! Softmax, log-softmax and layer norm over the last axis. Each element of the result depends on its whole row; kernels
//! read a row from memory once.

use crate::gradient::Needs;
use crate::routine::{
    Attributes, Family, Flows, Given, GradientBuilder, GradientOperand, attributes, family, invalid, mistyped,
};
use crate::samples::{Look, Sample, call, x};
use crate::{NormaliseBack, Point, ReduceKind};
use forerun_base::DType::{self, F32, F64};
use forerun_base::{Result, Scalar};

family! {
    /// Normalisation of rows along the last axis.
    Normalise {
        Softmax {
            name: "softmax_rows",
            inputs: [x],
            attributes: (),
            fallible: false,
            doc: "exponentials along the last axis, divided by their sum",
        }
        LogSoftmax {
            name: "log_softmax_rows",
            inputs: [x],
            attributes: (),
            fallible: false,
            doc: "logarithm of the softmax along the last axis",
        }
        Layer {
            name: "layer_norm_rows",
            inputs: [x, gamma, beta],
            attributes: Layer,
            fallible: false,
            doc: "mean 0 and variance 1 along the last axis, then scaled and shifted",
        }
    }
}

attributes! {
    /// The attributes of `layer_norm_rows`.
    Layer {
        /// The constant added to the variance.
        epsilon: f64,
    }
}

impl Normalise {
    /// The longest row. Longer rows are better split over several threads, so other ops compute them.
    pub const LONGEST: usize = 1 << 16;

    /// Whether the routine accepts arrays of this dtype with rows of this length.
    pub fn fits(dtype: DType, row: usize) -> bool {
        matches!(dtype, DType::F32 | DType::F64) && (1..=Normalise::LONGEST).contains(&row)
    }
}

impl Family for Normalise {
    fn infer(self, given: &[Given], _: &[i64]) -> Result<Given> {
        let (dtype, shape) = given[0];
        let Some(&row) = shape.last() else { return invalid("needs at least one dimension") };
        if !Normalise::fits(dtype, row) {
            return mistyped(format!("not defined for {dtype} {shape}"));
        }
        for (other, vector) in &given[1..] {
            if (*other, &vector[..]) != (dtype, &[row][..]) {
                return invalid(format!("{other} {vector} does not fit the rows of {dtype} {shape}"));
            }
        }
        Ok(given[0])
    }

    fn cost(self, given: &[Given], _: &Given, _: &[i64]) -> usize {
        given[0].1.size().saturating_mul(2)
    }

    fn needs(self, i: usize) -> Option<Needs> {
        match self {
            Normalise::Softmax | Normalise::LogSoftmax => Some(Needs { inputs: 0, output: true }),
            Normalise::Layer => Some(Needs { inputs: [0b011, 0b001, 0][i], output: false }),
        }
    }

    fn gradient<B: GradientBuilder>(self, b: &B, attributes: &[i64]) -> Flows<B> {
        let grad = b.grad();
        let row_sums = |x: &B::Value| b.reduce(ReduceKind::Sum, x, &[-1], true);
        match self {
            Normalise::Softmax if b.has_kernel(NormaliseBack::Softmax.into(), &[b.output(), grad]) => {
                Ok(vec![Some(b.routine(NormaliseBack::Softmax, &[b.output(), grad], ())?)])
            }
            Normalise::LogSoftmax if b.has_kernel(NormaliseBack::LogSoftmax.into(), &[b.output(), grad]) => {
                Ok(vec![Some(b.routine(NormaliseBack::LogSoftmax, &[b.output(), grad], ())?)])
            }
            Normalise::Softmax => {
                let pulled = row_sums(&b.times(grad, b.output())?)?;
                Ok(vec![Some(b.times(b.output(), &b.minus(grad, &pulled)?)?)])
            }
            Normalise::LogSoftmax => {
                let softmax = b.pointwise(Point::Exp, &[b.output().into()])?;
                let pulled = b.times(&softmax, &row_sums(grad)?)?;
                Ok(vec![Some(b.minus(grad, &pulled)?)])
            }
            Normalise::Layer => layer_gradient(b, Layer::read(attributes)?.epsilon),
        }
    }

    fn samples() -> Vec<Sample> {
        let mut all = Vec::new();
        let layer = |epsilon: f64| call("layer_norm_rows").with("epsilon", epsilon);
        // Rows shorter than a vector, equal to a vector, and longer, with and without a tail.
        let rows = [1, 3, 17, 64, 70, 200].map(|n| x([3, n]));
        for input in rows.into_iter().chain([x([2, 0, 5]), x([4, 5]).look(Look::Transposed), x([7])]) {
            for op in ["softmax_rows", "log_softmax_rows"] {
                all.push(call(op).on([input.clone()]).of([F32, F64]));
            }
            let row = input.shape.last().copied().unwrap_or(0);
            all.push(layer(1e-3).on([input, x([row]), x([row])]).of([F32, F64]));
        }
        for op in ["softmax_rows", "log_softmax_rows"] {
            all.push(call(op).on([x([])]).of([F32]).fails(format!("{op}: needs at least one dimension")));
        }
        let misfit = "layer_norm_rows: float32 (2,) does not fit the rows of float32 (4, 3)";
        all.push(layer(0.0).on([x([4, 3]), x([3]), x([2])]).of([F32]).fails(misfit));
        all
    }
}

fn layer_gradient<B: GradientBuilder>(b: &B, epsilon: f64) -> Flows<B> {
    let grad = b.grad();
    let row_means = |x: &B::Value| b.mean(x, &[-1]);
    let over_rows = |x: &B::Value| {
        let axes: Vec<isize> = (0..b.shape(x).rank() as isize - 1).collect();
        b.reduce(ReduceKind::Sum, x, &axes, false)
    };
    let beta = b.if_wanted(2, || over_rows(grad))?;
    if !b.wants(0) && !b.wants(1) {
        return Ok(vec![None, None, beta]);
    }
    let x = b.input(0);
    let off = b.minus(x, &row_means(x)?)?;
    let variance = row_means(&b.times(&off, &off)?)?;
    let raised = b.pointwise(Point::Add, &[(&variance).into(), GradientOperand::Number(Scalar::Float(epsilon))])?;
    let deviation = b.pointwise(Point::Sqrt, &[(&raised).into()])?;
    let normal = b.binary(Point::Divide, &off, &deviation)?;
    let gamma = b.if_wanted(1, || over_rows(&b.times(grad, &normal)?))?;
    let back = b.if_wanted(0, || {
        // The gradient of the normalised rows, minus its components along a shift and a scaling of the row: the result
        // does not depend on those.
        let scaled = b.times(grad, b.input(1))?;
        let stretch = b.times(&normal, &row_means(&b.times(&scaled, &normal)?)?)?;
        let taken = b.plus(&row_means(&scaled)?, &stretch)?;
        b.binary(Point::Divide, &b.minus(&scaled, &taken)?, &deviation)
    })?;
    Ok(vec![back, gamma, beta])
}
