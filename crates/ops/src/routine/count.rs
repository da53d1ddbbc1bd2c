//! How many elements are equal, or lie in one interval.

use super::families::{Family, Given, family};
use crate::gradient::Needs;
use forerun_base::{DType, Error, ErrorKind, Kind, Result, Shape};

family! {
    /// Counts. The word of `bincount` says how many numbers are counted; behind the counts stands how many it takes for all of them, so that a guess
    /// can be checked: if that is more, nothing is counted. The word of `histogram` says whether all intervals have one width but for rounding.
    Count {
        Numbers, "bincount", "x, length", Some(1), true, "how often each whole number from 0 on occurs, then the largest plus one";
        Intervals, "histogram", "edges, x, even", Some(2), false, "how many elements lie in each interval between edges that rise";
    }
}

impl Family for Count {
    fn infer(self, given: &[Given], words: &[i64]) -> Result<Given> {
        let (dtype, shape) = given[0];
        let refused = |text: String| Err(Error::new(ErrorKind::Value, text));
        if shape.rank() != 1 {
            return refused(format!("not defined for shape {shape}"));
        }
        let count = match self {
            Count::Numbers => {
                if dtype.kind() == Kind::Float {
                    return Err(Error::new(ErrorKind::Type, format!("needs integers, not {dtype}")));
                }
                match words.first().and_then(|length| usize::try_from(*length).ok()) {
                    Some(length) => length + 1,
                    None => return refused(format!("{words:?} is no length")),
                }
            }
            Count::Intervals => {
                if dtype != given[1].0 || !matches!(dtype, DType::F32 | DType::F64) {
                    let text = format!("not defined for edges {dtype} and elements {}", given[1].0);
                    return Err(Error::new(ErrorKind::Type, text));
                }
                if shape[0] < 2 {
                    return refused(format!("{} edges enclose nothing", shape[0]));
                }
                shape[0] - 1
            }
        };
        Ok((DType::I64, Shape::new(&[count])?.checked()?))
    }

    fn cost(self, given: &[Given], out: &Given, _: &[i64]) -> usize {
        given.iter().map(|(_, shape)| shape.size()).fold(out.1.size(), usize::saturating_add)
    }

    fn needs(self, _: usize) -> Option<Needs> {
        None
    }

    fn scalars(self) -> usize {
        0
    }

    fn blocks(self, _: &Given) -> u64 {
        0
    }
}
