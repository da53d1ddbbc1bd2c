//! Why there is no result.

use std::fmt;

/// What a matrix had, or lacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A pivot was zero.
    Singular,
    /// A pivot of a factorisation in two equal halves was not above zero.
    NotPositiveDefinite,
    /// An element was an infinity or NaN.
    NotFinite,
    /// An iteration did not come to its end.
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
