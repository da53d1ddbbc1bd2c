//! Elements that indices along several axes name.

use super::families::{Family, Given, family};
use crate::gradient::Needs;
use forerun_base::{DType, Error, ErrorKind, Result, Shape};

family! {
    /// Indices along several axes, as positions among the elements in one dimension, and what is written there.
    ///
    /// Words of `positions`: for every array of indices the axis it counts along, the axis' extent and how far apart its elements
    /// are. Its immediate is the position of the first element. Words of `put`: the extents of a row, then how far apart
    /// its elements are in each dimension; a position is that of a row's first element. With three words before them, the axis,
    /// the extent and the distance of one array of indices, `put` takes those indices in place of positions.
    Place {
        Positions, "positions", "indices, axes", None, true, "positions in one dimension that indices along several axes name";
        Put, "put", "base, positions, values, row", Some(3), true, "an array with rows at positions overwritten; of several at one position the last stays";
        Last, "is_last", "positions", Some(1), false, "whether no later position is the same";
    }
}

impl Family for Place {
    fn infer(self, given: &[Given], words: &[i64]) -> Result<Given> {
        match self {
            Place::Positions => positions(given, words),
            Place::Put => put(given, words),
            Place::Last => {
                named(&given[0])?;
                Ok((DType::Bool, given[0].1))
            }
        }
    }

    fn cost(self, given: &[Given], out: &Given, words: &[i64]) -> usize {
        if self == Place::Put {
            // What is moved to the places; the rest is a plain copy, or nothing where the base is taken over.
            let row = put_row(words);
            let moved = row[..row.len() / 2]
                .iter()
                .fold(given[1].1.size(), |size, extent| size.saturating_mul(*extent as usize));
            return moved.saturating_add(out.1.size() / 8);
        }
        given.iter().map(|(_, shape)| shape.size()).fold(out.1.size(), usize::saturating_add).saturating_mul(2)
    }

    fn needs(self, i: usize) -> Option<Needs> {
        match (self, i) {
            (Place::Put, 0 | 2) => Some(Needs::input(1)),
            (Place::Put | Place::Positions | Place::Last, _) => None,
        }
    }

    fn takes_complex(self) -> bool {
        true
    }

    fn scalars(self) -> usize {
        (self == Place::Positions) as usize
    }

    fn blocks(self, _: &Given) -> u64 {
        0
    }

    fn in_place(self) -> bool {
        self == Place::Put
    }
}

fn refused<T>(text: String) -> Result<T> {
    Err(Error::new(ErrorKind::Value, text))
}

fn positions(given: &[Given], words: &[i64]) -> Result<Given> {
    if given.is_empty() || words.len() != 3 * given.len() {
        return refused(format!("{} words do not describe {} axes", words.len(), given.len()));
    }
    let mut shape = Shape::SCALAR;
    for (dtype, named) in given {
        if !matches!(dtype, DType::I32 | DType::I64) {
            return Err(Error::new(ErrorKind::Index, format!("indices must be int32 or int64, not {dtype}")));
        }
        let Some(both) = shape.broadcast(named) else {
            let all: Vec<String> = given.iter().map(|(_, shape)| shape.to_string()).collect();
            let text = format!("shape mismatch: indexing arrays could not be broadcast together: {}", all.join(" "));
            return Err(Error::new(ErrorKind::Index, text));
        };
        shape = both;
    }
    Ok((DType::I64, shape.checked()?))
}

fn named((dtype, shape): &Given) -> Result<()> {
    match dtype {
        DType::I64 => Ok(()),
        _ => refused(format!("positions are int64, not {dtype} {shape}")),
    }
}

/// Whether the words of `put` describe an array of indices in place of positions.
pub fn is_by_index(words: &[i64]) -> bool {
    !words.len().is_multiple_of(2)
}

/// The words of `put` that describe a row: its extents, then its strides.
pub fn put_row(words: &[i64]) -> &[i64] {
    if is_by_index(words) { words.get(3..).unwrap_or(&[]) } else { words }
}

fn put(given: &[Given], words: &[i64]) -> Result<Given> {
    let ((dtype, base), (_, named_shape), (values_dtype, values)) = (given[0], given[1], given[2]);
    if !is_by_index(words) || given[1].0 != DType::I32 {
        named(&given[1])?;
    }
    let row = put_row(words);
    let row: usize = row[..row.len() / 2].iter().map(|d| *d as usize).product();
    let fits = values.size() == 1 || values.size() == named_shape.size() * row;
    if values_dtype != dtype || !fits {
        let text =
            format!("values {values_dtype} {values} do not fit {dtype} rows of {row} at positions {named_shape}");
        return refused(text);
    }
    Ok((dtype, base))
}
