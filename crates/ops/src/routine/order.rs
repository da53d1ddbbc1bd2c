//! By size along an axis. NaN comes last, whichever way.

use super::families::{Family, Given, axis, family};
use crate::gradient::Needs;
use forerun_base::{DType, Result};

family! {
    /// Elements in order. Words: the axis, whether the largest come first. Equal elements keep their order.
    Order {
        Sort, "sort", "x, axis, descending", Some(1), false, "elements in order along an axis";
        Argsort, "argsort", "x, axis, descending", Some(1), false, "indices that put elements in order along an axis";
    }
}

impl Family for Order {
    fn infer(self, given: &[Given], words: &[i64]) -> Result<Given> {
        let (dtype, shape) = given[0];
        axis(&shape, words, 0)?;
        Ok(match self {
            Order::Sort => (dtype, shape),
            Order::Argsort => (DType::I64, shape),
        })
    }

    fn cost(self, given: &[Given], _: &Given, _: &[i64]) -> usize {
        given[0].1.size().saturating_mul(16)
    }

    fn needs(self, _: usize) -> Option<Needs> {
        match self {
            Order::Sort => Some(Needs::input(0)),
            Order::Argsort => None,
        }
    }

    fn scalars(self) -> usize {
        0
    }

    fn blocks(self, _: &Given) -> u64 {
        0
    }
}
