//! `cargo xtask test`: all stages, a closing table and a closing line.

mod counts;
mod ledger;
mod models;
mod modes;
mod new_op;
mod page;
mod programs;
mod record;
mod stages;
mod suites;

pub(crate) use modes::{LIST as MODES, files as mode_files};
pub(crate) use stages::{CUDA_12, Extent, kernel_compiler, run};
