//! Methods of arrays for Rust programs. Shape errors panic at the user's line; reads return the error of a failed op.

use crate::array::index::Index;
use crate::array::read::Snapshot;
use crate::array::wait::Wait;
use crate::array::{Arg, Array};
use crate::ops;
use forerun_base::{DType, Loc, Result, Scalar};
use forerun_ops::{Point, ReduceKind};

#[track_caller]
fn good(result: Result<Array>) -> Array {
    match result {
        Ok(array) => array,
        Err(error) => panic!("{}", error.submitted_at(Loc::caller())),
    }
}

macro_rules! unary {
    ($($name:ident $point:ident $doc:literal)*) => {$(
        #[doc = $doc]
        #[track_caller]
        pub fn $name(&self) -> Array {
            good(ops::pointwise(Point::$point, &[Arg::Array(self)], Loc::caller()))
        }
    )*};
}

impl Array {
    unary! {
        exp Exp "Exponential of every element."
        log Log "Natural logarithm of every element."
        tanh Tanh "Hyperbolic tangent of every element."
        sigmoid Sigmoid "Logistic function of every element."
        relu Relu "Every element, or 0 if it is negative."
        sqrt Sqrt "Square root of every element."
        abs Abs "Magnitude of every element."
    }

    /// The matrix product.
    #[track_caller]
    pub fn matmul(&self, other: &Array) -> Array {
        good(ops::matmul(self, other, Loc::caller()))
    }

    /// NumPy's `dot`.
    #[track_caller]
    pub fn dot(&self, other: &Array) -> Array {
        good(ops::dot(self, other, Loc::caller()))
    }

    /// The sum of all elements.
    #[track_caller]
    pub fn sum(&self) -> Array {
        good(ops::reduce(ReduceKind::Sum, self, None, false, Loc::caller()))
    }

    /// The sum along an axis.
    #[track_caller]
    pub fn sum_axis(&self, axis: isize) -> Array {
        good(ops::reduce(ReduceKind::Sum, self, Some(&[axis]), false, Loc::caller()))
    }

    /// The mean of all elements.
    #[track_caller]
    pub fn mean(&self) -> Array {
        good(ops::mean(self, None, false, Loc::caller()))
    }

    /// The same elements under another shape.
    #[track_caller]
    pub fn reshape(&self, dims: &[isize]) -> Array {
        good(ops::reshape(self, dims, Loc::caller()))
    }

    /// Reverses the dimensions: a view.
    #[track_caller]
    pub fn t(&self) -> Array {
        good(ops::transpose(self, None))
    }

    /// The elements that an index selects: a view.
    #[track_caller]
    pub fn at(&self, items: &[Index]) -> Array {
        good(ops::index(self, items))
    }

    /// The elements in another dtype.
    #[track_caller]
    pub fn cast(&self, dtype: DType) -> Array {
        good(ops::cast(self, dtype, Loc::caller()))
    }

    /// Writes every element of the array or view.
    #[track_caller]
    pub fn assign<'a>(&self, value: impl Into<Arg<'a>>) {
        if let Err(error) = ops::assign(self, value.into(), Loc::caller()) {
            panic!("{}", error.submitted_at(Loc::caller()));
        }
    }

    /// Waits until the array can be read. Fails with the cause if the op that produces it failed.
    #[track_caller]
    pub fn wait_to_read(&self) -> Result<()> {
        self.wait_to_read_with(&Wait::at(Loc::caller(), "wait_to_read"))
    }

    /// Waits and returns the only element.
    #[track_caller]
    pub fn item(&self) -> Result<Scalar> {
        self.item_with(&Wait::at(Loc::caller(), "item"))
    }

    /// Waits and returns the elements without copying them.
    #[track_caller]
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.snapshot_with(&Wait::at(Loc::caller(), "snapshot"))
    }

    /// Waits and returns the elements in row-major order as `f64`.
    #[track_caller]
    pub fn to_vec(&self) -> Result<Vec<f64>> {
        Ok(self.snapshot_with(&Wait::at(Loc::caller(), "to_vec"))?.to_f64())
    }
}
