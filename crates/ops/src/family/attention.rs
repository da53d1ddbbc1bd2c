//! Scaled dot-product attention, `softmax(scale q k' + mask) v`, without storing all scores.

use crate::gradient::Needs;
use crate::routine::{
    Attributes, Family, Flows, Given, GradientBuilder, GradientOperand, attributes, family, invalid, mistyped,
};
use crate::samples::{Input, Sample, call, x};
use crate::{Point, ReduceKind};
use forerun_base::DType::{F32, F64, I32};
use forerun_base::{Result, Scalar, Shape};
use std::ops::Range;

family! {
    /// Attention over stacks of queries, keys and values. An array without elements stands for no mask.
    Attention {
        Forward {
            name: "attention",
            inputs: [q, k, v, mask],
            attributes: Scores,
            fallible: false,
            doc: "values weighted by the softmax of scores, then the logarithms of the sums of exponentials of scores",
        }
        Backward {
            name: "attention_back",
            inputs: [q, k, v, mask, packed, grad, sums_grad],
            attributes: Scores,
            fallible: false,
            doc: "the gradients of attention for queries, keys and values, packed",
        }
    }
}

attributes! {
    /// The attributes of attention.
    Scores {
        /// The factor of the products of queries and keys.
        scale: f64,
        /// Whether a query sees only the keys up to its own position.
        causal: bool,
    }
}

/// The extents of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttentionExtents {
    /// The number of matrices of a stack.
    pub stack: usize,
    /// The number of queries of a matrix.
    pub queries: usize,
    /// The number of keys of a matrix.
    pub keys: usize,
    /// The length of a query and of a key.
    pub width: usize,
    /// The length of a value.
    pub values: usize,
    /// The number of masks, each for `stack / masks` consecutive matrices; 0 without a mask.
    pub masks: usize,
    /// The number of rows of a mask: 1, or one for each query.
    pub mask_rows: usize,
}

impl AttentionExtents {
    /// The extents of `(q, k, v, mask, ...)`. Fails if the shapes do not fit together.
    pub fn of(given: &[Given]) -> Result<AttentionExtents> {
        let shapes = || [0, 1, 2].map(|i| given[i].1.to_string()).join(", ");
        let (&[stack, queries, width], &[keys_stack, keys, keys_width], &[values_stack, rows, values]) =
            (&given[0].1[..], &given[1].1[..], &given[2].1[..])
        else {
            return invalid(format!("queries, keys and values must be stacks of matrices, got {}", shapes()));
        };
        if [keys_stack, values_stack] != [stack; 2] || keys_width != width || rows != keys || keys * width * values == 0
        {
            return invalid(format!("queries, keys and values {} do not fit together", shapes()));
        }
        let mut extents = AttentionExtents { stack, queries, keys, width, values, masks: 0, mask_rows: 1 };
        if given[3].1.size() > 0 {
            match given[3].1[..] {
                [masks, rows, columns] if columns == keys && stack % masks == 0 && (rows == 1 || rows == queries) => {
                    (extents.masks, extents.mask_rows) = (masks, rows);
                }
                _ => {
                    let scores = Shape::of(&[stack, queries, keys]);
                    return invalid(format!("mask {} does not fit scores {scores}", given[3].1));
                }
            }
        }
        Ok(extents)
    }

    /// The range of the results in the packed array.
    pub fn results(&self) -> Range<usize> {
        0..self.stack * self.queries * self.values
    }

    /// The range of the logarithms of sums in the packed array.
    pub fn sums(&self) -> Range<usize> {
        let first = self.results().end;
        first..first + self.stack * self.queries
    }
}

/// The gradients as ops with gradients of any order, which store all scores.
fn composed<B: GradientBuilder>(b: &B, e: &AttentionExtents, how: &Scores) -> Flows<B> {
    let [stack, queries, keys, values] = [e.stack, e.queries, e.keys, e.values].map(|extent| extent as isize);
    let (q, k, v) = (b.input(0), b.input(1), b.input(2));
    let number = |value: f64| GradientOperand::Number(Scalar::Float(value));
    let scaled = |x: &B::Value| b.pointwise(Point::Multiply, &[x.into(), number(how.scale)]);
    let mut scores = scaled(&b.matmul(q, &b.swap_last(k)?)?)?;
    if e.masks > 0 {
        let masks = e.masks as isize;
        let mask = b.reshape(b.input(3), &[masks, 1, e.mask_rows as isize, keys])?;
        let sum = b.plus(&b.reshape(&scores, &[masks, stack / masks, queries, keys])?, &mask)?;
        scores = b.reshape(&sum, &[stack, queries, keys])?;
    }
    if how.causal {
        let rows = b.reshape(&b.arange(0, e.queries as i64)?, &[queries, 1])?;
        let seen = b.binary(Point::LessEqual, &b.arange(0, e.keys as i64)?, &rows)?;
        scores = b.pointwise(Point::Where, &[(&seen).into(), (&scores).into(), number(f64::NEG_INFINITY)])?;
    }
    // The sum of a query that sees no key is infinite, and so are its scores: its weights are zeros.
    let sums = b.slice(b.output(), 0, Some(e.sums().start as isize), Some(e.sums().end as isize), 1)?;
    let sums = b.reshape(&sums, &[stack, queries, 1])?;
    let known = b.pointwise(Point::IsFinite, &[(&sums).into()])?;
    let sums = b.pointwise(Point::Where, &[(&known).into(), (&sums).into(), number(0.0)])?;
    let weights = b.pointwise(Point::Exp, &[(&b.minus(&scores, &sums)?).into()])?;
    let (flow, sums_flow) = (b.grad_range(e.results())?, b.grad_range(e.sums())?);
    let mut slope = match &sums_flow {
        Some(flow) => b.reshape(flow, &[stack, queries, 1])?,
        None => b.full(&Shape::of(&[e.stack, e.queries, 1]), 0, b.describe(q).0)?,
    };
    let mut values_flow = None;
    if let Some(flow) = flow {
        let flow = b.reshape(&flow, &[stack, queries, values])?;
        values_flow = b.if_wanted(2, || b.matmul(&b.swap_last(&weights)?, &flow))?;
        let back = b.matmul(&flow, &b.swap_last(v)?)?;
        let mean = b.reduce(ReduceKind::Sum, &b.times(&weights, &back)?, &[-1], true)?;
        slope = b.plus(&slope, &b.minus(&back, &mean)?)?;
    }
    let slope = scaled(&b.times(&weights, &slope)?)?;
    let values_flow = match values_flow {
        None => b.if_wanted(2, || b.full(&b.shape(v), 0, b.describe(v).0))?,
        some => some,
    };
    let queries_flow = b.if_wanted(0, || b.matmul(&slope, k))?;
    let keys_flow = b.if_wanted(1, || b.matmul(&b.swap_last(&slope)?, q))?;
    Ok(vec![queries_flow, keys_flow, values_flow, None])
}

impl Family for Attention {
    fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
        Scores::read(attributes)?;
        let dtype = given[0].0;
        if !matches!(dtype, F32 | F64) {
            return mistyped(format!("not defined for {dtype}"));
        }
        if let Some((other, _)) = given.iter().find(|(other, shape)| *other != dtype && shape.size() > 0) {
            return mistyped(format!("all arrays must be {dtype}, not {other}"));
        }
        let e = AttentionExtents::of(given)?;
        if self == Attention::Forward {
            return Ok((dtype, Shape::of(&[e.sums().end])));
        }
        for (i, count) in [(4, e.sums().end), (5, e.results().len()), (6, e.sums().len())] {
            if given[i].1[..] != [count] && !(i > 4 && given[i].1[..] == [0]) {
                return invalid(format!("input {i} must have {count} elements, not shape {}", given[i].1));
            }
        }
        let elements = given[..3].iter().map(|(_, shape)| shape.size()).sum();
        Ok((dtype, Shape::of(&[elements])))
    }

    fn cost(self, given: &[Given], _: &Given, _: &[i64]) -> usize {
        let products = given[0].1.size().saturating_mul(given[1].1.get(1).copied().unwrap_or(0)) / 16;
        products.saturating_mul(if self == Attention::Forward { 1 } else { 3 })
    }

    fn needs(self, i: usize) -> Option<Needs> {
        match self {
            Attention::Forward => (i < 3).then_some(Needs { inputs: 0b1111, output: true }),
            Attention::Backward => (i != 3).then_some(Needs::NOTHING),
        }
    }

    fn reads_ranges(self) -> bool {
        true
    }

    fn gradient<B: GradientBuilder>(self, b: &B, attributes: &[i64]) -> Flows<B> {
        if self == Attention::Backward {
            return invalid("it has no gradient: a recorded gradient of attention is composed of other ops");
        }
        let given: Vec<Given> = (0..4).map(|i| b.given(i)).collect();
        let e = AttentionExtents::of(&given)?;
        if b.is_recording() {
            return composed(b, &e, &Scores::read(attributes)?);
        }
        let part = |range: Range<usize>| match b.grad_range(range)? {
            Some(flow) => Ok(flow),
            None => b.full(&Shape::of(&[0]), 0, given[0].0),
        };
        let (flow, sums) = (part(e.results())?, part(e.sums())?);
        let inputs = [b.input(0), b.input(1), b.input(2), b.input(3), b.output(), &flow, &sums];
        let back = b.encoded(Attention::Backward.into(), &inputs, attributes)?;
        let mut start = 0;
        let mut flows = Vec::with_capacity(4);
        for (i, (_, shape)) in given[..3].iter().enumerate() {
            let end = start + shape.size();
            flows.push(b.if_wanted(i, || {
                b.in_shape(&b.slice(&back, 0, Some(start as isize), Some(end as isize), 1)?, shape)
            })?);
            start = end;
        }
        flows.push(None);
        Ok(flows)
    }

    fn samples() -> Vec<Sample> {
        let inputs = |[stack, queries, keys, width, values]: [usize; 5], mask: Input| -> Vec<Input> {
            vec![x([stack, queries, width]), x([stack, keys, width]), x([stack, keys, values]), mask]
        };
        let op = |causal: bool| call("attention").with("scale", 0.5).with("causal", causal);
        let mut all = Vec::new();
        let small = [2, 3, 4, 3, 2];
        for causal in [false, true] {
            for mask in [x([0]), x([1, 3, 4]), x([2, 1, 4]), x([2, 3, 4])] {
                all.push(op(causal).on(inputs(small, mask)).of([F32, F64]));
            }
            // More than one block of queries and more than one tile of keys.
            all.push(op(causal).on(inputs([2, 37, 300, 5, 33], x([0]))).of([F32, F64]));
            for (flow, sums) in [(12, 6), (12, 0)] {
                let more = [x([18]), x([flow]), x([sums])];
                let back = call("attention_back").with("scale", 0.5).with("causal", causal);
                all.push(back.on(inputs(small, x([0])).into_iter().chain(more).collect::<Vec<_>>()).of([F32, F64]));
            }
        }
        let misfit = inputs(small, x([3, 3, 4]));
        all.push(op(false).on(misfit).of([F32]).fails("attention: mask (3, 3, 4) does not fit scores (2, 3, 4)"));
        let misfit = vec![x([2, 3, 3]), x([2, 4, 2]), x([2, 4, 2]), x([0])];
        let text = "attention: queries, keys and values (2, 3, 3), (2, 4, 2), (2, 4, 2) do not fit together";
        all.push(op(false).on(misfit).of([F32]).fails(text));
        all.push(op(false).on(inputs(small, x([0]))).of([I32]).fails("attention: not defined for int32"));
        let more = [x([7]), x([12]), x([6])];
        let back = call("attention_back").with("scale", 0.5).with("causal", false);
        let misfit = inputs(small, x([0])).into_iter().chain(more).collect::<Vec<_>>();
        all.push(back.on(misfit).of([F32]).fails("attention_back: input 4 must have 18 elements, not shape (7,)"));
        all
    }
}
