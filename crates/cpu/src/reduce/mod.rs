//! Reductions, with the pointwise program that feeds them evaluated tile by tile and never stored.
//!
//! Invariant: the order of additions is a function of the extents alone. Elements are folded in blocks of fixed length
//! at fixed places, and the blocks in a binary tree by their number, whatever thread folds which of them.

mod columns;
mod fold;
mod reducer;
mod rows;
mod search;
mod truth;

pub(crate) use fold::{Cascade, Element, Fold, Largest, Sum};
pub(crate) use reducer::{CHUNKS, PIECE, Partials, Reducer, blocks_per_chunk};
pub(crate) use rows::{WIDTH, tree, tree_of};
