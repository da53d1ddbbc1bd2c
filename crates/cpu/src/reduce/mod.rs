//! Reductions. The pointwise program that feeds a reduction is evaluated tile by tile and never stored.
//!
//! Invariant: the order of additions depends only on the extents. Elements are folded in blocks of fixed length at
//! fixed positions, and the blocks in a binary tree by their index, whichever thread folds them.

mod columns;
mod fold;
mod reducer;
mod rows;
mod search;
mod truth;

pub(crate) use fold::{Cascade, Element, Fold, Largest, Sum};
pub(crate) use reducer::{CHUNKS, PIECE, Partials, Reducer, blocks_per_chunk};
pub(crate) use rows::{WIDTH, tree, tree_of};
