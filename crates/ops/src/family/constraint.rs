//! Checks of values that do not wait: the error is raised where the result is read.

use crate::gradient::Needs;
use crate::routine::{Family, Given, family, mistyped};
use crate::samples::{Input, Look, Sample, Values, call, x};
use forerun_base::DType::{self, Bool, F32, U8};
use forerun_base::{Result, Shape};

family! {
    /// Checks of values.
    Constraint {
        Check {
            name: "constraint_check",
            inputs: [condition, message],
            attributes: (),
            fallible: true,
            doc: "true if every element of the condition is true; otherwise fails with the message, in UTF-8",
        }
    }
}

impl Family for Constraint {
    fn infer(self, given: &[Given], _: &[i64]) -> Result<Given> {
        match (given[0].0, given[1].0) {
            (Bool, U8) => Ok((Bool, Shape::SCALAR)),
            (Bool, other) => mistyped(format!("the message must be uint8, not {other}")),
            (other, _) => mistyped(format!("the condition must be bool, not {other}")),
        }
    }

    fn cost(self, given: &[Given], _: &Given, _: &[i64]) -> usize {
        given[0].1.size()
    }

    fn needs(self, _: usize) -> Option<Needs> {
        None
    }

    fn samples() -> Vec<Sample> {
        let input = |shape: &[usize], dtype: DType| {
            Input { shape: shape.to_vec(), ..x([]) }.values(Values::Positive).dtype(dtype)
        };
        let check = || call("constraint_check");
        vec![
            check().on([input(&[3, 4], Bool), input(&[5], U8)]).of([Bool]),
            check().on([input(&[3, 4], Bool).look(Look::Transposed), input(&[0], U8)]).of([Bool]),
            check().on([input(&[], Bool), input(&[1], U8)]).of([Bool]),
            check().on([input(&[0], Bool), input(&[1], U8)]).of([Bool]),
            check().on([input(&[3], F32), input(&[1], U8)]).of([F32]).fails("constraint_check: the condition must be"),
            check().on([input(&[3], Bool), input(&[1], F32)]).of([Bool]).fails("constraint_check: the message must be"),
        ]
    }
}
