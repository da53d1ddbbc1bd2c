//! Matrix products, fused with the pointwise program that follows them.
//!
//! Invariant: the partition depends only on the extents, the dtype and which strides are 1. The contracted dimension is split in inner
//! products only, whose order of additions does not depend on the split. The bits of a product therefore do not depend
//! on the number of threads.

mod dense;
mod grid;
mod inner;
mod multiply;
mod narrow;
mod packed;
mod vector;

pub(crate) use multiply::Multiply;
pub(crate) use packed::{Packed, Start, Vector, load, store};
