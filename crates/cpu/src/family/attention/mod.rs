//! Attention in tiles: a block of queries and a tile of keys at a time, so that scores stay in the level-1 and level-2
//! caches.
//!
//! Invariant: the partition into blocks and tiles depends only on the extents. One thread computes a block, or in the
//! backward pass a matrix of the stack. The bits therefore do not depend on the number of threads.

mod backward;
mod forward;
mod kernel;
mod scores;
