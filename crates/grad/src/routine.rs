//! Applies the gradient rules of routines, which the catalogue declares, to arrays.

use crate::entry::Recorded;
use crate::pointwise::conjugate;
use crate::rules::saved;
use crate::state::is_recording;
use crate::sum::Sum;
use forerun_array::{Arg, Array, Index, ops};
use forerun_base::{DType, Error, ErrorKind, Kind, Loc, Result, Scalar, Shape};
use forerun_ops::{Beyond, ComplexGradient, Given, GradientBuilder, GradientOperand, Point, ReduceKind, Routine};
use std::cell::RefCell;
use std::ops::Range;

/// The gradient of each input of a recorded routine.
pub(crate) fn rule(
    routine: Routine,
    attributes: &[i64],
    recorded: &Recorded,
    grad: &Array,
    loc: Loc,
) -> Result<Vec<Option<Array>>> {
    let signature = &recorded.signature;
    let complex = signature.out.dtype.kind() == Kind::Complex || signature.inputs[0].dtype.kind() == Kind::Complex;
    match routine.complex_gradient() {
        ComplexGradient::Conjugate if complex => {
            let grad = &conjugate(grad, loc)?;
            let back = routine.gradient(&Tape::new(recorded, grad, loc), attributes)?;
            back.into_iter().map(|flow| flow.map(|flow| conjugate(&flow, loc)).transpose()).collect()
        }
        ComplexGradient::Undefined if complex => {
            let text = format!("no gradient for {}", signature.inputs[0].dtype);
            Err(Error::new(ErrorKind::Type, text).in_op(routine.name()))
        }
        _ => routine.gradient(&Tape::new(recorded, grad, loc), attributes),
    }
}

/// The same for a routine whose rule reads the gradients of ranges of its result.
pub(crate) fn rule_of_parts(
    routine: Routine,
    attributes: &[i64],
    recorded: &Recorded,
    sum: &mut Sum,
    loc: Loc,
) -> Result<Vec<Option<Array>>> {
    routine.gradient(&Tape { recorded, grad: None, parts: Some(RefCell::new(sum)), loc }, attributes)
}

/// A recorded call, and the gradient of its result.
struct Tape<'a> {
    recorded: &'a Recorded,
    /// All of it, but for a rule that reads parts.
    grad: Option<&'a Array>,
    parts: Option<RefCell<&'a mut Sum>>,
    loc: Loc,
}

impl<'a> Tape<'a> {
    fn new(recorded: &'a Recorded, grad: &'a Array, loc: Loc) -> Tape<'a> {
        Tape { recorded, grad: Some(grad), parts: None, loc }
    }
}

impl GradientBuilder for Tape<'_> {
    type Value = Array;

    fn input(&self, i: usize) -> &Array {
        saved(&self.recorded.inputs[i])
    }

    fn output(&self) -> &Array {
        saved(&self.recorded.output)
    }

    fn grad(&self) -> &Array {
        self.grad.expect("a rule that reads ranges asks for nothing else")
    }

    fn grad_range(&self, range: Range<usize>) -> Result<Option<Array>> {
        if let Some(parts) = &self.parts {
            return parts.borrow_mut().range(range, self.loc);
        }
        let flat = ops::reshape(self.grad(), &[-1], self.loc)?;
        let items = [Index::Slice { start: Some(range.start as isize), stop: Some(range.end as isize), step: 1 }];
        ops::index(&flat, &items).map(Some)
    }

    fn wants(&self, i: usize) -> bool {
        self.recorded.edges.get(i).is_some_and(Option::is_some)
    }

    fn is_recording(&self) -> bool {
        is_recording()
    }

    fn given(&self, i: usize) -> Given {
        let meta = &self.recorded.signature.inputs[i];
        (meta.dtype, meta.shape())
    }

    fn describe(&self, x: &Array) -> Given {
        (x.dtype(), x.shape())
    }

    fn pointwise(&self, point: Point, operands: &[GradientOperand<'_, Array>]) -> Result<Array> {
        let mut args = Vec::with_capacity(operands.len());
        for operand in operands {
            args.push(match operand {
                GradientOperand::Value(x) => Arg::Array(x),
                GradientOperand::Number(number) => Arg::Scalar(*number),
            });
        }
        ops::pointwise(point, &args, self.loc)
    }

    fn reduce(&self, kind: ReduceKind, x: &Array, axes: &[isize], keepdims: bool) -> Result<Array> {
        ops::reduce(kind, x, Some(axes), keepdims, self.loc)
    }

    fn mean(&self, x: &Array, axes: &[isize]) -> Result<Array> {
        ops::mean(x, Some(axes), true, self.loc)
    }

    fn matmul(&self, a: &Array, b: &Array) -> Result<Array> {
        ops::matmul(a, b, self.loc)
    }

    fn cast(&self, x: &Array, dtype: DType) -> Result<Array> {
        ops::cast(x, dtype, self.loc)
    }

    fn full(&self, shape: &Shape, number: i64, dtype: DType) -> Result<Array> {
        ops::full(shape, Scalar::Int(number), dtype, self.loc)
    }

    fn arange(&self, start: i64, stop: i64) -> Result<Array> {
        ops::arange(Scalar::Int(start), Scalar::Int(stop), Scalar::Int(1), Some(DType::I64), self.loc)
    }

    fn eye(&self, n: usize, dtype: DType) -> Result<Array> {
        ops::eye(n, n, 0, dtype, self.loc)
    }

    fn reshape(&self, x: &Array, dims: &[isize]) -> Result<Array> {
        ops::reshape(x, dims, self.loc)
    }

    fn transpose(&self, x: &Array, axes: &[isize]) -> Result<Array> {
        ops::transpose(x, Some(axes))
    }

    fn expand_dims(&self, x: &Array, axis: isize) -> Result<Array> {
        ops::expand_dims(x, axis)
    }

    fn slice(&self, x: &Array, axis: usize, start: Option<isize>, stop: Option<isize>, step: isize) -> Result<Array> {
        let mut items = vec![Index::ALL; axis];
        items.push(Index::Slice { start, stop, step });
        ops::index(x, &items)
    }

    fn concatenate(&self, parts: &[&Array], axis: isize) -> Result<Array> {
        ops::concatenate(parts, axis, self.loc)
    }

    fn take(&self, x: &Array, indices: &Array, axis: isize, beyond: Beyond) -> Result<Array> {
        ops::take(x, indices, axis, beyond, self.loc)
    }

    fn has_kernel(&self, routine: Routine, inputs: &[&Array]) -> bool {
        ops::has_kernel(routine, inputs)
    }

    fn encoded(&self, routine: Routine, inputs: &[&Array], attributes: &[i64]) -> Result<Array> {
        ops::routine_encoded(routine, inputs, attributes, self.loc)
    }
}
