//! Reads graph files: JSON to a model. Everything that does not depend on shapes is checked here; [`super::check`] does
//! the rest.

use super::describe::{GraphInput, GraphParameter, Role};
use super::json::Json;
use super::model::{AttributeValue, GraphModel, Node, NodeOp, Operand, Reference, View};
use super::ops;
use super::symbolic::{Exact, Linear, Number};
use forerun_base::{DType, MAX_RANK, Scalar, Shape};
use forerun_ops::samples::Value;
use forerun_ops::{AttributeKind, Beyond, FillKind, Op, Routine};
use std::collections::HashSet;

/// The name of the format, and its version.
pub(crate) const FORMAT: &str = "forerun-graph";
pub(crate) const VERSION: i64 = 1;

/// Maximum size of a graph file in bytes.
pub(crate) const MOST_BYTES: u64 = 64 << 20;
/// Maximum numbers of inputs, parameters or outputs, of nodes, of operands of a node, and of items of a list attribute.
const MOST_ARRAYS: usize = 1 << 16;
const MOST_NODES: usize = 1 << 20;
const MOST_OPERANDS: usize = 512;
const MOST_ITEMS: usize = 1 << 16;
/// Maximum length of a name or of a source line in bytes.
const MOST_TEXT: usize = 1024;

type Read<T> = Result<T, String>;

impl GraphModel {
    /// Reads the text of a graph file, and checks it for the batch size of its example.
    pub fn parse(text: &[u8]) -> Read<GraphModel> {
        if text.len() as u64 > MOST_BYTES {
            return Err(format!("{} bytes, more than the limit of {MOST_BYTES}", text.len()));
        }
        let json = Json::parse(text).map_err(|error| format!("not a graph: {error}"))?;
        let model = graph(&json)?;
        model.plan(model.batch.unwrap_or(1))?;
        Ok(model)
    }
}

/// The fields of an object. Fields that are not read are errors.
struct Fields<'a> {
    what: String,
    left: Vec<(&'a str, &'a Json)>,
}

impl<'a> Fields<'a> {
    fn of(what: impl Into<String>, json: &'a Json) -> Read<Fields<'a>> {
        let what = what.into();
        match json {
            Json::Map(entries) => {
                Ok(Fields { what, left: entries.iter().map(|(name, value)| (name.as_str(), value)).collect() })
            }
            other => Err(format!("{what} is {}, not an object", other.kind())),
        }
    }

    fn take(&mut self, name: &str) -> Option<&'a Json> {
        let at = self.left.iter().position(|(known, _)| *known == name)?;
        Some(self.left.swap_remove(at).1)
    }

    fn need(&mut self, name: &str) -> Read<&'a Json> {
        self.take(name).ok_or_else(|| format!("{} has no '{name}'", self.what))
    }

    fn text(&mut self, name: &str) -> Read<&'a str> {
        match self.need(name)? {
            Json::Text(text) if text.len() <= MOST_TEXT => Ok(text),
            Json::Text(text) => {
                Err(format!("{}: '{name}' has {} bytes, at most {MOST_TEXT} are allowed", self.what, text.len()))
            }
            other => Err(format!("{}: '{name}' is {}, not a text", self.what, other.kind())),
        }
    }

    fn list(&mut self, name: &str, most: usize) -> Read<&'a [Json]> {
        let json = self.need(name)?;
        list(&format!("{}: '{name}'", self.what), json, most)
    }

    fn flag(&mut self, name: &str) -> Read<bool> {
        match self.take(name) {
            None => Ok(false),
            Some(Json::Bool(flag)) => Ok(*flag),
            Some(other) => Err(format!("{}: '{name}' is {}, not a truth value", self.what, other.kind())),
        }
    }

    fn dtype(&mut self) -> Read<DType> {
        let name = self.text("dtype")?;
        DType::from_name(name).ok_or_else(|| format!("{}: unknown dtype '{}'", self.what, name.escape_debug()))
    }

    fn linear(&mut self, name: &str) -> Read<Linear> {
        let json = self.need(name)?;
        linear(&format!("{}: '{name}'", self.what), json)
    }

    fn linears(&mut self, name: &str, most: usize) -> Read<Vec<Linear>> {
        let items = self.list(name, most)?;
        items.iter().map(|item| linear(&format!("{}: '{name}'", self.what), item)).collect()
    }

    fn integer(&mut self, name: &str) -> Read<i64> {
        let json = self.need(name)?;
        integer(&format!("{}: '{name}'", self.what), json)
    }

    fn end(self) -> Read<()> {
        match self.left.first() {
            None => Ok(()),
            Some((name, _)) => Err(format!("{} has an unknown field '{}'", self.what, name.escape_debug())),
        }
    }
}

fn list<'a>(what: &str, json: &'a Json, most: usize) -> Read<&'a [Json]> {
    match json {
        Json::List(items) if items.len() <= most => Ok(items),
        Json::List(items) => Err(format!("{what} has {} items, at most {most} are allowed", items.len())),
        other => Err(format!("{what} is {}, not a list", other.kind())),
    }
}

fn integer(what: &str, json: &Json) -> Read<i64> {
    match json {
        Json::Int(value) => Ok(*value),
        other => Err(format!("{what} is {}, not an integer of 64 bits", other.kind())),
    }
}

fn float(what: &str, json: &Json) -> Read<f64> {
    match json {
        Json::Float(value) => Ok(*value),
        Json::Int(value) => Ok(*value as f64),
        Json::Large(value) => Ok(*value as f64),
        Json::Text(name) => match name.as_str() {
            "nan" => Ok(f64::NAN),
            "inf" => Ok(f64::INFINITY),
            "-inf" => Ok(f64::NEG_INFINITY),
            other => Err(format!("{what}: '{}' is not a number", other.escape_debug())),
        },
        other => Err(format!("{what} is {}, not a number", other.kind())),
    }
}

/// An integer, or an object with the coefficients of a function of the batch size.
fn linear(what: &str, json: &Json) -> Read<Linear> {
    let Json::Map(_) = json else { return integer(what, json).map(Linear::fixed) };
    let mut fields = Fields::of(what, json)?;
    let per_batch = fields.integer("batch")?;
    let plus = fields.take("plus").map_or(Ok(0), |plus| integer(what, plus))?;
    fields.end()?;
    Ok(Linear { per_batch, plus })
}

fn number(what: &str, json: &Json) -> Read<Number> {
    let mut fields = Fields::of(what, json)?;
    let found = if let Some(json) = fields.take("int") {
        match json {
            Json::Large(value) => Number::Large(*value),
            other => Number::Int(linear(what, other)?),
        }
    } else if let Some(json) = fields.take("float") {
        match json {
            Json::Map(_) => Number::Whole(linear(what, json)?),
            other => Number::of(Scalar::Float(float(what, other)?)),
        }
    } else if let Some(json) = fields.take("bool") {
        match json {
            Json::Bool(value) => Number::Bool(*value),
            other => return Err(format!("{what} is {}, not a truth value", other.kind())),
        }
    } else if let Some(json) = fields.take("complex") {
        match list(what, json, 2)? {
            [real, imaginary] => Number::Complex(Exact(float(what, real)?), Exact(float(what, imaginary)?)),
            parts => return Err(format!("{what} has {} parts, not 2", parts.len())),
        }
    } else {
        return Err(format!("{what} is neither an array nor a number"));
    };
    fields.end()?;
    Ok(found)
}

fn graph(json: &Json) -> Read<GraphModel> {
    let mut fields = Fields::of("the file", json)?;
    let format = fields.text("format")?;
    if format != FORMAT {
        return Err(format!("the format is '{}', not '{FORMAT}'", format.escape_debug()));
    }
    let version = fields.integer("version")?;
    if version != VERSION {
        return Err(format!("version {version} of the format is unknown: this program reads version {VERSION}"));
    }
    let batch = match fields.need("batch")? {
        Json::Null => None,
        Json::Int(batch @ 1..) => Some(*batch as usize),
        other => return Err(format!("'batch' is {}, not null or a positive integer", other.kind())),
    };
    let inputs: Vec<GraphInput> = fields
        .list("inputs", MOST_ARRAYS)?
        .iter()
        .enumerate()
        .map(|(at, json)| input(at, json))
        .collect::<Read<_>>()?;
    let parameters: Vec<GraphParameter> = fields
        .list("parameters", MOST_ARRAYS)?
        .iter()
        .enumerate()
        .map(|(at, json)| parameter(at, json))
        .collect::<Read<_>>()?;
    let mut names = HashSet::new();
    let all = inputs.iter().map(|input| &input.name).chain(parameters.iter().map(|parameter| &parameter.name));
    for name in all {
        if !names.insert(name) {
            return Err(format!("two inputs or parameters are named '{}'", name.escape_debug()));
        }
    }
    let given = inputs.len() + parameters.len();
    let nodes = fields.list("nodes", MOST_NODES)?;
    let nodes = nodes.iter().enumerate().map(|(at, json)| node(at, given + at, json)).collect::<Read<Vec<Node>>>()?;
    let outputs = fields.list("outputs", MOST_ARRAYS)?;
    let outputs = outputs
        .iter()
        .enumerate()
        .map(|(at, json)| reference(&format!("output {at}"), json, given + nodes.len()))
        .collect::<Read<Vec<Reference>>>()?;
    fields.end()?;
    if inputs.is_empty() && parameters.is_empty() && nodes.is_empty() || outputs.is_empty() {
        return Err("the graph is empty".to_owned());
    }
    Ok(GraphModel::new(batch, inputs, parameters, nodes, outputs))
}

fn input(at: usize, json: &Json) -> Read<GraphInput> {
    let mut fields = Fields::of(format!("input {at}"), json)?;
    let input = GraphInput {
        name: fields.text("name")?.to_owned(),
        dtype: fields.dtype()?,
        shape: fields.linears("shape", MAX_RANK)?,
    };
    fields.end()?;
    Ok(input)
}

fn parameter(at: usize, json: &Json) -> Read<GraphParameter> {
    let mut fields = Fields::of(format!("parameter {at}"), json)?;
    let (name, dtype) = (fields.text("name")?.to_owned(), fields.dtype()?);
    let mut extents = Vec::new();
    for extent in fields.list("shape", MAX_RANK)? {
        let extent = integer(&fields.what, extent)?;
        extents.push(usize::try_from(extent).map_err(|_| format!("{}: negative extent {extent}", fields.what))?);
    }
    let shape = Shape::new(&extents).map_err(|error| format!("{}: {error}", fields.what))?;
    let role = fields.text("role")?;
    let role =
        Role::from_name(role).ok_or_else(|| format!("{}: unknown role '{}'", fields.what, role.escape_debug()))?;
    fields.end()?;
    Ok(GraphParameter { name, dtype, shape, role })
}

fn view(what: &str, json: &Json) -> Read<View> {
    let mut fields = Fields::of(format!("{what}: the view"), json)?;
    let view = View {
        shape: fields.linears("shape", MAX_RANK)?,
        strides: fields.linears("strides", MAX_RANK)?,
        offset: fields.linear("offset")?,
    };
    if view.shape.len() != view.strides.len() {
        return Err(format!("{} has {} extents and {} strides", fields.what, view.shape.len(), view.strides.len()));
    }
    fields.end()?;
    Ok(view)
}

/// A reference to one of the arrays before `end`.
fn reference(what: &str, json: &Json, end: usize) -> Read<Reference> {
    let mut fields = Fields::of(what, json)?;
    let array = fields.integer("array")?;
    let Some(array) = usize::try_from(array).ok().filter(|array| *array < end) else {
        return Err(format!("{what} reads array {array}, but only arrays 0 to {} come before it", end as i64 - 1));
    };
    let view = fields.take("view").map(|json| view(what, json)).transpose()?;
    let detached = fields.flag("detached")?;
    fields.end()?;
    Ok(Reference { array, view, detached })
}

fn node(at: usize, end: usize, json: &Json) -> Read<Node> {
    let mut fields = Fields::of(format!("node {at}"), json)?;
    let name = fields.text("op")?;
    let Some(op) = ops::named(name) else {
        return Err(format!("node {at}: '{}' is not an op of this version", name.escape_debug()));
    };
    fields.what = format!("node {at} ({name})");
    let what = fields.what.clone();
    let operands = fields.list("inputs", MOST_OPERANDS)?;
    let operands = operands.iter().enumerate().map(|(k, json)| {
        let what = format!("{what}: input {k}");
        match json {
            Json::Map(entries) if entries.iter().any(|(name, _)| name == "array") => {
                reference(&what, json, end).map(Operand::Array)
            }
            other => number(&what, other).map(Operand::Number),
        }
    });
    let operands = operands.collect::<Read<Vec<Operand>>>()?;
    let empty = Json::Map(Vec::new());
    let mut attributes = Fields::of(what.clone(), fields.take("attributes").unwrap_or(&empty))?;
    let op = node_op(op, &mut attributes)?;
    attributes.end()?;
    check_operands(&what, &op, &operands)?;
    let (shape, dtype) = (fields.linears("shape", MAX_RANK)?, fields.dtype()?);
    let line = if fields.left.iter().any(|(name, _)| *name == "line") { fields.text("line")? } else { "" };
    let node = Node { op, operands, shape, dtype, line: line.to_owned() };
    fields.end()?;
    Ok(node)
}

/// Checks the number of operands, and that numbers are only where the op takes them.
fn check_operands(what: &str, op: &NodeOp, operands: &[Operand]) -> Read<()> {
    let numbers = operands.iter().filter(|operand| matches!(operand, Operand::Number(_))).count();
    let (least, most, most_numbers) = match op {
        NodeOp::Point(point) => (point.row().arity, point.row().arity, 2.min(point.row().arity - 1)),
        NodeOp::Reduce { .. } => (1, 1, 0),
        NodeOp::Matmul | NodeOp::Take { .. } => (2, 2, 0),
        NodeOp::Concat { .. } => (1, MOST_OPERANDS, 0),
        NodeOp::ScatterAdd { .. } => (3, 3, 0),
        NodeOp::Update(_) => (2, 2, matches!(operands.first(), Some(Operand::Array(_))) as usize),
        NodeOp::Full(_) | NodeOp::Arange { .. } | NodeOp::Eye { .. } | NodeOp::Normal | NodeOp::Uniform => (0, 0, 0),
        NodeOp::Routine(routine, _) => match routine.row().arity() {
            Some(arity) => (arity, arity, 0),
            None => (1, MOST_OPERANDS, 0),
        },
    };
    if !(least..=most).contains(&operands.len()) {
        return Err(format!("{what} takes {least} inputs, not {}", operands.len()));
    }
    if numbers > most_numbers {
        return Err(format!("{what} has numbers for {numbers} inputs, at most {most_numbers} may be numbers"));
    }
    Ok(())
}

fn node_op(op: Op, fields: &mut Fields<'_>) -> Read<NodeOp> {
    Ok(match op {
        Op::Point(point) => NodeOp::Point(point),
        Op::Reduce(kind) => {
            let axes = fields.list("axis", MAX_RANK)?;
            let axes = axes.iter().map(|axis| integer(&fields.what, axis)).collect::<Read<_>>()?;
            NodeOp::Reduce { kind, axes, keepdims: fields.flag("keepdims")? }
        }
        Op::Matmul => NodeOp::Matmul,
        Op::Concat => NodeOp::Concat { axis: fields.integer("axis")? },
        Op::Take => NodeOp::Take { axis: fields.integer("axis")?, mode: mode(fields)? },
        Op::ScatterAdd => NodeOp::ScatterAdd { axis: fields.integer("axis")?, mode: mode(fields)? },
        Op::Update => NodeOp::Update(view(&fields.what.clone(), fields.need("region")?)?),
        Op::Fill(FillKind::Full) => NodeOp::Full(number(&fields.what.clone(), fields.need("value")?)?),
        Op::Fill(FillKind::Arange) => NodeOp::Arange {
            start: number(&fields.what.clone(), fields.need("start")?)?,
            step: number(&fields.what.clone(), fields.need("step")?)?,
        },
        Op::Fill(FillKind::Eye) => NodeOp::Eye { diagonal: fields.linear("diagonal")? },
        Op::Fill(FillKind::Normal) => NodeOp::Normal,
        Op::Fill(FillKind::Uniform) => NodeOp::Uniform,
        Op::Routine(routine) => NodeOp::Routine(routine, routine_attributes(routine, fields)?),
        Op::View | Op::Transfer => return Err(format!("{} is not an op of graphs", fields.what)),
    })
}

fn mode(fields: &mut Fields<'_>) -> Read<Beyond> {
    let name = fields.text("mode")?;
    Beyond::from_name(name).ok_or_else(|| format!("{}: unknown mode '{}'", fields.what, name.escape_debug()))
}

fn routine_attributes(routine: Routine, fields: &mut Fields<'_>) -> Read<Vec<(&'static str, AttributeValue)>> {
    let mut named = Vec::new();
    for attribute in routine.attributes() {
        let name = attribute.name;
        let given = fields.left.iter().any(|(known, _)| *known == name);
        let value = match attribute.kind {
            AttributeKind::Flag => AttributeValue::Fixed(Value::Bool(fields.flag(name)?)),
            AttributeKind::OptionalFloat if !given => continue,
            AttributeKind::Float | AttributeKind::OptionalFloat => {
                let json = fields.need(name)?;
                AttributeValue::Fixed(Value::Float(float(&fields.what, json)?))
            }
            AttributeKind::Floats => {
                let items = fields.list(name, MOST_ITEMS)?;
                let items = items.iter().map(|item| float(&fields.what, item)).collect::<Read<_>>()?;
                AttributeValue::Fixed(Value::Floats(items))
            }
            AttributeKind::Axis | AttributeKind::Integer => AttributeValue::Int(fields.linear(name)?),
            AttributeKind::Integers => AttributeValue::Ints(fields.linears(name, MOST_ITEMS)?),
            AttributeKind::Other(kind) => {
                return Err(format!("{}: no file has attributes of type {kind}", fields.what));
            }
        };
        named.push((name, value));
    }
    Ok(named)
}
