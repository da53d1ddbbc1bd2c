//! Converts a raised status to the same error as on the host.

use crate::family;
use crate::gpu::Raised;
use forerun_base::{Error, ErrorKind};
use forerun_plan::Kernel;
use std::sync::Arc;

/// Creates the error of a raised status.
pub type Complain = dyn Fn(Raised) -> Error + Send + Sync;

/// The error of a kernel's raised status; `None` if the kernel cannot raise one.
pub fn complaint(kernel: &Kernel) -> Option<Arc<Complain>> {
    match kernel {
        Kernel::Take(rows) | Kernel::ScatterAdd(rows) if rows.beyond.may_fail() => {
            let (axis, extent) = (rows.axis, rows.base.shape[rows.axis]);
            Some(Arc::new(move |raised| beyond(raised.index, axis, extent)))
        }
        Kernel::Routine(call) if !call.routine.row().infallible => {
            let call = call.clone();
            Some(Arc::new(move |raised| {
                family::kernel(&call.routine).expect("it raised the status").complaint(&call, raised)
            }))
        }
        _ => None,
    }
}

/// An index out of range.
pub(crate) fn beyond(index: i64, axis: usize, extent: usize) -> Error {
    Error::new(ErrorKind::Index, format!("index {index} is out of bounds for axis {axis} with size {extent}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use forerun_base::{DType, Shape};
    use forerun_ops::scattering::Axes;
    use forerun_ops::{Attributes, AxisIndexing, Draw, Linalg, List, Routine, Scattering};
    use forerun_plan::RoutineCall;

    /// The number of low bits of a position that number elements; the bits above them number the index array.
    const ARRAY: u32 = 48;

    fn said(routine: impl Into<Routine>, given: &[(DType, &[usize])], encoded: &[i64], raised: (i64, u64)) -> String {
        let routine = routine.into();
        let inputs: Vec<_> = given.iter().map(|(dtype, dims)| (*dtype, Shape::of(dims))).collect();
        let out = routine.infer(&inputs, encoded).unwrap();
        let call = RoutineCall { routine, inputs, out, encoded: encoded.into() };
        complaint(&Kernel::Routine(call)).unwrap()(Raised { index: raised.0, place: raised.1 }).to_string()
    }

    #[test]
    fn an_index_is_named_with_its_axis() {
        let given = [(DType::F32, &[3, 4][..]), (DType::I64, &[5, 4])];
        let text = said(AxisIndexing::Take, &given, &[-2], (7, 11));
        assert_eq!(text, "index 7 is out of bounds for axis 0 with size 3");
        let given = [(DType::I64, &[5][..]), (DType::I32, &[5])];
        let list = List::from_slice;
        let axes = Axes { axes: list(&[0, 1]), extents: list(&[3, 4]), strides: list(&[4, 1]) };
        let text = said(Scattering::Positions, &given, &axes.encode(), (-5, 1 << ARRAY | 2));
        assert_eq!(text, "index -5 is out of bounds for axis 1 with size 4");
    }

    #[test]
    fn a_matrix_is_named_by_its_place_in_the_stack() {
        let given = [(DType::F64, &[2, 3, 4, 4][..])];
        assert_eq!(said(Linalg::Inv, &given, &[0], (0, 4)), "matrix [1, 1] is singular");
        let given = [(DType::F64, &[4, 4][..])];
        let text = said(Linalg::Cholesky, &given, &[0], (1, 0));
        assert_eq!(text, "the matrix is not positive definite");
    }

    #[test]
    fn a_parameter_is_named_with_its_value() {
        let given = [(DType::F64, &[2][..]), (DType::F64, &[2])];
        let bits = |x: f64| x.to_bits() as i64;
        let binomial = |raised| said(Draw::Binomial, &given, &[1, 2], raised);
        assert_eq!(binomial((bits(-1.5), 1)), "n must be a nonnegative integer: -1.5");
        assert_eq!(binomial((bits(2.0), 1 << ARRAY)), "p must lie between 0 and 1: 2");
    }
}
