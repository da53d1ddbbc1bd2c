//! Planted faults: that every invariant has a check which fails when the invariant is broken, for anybody to see again.
//!
//! The table is `tests/planted.txt`. The verb breaks a copy of the working tree, never the tree itself.

mod copy;
mod table;
mod verb;

pub(crate) use table::{Fault, TABLE, faults, invariants};
pub(crate) use verb::run;
