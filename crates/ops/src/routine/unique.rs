//! Equal elements that lie side by side, as groups.
//!
//! How many groups there are is known only when they were counted: the last number of [`Unique::Groups`] says it. Whoever wants
//! one result a group reads that number and asks [`Unique::Starts`] for as many.

use super::families::{Family, Given, family};
use crate::gradient::Needs;
use forerun_base::{DType, Error, ErrorKind, Result, Shape};

family! {
    /// Groups of equal elements.
    Unique {
        Groups, "groups", "x, equal_nan", Some(1), false, "number of the group of each element, or row, among neighbours that are equal";
        Starts, "group_starts", "groups, count", Some(1), true, "where each group starts, of numbers that rise by one";
        RowOrder, "row_order", "x", Some(1), false, "indices that put the rows of a matrix in order, by their first column first";
    }
}

impl Family for Unique {
    fn infer(self, given: &[Given], words: &[i64]) -> Result<Given> {
        let (dtype, shape) = given[0];
        let fits = match self {
            Unique::Groups => (1..=2).contains(&shape.rank()),
            Unique::Starts => shape.rank() == 1,
            Unique::RowOrder => shape.rank() == 2,
        };
        if !fits {
            return Err(Error::new(ErrorKind::Value, format!("not defined for shape {shape}")));
        }
        let count = match self {
            Unique::Groups | Unique::RowOrder => shape[0],
            Unique::Starts => {
                if dtype != DType::I64 {
                    return Err(Error::new(ErrorKind::Type, format!("groups must be int64, not {dtype}")));
                }
                let count = words.first().copied().unwrap_or(-1);
                if count < 0 || count as usize > shape[0] {
                    let text = format!("{count} groups of {} elements", shape[0]);
                    return Err(Error::new(ErrorKind::Value, text));
                }
                count as usize
            }
        };
        Ok((DType::I64, Shape::new(&[count])?))
    }

    fn cost(self, given: &[Given], _: &Given, _: &[i64]) -> usize {
        let each = if self == Unique::RowOrder { 16 } else { 2 };
        given[0].1.size().saturating_mul(each)
    }

    fn needs(self, _: usize) -> Option<Needs> {
        None
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
