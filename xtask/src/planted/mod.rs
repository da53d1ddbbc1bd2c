//! Planted faults: shows that every invariant has a check that fails when the invariant is broken.
//!
//! The table is `tests/planted.txt`. The verb changes a copy of the working tree, never the tree itself.

mod copy;
mod table;
mod verb;

pub(crate) use table::{Fault, TABLE, faults, invariants};
pub(crate) use verb::run;
