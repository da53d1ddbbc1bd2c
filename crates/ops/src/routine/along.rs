//! Elements named along an axis, line by line.

use super::families::{Family, Given, axis, family};
use crate::gradient::Needs;
use forerun_base::{Error, ErrorKind, Kind, Result, Shape};

family! {
    /// Elements that indices name along an axis; in every other dimension array and indices go side by side. Words: the axis.
    Along {
        Take, "take_along_axis", "x, indices, axis", Some(2), true, "elements that indices name along an axis, line by line";
        Add, "add_along_axis", "base, indices, updates, axis", Some(3), true, "an array with updates added where indices name elements along an axis";
        Put, "put_along_axis", "base, indices, updates, axis", Some(3), true, "an array with updates in place of what indices name along an axis; of several, the last stays";
    }
}

impl Family for Along {
    fn infer(self, given: &[Given], words: &[i64]) -> Result<Given> {
        let ((dtype, shape), (index, named)) = (given[0], given[1]);
        let axis = axis(&shape, words, 0)?;
        if index.kind() != Kind::Int {
            return Err(Error::new(ErrorKind::Index, format!("indices must be integers, not {index}")));
        }
        let apart = |a: &Shape, b: &Shape| a.rank() != b.rank() || (0..a.rank()).any(|d| d != axis && a[d] != b[d]);
        if apart(&shape, &named) {
            let text = format!("indices {named} do not fit {shape} along axis {axis}");
            return Err(Error::new(ErrorKind::Value, text));
        }
        match self {
            Along::Take => Ok((dtype, named)),
            Along::Add | Along::Put if given[2] == (dtype, named) => Ok((dtype, shape)),
            Along::Add | Along::Put => {
                let text = format!("updates are {} {}, not {dtype} {named}", given[2].0, given[2].1);
                Err(Error::new(ErrorKind::Value, text))
            }
        }
    }

    fn cost(self, given: &[Given], out: &Given, _: &[i64]) -> usize {
        given[1].1.size().saturating_mul(2).saturating_add(out.1.size())
    }

    fn needs(self, i: usize) -> Option<Needs> {
        match (self, i) {
            (_, 1) => None,
            (Along::Add, 0) => Some(Needs::NOTHING),
            (Along::Take, _) | (Along::Add, _) | (Along::Put, _) => Some(Needs::input(1)),
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
