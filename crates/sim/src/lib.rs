//! A simulated accelerator, for testing programs over several devices without one.
//!
//! It behaves like a real one towards the host: commands are enqueued and executed later, in order on each lane and in
//! any order across lanes. Its memory is separate and limited. A bad index shows when the command is executed, long
//! after later commands were enqueued. The arithmetic is the host's, so results have the same bits.
//!
//! It breaks programs that rely on what is not guaranteed: freed memory is overwritten once the lane reaches the free,
//! and so are the outputs of a failed command.

mod lane;
mod memory;
mod simulated;

pub use simulated::{Options, Simulated};
