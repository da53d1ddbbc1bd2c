//! Connectionist temporal classification: the negative log-likelihood of labels, summed over all alignments with the
//! steps of a sequence.

use crate::gradient::Needs;
use crate::routine::{Attributes, Family, Flows, Given, GradientBuilder, attributes, family, invalid, mistyped};
use crate::samples::{Input, Sample, Values, call, x};
use forerun_base::DType::{self, F32, F64, I32, I64};
use forerun_base::{Result, Shape};

family! {
    /// The CTC loss.
    Ctc {
        Loss {
            name: "ctc_loss",
            inputs: [data, labels, data_lengths, label_lengths],
            attributes: Blank,
            fallible: true,
            doc: "negative log-likelihoods of labels, then their gradients for the activations",
        }
    }
}

attributes! {
    /// The attribute of `ctc_loss`.
    Blank {
        /// The class of the blank.
        blank: i64,
    }
}

/// The numbers of steps, sequences, classes, and labels of a sequence.
fn extents(given: &[Given]) -> Result<[usize; 4]> {
    let (&[steps, batch, classes], &[rows, labels]) = (&given[0].1[..], &given[1].1[..]) else {
        return invalid(format!(
            "needs steps x sequences x classes and sequences x labels, got {} and {}",
            given[0].1, given[1].1
        ));
    };
    if rows != batch || given[2..].iter().any(|(_, shape)| shape[..] != [batch]) {
        let shapes = [given[1].1, given[2].1, given[3].1].map(|shape| shape.to_string()).join(", ");
        return invalid(format!("labels and lengths {shapes} do not fit {batch} sequences"));
    }
    Ok([steps, batch, classes, labels])
}

impl Family for Ctc {
    fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
        let Blank { blank } = Blank::read(attributes)?;
        if !matches!(given[0].0, F32 | F64) {
            return mistyped(format!("not defined for {}", given[0].0));
        }
        if let Some((dtype, _)) = given[1..].iter().find(|(dtype, _)| *dtype != DType::I64) {
            return mistyped(format!("labels and lengths must be int64, not {dtype}"));
        }
        let [steps, batch, classes, _] = extents(given)?;
        if !(0..classes as i64).contains(&blank) {
            return invalid(format!("blank {blank} is not one of {classes} classes"));
        }
        Ok((given[0].0, Shape::of(&[batch + steps * batch * classes])))
    }

    fn cost(self, given: &[Given], out: &Given, _: &[i64]) -> usize {
        out.1
            .size()
            .saturating_mul(8)
            .saturating_add(given[0].1[0].saturating_mul(given[1].1.size()).saturating_mul(80))
    }

    fn needs(self, i: usize) -> Option<Needs> {
        (i == 0).then_some(Needs { inputs: 0, output: true })
    }

    fn reads_ranges(self) -> bool {
        true
    }

    fn gradient<B: GradientBuilder>(self, b: &B, _: &[i64]) -> Flows<B> {
        let given: Vec<Given> = (0..4).map(|i| b.given(i)).collect();
        let [steps, batch, classes, _] = extents(&given)?;
        let all = batch + steps * batch * classes;
        if b.grad_range(batch..all)?.is_some() {
            return invalid("ctc_loss: the loss has no second derivative");
        }
        let Some(flow) = b.grad_range(0..batch)? else { return Ok(vec![None; 4]) };
        let own = b.slice(b.output(), 0, Some(batch as isize), Some(all as isize), 1)?;
        let own = b.in_shape(&own, &given[0].1)?;
        Ok(vec![Some(b.times(&own, &b.reshape(&flow, &[1, batch as isize, 1])?)?), None, None, None])
    }

    fn samples() -> Vec<Sample> {
        let op = |blank: i64| call("ctc_loss").with("blank", blank);
        let lengths = |values: Values| x([2]).values(values).dtype(I64);
        // Labels are 0, 0, 1 and 1, 2, 2: equal neighbours need a blank between them. The first sequence has no steps.
        let inputs = |steps: usize, classes: usize| -> Vec<Input> {
            let labels = x([2, 3]).values(Values::Rising).dtype(I64);
            vec![x([steps, 2, classes]), labels, lengths(Values::Index(6)), lengths(Values::Positive)]
        };
        let mut all = vec![op(3).on(inputs(5, 4)).of([F32, F64]), op(4).on(inputs(6, 5)).of([F32, F64])];
        let mut bad = inputs(5, 4);
        bad[1] = x([2, 3]).values(Values::Beyond(4)).dtype(I64);
        all.push(op(3).on(bad).of([F32]).fails("ctc_loss: label "));
        let mut bad = inputs(4, 4);
        bad[2] = lengths(Values::Beyond(5));
        all.push(op(3).on(bad).of([F32]).fails("ctc_loss: length 5 of sequence 1 is not between 0 and 4"));
        all.push(op(9).on(inputs(5, 4)).of([F32]).fails("ctc_loss: blank 9 is not one of 4 classes"));
        all.push(op(0).on(inputs(5, 4)).of([I32]).fails("ctc_loss: not defined for int32"));
        all
    }
}
