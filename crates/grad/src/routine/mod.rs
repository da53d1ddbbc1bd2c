//! The rules of routines, a file a family.

mod along;
mod order;
mod rule;
mod scan;

pub(crate) use rule::rule;
