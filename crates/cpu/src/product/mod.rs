//! Matrix products, with the pointwise program that follows them.
//!
//! Invariant: what is cut, and where, is a function of the extents and the dtype alone, and the dimension summed over is
//! cut in inner products only, whose order of additions does not show it; so the bits of a product do not depend on how
//! many threads computed it.

mod dense;
mod grid;
mod inner;
mod multiply;
mod narrow;
mod packed;
mod small;
mod vector;

pub(crate) use multiply::Multiply;
pub(crate) use packed::{Packed, Start, Vector, load, store};
