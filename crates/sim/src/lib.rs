//! A simulated accelerator, so that programs for several devices can be tested without one.
//!
//! It does what a real one does to its host: commands are told and done later, in order on each lane and in any order
//! across lanes; its memory is its own, and limited; a bad index shows when the command is done, long after those that follow
//! it were told. The arithmetic is the host's, so results have the same bits.
//!
//! What it is wrong to rely on it breaks: memory that was given back is overwritten once the lane comes to it, and
//! what a failed command should have written is overwritten too.

mod lane;
mod memory;
mod simulated;

pub use simulated::{Options, Simulated};
