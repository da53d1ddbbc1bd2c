//! Prints `tests/python/samples.json`: the samples of the catalogue for tests in other languages, one per line.

use forerun_ops::Routine;
use forerun_ops::samples::{Input, Look, REAL, Sample, Value, Values, samples};

fn main() {
    let lines: Vec<String> = samples().iter().map(line).collect();
    println!("[\n{}\n]", lines.join(",\n"));
}

fn text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn list<T>(items: &[T], show: impl Fn(&T) -> String) -> String {
    format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(", "))
}

/// A sample as JSON, without the fields that have their default value.
fn line(sample: &Sample) -> String {
    let mut parts = vec![format!("\"op\": {}", text(sample.op))];
    if Routine::from_name(sample.op).is_some() {
        parts.push("\"routine\": true".to_owned());
    }
    if !sample.inputs.is_empty() {
        parts.push(format!("\"inputs\": {}", list(&sample.inputs, input)));
    }
    if !sample.args.is_empty() {
        let args: Vec<String> = sample.args.iter().map(|(name, v)| format!("{}: {}", text(name), value(v))).collect();
        parts.push(format!("\"args\": {{{}}}", args.join(", ")));
    }
    if sample.dtypes != REAL {
        parts.push(format!("\"dtypes\": {}", list(&sample.dtypes, |d| text(d.name()))));
    }
    if let Some(error) = &sample.error {
        parts.push(format!("\"error\": {}", text(error)));
    }
    format!("{{{}}}", parts.join(", "))
}

fn input(input: &Input) -> String {
    let mut parts = vec![format!("\"shape\": {}", list(&input.shape, usize::to_string))];
    let look = match input.look {
        Look::Dense => None,
        Look::Transposed => Some("transposed"),
        Look::Backwards => Some("backwards"),
        Look::Repeated => Some("repeated"),
        Look::Number => Some("number"),
        Look::Tied => Some("tied"),
    };
    parts.extend(look.map(|look| format!("\"look\": {}", text(look))));
    match input.values {
        Values::Ordinary => {}
        Values::Positive => parts.push("\"values\": \"positive\"".into()),
        Values::Special => parts.push("\"values\": \"special\"".into()),
        Values::Rising => parts.push("\"values\": \"rising\"".into()),
        Values::Index(extent) => parts.push(format!("\"values\": \"index\", \"extent\": {extent}")),
        Values::Definite(extent) => parts.push(format!("\"values\": \"definite\", \"extent\": {extent}")),
        Values::Beyond(extent) => parts.push(format!("\"values\": \"beyond\", \"extent\": {extent}")),
    }
    parts.extend(input.dtype.map(|dtype| format!("\"dtype\": {}", text(dtype.name()))));
    format!("{{{}}}", parts.join(", "))
}

fn value(value: &Value) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Ints(values) => list(values, i64::to_string),
        Value::Float(value) => format!("{value:?}"),
        Value::Floats(values) => list(values, |value| format!("{value:?}")),
        Value::Text(value) => text(value),
    }
}
