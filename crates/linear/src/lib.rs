//! Factorisations and Fourier transforms: one matrix or line a call, elements in slices, row by row.
//!
//! A room of its own since they are generic functions of great depth: compiled here once, while the kernels next door
//! change every day.
//! What is stacked, who runs it and where elements live is for others to know.

mod element;
mod failure;
mod field;
mod fourier;
mod lu;
mod orthogonal;
mod spectral;

pub use element::{Complex, Element};
pub use failure::Failure;
pub use field::Field;
pub use fourier::{Backward, Forward, Line, Room, Transform};
pub use lu::Triangle;
pub use orthogonal::Parts;
pub use spectral::Half;
