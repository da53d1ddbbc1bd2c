//! By size along an axis. NaN comes last, whichever way.

use super::families::{Family, Given, axis, family};
use crate::gradient::Needs;
use forerun_base::{DType, Error, ErrorKind, Result, Shape};

family! {
    /// Elements in order. Words: the axis, whether the largest come first, and how many of the first are wanted. Equal elements
    /// keep their order.
    ///
    /// A partition is known by its places, which rise after the axis: what goes before the elements that an order has there, between them and
    /// behind them keeps its order, too. Words of `quantile`, for each of them: a place of the order, and the bits of a float64, the share
    /// of the way to the next place.
    Order {
        Sort, "sort", "x, axis, descending", Some(1), false, "elements in order along an axis";
        Argsort, "argsort", "x, axis, descending", Some(1), false, "indices that put elements in order along an axis";
        Argtop, "argtop", "x, axis, descending, count", Some(1), false, "indices of the first elements in order along an axis";
        Partition, "partition", "x, axis, places", Some(1), false, "elements before and behind those that an order has at places along an axis";
        Argpartition, "argpartition", "x, axis, places", Some(1), false, "indices that part elements by those that an order has at places along an axis";
        Quantile, "quantile", "x, places, shares", Some(1), false, "numbers between two places of the order along the last axis; NaN where an element is";
    }
}

impl Family for Order {
    fn infer(self, given: &[Given], words: &[i64]) -> Result<Given> {
        let (dtype, shape) = given[0];
        if self == Order::Quantile {
            return quantile(dtype, &shape, words);
        }
        let axis = axis(&shape, words, 0)?;
        match self {
            Order::Sort => Ok((dtype, shape)),
            Order::Argsort => Ok((DType::I64, shape)),
            Order::Partition | Order::Argpartition => {
                let places = &words[1..];
                if places.is_empty()
                    || !places.is_sorted()
                    || places[0] < 0
                    || *places.last().unwrap_or(&0) >= shape[axis] as i64
                {
                    let text = format!("places {places:?} do not rise below {} along axis {axis}", shape[axis]);
                    return Err(Error::new(ErrorKind::Value, text));
                }
                Ok((if self == Order::Partition { dtype } else { DType::I64 }, shape))
            }
            Order::Quantile => unreachable!("it has no axis"),
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
        let each = match self {
            Order::Sort | Order::Argsort | Order::Argtop => 16,
            Order::Partition | Order::Argpartition | Order::Quantile => 2,
        };
        given[0].1.size().saturating_mul(each)
    }

    fn needs(self, _: usize) -> Option<Needs> {
        match self {
            Order::Sort | Order::Partition => Some(Needs::input(0)),
            // Whoever wants a gradient picks from the whole order.
            Order::Argsort | Order::Argtop | Order::Argpartition | Order::Quantile => None,
        }
    }

    fn takes_complex(self) -> bool {
        self != Order::Quantile
    }

    fn scalars(self) -> usize {
        0
    }

    fn blocks(self, _: &Given) -> u64 {
        0
    }
}

fn quantile(dtype: DType, shape: &Shape, words: &[i64]) -> Result<Given> {
    if !matches!(dtype, DType::F32 | DType::F64) {
        return Err(Error::new(ErrorKind::Type, format!("not defined for {dtype}")));
    }
    let Some((count, rest)) = shape.split_last() else {
        return Err(Error::new(ErrorKind::Value, "needs an axis"));
    };
    let inside = words.iter().step_by(2).all(|place| (0..*count as i64).contains(place));
    if words.is_empty() || !words.len().is_multiple_of(2) || !inside {
        let text = format!("{words:?} are not places and shares among {count} elements");
        return Err(Error::new(ErrorKind::Value, text));
    }
    let mut extents = vec![words.len() / 2];
    extents.extend(rest);
    Ok((dtype, Shape::new(&extents)?))
}
