//! Linear algebra over stacks of matrices. A matrix is the last two dimensions of an array.

mod declaration;
mod gradient;
mod samples;

pub use declaration::{Completeness, Inversion, Linalg, Stack, Triangle, Triangular};
