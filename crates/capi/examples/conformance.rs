//! Prints the samples of the catalogue with their inputs and the results that Rust has, as `tests/c/conformance.c` reads
//! them: one word after another.
//!
//! | words | meaning |
//! |---|---|
//! | `op` NAME | a call begins |
//! | `array` LOOK DTYPE SHAPE BASE BYTES | an input of that shape: a look at a dense base of another shape |
//! | `number` KIND REAL IMAGINARY | a number as input: its kind, as doubles |
//! | `tied` | the first input again |
//! | `attribute` NAME KIND VALUE | an attribute, of the kind that C has for it |
//! | `result` DTYPE SHAPE BYTES | a result |
//! | `error` STATUS LENGTH TEXT | the expected error: its status, and a part of its text |
//! | `end` | the call ends |
//!
//! A shape is its rank and its extents; bytes are their number and two digits each.

#[path = "../../forerun/tests/sample_calls/mod.rs"]
mod sample_calls;

use forerun::frontend::samples::{Input, Look, Sample, Value, samples};
use forerun::{Array, DType, Error, ErrorKind, Scalar, seed};
use sample_calls::{base, base_shape, call, number};
use std::fmt::Write;

/// Ops whose result has the dtype of the sample, which C passes as an attribute.
const FILLS: [&str; 5] = ["full", "arange", "eye", "normal", "uniform"];

fn main() {
    let mut text = String::new();
    for sample in samples() {
        for dtype in &sample.dtypes {
            describe(&sample, *dtype, &mut text).expect("a string takes any text");
        }
    }
    print!("{text}");
}

fn shape(extents: &[usize]) -> String {
    let extents = extents.iter().map(|extent| format!(" {extent}")).collect::<String>();
    format!("{}{extents}", extents.split_whitespace().count())
}

fn bytes(bytes: &[u8]) -> String {
    let mut text = bytes.len().to_string();
    // A word of its own, also without bytes.
    text.push_str(" x");
    bytes.iter().for_each(|byte| write!(text, "{byte:02x}").expect("a string takes any text"));
    text
}

fn elements(array: &Array) -> Result<Vec<u8>, Error> {
    Ok(array.snapshot()?.to_bytes())
}

fn describe(sample: &Sample, dtype: DType, text: &mut String) -> std::fmt::Result {
    // Limits of one side are a function of their own in C, as they are a record of their own in Rust.
    let limits = ["low", "high"].map(|name| sample.args.iter().any(|(other, _)| *other == name));
    let op = match (sample.op, limits) {
        ("clip", [true, false]) => "maximum",
        ("clip", [false, true]) => "minimum",
        (op, _) => op,
    };
    writeln!(text, "op {op}")?;
    for (place, input) in sample.inputs.iter().enumerate() {
        describe_input(input, input.dtype.unwrap_or(dtype), place, text)?;
    }
    for (name, value) in &sample.args {
        let name = match (sample.op, *name) {
            ("clip", _) => {
                let (kind, real) = match value {
                    Value::Int(number) => (2, *number as f64),
                    Value::Float(number) => (4, *number),
                    other => panic!("{sample:?}: {other:?} is not a limit"),
                };
                writeln!(text, "number {kind} {real:e} 0")?;
                continue;
            }
            (_, "on_value") => "on",
            (_, "off_value") => "off",
            (_, name) => name,
        };
        let value = match value {
            Value::Int(number) if name == "device" => {
                let device = if *number < 0 { "gpu:99".to_owned() } else { format!("cpu:{number}") };
                format!("8 {device}")
            }
            Value::Bool(flag) => format!("1 {}", u8::from(*flag)),
            Value::Int(number) => format!("2 {number}"),
            Value::Float(number) => format!("4 {number:e}"),
            Value::Ints(numbers) => format!("6 {}", list(numbers, |number| number.to_string())),
            Value::Floats(numbers) => format!("7 {}", list(numbers, |number| format!("{number:e}"))),
            Value::Text(name) => format!("8 {name}"),
        };
        writeln!(text, "attribute {name} {value}")?;
    }
    if FILLS.contains(&sample.op) {
        writeln!(text, "attribute dtype 8 {}", dtype.name())?;
    }
    seed(3);
    let made = call(sample, dtype).and_then(|made| {
        let bytes = made.iter().map(elements).collect::<Result<Vec<_>, Error>>()?;
        Ok((made, bytes))
    });
    match (&sample.error, made) {
        (Some(expected), Err(error)) => writeln!(text, "error {} {} {expected}", status(error.kind()), expected.len())?,
        (None, Ok((made, contents))) => {
            for (array, content) in made.iter().zip(contents) {
                writeln!(text, "result {} {} {}", array.dtype() as i32, shape(&array.shape()), bytes(&content))?;
            }
        }
        (expected, made) => panic!("{sample:?} of {dtype}: {expected:?}, {:?}", made.err()),
    }
    writeln!(text, "end")
}

fn list<T>(items: &[T], show: impl Fn(&T) -> String) -> String {
    let shown: String = items.iter().map(|item| format!(" {}", show(item))).collect();
    format!("{}{shown}", items.len())
}

fn describe_input(input: &Input, dtype: DType, place: usize, text: &mut String) -> std::fmt::Result {
    let look = match input.look {
        Look::Dense => "dense",
        Look::Transposed => "transposed",
        Look::Backwards => "backwards",
        Look::Repeated => "repeated",
        Look::Tied => return writeln!(text, "tied"),
        Look::Number => {
            let (kind, real, imaginary) = match number(dtype) {
                Scalar::Bool(flag) => (1, u8::from(flag).into(), 0.0),
                Scalar::Int(number) => (2, number as f64, 0.0),
                Scalar::Large(number) => (3, number as f64, 0.0),
                Scalar::Float(number) => (4, number, 0.0),
                Scalar::Complex(real, imaginary) => (5, real, imaginary),
            };
            return writeln!(text, "number {kind} {real:e} {imaginary:e}");
        }
    };
    let content = elements(&base(input, dtype, place)).expect("an input does not fail");
    let (own, base) = (shape(&input.shape), shape(&base_shape(input)));
    writeln!(text, "array {look} {} {own} {base} {}", dtype as i32, bytes(&content))
}

fn status(kind: ErrorKind) -> i32 {
    match kind {
        ErrorKind::Value => 1,
        ErrorKind::Type => 2,
        ErrorKind::Index => 3,
        ErrorKind::Overflow => 4,
        ErrorKind::Float => 5,
        ErrorKind::Linear => 6,
        ErrorKind::Memory => 7,
        ErrorKind::Interrupted => 8,
        ErrorKind::Runtime => 9,
    }
}
