//! The content of a graph file, in memory.

use super::check::Plan;
use super::describe::{GraphInput, GraphParameter};
use super::symbolic::{Linear, Number};
use forerun_base::DType;
use forerun_base::Mutex;
use forerun_ops::samples::Value;
use forerun_ops::{Beyond, Point, ReduceKind, Routine};
use std::sync::Arc;

/// A graph without the elements of its parameters: inputs, parameters, ops and outputs. See `docs/export.md`.
pub struct GraphModel {
    /// The batch size of the example that the graph was traced with; `None` if every shape is fixed.
    pub(crate) batch: Option<usize>,
    pub(crate) inputs: Vec<GraphInput>,
    pub(crate) parameters: Vec<GraphParameter>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) outputs: Vec<Reference>,
    /// Plans for recent batch sizes, newest last.
    pub(crate) plans: Mutex<Vec<(usize, Arc<Plan>)>>,
}

/// A layout over the elements of an array, whose first element has an offset.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct View {
    pub(crate) shape: Vec<Linear>,
    pub(crate) strides: Vec<Linear>,
    pub(crate) offset: Linear,
}

/// A use of an array. Inputs, parameters and nodes share one numbering, in this order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reference {
    pub(crate) array: usize,
    /// `None` for the whole array.
    pub(crate) view: Option<View>,
    /// Whether no gradient flows back through it.
    pub(crate) detached: bool,
}

/// An operand of a node.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    Array(Reference),
    Number(Number),
}

/// An op with its attributes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NodeOp {
    /// A pointwise op; numbers are among its operands. The target of a cast is the dtype of the node.
    Point(Point),
    Reduce {
        kind: ReduceKind,
        axes: Vec<i64>,
        keepdims: bool,
    },
    Matmul,
    Concat {
        axis: i64,
    },
    Take {
        axis: i64,
        mode: Beyond,
    },
    ScatterAdd {
        axis: i64,
        mode: Beyond,
    },
    /// The first operand with the second written to a region of it.
    Update(View),
    Full(Number),
    Arange {
        start: Number,
        step: Number,
    },
    Eye {
        diagonal: Linear,
    },
    Normal,
    Uniform,
    Routine(Routine, Vec<(&'static str, AttributeValue)>),
}

/// The value of a routine's attribute.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AttributeValue {
    Int(Linear),
    Ints(Vec<Linear>),
    /// A truth value, a float or floats.
    Fixed(Value),
}

/// A node: an op, its operands, and the array that results.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) op: NodeOp,
    pub(crate) operands: Vec<Operand>,
    pub(crate) shape: Vec<Linear>,
    pub(crate) dtype: DType,
    /// The line of the program that submitted the op, for messages.
    pub(crate) line: String,
}

impl View {
    fn numbers_mut(&mut self) -> impl Iterator<Item = &mut Linear> {
        self.shape.iter_mut().chain(&mut self.strides).chain(std::iter::once(&mut self.offset))
    }
}

impl Reference {
    /// Every integer that may depend on the batch size.
    pub(crate) fn numbers_mut(&mut self) -> Vec<&mut Linear> {
        self.view.iter_mut().flat_map(View::numbers_mut).collect()
    }
}

impl Number {
    fn linear_mut(&mut self) -> Option<&mut Linear> {
        match self {
            Number::Int(value) | Number::Whole(value) => Some(value),
            Number::Bool(_) | Number::Large(_) | Number::Float(_) | Number::Complex(..) => None,
        }
    }
}

impl Node {
    /// Every integer that may depend on the batch size, in a fixed order.
    pub(crate) fn numbers_mut(&mut self) -> Vec<&mut Linear> {
        let mut all: Vec<&mut Linear> = self.shape.iter_mut().collect();
        for operand in &mut self.operands {
            match operand {
                Operand::Array(reference) => all.extend(reference.numbers_mut()),
                Operand::Number(number) => all.extend(number.linear_mut()),
            }
        }
        match &mut self.op {
            NodeOp::Update(region) => all.extend(region.numbers_mut()),
            NodeOp::Full(value) => all.extend(value.linear_mut()),
            NodeOp::Arange { start, step } => all.extend(start.linear_mut().into_iter().chain(step.linear_mut())),
            NodeOp::Eye { diagonal } => all.push(diagonal),
            NodeOp::Routine(_, attributes) => {
                for (_, value) in attributes {
                    match value {
                        AttributeValue::Int(value) => all.push(value),
                        AttributeValue::Ints(values) => all.extend(values),
                        AttributeValue::Fixed(_) => {}
                    }
                }
            }
            NodeOp::Point(_) | NodeOp::Reduce { .. } | NodeOp::Matmul | NodeOp::Concat { .. } => {}
            NodeOp::Take { .. } | NodeOp::ScatterAdd { .. } | NodeOp::Normal | NodeOp::Uniform => {}
        }
        all
    }

    /// The arrays that it reads.
    pub(crate) fn reads(&self) -> impl Iterator<Item = &Reference> {
        self.operands.iter().filter_map(|operand| match operand {
            Operand::Array(reference) => Some(reference),
            Operand::Number(_) => None,
        })
    }
}

impl GraphModel {
    pub(crate) fn new(
        batch: Option<usize>,
        inputs: Vec<GraphInput>,
        parameters: Vec<GraphParameter>,
        nodes: Vec<Node>,
        outputs: Vec<Reference>,
    ) -> GraphModel {
        GraphModel { batch, inputs, parameters, nodes, outputs, plans: Mutex::default() }
    }

    /// The batch size of the example that the graph was traced with; `None` if every shape is fixed.
    pub fn batch(&self) -> Option<usize> {
        self.batch
    }

    /// The inputs, in order.
    pub fn inputs(&self) -> &[GraphInput] {
        &self.inputs
    }

    /// The parameters, in the order in which [`run`](GraphModel::run) takes their arrays.
    pub fn parameters(&self) -> &[GraphParameter] {
        &self.parameters
    }

    /// The number of ops.
    pub fn ops(&self) -> usize {
        self.nodes.len()
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.outputs.len()
    }
}
