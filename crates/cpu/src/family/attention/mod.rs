//! Attention in tiles: a few queries against some keys at a time, so that scores stay in the nearest caches.
//!
//! Invariant: blocks of queries and tiles of keys are cut by extents alone, and a block, or on the way back a matrix of the stack, is one thread's; so the
//! bits do not depend on how many there are.

mod backward;
mod forward;
mod kernel;
mod scores;
