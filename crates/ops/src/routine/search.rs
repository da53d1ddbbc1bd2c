//! Where values belong among numbers in order.

use super::families::{Family, Given, family};
use crate::gradient::Needs;
use forerun_base::{DType, Error, ErrorKind, Result};

family! {
    /// Places among numbers in order. Words: whether equal ones go before.
    Search {
        Sorted, "searchsorted", "sorted, x, right", Some(2), false, "places where values would be put into numbers in order";
        Digitize, "digitize", "bins, x, right", Some(2), true, "numbers of the intervals that values lie in; edges rise or fall";
    }
}

impl Family for Search {
    fn infer(self, given: &[Given], _: &[i64]) -> Result<Given> {
        let ((dtype, shape), (other, values)) = (given[0], given[1]);
        if shape.rank() != 1 {
            let text = format!("numbers in order have one dimension, not {shape}");
            return Err(Error::new(ErrorKind::Value, text));
        }
        if dtype != other {
            return Err(Error::new(ErrorKind::Type, format!("dtypes differ: {dtype} and {other}")));
        }
        Ok((DType::I64, values))
    }

    fn cost(self, given: &[Given], out: &Given, _: &[i64]) -> usize {
        let steps = given[0].1.size().max(1).ilog2() as usize + 1;
        out.1.size().saturating_mul(2 * steps).saturating_add(given[0].1.size())
    }

    fn needs(self, _: usize) -> Option<Needs> {
        None
    }

    fn takes_complex(self) -> bool {
        self == Search::Sorted
    }

    fn scalars(self) -> usize {
        0
    }

    fn blocks(self, _: &Given) -> u64 {
        0
    }
}
