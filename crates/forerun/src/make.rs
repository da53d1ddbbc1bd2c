//! Creates arrays, in single precision by default. Each function panics on an invalid shape.

use forerun_array::{Array, ops};
use forerun_base::{DType, Loc, Scalar};

#[track_caller]
fn made(result: forerun_base::Result<Array>) -> Array {
    match result {
        Ok(array) => array,
        Err(error) => panic!("{}", error.submitted_at(Loc::caller())),
    }
}

/// An array filled with one value.
#[track_caller]
pub fn full(shape: &[usize], value: impl Into<Scalar>, dtype: DType) -> Array {
    made(ops::full(shape, value.into(), dtype, Loc::caller()))
}

/// Ones.
#[track_caller]
pub fn ones(shape: &[usize]) -> Array {
    made(ops::full(shape, Scalar::Float(1.0), DType::default_float(), Loc::caller()))
}

/// Zeros.
#[track_caller]
pub fn zeros(shape: &[usize]) -> Array {
    made(ops::full(shape, Scalar::Float(0.0), DType::default_float(), Loc::caller()))
}

/// `start`, `start + step`, ... below `stop`.
#[track_caller]
pub fn arange(start: impl Into<Scalar>, stop: impl Into<Scalar>, step: impl Into<Scalar>) -> Array {
    made(ops::arange(start.into(), stop.into(), step.into(), None, Loc::caller()))
}

/// Ones on the diagonal.
#[track_caller]
pub fn eye(n: usize) -> Array {
    made(ops::eye(n, n, 0, DType::default_float(), Loc::caller()))
}

/// Standard normal numbers.
#[track_caller]
pub fn normal(shape: &[usize]) -> Array {
    made(ops::normal(shape, 0.0, 1.0, DType::default_float(), Loc::caller()))
}

/// Uniform numbers in [0, 1).
#[track_caller]
pub fn uniform(shape: &[usize]) -> Array {
    made(ops::uniform(shape, 0.0, 1.0, DType::default_float(), Loc::caller()))
}

/// Creates an array from the program's numbers, copied before this returns. A loop that supplies numbers faster than
/// they are used blocks here.
///
/// # Panics
/// If the number of values differs from the number of elements of the shape.
#[track_caller]
pub fn array(numbers: &[f32], shape: &[usize]) -> Array {
    made(ops::from_slice(numbers, shape, Loc::caller()))
}
