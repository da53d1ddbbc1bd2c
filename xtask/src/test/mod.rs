//! `cargo xtask test`: every stage that must be green, one closing table, one closing line.

mod counts;
mod ledger;
mod new_row;
mod stages;

pub(crate) use stages::{Extent, run};
