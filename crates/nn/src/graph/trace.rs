//! Traces to graphs: turns captured programs of one function into a model.
//!
//! The function was captured for several batch sizes. Every integer of the programs is fitted by a linear function of
//! the batch size, and everything else must be equal; otherwise the error names the line whose op differs.

use super::describe::{GraphInput, GraphParameter, Role};
use super::model::{AttributeValue, GraphModel, Node, NodeOp, Operand, Reference, View};
use super::ops;
use super::symbolic::{Linear, Number};
use forerun_array::{Array, Attrs, CapturedPlace, CapturedProgram, CapturedSlot, CapturedStep};
use forerun_base::{DType, Error, ErrorKind, Kind, Layout, Loc, Result, Scalar, Shape};
use forerun_ops::infer::{self, ArgType};
use forerun_ops::samples::Value;
use forerun_ops::{Class, FillKind, Op, Point};
use std::collections::HashMap;
use std::path::Path;

/// A parameter of the traced function.
pub struct NamedArray {
    /// Its name.
    pub name: String,
    /// Its array.
    pub array: Array,
    /// What it is for.
    pub role: Role,
}

/// A graph made from captures.
pub struct TracedGraph {
    /// The graph.
    pub model: GraphModel,
    /// Its parameters, in order, with their arrays.
    pub parameters: Vec<NamedArray>,
    /// Pairs of constants that the captures read. The graph is valid only if the elements of each pair are equal.
    pub pairs: Vec<(Array, Array)>,
}

/// Makes a graph from captures of one function, each with its batch size. Without batch sizes there is one capture, and
/// every shape is fixed. Arrays that the function read and that are not in `parameters` become constants.
///
/// # Errors
/// An op that graphs cannot contain, a write to an array that existed before, or captures that differ in more than
/// integers that are linear in the batch size.
pub fn trace_graph(
    programs: &[(Option<usize>, &CapturedProgram)],
    inputs: &[String],
    parameters: &[NamedArray],
    loc: Loc,
) -> Result<TracedGraph> {
    let Some((batch, first)) = programs.first() else { return Err(fail("nothing was captured", loc)) };
    let traces = programs.iter().map(|(_, program)| Trace::of(program)).collect::<Result<Vec<Trace>>>()?;
    let batches: Vec<i64> = programs.iter().map(|(batch, _)| batch.unwrap_or(1) as i64).collect();
    let mut merged = merge(&traces, &batches, loc)?;
    let used = merged.prune();
    let given = first.inputs().len();
    let (mut arrays, mut pairs) = (Vec::new(), Vec::new());
    // Parameters come first, in the order given, and then constants.
    let rank = |array: &Array| parameters.iter().position(|known| known.array.shares_cell(array));
    let outside = first.outside().iter().enumerate().filter(|(at, _)| used[given + at]);
    let mut outside: Vec<(usize, usize, &Array)> =
        outside.map(|(at, array)| (rank(array).unwrap_or(parameters.len()), at, array)).collect();
    outside.sort_by_key(|(rank, at, _)| (*rank, *at));
    // The number of each outside array among the arrays of the graph.
    let mut numbers: HashMap<usize, usize> = HashMap::new();
    for (rank, at, array) in outside {
        let known = parameters.get(rank);
        for other in programs[1..].iter().map(|(_, other)| &other.outside()[at]) {
            if other.shares_cell(array) {
                continue;
            }
            if known.is_some() || (other.dtype(), other.shape()) != (array.dtype(), array.shape()) {
                let text = format!("an array of shape {} that forward reads depends on the batch size", array.shape());
                return Err(fail(&text, merged.reader(given + at).unwrap_or(loc)));
            }
            pairs.push((array.clone(), other.clone()));
        }
        numbers.insert(given + at, given + arrays.len());
        arrays.push(match known {
            Some(known) => NamedArray { name: known.name.clone(), array: known.array.clone(), role: known.role },
            None => {
                let constants = arrays.iter().filter(|known: &&NamedArray| known.role == Role::Constant).count();
                NamedArray { name: format!("constant:{constants}"), array: array.clone(), role: Role::Constant }
            }
        });
    }
    merged.renumber(given, first.outside().len(), &numbers);
    let described = inputs.iter().zip(first.inputs()).zip(merged.inputs);
    let described = described.map(|((name, meta), shape)| GraphInput { name: name.clone(), dtype: meta.dtype, shape });
    let described: Vec<GraphInput> = described.collect();
    let listed = arrays.iter().map(|given| GraphParameter {
        name: given.name.clone(),
        dtype: given.array.dtype(),
        shape: given.array.base().shape(),
        role: given.role,
    });
    let listed = listed.collect();
    let model = GraphModel::new(*batch, described, listed, merged.nodes, merged.outputs);
    for (batch, _) in programs {
        model.plan(batch.unwrap_or(1)).map_err(|text| fail(&text, loc))?;
    }
    Ok(TracedGraph { model, parameters: arrays, pairs })
}

fn fail(text: &str, loc: Loc) -> Error {
    Error::new(ErrorKind::Value, text).in_op("export").submitted_at(loc)
}

/// A captured program as nodes with fixed integers. Arrays are numbered: inputs, outside arrays, nodes.
struct Trace {
    inputs: Vec<Vec<Linear>>,
    nodes: Vec<Node>,
    outputs: Vec<Reference>,
    /// The line of each node.
    locs: Vec<Loc>,
    /// The shape of each array.
    shapes: Vec<Shape>,
}

fn fixed(extents: &[usize]) -> Vec<Linear> {
    extents.iter().map(|extent| Linear::fixed(*extent as i64)).collect()
}

impl Trace {
    fn of(program: &CapturedProgram) -> Result<Trace> {
        let inputs: Vec<Shape> = program.inputs().iter().map(|meta| meta.shape()).collect();
        let outside = program.outside().iter().map(|array| array.base().shape());
        let shapes: Vec<Shape> = inputs.iter().copied().chain(outside).collect();
        // The array that each slot holds at present; writes change it.
        let mut held: HashMap<CapturedSlot, usize> = HashMap::new();
        held.extend((0..inputs.len()).map(|i| (CapturedSlot::Input(i), i)));
        held.extend((0..program.outside().len()).map(|i| (CapturedSlot::Outside(i), inputs.len() + i)));
        let inputs = inputs.iter().map(|shape| fixed(shape)).collect();
        let mut trace = Trace { inputs, nodes: Vec::new(), outputs: Vec::new(), locs: Vec::new(), shapes };
        let mut results = 0;
        for step in program.steps() {
            if let Some(CapturedSlot::Outside(_)) = step.writes {
                let text =
                    format!("{}: forward writes to an array that existed before the call", step.signature.op.name());
                return Err(fail(&text, step.loc));
            }
            let made = trace.add(&step, &held)?;
            let slot = step.writes.unwrap_or_else(|| {
                results += 1;
                CapturedSlot::Result(results - 1)
            });
            held.insert(slot, made);
        }
        trace.outputs = program.outputs().iter().map(|place| trace.reference(place, &held)).collect();
        Ok(trace)
    }

    fn reference(&self, place: &CapturedPlace, held: &HashMap<CapturedSlot, usize>) -> Reference {
        let array = held[&place.slot];
        let layout = &place.meta.layout;
        let whole = layout.is_dense() && layout.shape == self.shapes[array] && place.offset == 0;
        let view = (!whole).then(|| view_of(layout, place.offset));
        Reference { array, view, detached: place.detached }
    }

    fn push(&mut self, op: NodeOp, operands: Vec<Operand>, (dtype, shape): (DType, Shape), loc: Loc) -> usize {
        self.nodes.push(Node { op, operands, shape: fixed(&shape), dtype, line: line(loc) });
        self.locs.push(loc);
        self.shapes.push(shape);
        self.shapes.len() - 1
    }

    /// Adds the nodes of a step; returns the number of its result.
    fn add(&mut self, step: &CapturedStep<'_>, held: &HashMap<CapturedSlot, usize>) -> Result<usize> {
        let (signature, loc) = (step.signature, step.loc);
        let out = (signature.out.dtype, signature.out.shape());
        let refused = |text: &str| Err(fail(&format!("{}: {text}", signature.op.name()), loc));
        let references: Vec<Reference> = step.operands.iter().map(|place| self.reference(place, held)).collect();
        let arrays = || references.iter().cloned().map(Operand::Array).collect::<Vec<Operand>>();
        let scalar = |bits: u64, dtype: DType| Number::of(Scalar::from_bits(bits, dtype));
        let op = match (signature.op, &signature.attrs) {
            (Op::Point(point), Attrs::Point { compute, scalars, arity }) => {
                return self.add_point(step, point, *compute, (*scalars, *arity), references);
            }
            (Op::Reduce(kind), Attrs::Reduce { mask, .. }) => {
                let rank = signature.inputs[0].shape().rank();
                let axes = (0..rank as i64).filter(|axis| mask >> axis & 1 == 1).collect();
                NodeOp::Reduce { kind, axes, keepdims: *mask != 0 && out.1.rank() == rank }
            }
            (Op::Matmul, _) => NodeOp::Matmul,
            (Op::Concat, Attrs::Concat(axis)) => NodeOp::Concat { axis: *axis as i64 },
            (Op::Take, Attrs::Rows { axis, beyond }) => NodeOp::Take { axis: *axis as i64, mode: *beyond },
            (Op::ScatterAdd, Attrs::Rows { axis, beyond }) => NodeOp::ScatterAdd { axis: *axis as i64, mode: *beyond },
            (Op::Update, Attrs::Update(region)) => {
                let mut operands = arrays();
                if operands.len() == 1 {
                    operands.push(Operand::Number(scalar(step.immediates[1], out.0)));
                }
                let region = NodeOp::Update(view_of(region, step.immediates[0]));
                return Ok(self.push(region, operands, out, loc));
            }
            (Op::Fill(FillKind::Full), _) => NodeOp::Full(scalar(step.immediates[0], out.0)),
            (Op::Fill(FillKind::Arange), _) => {
                let dtype = if out.0.kind() >= Kind::Float { DType::F64 } else { DType::I64 };
                let [start, step] = step.immediates.map(|bits| scalar(bits, dtype));
                NodeOp::Arange { start, step }
            }
            (Op::Fill(FillKind::Eye), _) => NodeOp::Eye { diagonal: Linear::fixed(step.immediates[0] as i64) },
            (Op::Fill(FillKind::Normal), _) => NodeOp::Normal,
            (Op::Fill(FillKind::Uniform), _) => NodeOp::Uniform,
            (Op::Routine(routine), Attrs::Routine(encoded)) if ops::allows(routine) => {
                let Some(named) = routine.decode(encoded) else { return refused("its attributes are not known") };
                let value = |value| match value {
                    Value::Int(value) => AttributeValue::Int(Linear::fixed(value)),
                    Value::Ints(values) => AttributeValue::Ints(values.into_iter().map(Linear::fixed).collect()),
                    other => AttributeValue::Fixed(other),
                };
                NodeOp::Routine(routine, named.into_iter().map(|(name, given)| (name, value(given))).collect())
            }
            // Where an op runs is not part of a graph.
            (Op::Transfer, _) => match &references[0] {
                Reference { array, view: None, detached: false } => return Ok(*array),
                _ => NodeOp::Point(Point::Copy),
            },
            _ => return refused("graph files cannot contain this op"),
        };
        Ok(self.push(op, arrays(), out, loc))
    }

    fn add_point(
        &mut self,
        step: &CapturedStep<'_>,
        point: Point,
        compute: DType,
        (scalars, arity): (u8, u8),
        references: Vec<Reference>,
    ) -> Result<usize> {
        let (out, loc) = (&step.signature.out, step.loc);
        let (mut arrays, mut numbers) =
            (references.into_iter().zip(&step.signature.inputs), step.immediates.into_iter());
        let (mut operands, mut types) = (Vec::new(), Vec::new());
        for at in 0..arity {
            if scalars >> at & 1 == 1 {
                let condition = at == 0 && point.row().class == Class::Select;
                let dtype = if condition { DType::Bool } else { compute };
                let scalar = Scalar::from_bits(numbers.next().unwrap_or(0), dtype);
                types.push(ArgType::Scalar(scalar.kind()));
                operands.push(Operand::Number(Number::of(scalar)));
            } else if let Some((reference, meta)) = arrays.next() {
                types.push(ArgType::Array(meta.dtype, meta.shape()));
                operands.push(Operand::Array(reference));
            }
        }
        let target = (point == Point::Cast).then_some(out.dtype);
        let inferred = infer::pointwise(point, &types, target).map_err(|error| error.submitted_at(loc))?;
        if inferred.compute != compute {
            let text =
                format!("{point}: it computes in {compute}, and would in {} without its context", inferred.compute);
            return Err(fail(&text, loc));
        }
        let made = self.push(NodeOp::Point(point), operands, (inferred.result, inferred.shape), loc);
        if inferred.result == out.dtype {
            return Ok(made);
        }
        // An op in place converts its result.
        let operand = Operand::Array(Reference { array: made, view: None, detached: false });
        Ok(self.push(NodeOp::Point(Point::Cast), vec![operand], (out.dtype, inferred.shape), loc))
    }

    /// Removes the nodes that no output needs; returns which arrays are used.
    fn prune(&mut self) -> Vec<bool> {
        let given = self.shapes.len() - self.nodes.len();
        let mut used = vec![false; self.shapes.len()];
        self.outputs.iter().for_each(|output| used[output.array] = true);
        for (at, node) in self.nodes.iter().enumerate().rev() {
            if used[given + at] {
                node.reads().for_each(|read| used[read.array] = true);
            }
        }
        let mut numbers: Vec<usize> = (0..used.len()).collect();
        let mut next = given;
        for at in given..used.len() {
            numbers[at] = next;
            next += used[at] as usize;
        }
        let mut kept = used[given..].iter();
        self.nodes.retain(|_| *kept.next().unwrap_or(&false));
        let mut kept = used[given..].iter();
        self.locs.retain(|_| *kept.next().unwrap_or(&false));
        self.rename(|array| numbers[array]);
        used
    }

    /// Numbers the outside arrays as parameters and moves the nodes behind them.
    fn renumber(&mut self, inputs: usize, outside: usize, parameters: &HashMap<usize, usize>) {
        let unused = outside - parameters.len();
        self.rename(|array| match array {
            array if array < inputs => array,
            array if array < inputs + outside => parameters.get(&array).copied().unwrap_or(array),
            array => array - unused,
        });
    }

    fn rename(&mut self, number: impl Fn(usize) -> usize) {
        let operands = self.nodes.iter_mut().flat_map(|node| &mut node.operands);
        let references = operands.filter_map(|operand| match operand {
            Operand::Array(reference) => Some(reference),
            Operand::Number(_) => None,
        });
        for reference in references.chain(&mut self.outputs) {
            reference.array = number(reference.array);
        }
    }

    /// The line of the first node that reads an array.
    fn reader(&self, array: usize) -> Option<Loc> {
        let at = self.nodes.iter().position(|node| node.reads().any(|read| read.array == array))?;
        Some(self.locs[at])
    }
}

/// A view as a file states it. Dimensions of extent 1 have stride 1, because theirs does not matter.
fn view_of(layout: &Layout, offset: u64) -> View {
    let strides = layout.shape.iter().zip(layout.strides());
    let strides = strides.map(|(extent, stride)| Linear::fixed(if *extent == 1 { 1 } else { *stride as i64 }));
    View { shape: fixed(&layout.shape), strides: strides.collect(), offset: Linear::fixed(offset as i64) }
}

/// File and line, without folders: a file that travels does not name them.
fn line(loc: Loc) -> String {
    let Some(source) = loc.resolve() else { return String::new() };
    let name =
        Path::new(&source.file).file_name().map_or_else(|| source.file.clone().into(), |name| name.to_string_lossy());
    format!("{name}:{}", source.line)
}

/// Fits the integers of traces by linear functions of the batch size.
fn merge(traces: &[Trace], batches: &[i64], loc: Loc) -> Result<Trace> {
    let (first, rest) = traces.split_first().ok_or_else(|| fail("nothing was captured", loc))?;
    let mut nodes = Vec::with_capacity(first.nodes.len());
    for (at, node) in first.nodes.iter().enumerate() {
        let differs = |text: &str| fail(&format!("{}: {text}", node.label(at)), first.locs[at]);
        let mut all = vec![node.clone()];
        for (trace, batch) in rest.iter().zip(&batches[1..]) {
            let Some(other) = trace.nodes.get(at) else {
                let text = format!("it has no counterpart with batch size {batch}");
                return Err(differs(&text));
            };
            all.push(other.clone());
        }
        let fitted = fit(&mut all, batches, Node::numbers_mut);
        nodes.push(fitted.map_err(|text| differs(&text))?);
    }
    if let Some(longer) = rest.iter().find(|trace| trace.nodes.len() != first.nodes.len()) {
        let at = first.nodes.len();
        let text = format!("{}: it has no counterpart with batch size {}", longer.nodes[at].label(at), batches[0]);
        return Err(fail(&text, longer.locs[at]));
    }
    let alike = |trace: &Trace| trace.shapes.len() == first.shapes.len() && trace.outputs.len() == first.outputs.len();
    if !rest.iter().all(alike) {
        return Err(fail("the arrays that forward reads or returns depend on the batch size", loc));
    }
    let outputs = (0..first.outputs.len()).map(|at| {
        let mut all: Vec<Reference> = traces.iter().map(|trace| trace.outputs[at].clone()).collect();
        fit(&mut all, batches, Reference::numbers_mut).map_err(|text| fail(&format!("output {at}: {text}"), loc))
    });
    let outputs = outputs.collect::<Result<_>>()?;
    let inputs = (0..first.inputs.len()).map(|at| {
        let mut all: Vec<Vec<Linear>> = traces.iter().map(|trace| trace.inputs[at].clone()).collect();
        fit(&mut all, batches, |shape| shape.iter_mut().collect())
            .map_err(|text| fail(&format!("input {at}: {text}"), loc))
    });
    let inputs = inputs.collect::<Result<_>>()?;
    Ok(Trace { inputs, nodes, outputs, locs: first.locs.clone(), shapes: first.shapes.clone() })
}

/// Replaces the integers of the first of `all` by linear functions through those of all. The rest must be equal.
fn fit<T: PartialEq + Clone>(
    all: &mut [T],
    batches: &[i64],
    numbers: impl for<'a> Fn(&'a mut T) -> Vec<&'a mut Linear>,
) -> std::result::Result<T, String> {
    let found: Vec<Vec<i64>> = all.iter_mut().map(|one| numbers(one).iter().map(|line| line.plus).collect()).collect();
    if found.iter().any(|values| values.len() != found[0].len()) {
        return Err("the op differs between batch sizes".to_owned());
    }
    let mut lines = Vec::with_capacity(found[0].len());
    for at in 0..found[0].len() {
        let points: Vec<(i64, i64)> = batches.iter().zip(&found).map(|(batch, values)| (*batch, values[at])).collect();
        lines.push(Linear::through(&points).ok_or_else(|| {
            let values: Vec<String> = points.iter().map(|(batch, value)| format!("{value} for {batch}")).collect();
            format!("an integer is not a linear function of the batch size: {}", values.join(", "))
        })?);
    }
    for one in all.iter_mut() {
        numbers(one).into_iter().zip(&lines).for_each(|(number, line)| *number = *line);
    }
    match all.iter().any(|one| *one != all[0]) {
        true => Err("the op differs between batch sizes".to_owned()),
        false => Ok(all[0].clone()),
    }
}
