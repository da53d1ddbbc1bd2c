//! Writes graph files: a model to JSON, one node per line.

use super::model::{AttributeValue, GraphModel, Node, NodeOp, Operand, Reference, View};
use super::read::{FORMAT, VERSION};
use super::symbolic::{Linear, Number};
use forerun_ops::Beyond;
use forerun_ops::samples::Value;
use serde_json::{Map, Value as Tree, json};

impl GraphModel {
    /// The text of the graph file.
    pub fn to_text(&self) -> String {
        let inputs = self
            .inputs
            .iter()
            .map(|input| json!({"name": input.name, "dtype": input.dtype.name(), "shape": linears(&input.shape)}));
        let parameters = self.parameters.iter().map(|parameter| {
            let (dtype, role) = (parameter.dtype.name(), parameter.role.name());
            json!({"name": parameter.name, "dtype": dtype, "shape": parameter.shape.to_vec(), "role": role})
        });
        let lists = [
            ("inputs", lines(inputs)),
            ("parameters", lines(parameters)),
            ("nodes", lines(self.nodes.iter().map(node))),
            ("outputs", lines(self.outputs.iter().map(reference))),
        ];
        let batch = self.batch.map_or_else(|| "null".to_owned(), |batch| batch.to_string());
        let mut text = format!("{{\n\"format\": \"{FORMAT}\",\n\"version\": {VERSION},\n\"batch\": {batch}");
        for (name, lines) in lists {
            text += &format!(",\n\"{name}\": {lines}");
        }
        text + "\n}\n"
    }
}

/// A list with one item per line.
fn lines(items: impl Iterator<Item = Tree>) -> String {
    let items: Vec<String> = items.map(|item| format!("\n  {item}")).collect();
    format!("[{}]", items.join(","))
}

fn linear(value: Linear) -> Tree {
    match value {
        Linear { per_batch: 0, plus } => json!(plus),
        Linear { per_batch, plus: 0 } => json!({"batch": per_batch}),
        Linear { per_batch, plus } => json!({"batch": per_batch, "plus": plus}),
    }
}

fn linears(values: &[Linear]) -> Tree {
    values.iter().map(|value| linear(*value)).collect()
}

fn float(value: f64) -> Tree {
    match value {
        value if value.is_nan() => json!("nan"),
        f64::INFINITY => json!("inf"),
        f64::NEG_INFINITY => json!("-inf"),
        value => json!(value),
    }
}

fn number(value: Number) -> Tree {
    match value {
        Number::Bool(value) => json!({"bool": value}),
        Number::Int(value) => json!({"int": linear(value)}),
        Number::Large(value) => json!({"int": value}),
        Number::Float(value) => json!({"float": float(value.0)}),
        Number::Whole(Linear { per_batch: 0, plus }) => json!({"float": plus as f64}),
        Number::Whole(value) => json!({"float": linear(value)}),
        Number::Complex(real, imaginary) => json!({"complex": [float(real.0), float(imaginary.0)]}),
    }
}

fn view(view: &View) -> Tree {
    json!({"shape": linears(&view.shape), "strides": linears(&view.strides), "offset": linear(view.offset)})
}

fn reference(of: &Reference) -> Tree {
    let mut map = Map::new();
    map.insert("array".to_owned(), json!(of.array));
    if let Some(seen) = &of.view {
        map.insert("view".to_owned(), view(seen));
    }
    if of.detached {
        map.insert("detached".to_owned(), json!(true));
    }
    Tree::Object(map)
}

fn node(node: &Node) -> Tree {
    let inputs: Vec<Tree> = node
        .operands
        .iter()
        .map(|operand| match operand {
            Operand::Array(of) => reference(of),
            Operand::Number(value) => number(*value),
        })
        .collect();
    let mut map = Map::new();
    map.insert("op".to_owned(), json!(node.op.name()));
    map.insert("inputs".to_owned(), Tree::Array(inputs));
    map.insert("shape".to_owned(), linears(&node.shape));
    map.insert("dtype".to_owned(), json!(node.dtype.name()));
    let attributes = attributes(&node.op);
    if attributes != json!({}) {
        map.insert("attributes".to_owned(), attributes);
    }
    if !node.line.is_empty() {
        map.insert("line".to_owned(), json!(node.line));
    }
    Tree::Object(map)
}

fn attributes(op: &NodeOp) -> Tree {
    match op {
        NodeOp::Point(_) | NodeOp::Matmul | NodeOp::Normal | NodeOp::Uniform => json!({}),
        NodeOp::Reduce { axes, keepdims, .. } => json!({"axis": axes, "keepdims": keepdims}),
        NodeOp::Concat { axis } => json!({"axis": axis}),
        NodeOp::Take { axis, mode } | NodeOp::ScatterAdd { axis, mode } => {
            json!({"axis": axis, "mode": mode_name(*mode)})
        }
        NodeOp::Update(region) => json!({"region": view(region)}),
        NodeOp::Full(value) => json!({"value": number(*value)}),
        NodeOp::Arange { start, step } => json!({"start": number(*start), "step": number(*step)}),
        NodeOp::Eye { diagonal } => json!({"diagonal": linear(*diagonal)}),
        NodeOp::Routine(_, named) => {
            let value = |value: &AttributeValue| match value {
                AttributeValue::Int(value) => linear(*value),
                AttributeValue::Ints(values) => linears(values),
                AttributeValue::Fixed(Value::Bool(flag)) => json!(flag),
                AttributeValue::Fixed(Value::Float(value)) => float(*value),
                AttributeValue::Fixed(Value::Floats(values)) => values.iter().map(|value| float(*value)).collect(),
                AttributeValue::Fixed(Value::Int(value)) => json!(value),
                AttributeValue::Fixed(Value::Ints(values)) => json!(values),
                AttributeValue::Fixed(Value::Text(text)) => json!(text),
            };
            Tree::Object(named.iter().map(|(name, given)| ((*name).to_owned(), value(given))).collect())
        }
    }
}

fn mode_name(mode: Beyond) -> &'static str {
    match mode {
        Beyond::Raise => "raise",
        Beyond::Clip => "clip",
        Beyond::Wrap => "wrap",
        Beyond::Refuse => "refuse",
    }
}
