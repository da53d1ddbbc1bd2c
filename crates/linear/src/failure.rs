//! Failures of factorisations.

use std::fmt;

/// The property of a matrix that made the call fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A pivot was zero.
    Singular,
    /// A Cholesky pivot was not positive.
    NotPositiveDefinite,
    /// An element was infinite or NaN.
    NotFinite,
    /// An iteration did not converge.
    NoConvergence,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Failure::Singular => "is singular",
            Failure::NotPositiveDefinite => "is not positive definite",
            Failure::NotFinite => "has an infinity or NaN among its elements",
            Failure::NoConvergence => "has no decomposition that the iteration found",
        })
    }
}
