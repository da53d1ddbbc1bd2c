//! Random numbers that are not made by arithmetic on uniform ones alone.
//!
//! Every element has a block of random bits of its own, and as many more as it needs behind that block, so its number depends on
//! nothing but the stream and its place.

use super::families::{Family, Given, family};
use crate::gradient::Needs;
use forerun_base::{DType, Error, ErrorKind, Kind, Result, Shape};

family! {
    /// Draws. Words: the shape of the result. Parameters are float64, one for all or one an element.
    Draw {
        Bits, "random_bits", "shape", Some(0), false, "uniformly distributed 64-bit integers";
        Order, "random_order", "count", Some(0), false, "numbers from 0 on in a random order";
        Gamma, "random_gamma", "alpha, shape", Some(1), true, "numbers of gamma distributions of scale 1";
        Poisson, "random_poisson", "lam, shape", Some(1), true, "counts of Poisson distributions";
        Binomial, "random_binomial", "n, p, shape", Some(2), true, "counts of successes in n trials";
        Multinomial, "random_multinomial", "n, p, shape", Some(2), true, "counts of n trials by outcome, along the last axis; one row of probabilities";
    }
}

impl Family for Draw {
    fn infer(self, given: &[Given], words: &[i64]) -> Result<Given> {
        let extents = words.iter().map(|w| usize::try_from(*w)).collect::<std::result::Result<Vec<_>, _>>();
        let extents = extents.map_err(|_| Error::new(ErrorKind::Value, "shape has a negative extent"))?;
        let shape = Shape::new(&extents)?;
        if self == Draw::Order && shape.rank() != 1 {
            return Err(Error::new(ErrorKind::Value, format!("an order has one dimension, not {shape}")));
        }
        for (dtype, other) in given {
            if dtype.kind() != Kind::Float || dtype.size() != 8 {
                return Err(Error::new(ErrorKind::Type, format!("parameters are float64, not {dtype}")));
            }
            let row = self == Draw::Multinomial
                && other.rank() == 1
                && shape.rank() > 0
                && other[0] == shape[shape.rank() - 1];
            if other.size() != 1 && *other != shape && !row {
                let text = format!("parameters {other} are not as many as {shape}");
                return Err(Error::new(ErrorKind::Value, text));
            }
        }
        Ok((if self == Draw::Gamma { DType::F64 } else { DType::I64 }, shape))
    }

    fn cost(self, _: &[Given], out: &Given, _: &[i64]) -> usize {
        out.1.size().saturating_mul(if matches!(self, Draw::Bits | Draw::Order) { 8 } else { 60 })
    }

    fn needs(self, _: usize) -> Option<Needs> {
        None
    }

    fn scalars(self) -> usize {
        2
    }

    fn blocks(self, out: &Given) -> u64 {
        out.1.size() as u64
    }
}
