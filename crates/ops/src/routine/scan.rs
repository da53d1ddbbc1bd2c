//! Each element with all before it along an axis.

use super::families::{Family, Given, axis, family};
use crate::gradient::Needs;
use forerun_base::{DType, Error, ErrorKind, Result};

family! {
    /// Cumulative ops. Words: the axis.
    Scan {
        CumSum, "cumsum", "x, axis", Some(1), false, "sum of each element and all before it along an axis";
        CumProd, "cumprod", "x, axis", Some(1), false, "product of each element and all before it along an axis";
    }
}

impl Family for Scan {
    fn infer(self, given: &[Given], words: &[i64]) -> Result<Given> {
        axis(&given[0].1, words, 0)?;
        match given[0].0 {
            DType::Bool => Err(Error::new(ErrorKind::Type, "not defined for bool")),
            _ => Ok(given[0]),
        }
    }

    fn cost(self, given: &[Given], _: &Given, _: &[i64]) -> usize {
        given[0].1.size().saturating_mul(2)
    }

    fn needs(self, _: usize) -> Option<Needs> {
        match self {
            Scan::CumSum => Some(Needs::NOTHING),
            Scan::CumProd => Some(Needs { inputs: 1, output: true }),
        }
    }

    fn scalars(self) -> usize {
        0
    }

    fn blocks(self, _: &Given) -> u64 {
        0
    }
}
