//! Each element with all before it along an axis.

use super::families::{Family, Given, axis, family};
use crate::gradient::Needs;
use forerun_base::{DType, Error, ErrorKind, Kind, Result};

family! {
    /// Cumulative ops. Words: the axis.
    Scan {
        CumSum, "cumsum", "x, axis", Some(1), false, "sum of each element and all before it along an axis";
        CumProd, "cumprod", "x, axis", Some(1), false, "product of each element and all before it along an axis";
        Linear, "linear_scan", "x, factors, axis", Some(2), false, "each element plus a factor times the result before it along an axis";
        ArgCumMax, "argcummax", "x, axis", Some(1), false, "index of the largest up to each element along an axis, the latest of equals";
        ArgCumMin, "argcummin", "x, axis", Some(1), false, "index of the smallest up to each element along an axis, the latest of equals";
    }
}

impl Family for Scan {
    fn infer(self, given: &[Given], words: &[i64]) -> Result<Given> {
        axis(&given[0].1, words, 0)?;
        match given[0].0 {
            _ if matches!(self, Scan::ArgCumMax | Scan::ArgCumMin) => Ok((DType::I64, given[0].1)),
            dtype if self == Scan::Linear && !matches!(dtype.kind(), Kind::Float | Kind::Complex) => {
                Err(Error::new(ErrorKind::Type, format!("not defined for {}", given[0].0)))
            }
            _ if self == Scan::Linear && given[0] != given[1] => {
                let text = format!("factors are {} {}, not {} {}", given[1].0, given[1].1, given[0].0, given[0].1);
                Err(Error::new(ErrorKind::Value, text))
            }
            DType::Bool => Err(Error::new(ErrorKind::Type, "not defined for bool")),
            _ => Ok(given[0]),
        }
    }

    fn cost(self, given: &[Given], _: &Given, _: &[i64]) -> usize {
        given[0].1.size().saturating_mul(2)
    }

    fn needs(self, i: usize) -> Option<Needs> {
        match self {
            Scan::CumSum => Some(Needs::NOTHING),
            Scan::CumProd => Some(Needs { inputs: 1, output: true }),
            Scan::Linear => Some(Needs { inputs: 2, output: i == 1 }),
            Scan::ArgCumMax | Scan::ArgCumMin => None,
        }
    }

    fn takes_complex(self) -> bool {
        matches!(self, Scan::CumSum | Scan::CumProd | Scan::Linear)
    }

    fn scalars(self) -> usize {
        0
    }

    fn blocks(self, _: &Given) -> u64 {
        0
    }
}
