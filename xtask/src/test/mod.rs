//! `cargo xtask test`: every stage that must be green, one closing table, one closing line.

mod counts;
mod ledger;
mod stages;

pub(crate) use stages::{Extent, run};
