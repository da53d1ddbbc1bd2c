//! Elements that a mask chooses.

use super::families::{Family, Given, axis, family};
use crate::gradient::Needs;
use forerun_base::{DType, Error, ErrorKind, Result, Shape};

family! {
    /// What a mask of truth values chooses. How many it chooses must be known, since shapes are: whoever has no use for a wait
    /// names a result that does not depend on it.
    Choose {
        Nonzero, "nonzero", "mask, count", Some(1), true, "where a mask is true: a row of positions for each of its dimensions";
        Compress, "compress", "x, mask, axis, count", Some(2), true, "the elements where a mask over some dimensions is true, in order";
        Fill, "fill_chosen", "base, mask, values, axis", Some(3), true, "an array whose elements are values, in order, where a mask over some dimensions is true";
    }
}

/// The first dimension that a mask lies over: that of the word, which may be one past the last for a mask without dimensions.
fn first(shape: &Shape, mask: &Shape, words: &[i64]) -> Result<usize> {
    if mask.rank() > 0 {
        axis(shape, words, 0)?;
    }
    let first = words.first().map_or(0, |word| *word as usize);
    let fits = first + mask.rank() <= shape.rank() && shape[first..first + mask.rank()] == mask[..];
    if !fits {
        let text = format!("a mask of shape {mask} does not fit {shape} from axis {first} on");
        return Err(Error::new(ErrorKind::Index, text));
    }
    Ok(first)
}

/// The shape with so many in place of the mask's dimensions.
fn chosen(shape: &Shape, mask: &Shape, first: usize, count: usize) -> Result<Shape> {
    let mut dims = shape[..first].to_vec();
    dims.push(count);
    dims.extend(&shape[first + mask.rank()..]);
    Shape::new(&dims)?.checked()
}

fn count(words: &[i64], n: usize) -> Result<usize> {
    let count = words.get(n).copied().unwrap_or(-1);
    usize::try_from(count).map_err(|_| Error::new(ErrorKind::Value, format!("{count} is no count")))
}

impl Family for Choose {
    fn infer(self, given: &[Given], words: &[i64]) -> Result<Given> {
        let (mask_dtype, mask) = if self == Choose::Nonzero { given[0] } else { given[1] };
        if mask_dtype != DType::Bool {
            return Err(Error::new(ErrorKind::Type, format!("a mask is of truth values, not {mask_dtype}")));
        }
        let (dtype, shape) = given[0];
        match self {
            Choose::Nonzero => Ok((DType::I64, Shape::new(&[mask.rank(), count(words, 0)?])?.checked()?)),
            Choose::Compress => Ok((dtype, chosen(&shape, &mask, first(&shape, &mask, words)?, count(words, 1)?)?)),
            Choose::Fill => {
                let first = first(&shape, &mask, words)?;
                let (values_dtype, values) = given[2];
                let count = values.get(first).copied().unwrap_or(0);
                if values_dtype != dtype || values != chosen(&shape, &mask, first, count)? {
                    let text = format!("values {values_dtype} {values} do not fit {dtype} {shape} under {mask}");
                    return Err(Error::new(ErrorKind::Value, text));
                }
                Ok((dtype, shape))
            }
        }
    }

    fn cost(self, given: &[Given], out: &Given, _: &[i64]) -> usize {
        given.iter().map(|(_, shape)| shape.size()).fold(out.1.size(), usize::saturating_add)
    }

    fn needs(self, i: usize) -> Option<Needs> {
        match (self, i) {
            (Choose::Nonzero, _) | (_, 1) => None,
            (Choose::Compress | Choose::Fill, _) => Some(Needs::input(1)),
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
