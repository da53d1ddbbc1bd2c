//! Gradients of softmax and log-softmax over the last axis, in one pass over each row. Devices without kernels for them compute the same by
//! ordinary ops.

use crate::gradient::Needs;
use crate::routine::{Attributes, Family, Flows, Given, GradientBuilder, family, invalid, mistyped};
use crate::samples::{Look, Sample, call, x};
use crate::{Normalise, Point, ReduceKind};
use forerun_base::DType::{F32, F64};
use forerun_base::Result;

family! {
    /// Gradients of normalised rows, along the last axis: of the result `y` and what flows back to it.
    NormaliseBack {
        Softmax {
            name: "softmax_rows_back",
            inputs: [y, grad],
            attributes: (),
            fallible: false,
            doc: "y times what is left of a gradient without its mean under y, along the last axis",
        }
        LogSoftmax {
            name: "log_softmax_rows_back",
            inputs: [y, grad],
            attributes: (),
            fallible: false,
            doc: "a gradient less its sum times the exponential of y, along the last axis",
        }
    }
}

impl Family for NormaliseBack {
    fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
        <()>::read(attributes)?;
        let (dtype, shape) = given[0];
        let Some(&row) = shape.last() else { return invalid("a scalar has no rows") };
        if !Normalise::fits(dtype, row) {
            return mistyped(format!("not defined for {dtype} {shape}"));
        }
        if given[1] != given[0] {
            return invalid(format!("a gradient of {} {} does not fit {dtype} {shape}", given[1].0, given[1].1));
        }
        Ok(given[0])
    }

    fn cost(self, given: &[Given], _: &Given, _: &[i64]) -> usize {
        given[0].1.size()
    }

    fn needs(self, i: usize) -> Option<Needs> {
        Some(Needs { inputs: if i == 1 && self == NormaliseBack::LogSoftmax { 0b01 } else { 0b11 }, output: false })
    }

    fn gradient<B: GradientBuilder>(self, b: &B, _: &[i64]) -> Flows<B> {
        let (y, grad) = (b.input(0), b.grad());
        let row_sums = |x: &B::Value| b.reduce(ReduceKind::Sum, x, &[-1], true);
        match self {
            NormaliseBack::Softmax => {
                let mean = row_sums(&b.times(grad, y)?)?;
                let back = b.if_wanted(0, || {
                    let given = b.input(1);
                    let off = b.minus(given, &row_sums(&b.times(given, y)?)?)?;
                    b.minus(&b.times(grad, &off)?, &b.times(given, &mean)?)
                })?;
                Ok(vec![back, b.if_wanted(1, || b.times(y, &b.minus(grad, &mean)?))?])
            }
            NormaliseBack::LogSoftmax => {
                let weighed = b.times(grad, &b.pointwise(Point::Exp, &[y.into()])?)?;
                let back = b.if_wanted(0, || b.negative(&b.times(&weighed, &row_sums(b.input(1))?)?))?;
                Ok(vec![back, b.if_wanted(1, || b.minus(grad, &row_sums(&weighed)?))?])
            }
        }
    }

    fn samples() -> Vec<Sample> {
        let mut all = Vec::new();
        for op in ["softmax_rows_back", "log_softmax_rows_back"] {
            for n in [1, 3, 17, 64, 70, 200] {
                all.push(call(op).on([x([3, n]), x([3, n])]).of([F32, F64]));
            }
            all.push(call(op).on([x([2, 0, 5]), x([2, 0, 5])]).of([F32]));
            all.push(call(op).on([x([4, 5]).look(Look::Transposed), x([4, 5]).look(Look::Backwards)]).of([F32, F64]));
            all.push(call(op).on([x([]), x([])]).of([F32]).fails(format!("{op}: a scalar has no rows")));
            let misfit = format!("{op}: a gradient of float32 (2, 3) does not fit float32 (3, 2)");
            all.push(call(op).on([x([3, 2]), x([2, 3])]).of([F32]).fails(misfit));
        }
        all
    }
}
