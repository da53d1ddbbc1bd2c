//! Prints `docs/reference.md`: every row of the catalogue with its arguments and dtypes.

use forerun_base::DType;
use forerun_ops::samples::{Sample, samples};
use forerun_ops::{COMPOSITE, Class, Linalg, Op, OpRow, Point, PointRow, Routine, STRUCTURED, gradient};

const OPENING: &str = "# Reference

Every op of the catalogue. This page is generated from its rows by `cargo xtask gen`; do not edit it.

An op returns at once; reading its result waits for it. Shape and dtype errors raise on the line that submits the op. Errors
that depend on the data, such as an index out of bounds, raise where the result is read, and name both lines.

Operands are promoted as follows. Within signed integers, unsigned integers and floats, the wider dtype wins. A signed and an
unsigned integer give a signed integer that holds both, or float64 if there is none. A float wins over integers and keeps its
width. A Python number takes the width of the array it is combined with. *Float* below means: float and complex dtypes stay as
they are, all others become float32. Half floats are computed in float32 and rounded after every op. Floats and complex numbers
have gradients.
";

fn main() {
    let all = samples();
    print!("{OPENING}");
    println!("\n## Pointwise\n\nElement by element, with broadcasting. Chains of these ops are fused into one pass.\n");
    println!("| call | takes | gives | gradient | what |\n|---|---|---|---|---|");
    Point::ALL.iter().for_each(|point| pointwise(point.row()));
    println!("\n## Structured\n\nOps with their own inference and kernels, apart from routines.\n");
    println!("| call | takes | gradient | what |\n|---|---|---|---|");
    for (op, row) in STRUCTURED {
        let smooth = (0..row.inputs.len()).any(|i| !matches!(op, Op::Fill(_)) && gradient::needs(*op, i).is_some());
        structured(row, &all, smooth);
    }
    println!("\n## Routines\n\nStructured ops that are one function over dense arrays, with one result each.\n");
    println!("| call | takes | gradient | what |\n|---|---|---|---|");
    for routine in Routine::all() {
        let row = routine.row();
        // The tape records these ops only to raise an error: they have no gradient.
        let refused = matches!(routine, Routine::Linalg(Linalg::Eig | Linalg::Eigvals));
        let smooth = !refused && (0..row.inputs.len()).any(|i| routine.needs(i).is_some());
        structured(row, &all, smooth);
    }
    println!(
        "\n## Composite\n\nFunctions composed of the ops above; they are fused, fail and have gradients accordingly.\n"
    );
    println!("| call | takes | gradient | what |\n|---|---|---|---|");
    for row in COMPOSITE {
        structured(row, &all, row.name != "one_hot");
    }
}

fn pointwise(row: &PointRow) {
    let arguments = row.inputs().join(", ") + if row.class == Class::Cast { ", dtype" } else { "" };
    let taken: Vec<DType> = DType::ALL.into_iter().filter(|d| row.types(*d).is_ok()).collect();
    let gives = match row.class {
        Class::Any | Class::Number | Class::Bits | Class::Whole | Class::Select => "the same",
        Class::Float => "float",
        Class::Compare | Class::Logic | Class::Predicate => "bool",
        Class::Cast => "`dtype`",
        Class::Part => "its part",
        Class::Join => "complex",
    };
    let flows = gradient::pointwise(row.point);
    let smooth = match flows.iter().find(|flow| **flow != gradient::Flow::Nothing) {
        Some(gradient::Flow::Zero) => "zero",
        Some(_) => "yes",
        None => "",
    };
    let (name, doc) = (row.name, row.doc);
    println!("| `{name}({arguments})` | {} | {gives} | {smooth} | {doc} |", dtypes(&taken));
}

fn structured(row: &OpRow, samples: &[Sample], smooth: bool) {
    // The dtypes of a row are those that its samples use.
    let tried = |d: &DType| samples.iter().any(|s| s.op == row.name && s.error.is_none() && s.dtypes.contains(d));
    let taken: Vec<DType> = DType::ALL.into_iter().filter(tried).collect();
    let first = row.doc.chars().next().into_iter().flat_map(char::to_uppercase);
    let doc: String = first.chain(row.doc.chars().skip(1)).collect();
    let smooth = if smooth { "yes" } else { "" };
    println!("| `{}({})` | {} | {smooth} | {doc}. |", row.name, row.arguments(), dtypes(&taken));
}

fn dtypes(taken: &[DType]) -> String {
    let missing: Vec<&str> = DType::ALL.iter().filter(|d| !taken.contains(d)).map(|d| d.name()).collect();
    match (taken.len(), missing.len()) {
        (_, 0) => "all".into(),
        (_, 1) => format!("all but {}", missing[0]),
        _ => taken.iter().map(|d| d.name()).collect::<Vec<_>>().join(", "),
    }
}
