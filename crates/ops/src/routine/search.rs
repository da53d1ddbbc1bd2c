//! Where values belong among numbers in order.

use super::families::{Family, Given, family};
use crate::gradient::Needs;
use forerun_base::{DType, Error, ErrorKind, Result};

family! {
    /// Places among numbers in order. Words: whether equal ones go before. Words of `interp`: whether the value before the first
    /// point is another than its own, and the bits of that as a float64; then the same for what lies behind the last.
    Search {
        Sorted, "searchsorted", "sorted, x, right", Some(2), false, "places where values would be put into numbers in order";
        Digitize, "digitize", "bins, x, right", Some(2), true, "numbers of the intervals that values lie in; edges rise or fall";
        Among, "among", "others, x", Some(2), false, "whether values are among others, in any order";
        Interp, "interp", "points, x, values", Some(3), false, "values between points, which rise, on straight lines";
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
        match self {
            Search::Sorted | Search::Digitize => Ok((DType::I64, values)),
            Search::Among => Ok((DType::Bool, values)),
            Search::Interp => {
                if !matches!(dtype, DType::F32 | DType::F64) {
                    return Err(Error::new(ErrorKind::Type, format!("not defined for {dtype}")));
                }
                if given[2] != given[0] || shape[0] == 0 {
                    let text = format!("points {shape} and values {} are not vectors of one length", given[2].1);
                    return Err(Error::new(ErrorKind::Value, text));
                }
                Ok((dtype, values))
            }
        }
    }

    fn cost(self, given: &[Given], out: &Given, _: &[i64]) -> usize {
        let steps = given[0].1.size().max(1).ilog2() as usize + 1;
        out.1.size().saturating_mul(2 * steps).saturating_add(given[0].1.size())
    }

    fn needs(self, _: usize) -> Option<Needs> {
        None
    }

    fn takes_complex(self) -> bool {
        matches!(self, Search::Sorted | Search::Among)
    }

    fn scalars(self) -> usize {
        0
    }

    fn blocks(self, _: &Given) -> u64 {
        0
    }
}
