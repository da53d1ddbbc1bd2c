//! The interface that gradient rules use: ops on opaque values. A recorder of ops implements [`GradientBuilder`] once
//! for its arrays. A rule runs on any implementation, and its result can be differentiated again.

use crate::family::Routine;
use crate::routine::{Attributes, Given};
use crate::{Beyond, Point, ReduceKind};
use forerun_base::{DType, Result, Scalar, Shape};
use std::ops::Range;

/// The gradient of each input of a routine.
pub(crate) type Flows<B> = Result<Vec<Option<<B as GradientBuilder>::Value>>>;

/// How a gradient rule applies to complex numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComplexGradient {
    /// The routine moves or adds elements: the rule applies unchanged.
    Same,
    /// The routine is holomorphic: the rule applies to conjugated gradients.
    Conjugate,
    /// There is no rule.
    Undefined,
}

/// An operand of a pointwise op.
#[derive(Debug)]
pub enum GradientOperand<'a, V> {
    /// A value.
    Value(&'a V),
    /// A scalar without a dtype.
    Number(Scalar),
}

impl<'a, V> From<&'a V> for GradientOperand<'a, V> {
    fn from(value: &'a V) -> GradientOperand<'a, V> {
        GradientOperand::Value(value)
    }
}

/// The ops available to gradient rules, and the parts of the recorded call that a rule may read.
pub trait GradientBuilder {
    /// An array, recorded or computed.
    type Value: Clone;

    /// Input `i` of the recorded call; the rule must have declared that it needs it.
    fn input(&self, i: usize) -> &Self::Value;
    /// The result of the recorded call; the rule must have declared that it needs it.
    fn output(&self) -> &Self::Value;
    /// The gradient of the result.
    fn grad(&self) -> &Self::Value;
    /// The gradient of a range of the elements of the result, as a vector; `None` if it is zero. Where parts of a packed result were read
    /// as views, this creates no zeros for the other parts.
    fn grad_range(&self, range: Range<usize>) -> Result<Option<Self::Value>>;
    /// Whether the gradient of input `i` is wanted.
    fn wants(&self, i: usize) -> bool;
    /// Whether the gradients will be differentiated themselves. A routine whose backward pass has no gradient is then composed of ops
    /// that have one.
    fn is_recording(&self) -> bool;
    /// Dtype and shape of input `i` of the recorded call, whether declared or not.
    fn given(&self, i: usize) -> Given;
    /// Dtype and shape of a value.
    fn describe(&self, x: &Self::Value) -> Given;

    /// A pointwise op.
    fn pointwise(&self, point: Point, operands: &[GradientOperand<'_, Self::Value>]) -> Result<Self::Value>;
    /// A reduction over axes.
    fn reduce(&self, kind: ReduceKind, x: &Self::Value, axes: &[isize], keepdims: bool) -> Result<Self::Value>;
    /// The mean over axes; they are kept with extent 1.
    fn mean(&self, x: &Self::Value, axes: &[isize]) -> Result<Self::Value>;
    /// A product of stacked matrices.
    fn matmul(&self, a: &Self::Value, b: &Self::Value) -> Result<Self::Value>;
    /// The same elements in another dtype.
    fn cast(&self, x: &Self::Value, dtype: DType) -> Result<Self::Value>;
    /// An array filled with one number.
    fn full(&self, shape: &Shape, number: i64, dtype: DType) -> Result<Self::Value>;
    /// Integers from `start` up to `stop`, as int64.
    fn arange(&self, start: i64, stop: i64) -> Result<Self::Value>;
    /// The identity matrix.
    fn eye(&self, n: usize, dtype: DType) -> Result<Self::Value>;
    /// The elements in another shape; one extent may be -1.
    fn reshape(&self, x: &Self::Value, dims: &[isize]) -> Result<Self::Value>;
    /// A permutation of the axes.
    fn transpose(&self, x: &Self::Value, axes: &[isize]) -> Result<Self::Value>;
    /// Inserts an axis of extent 1.
    fn expand_dims(&self, x: &Self::Value, axis: isize) -> Result<Self::Value>;
    /// A Python-style slice of one axis.
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
    /// Rows along an axis, selected by indices.
    fn take(&self, x: &Self::Value, indices: &Self::Value, axis: isize, beyond: Beyond) -> Result<Self::Value>;
    /// Whether the device that the values are on has a kernel for the routine.
    fn has_kernel(&self, routine: Routine, inputs: &[&Self::Value]) -> bool;
    /// A routine with encoded attributes.
    fn encoded(&self, routine: Routine, inputs: &[&Self::Value], attributes: &[i64]) -> Result<Self::Value>;

    /// A routine with typed attributes.
    fn routine(
        &self,
        routine: impl Into<Routine>,
        inputs: &[&Self::Value],
        attributes: impl Attributes,
    ) -> Result<Self::Value> {
        self.encoded(routine.into(), inputs, &attributes.encode())
    }

    /// Calls the closure if the gradient of input `i` is wanted.
    fn if_wanted(&self, i: usize, flow: impl FnOnce() -> Result<Self::Value>) -> Result<Option<Self::Value>> {
        self.wants(i).then(flow).transpose()
    }

    /// The extents of a value.
    fn shape(&self, x: &Self::Value) -> Shape {
        self.describe(x).1
    }

    /// Zeros with the shape of input `i` and the dtype of the gradient.
    fn zeros_of(&self, i: usize) -> Result<Self::Value> {
        self.full(&self.given(i).1, 0, self.describe(self.grad()).0)
    }

    /// A pointwise op of two operands.
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

    /// The negative.
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
