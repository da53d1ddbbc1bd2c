//! Methods of arrays for Rust programs.

use crate::entry::GradReq;
use crate::{tape, walk};
use forerun_array::Array;
use forerun_base::{Loc, Result};

/// Gradient methods of arrays.
pub trait Differentiable {
    /// Makes the array a variable, whose gradient backward overwrites.
    fn attach_grad(&self);

    /// The gradient of a variable.
    fn grad(&self) -> Option<Array>;

    /// Computes the gradients of all variables that this array was computed from while recording.
    fn backward(&self) -> Result<()>;
}

impl Differentiable for Array {
    #[track_caller]
    fn attach_grad(&self) {
        if let Err(error) = tape::attach_grad(self, GradReq::Write, Loc::caller()) {
            panic!("{}", error.submitted_at(Loc::caller()));
        }
    }

    fn grad(&self) -> Option<Array> {
        tape::gradient_of(self).map(|(grad, _)| grad)
    }

    #[track_caller]
    fn backward(&self) -> Result<()> {
        walk::backward(&[self], &[], false, Loc::caller())
    }
}
