//! Linear algebra over stacks of matrices, which are the last two dimensions.

mod declaration;
mod gradient;
mod samples;

pub use declaration::{Completeness, Inversion, Linalg, Stack, Triangle, Triangular};
