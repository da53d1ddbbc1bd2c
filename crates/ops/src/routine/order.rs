//! By size along an axis. NaN comes last, whichever way.

use super::families::{Family, Given, axis, family};
use crate::gradient::Needs;
use forerun_base::{DType, Error, ErrorKind, Result, Shape};

family! {
    /// Elements in order. Words: the axis, whether the largest come first, and how many of the first are wanted. Equal elements
    /// keep their order.
    Order {
        Sort, "sort", "x, axis, descending", Some(1), false, "elements in order along an axis";
        Argsort, "argsort", "x, axis, descending", Some(1), false, "indices that put elements in order along an axis";
        Argtop, "argtop", "x, axis, descending, count", Some(1), false, "indices of the first elements in order along an axis";
    }
}

impl Family for Order {
    fn infer(self, given: &[Given], words: &[i64]) -> Result<Given> {
        let (dtype, shape) = given[0];
        let axis = axis(&shape, words, 0)?;
        match self {
            Order::Sort => Ok((dtype, shape)),
            Order::Argsort => Ok((DType::I64, shape)),
            Order::Argtop => {
                let count = words.get(2).copied().unwrap_or(-1);
                if count < 0 || count as usize > shape[axis] {
                    let text = format!("{count} elements are wanted of {} along axis {axis}", shape[axis]);
                    return Err(Error::new(ErrorKind::Value, text));
                }
                let mut extents = shape.to_vec();
                extents[axis] = count as usize;
                Ok((DType::I64, Shape::new(&extents)?))
            }
        }
    }

    fn cost(self, given: &[Given], _: &Given, _: &[i64]) -> usize {
        given[0].1.size().saturating_mul(16)
    }

    fn needs(self, _: usize) -> Option<Needs> {
        match self {
            Order::Sort => Some(Needs::input(0)),
            Order::Argsort | Order::Argtop => None,
        }
    }

    fn takes_complex(self) -> bool {
        true
    }

    fn scalars(self) -> usize {
        0
    }

    fn blocks(self, _: &Given) -> u64 {
        0
    }
}
