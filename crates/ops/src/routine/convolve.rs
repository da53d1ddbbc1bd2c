//! Convolutions of two vectors.

use super::families::{Family, Given, family};
use crate::gradient::Needs;
use forerun_base::{Error, ErrorKind, Result, Shape};

family! {
    /// Words: the number of the first element of the full convolution that is wanted, and how many are. Elements beyond its
    /// ends are sums of nothing, so what flows back through a convolution is one too.
    Convolve {
        Part, "convolve", "x, y, first, count", Some(2), false, "some elements of the convolution of two vectors: products of all pairs, added up where their places add up to the same";
    }
}

/// Multiply-adds in a nanosecond.
const TOGETHER: usize = 16;

impl Family for Convolve {
    fn infer(self, given: &[Given], words: &[i64]) -> Result<Given> {
        let ((dtype, x), (other, y)) = (given[0], given[1]);
        if x.rank() != 1 || y.rank() != 1 {
            return Err(Error::new(ErrorKind::Value, format!("needs two vectors: {x} x {y}")));
        }
        if dtype != other {
            return Err(Error::new(ErrorKind::Type, format!("dtypes differ: {dtype} and {other}")));
        }
        let count = words.get(1).copied().unwrap_or(-1);
        let count = usize::try_from(count)
            .map_err(|_| Error::new(ErrorKind::Value, format!("count must not be negative, got {count}")))?;
        Ok((dtype, Shape::new(&[count])?.checked()?))
    }

    fn cost(self, given: &[Given], out: &Given, _: &[i64]) -> usize {
        let taps = given[0].1.size().min(given[1].1.size());
        out.1.size().saturating_mul(1 + taps / TOGETHER)
    }

    fn needs(self, i: usize) -> Option<Needs> {
        Some(Needs::input(1 - i as u8))
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
