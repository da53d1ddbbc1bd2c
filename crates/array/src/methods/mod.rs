//! Methods of arrays for Rust programs.
//!
//! Invariant: a method submits ops and knows no kernel. Mistakes in its arguments panic at the user's line; the method with
//! `try_` before its name returns the error instead. Methods that read a value wait, and return the error of a failed op.

pub(crate) mod arithmetic;
mod binary;
mod compare;
mod indexing;
mod order;
pub(crate) mod pairs;
mod read;
mod reductions;
mod routines;
pub(crate) mod shaping;
mod unary;
