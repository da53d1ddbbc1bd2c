//! Rows brought to a scale: what their elements become depends on all of the row, which is read from memory once.

use super::families::{Family, Given, family};
use crate::gradient::Needs;
use forerun_base::{DType, Error, ErrorKind, Result};

family! {
    /// Along the last axis. Words: of `layer_norm_rows` the bits of epsilon, a double.
    Normalise {
        Softmax, "softmax_rows", "x", Some(1), false, "exponentials along the last axis, divided by their sum";
        LogSoftmax, "log_softmax_rows", "x", Some(1), false, "logarithm of the softmax along the last axis";
        Layer, "layer_norm_rows", "x, gamma, beta, epsilon", Some(3), false, "mean 0 and variance 1 along the last axis, then scaled and shifted";
    }
}

impl Normalise {
    /// Rows of more elements are better worked on by several threads each.
    pub const LONGEST: usize = 1 << 16;

    /// Whether it takes an array of this dtype whose rows have so many elements.
    pub fn fits(dtype: DType, row: usize) -> bool {
        matches!(dtype, DType::F32 | DType::F64) && (1..=Normalise::LONGEST).contains(&row)
    }
}

impl Family for Normalise {
    fn infer(self, given: &[Given], _: &[i64]) -> Result<Given> {
        let (dtype, shape) = given[0];
        let Some(&row) = shape.last() else {
            return Err(Error::new(ErrorKind::Value, "a scalar has no rows"));
        };
        if !Normalise::fits(dtype, row) {
            return Err(Error::new(ErrorKind::Type, format!("not defined for {dtype} {shape}")));
        }
        for (other, vector) in &given[1..] {
            if (*other, &vector[..]) != (dtype, &[row][..]) {
                let text = format!("{other} {vector} does not fit the rows of {dtype} {shape}");
                return Err(Error::new(ErrorKind::Value, text));
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

    fn scalars(self) -> usize {
        0
    }

    fn blocks(self, _: &Given) -> u64 {
        0
    }
}
