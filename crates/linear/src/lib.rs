//! Factorisations and Fourier transforms. Each call handles one matrix or line, in row-major slices.
//!
//! This is a separate crate because its generic code is slow to compile and rarely changes, unlike the kernels that
//! call it.
//!
//! Callers handle batches, threads and memory layout.

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
pub use fourier::{Backward, Forward, Line, Scratch, Transform};
pub use lu::Triangle;
pub use orthogonal::Parts;
pub use spectral::Half;
