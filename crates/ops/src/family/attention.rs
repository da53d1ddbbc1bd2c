//! Scaled dot-product attention, `softmax(scale q k' + mask) v`, without storing all scores.

use crate::gradient::Needs;
use crate::routine::{Attributes, Family, Flows, Given, GradientBuilder, attributes, family, invalid, mistyped};
use crate::samples::{Input, Sample, call, x};
use forerun_base::DType::{F32, F64, I32};
use forerun_base::{Result, Shape};
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
            return invalid(
                "attention_back: fused attention has no second derivative; compose it of products and softmax",
            );
        }
        let given: Vec<Given> = (0..4).map(|i| b.given(i)).collect();
        let e = AttentionExtents::of(&given)?;
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
