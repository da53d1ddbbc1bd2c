//! What gradient rules are written with: ops on values that the catalogue cannot see. Whoever records ops implements
//! [`GradientBuilder`] once, over its arrays; a rule runs on any of them, and what it builds differentiates again.

use crate::family::Routine;
use crate::routine::{Attributes, Given};
use crate::{Beyond, Point, ReduceKind};
use forerun_base::{DType, Result, Scalar, Shape};
use std::ops::Range;

/// What flows back to each input of a routine.
pub(crate) type Flows<B> = Result<Vec<Option<<B as GradientBuilder>::Value>>>;

/// What a gradient rule means for complex numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComplexGradient {
    /// The routine moves or adds elements: the rule holds as it is.
    Same,
    /// The routine is a holomorphic function: the rule holds for the conjugates of what flows back.
    Conjugate,
    /// There is no rule.
    Undefined,
}

/// An operand of a pointwise op.
#[derive(Debug)]
pub enum GradientOperand<'a, V> {
    /// A value.
    Value(&'a V),
    /// A number without a width.
    Number(Scalar),
}

impl<'a, V> From<&'a V> for GradientOperand<'a, V> {
    fn from(value: &'a V) -> GradientOperand<'a, V> {
        GradientOperand::Value(value)
    }
}

/// The ops that gradient rules are made of, and what a rule may read of the recorded call.
pub trait GradientBuilder {
    /// An array, recorded or computed.
    type Value: Clone;

    /// An input of the recorded call that the rule declared.
    fn input(&self, i: usize) -> &Self::Value;
    /// The result of the recorded call, if the rule declared it.
    fn output(&self) -> &Self::Value;
    /// What flows back to the result.
    fn grad(&self) -> &Self::Value;
    /// What flows back to a part of the dense result, as a vector; `None` if nothing does. Where the parts of a packed result were read
    /// one by one, this takes no zeros for the others.
    fn grad_range(&self, range: Range<usize>) -> Result<Option<Self::Value>>;
    /// Whether somebody wants what flows back to an input.
    fn wants(&self, i: usize) -> bool;
    /// Dtype and shape of an input of the recorded call, declared or not.
    fn given(&self, i: usize) -> Given;
    /// Dtype and shape of a value.
    fn describe(&self, x: &Self::Value) -> Given;

    /// A pointwise op.
    fn pointwise(&self, point: Point, operands: &[GradientOperand<'_, Self::Value>]) -> Result<Self::Value>;
    /// A reduction over axes.
    fn reduce(&self, kind: ReduceKind, x: &Self::Value, axes: &[isize], keepdims: bool) -> Result<Self::Value>;
    /// The mean over axes, which are kept with extent 1.
    fn mean(&self, x: &Self::Value, axes: &[isize]) -> Result<Self::Value>;
    /// A product of stacked matrices.
    fn matmul(&self, a: &Self::Value, b: &Self::Value) -> Result<Self::Value>;
    /// The same elements in another dtype.
    fn cast(&self, x: &Self::Value, dtype: DType) -> Result<Self::Value>;
    /// One number everywhere.
    fn full(&self, shape: &Shape, number: i64, dtype: DType) -> Result<Self::Value>;
    /// Integers from `start` up to `stop`, as int64.
    fn arange(&self, start: i64, stop: i64) -> Result<Self::Value>;
    /// A square matrix with ones on its diagonal.
    fn eye(&self, n: usize, dtype: DType) -> Result<Self::Value>;
    /// The elements in another shape; one extent may be -1.
    fn reshape(&self, x: &Self::Value, dims: &[isize]) -> Result<Self::Value>;
    /// The axes in another order.
    fn transpose(&self, x: &Self::Value, axes: &[isize]) -> Result<Self::Value>;
    /// Another axis of extent 1.
    fn expand_dims(&self, x: &Self::Value, axis: isize) -> Result<Self::Value>;
    /// A part of an axis, as a Python slice names it.
    fn slice(
        &self,
        x: &Self::Value,
        axis: usize,
        start: Option<isize>,
        stop: Option<isize>,
        step: isize,
    ) -> Result<Self::Value>;
    /// The values one after another along an axis.
    fn concatenate(&self, parts: &[&Self::Value], axis: isize) -> Result<Self::Value>;
    /// Rows that indices name along an axis.
    fn take(&self, x: &Self::Value, indices: &Self::Value, axis: isize, beyond: Beyond) -> Result<Self::Value>;
    /// Whether the device that the values are on has a kernel for the routine.
    fn has_kernel(&self, routine: Routine, inputs: &[&Self::Value]) -> bool;
    /// A routine with encoded attributes.
    fn encoded(&self, routine: Routine, inputs: &[&Self::Value], attributes: &[i64]) -> Result<Self::Value>;

    /// A routine.
    fn routine(
        &self,
        routine: impl Into<Routine>,
        inputs: &[&Self::Value],
        attributes: impl Attributes,
    ) -> Result<Self::Value> {
        self.encoded(routine.into(), inputs, &attributes.encode())
    }

    /// What the closure computes, if somebody wants what flows back to input `i`.
    fn if_wanted(&self, i: usize, flow: impl FnOnce() -> Result<Self::Value>) -> Result<Option<Self::Value>> {
        self.wants(i).then(flow).transpose()
    }

    /// The extents of a value.
    fn shape(&self, x: &Self::Value) -> Shape {
        self.describe(x).1
    }

    /// Zeros with the shape of input `i` and the dtype of what flows back.
    fn zeros_of(&self, i: usize) -> Result<Self::Value> {
        self.full(&self.given(i).1, 0, self.describe(self.grad()).0)
    }

    /// A pointwise op of two values.
    fn binary(&self, point: Point, a: &Self::Value, b: &Self::Value) -> Result<Self::Value> {
        self.pointwise(point, &[a.into(), b.into()])
    }

    /// A product, element by element.
    fn times(&self, a: &Self::Value, b: &Self::Value) -> Result<Self::Value> {
        self.binary(Point::Multiply, a, b)
    }

    /// A sum.
    fn plus(&self, a: &Self::Value, b: &Self::Value) -> Result<Self::Value> {
        self.binary(Point::Add, a, b)
    }

    /// A difference.
    fn minus(&self, a: &Self::Value, b: &Self::Value) -> Result<Self::Value> {
        self.binary(Point::Subtract, a, b)
    }

    /// The other sign.
    fn negative(&self, x: &Self::Value) -> Result<Self::Value> {
        self.pointwise(Point::Negative, &[x.into()])
    }

    /// The elements of an axis in reverse order; a view.
    fn reverse(&self, x: &Self::Value, axis: isize) -> Result<Self::Value> {
        self.slice(x, self.shape(x).axis(axis)?, None, None, -1)
    }

    /// The last two axes swapped; a view.
    fn swap_last(&self, x: &Self::Value) -> Result<Self::Value> {
        let rank = self.shape(x).rank();
        let mut axes: Vec<isize> = (0..rank as isize).collect();
        axes.swap(rank - 1, rank - 2);
        self.transpose(x, &axes)
    }

    /// The value in this shape.
    fn in_shape(&self, x: &Self::Value, shape: &Shape) -> Result<Self::Value> {
        self.reshape(x, &shape.iter().map(|extent| *extent as isize).collect::<Vec<_>>())
    }
}
