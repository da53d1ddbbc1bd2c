//! Checks a graph for one batch size: infers the dtype and shape of every node, and compares them with the file's.
//!
//! Nothing is allocated for elements and nothing is submitted. A plan that passes can be run: every view lies within
//! its array, and every op accepts its operands. What an op finds out only from values, such as an index out of bounds,
//! is an error of the op.

use super::model::{AttributeValue, GraphModel, Node, NodeOp, Operand, Reference, View};
use super::symbolic::{Linear, Number};
use forerun_base::{DType, Error, Kind, Layout, Scalar, Shape};
use forerun_ops::infer::{self, ArgType};
use forerun_ops::samples::Value;
use forerun_ops::{Beyond, Encoded, FillKind, Given, Op, Point, ReduceKind, Routine};
use std::sync::Arc;

type Checked<T> = Result<T, String>;

/// Number of batch sizes whose plans a graph keeps.
const MOST_PLANS: usize = 16;

/// Limit of a pooling's attributes: its inference lists the windows along each axis.
const MOST_WINDOWS: i64 = 1 << 24;

/// A graph for one batch size.
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    pub(crate) outputs: Vec<ArrayUse>,
    /// The arrays that no later step reads, for each step.
    pub(crate) released: Vec<Vec<usize>>,
}

/// A use of an array.
pub(crate) struct ArrayUse {
    pub(crate) array: usize,
    pub(crate) view: Option<(Layout, u64)>,
    pub(crate) detached: bool,
}

/// An operand of a step.
pub(crate) enum StepOperand {
    Array(Box<ArrayUse>),
    Number(Scalar),
}

/// A node for one batch size.
pub(crate) struct Step {
    pub(crate) op: StepOp,
    pub(crate) operands: Vec<StepOperand>,
    pub(crate) dtype: DType,
    pub(crate) shape: Shape,
}

/// An op with its attributes.
pub(crate) enum StepOp {
    Point(Point),
    Reduce { kind: ReduceKind, mask: u32, keepdims: bool },
    Matmul,
    Concat { axis: isize },
    Take { axis: isize, mode: Beyond },
    ScatterAdd { axis: isize, mode: Beyond },
    Update(Box<Layout>, u64),
    Full(Scalar),
    Arange { start: Scalar, step: Scalar },
    Eye { diagonal: isize },
    Normal,
    Uniform,
    Routine(Routine, Encoded),
}

impl GraphModel {
    /// The plan for a batch size, made or found.
    pub(crate) fn plan(&self, batch: usize) -> Checked<Arc<Plan>> {
        if let Some((_, plan)) = self.plans.lock().iter().find(|(known, _)| *known == batch) {
            return Ok(plan.clone());
        }
        let plan = Arc::new(self.make_plan(batch)?);
        let mut plans = self.plans.lock();
        if plans.len() == MOST_PLANS {
            plans.remove(0);
        }
        plans.push((batch, plan.clone()));
        Ok(plan)
    }

    /// The number of elements of all results together for a batch size, so that a program that serves strangers can
    /// refuse a graph before it runs.
    ///
    /// # Errors
    /// A batch size that the graph does not allow.
    pub fn elements(&self, batch: usize) -> Checked<u64> {
        let plan = self.plan(batch)?;
        Ok(plan.steps.iter().map(|step| step.shape.size() as u64).fold(0, u64::saturating_add))
    }

    fn make_plan(&self, batch: usize) -> Checked<Plan> {
        let at = At { batch: i64::try_from(batch).map_err(|_| format!("batch size {batch} is too large"))? };
        let mut arrays: Vec<Given> = Vec::with_capacity(self.inputs.len() + self.parameters.len() + self.nodes.len());
        for input in &self.inputs {
            let shape = at.shape(&input.shape).map_err(|error| format!("input '{}': {error}", input.name))?;
            arrays.push((input.dtype, shape));
        }
        arrays.extend(self.parameters.iter().map(|parameter| (parameter.dtype, parameter.shape)));
        let mut steps = Vec::with_capacity(self.nodes.len());
        for (number, node) in self.nodes.iter().enumerate() {
            let step = at.step(node, &arrays).map_err(|error| format!("{}: {error}", node.label(number)))?;
            arrays.push((step.dtype, step.shape));
            steps.push(step);
        }
        let output = |(number, reference): (usize, &Reference)| {
            at.array_use(reference, &arrays)
                .map(|(found, _)| found)
                .map_err(|error| format!("output {number}: {error}"))
        };
        let outputs: Vec<ArrayUse> = self.outputs.iter().enumerate().map(output).collect::<Checked<_>>()?;
        let released = self.last_uses();
        Ok(Plan { steps, outputs, released })
    }

    /// For each node, the arrays whose last use it is.
    fn last_uses(&self) -> Vec<Vec<usize>> {
        let given = self.inputs.len() + self.parameters.len();
        let mut needed = vec![false; given + self.nodes.len()];
        self.outputs.iter().for_each(|output| needed[output.array] = true);
        let mut released = vec![Vec::new(); self.nodes.len()];
        for (number, node) in self.nodes.iter().enumerate().rev() {
            for array in node.reads().map(|read| read.array).chain(std::iter::once(given + number)) {
                if !needed[array] {
                    needed[array] = true;
                    released[number].push(array);
                }
            }
        }
        released
    }
}

impl Node {
    /// The node in messages: its number, its op and the line that submitted it.
    pub(crate) fn label(&self, number: usize) -> String {
        match self.line.as_str() {
            "" => format!("node {number} ({})", self.op.name()),
            line => format!("node {number} ({}, from {})", self.op.name(), line.escape_debug()),
        }
    }
}

impl NodeOp {
    /// The name in the catalogue.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            NodeOp::Point(point) => point.row().name,
            NodeOp::Reduce { kind, .. } => Op::Reduce(*kind).name(),
            NodeOp::Matmul => Op::Matmul.name(),
            NodeOp::Concat { .. } => Op::Concat.name(),
            NodeOp::Take { .. } => Op::Take.name(),
            NodeOp::ScatterAdd { .. } => Op::ScatterAdd.name(),
            NodeOp::Update(_) => Op::Update.name(),
            NodeOp::Full(_) => Op::Fill(FillKind::Full).name(),
            NodeOp::Arange { .. } => Op::Fill(FillKind::Arange).name(),
            NodeOp::Eye { .. } => Op::Fill(FillKind::Eye).name(),
            NodeOp::Normal => Op::Fill(FillKind::Normal).name(),
            NodeOp::Uniform => Op::Fill(FillKind::Uniform).name(),
            NodeOp::Routine(routine, _) => routine.name(),
        }
    }
}

fn message(error: Error) -> String {
    error.message().to_owned()
}

/// Evaluates a model for one batch size.
struct At {
    batch: i64,
}

impl At {
    fn integer(&self, value: Linear) -> Checked<i64> {
        value.at(self.batch).ok_or_else(|| format!("an integer overflows for batch size {}", self.batch))
    }

    fn number(&self, value: Number) -> Checked<Scalar> {
        value.at(self.batch).ok_or_else(|| format!("a number overflows for batch size {}", self.batch))
    }

    fn shape(&self, extents: &[Linear]) -> Checked<Shape> {
        let extent = |extent: &Linear| {
            let extent = self.integer(*extent)?;
            usize::try_from(extent).map_err(|_| format!("extent {extent} is negative for batch size {}", self.batch))
        };
        let extents: Vec<usize> = extents.iter().map(extent).collect::<Checked<_>>()?;
        Shape::new(&extents).map_err(message)
    }

    /// The layout and offset of a view of an array with this shape.
    fn view(&self, view: &View, base: &Shape) -> Checked<(Layout, u64)> {
        let shape = self.shape(&view.shape)?;
        let strides = view.strides.iter().map(|stride| self.integer(*stride)).collect::<Checked<Vec<i64>>>()?;
        let offset = self.integer(view.offset)?;
        let (mut low, mut high) = (offset as i128, offset as i128);
        for (extent, stride) in shape.iter().zip(&strides) {
            let reach = (*extent as i128 - 1) * *stride as i128;
            if reach < 0 { low += reach } else { high += reach }
        }
        if shape.size() == 0 {
            // Its strides and offset do not matter, and lie anywhere.
            return Ok((Layout::dense(shape), 0));
        }
        if low < 0 || high >= base.size() as i128 {
            return Err(format!("a view of shape {shape} reaches beyond an array of shape {base}"));
        }
        let strides = shape.iter().zip(&strides);
        let strides: Vec<isize> = strides.map(|(extent, s)| if *extent == 1 { 1 } else { *s as isize }).collect();
        Ok((Layout::strided(shape, &strides), offset as u64))
    }

    fn array_use(&self, reference: &Reference, arrays: &[Given]) -> Checked<(ArrayUse, Given)> {
        let (dtype, base) = arrays[reference.array];
        let view = reference.view.as_ref().map(|view| self.view(view, &base)).transpose()?;
        let shape = view.as_ref().map_or(base, |(layout, _)| layout.shape);
        Ok((ArrayUse { array: reference.array, view, detached: reference.detached }, (dtype, shape)))
    }

    fn step(&self, node: &Node, arrays: &[Given]) -> Checked<Step> {
        let (mut operands, mut given, mut types) = (Vec::new(), Vec::new(), Vec::new());
        for operand in &node.operands {
            match operand {
                Operand::Array(reference) => {
                    let (found, (dtype, shape)) = self.array_use(reference, arrays)?;
                    operands.push(StepOperand::Array(Box::new(found)));
                    given.push((dtype, shape));
                    types.push(ArgType::Array(dtype, shape));
                }
                Operand::Number(number) => {
                    let scalar = self.number(*number)?;
                    operands.push(StepOperand::Number(scalar));
                    types.push(ArgType::Scalar(scalar.kind()));
                }
            }
        }
        let stated = self.shape(&node.shape)?;
        let (op, (dtype, shape)) = self.infer(node, &given, &types, stated, arrays)?;
        if (dtype, shape) != (node.dtype, stated) {
            return Err(format!(
                "the result is {dtype} of shape {shape}, the file states {} of shape {stated}",
                node.dtype
            ));
        }
        Ok(Step { op, operands, dtype, shape })
    }

    /// The op for this batch size, and the dtype and shape of its result.
    fn infer(
        &self,
        node: &Node,
        given: &[Given],
        types: &[ArgType],
        stated: Shape,
        arrays: &[Given],
    ) -> Checked<(StepOp, Given)> {
        let made = (node.dtype, stated);
        Ok(match &node.op {
            NodeOp::Point(point) => {
                let target = (*point == Point::Cast).then_some(node.dtype);
                let types = infer::pointwise(*point, types, target).map_err(message)?;
                (StepOp::Point(*point), (types.result, types.shape))
            }
            NodeOp::Reduce { kind, axes, keepdims } => {
                let (dtype, shape) = given[0];
                real(dtype)?;
                let axes: Vec<isize> = axes.iter().map(|axis| *axis as isize).collect();
                let mask = infer::axes_mask(&shape, Some(&axes)).map_err(message)?;
                let all = mask.count_ones() as usize == shape.rank();
                if matches!(kind, ReduceKind::ArgMax | ReduceKind::ArgMin) && axes.len() != 1 && !all {
                    return Err("takes a single axis or all".to_owned());
                }
                let (compute, result, out) = infer::reduce(*kind, dtype, &shape, mask, *keepdims).map_err(message)?;
                let op = StepOp::Reduce { kind: *kind, mask, keepdims: *keepdims };
                (op, (infer::reduced_dtype(compute, result), out))
            }
            NodeOp::Matmul => {
                real(given[0].0)?;
                same_dtype(given)?;
                let types = infer::matmul(given[0], given[1]).map_err(message)?;
                (StepOp::Matmul, (types.dtype, types.shape))
            }
            NodeOp::Concat { axis } => {
                same_dtype(given)?;
                let axis = given[0].1.axis(*axis as isize).map_err(message)?;
                (StepOp::Concat { axis: axis as isize }, infer::concat(given, axis).map_err(message)?)
            }
            NodeOp::Take { axis, mode } => {
                let axis = given[0].1.axis(*axis as isize).map_err(message)?;
                let shape = infer::take(Op::Take, &given[0].1, given[1], axis).map_err(message)?;
                (StepOp::Take { axis: axis as isize, mode: *mode }, (given[0].0, shape))
            }
            NodeOp::ScatterAdd { axis, mode } => {
                let axis = given[0].1.axis(*axis as isize).map_err(message)?;
                let rows = infer::take(Op::ScatterAdd, &given[0].1, given[1], axis).map_err(message)?;
                if given[2] != (given[0].0, rows) {
                    return Err(format!("updates of shape {} do not fit rows of shape {rows}", given[2].1));
                }
                (StepOp::ScatterAdd { axis: axis as isize, mode: *mode }, given[0])
            }
            NodeOp::Update(region) => (self.update(node, region, types, arrays)?, given[0]),
            NodeOp::Full(value) => {
                let value = self.number(*value)?;
                infer::check_cast(value.default_dtype(), node.dtype).map_err(message)?;
                value.to_bits_checked(node.dtype).map_err(message)?;
                (StepOp::Full(value), made)
            }
            NodeOp::Arange { start, step } => {
                let (start, step) = (self.number(*start)?, self.number(*step)?);
                if stated.rank() != 1 || node.dtype.kind() == Kind::Complex || start.kind() == Kind::Complex {
                    return Err(format!("a range has one dimension and real elements, not {} {stated}", node.dtype));
                }
                (StepOp::Arange { start, step }, made)
            }
            NodeOp::Eye { diagonal } => {
                if stated.rank() != 2 {
                    return Err(format!("has two dimensions, not shape {stated}"));
                }
                (StepOp::Eye { diagonal: self.integer(*diagonal)? as isize }, made)
            }
            NodeOp::Normal | NodeOp::Uniform => {
                if !matches!(node.dtype, DType::F32 | DType::F64) {
                    return Err(format!("draws float32 or float64, not {}", node.dtype));
                }
                (if node.op == NodeOp::Normal { StepOp::Normal } else { StepOp::Uniform }, made)
            }
            NodeOp::Routine(routine, attributes) => {
                let mut named = Vec::new();
                for (name, value) in attributes {
                    let value = match value {
                        AttributeValue::Int(value) => Value::Int(self.integer(*value)?),
                        AttributeValue::Ints(values) => {
                            Value::Ints(values.iter().map(|value| self.integer(*value)).collect::<Checked<_>>()?)
                        }
                        AttributeValue::Fixed(value) => value.clone(),
                    };
                    named.push((*name, value));
                }
                if matches!(routine, Routine::Pooling(_)) && named.iter().any(|(_, value)| exceeds(value, MOST_WINDOWS))
                {
                    return Err(format!("an attribute exceeds {MOST_WINDOWS}"));
                }
                let encoded = routine.encode(&named).map_err(message)?;
                let made = routine.infer(given, &encoded).map_err(message)?;
                (StepOp::Routine(*routine, encoded), made)
            }
        })
    }

    fn update(&self, node: &Node, region: &View, types: &[ArgType], arrays: &[Given]) -> Checked<StepOp> {
        let base = match &node.operands[0] {
            Operand::Array(Reference { array, view: None, .. }) => arrays[*array],
            _ => return Err("writes to a whole array, not to a view or a number".to_owned()),
        };
        let (layout, offset) = self.view(region, &base.1)?;
        if layout.overlaps_itself() {
            return Err("the region contains an element twice".to_owned());
        }
        match types[1] {
            ArgType::Array(dtype, shape) => {
                infer::check_cast(dtype, base.0).map_err(message)?;
                if shape.broadcast(&layout.shape) != Some(layout.shape) {
                    return Err(format!("a value of shape {shape} does not fit a region of shape {}", layout.shape));
                }
            }
            ArgType::Scalar(kind) if kind > base.0.kind() => {
                return Err(format!("a number of another kind is written to {}", base.0));
            }
            ArgType::Scalar(_) => {}
        }
        Ok(StepOp::Update(Box::new(layout), offset))
    }
}

/// Whether an integer exceeds a limit.
fn exceeds(value: &Value, most: i64) -> bool {
    match value {
        Value::Int(value) => *value > most,
        Value::Ints(values) => values.iter().any(|value| *value > most),
        Value::Bool(_) | Value::Float(_) | Value::Floats(_) | Value::Text(_) => false,
    }
}

fn real(dtype: DType) -> Checked<()> {
    if dtype.kind() == Kind::Complex { Err(format!("not defined for {dtype}")) } else { Ok(()) }
}

fn same_dtype(given: &[Given]) -> Checked<()> {
    match given.iter().find(|(dtype, _)| *dtype != given[0].0) {
        None => Ok(()),
        Some((other, _)) => Err(format!("dtypes differ: {} and {other}", given[0].0)),
    }
}
