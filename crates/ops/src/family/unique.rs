//! Groups of equal adjacent elements.
//!
//! The number of groups depends on the data: it is the last element of the result of [`Unique::Groups`]. A caller that
//! wants one result per group reads that number and passes it to [`Unique::Starts`].

use crate::gradient::Needs;
use crate::routine::{Attributes, Family, Given, attributes, family, invalid, mistyped};
use crate::samples::{COMPLEX, Look, Sample, Values, call, x};
use forerun_base::DType::{self, F32, I64};
use forerun_base::{Result, Shape};

family! {
    /// Groups of equal elements.
    Unique {
        Groups {
            name: "groups",
            inputs: [x],
            attributes: Equality,
            fallible: false,
            doc: "the group number of each element or row; equal neighbours form a group",
        }
        Starts {
            name: "group_starts",
            inputs: [groups],
            attributes: Groups,
            fallible: true,
            doc: "the start of each group, from group numbers that increase by one",
        }
        RowOrder {
            name: "row_order",
            inputs: [x],
            attributes: (),
            fallible: false,
            doc: "indices that sort the rows of a matrix in lexicographic order",
        }
    }
}

attributes! {
    /// The attributes of `groups`.
    Equality {
        /// Whether NaN equals NaN.
        equal_nan: bool,
    }
    /// The attributes of `group_starts`.
    Groups {
        /// The number of groups.
        count: i64,
    }
}

impl Family for Unique {
    fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
        let (dtype, shape) = given[0];
        let fits = match self {
            Unique::Groups => (1..=2).contains(&shape.rank()),
            Unique::Starts => shape.rank() == 1,
            Unique::RowOrder => shape.rank() == 2,
        };
        if !fits {
            return invalid(format!("not defined for shape {shape}"));
        }
        let count = match self {
            Unique::Groups | Unique::RowOrder => shape[0],
            Unique::Starts => {
                if dtype != DType::I64 {
                    return mistyped(format!("groups must be int64, not {dtype}"));
                }
                let count = Groups::read(attributes)?.count;
                if count < 0 || count as usize > shape[0] {
                    return invalid(format!("{count} groups of {} elements", shape[0]));
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

    fn takes_complex(self) -> bool {
        true
    }

    fn needs(self, _: usize) -> Option<Needs> {
        None
    }

    fn samples() -> Vec<Sample> {
        let mut all = Vec::new();
        let groups = || call("groups").with("equal_nan", false);
        for input in [x([9]).values(Values::Rising), x([0]), x([4, 3]).values(Values::Rising), x([5, 0])] {
            all.push(groups().on([input]));
        }
        all.push(groups().on([x([9]).values(Values::Rising)]).of(COMPLEX));
        all.push(groups().on([x([])]).fails("groups: not defined for shape ()"));
        let starts = |count: i64| call("group_starts").with("count", count).of([I64]);
        let rising = || x([9]).values(Values::Rising);
        all.push(starts(5).on([rising()]));
        all.push(starts(4).on([rising()]).fails("group_starts: the group numbers do not"));
        all.push(starts(4).on([x([3])]).fails("group_starts: 4 groups of 3"));
        all.push(starts(1).on([x([3])]).of([F32]).fails("group_starts: groups must be int64"));
        for input in [x([6, 2]), x([5, 1]), x([0, 2]), x([3, 0]), x([4, 5]).look(Look::Transposed)] {
            all.push(call("row_order").on([input]));
        }
        all.push(call("row_order").on([x([6, 2])]).of(COMPLEX));
        all.push(call("row_order").on([x([3])]).fails("row_order: not defined for shape (3,)"));
        all
    }
}
