//! `cargo xtask test`: every stage that must be green, one closing table, one closing line.

mod counts;
mod ledger;
mod new_row;
mod stages;

pub(crate) use stages::{CUDA_12, Extent, kernel_compiler, run};
