//! The rules of routines, a file a family.

mod along;
mod choose;
mod order;
mod place;
mod rule;
mod scan;

pub(crate) use rule::rule;
