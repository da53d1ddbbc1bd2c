//! Prints `docs/reference.md`: every row of the catalogue with its arguments and dtypes.

use forerun_base::DType;
use forerun_ops::samples::{Sample, samples};
use forerun_ops::{COMPOSITE, Class, Linalg, Op, OpRow, Point, PointRow, Routine, STRUCTURED, gradient};

const OPENING: &str = "# Reference

Every op of the catalogue. This page is made from its rows by `cargo xtask gen`: do not edit it.

An op returns at once; reading its result waits for it. Mistakes in shapes and dtypes raise on the line that submits;
what only the data know (an index out of bounds) raises where the result is read, and names both lines.

Operands are promoted: within signed integers, within unsigned ones and within floats the wider dtype wins; a signed and an
unsigned integer become a signed one that holds both, or float64 where there is none; a float wins over integers and keeps
its width; a number in the program takes the width of the array it meets. *Float* below means a float dtype itself, and float32
for anything else but complex numbers, which stay. Half floats are computed in float32 and rounded after every op. Gradients flow to floats and complex numbers.
";

fn main() {
    let all = samples();
    print!("{OPENING}");
    println!("\n## Pointwise\n\nElement by element; shapes are broadcast together. Chains of them run in one pass.\n");
    println!("| call | takes | gives | gradient | what |\n|---|---|---|---|---|");
    Point::ALL.iter().for_each(|point| pointwise(point.row()));
    println!("\n## Structured\n\nWith kernels of their own.\n");
    println!("| call | takes | gradient | what |\n|---|---|---|---|");
    for (op, row) in STRUCTURED {
        let inputs = row.arity.map_or(1, usize::from);
        let smooth = (0..inputs).any(|i| !matches!(op, Op::Fill(_)) && gradient::needs(*op, i).is_some());
        structured(row, row.arguments, &all, if smooth { "yes" } else { "" });
    }
    println!("\n## Routines\n\nFunctions over dense arrays, one result each.\n");
    println!("| call | takes | gradient | what |\n|---|---|---|---|");
    for routine in Routine::all() {
        let row = routine.row();
        // The tape records these ops only to raise an error: they have no gradient.
        let refused = matches!(routine, Routine::Linalg(Linalg::Eig | Linalg::Eigvals));
        let smooth = !refused && (0..row.arity.map_or(1, usize::from)).any(|i| routine.needs(i).is_some());
        let arrays = Some(row.arguments).filter(|arrays| !arrays.is_empty());
        let arguments: Vec<&str> = arrays.into_iter().chain(routine.attributes().iter().map(|a| a.name)).collect();
        structured(row, &arguments.join(", "), &all, if smooth { "yes" } else { "" });
    }
    println!("\n## Composite\n\nFunctions over the ops above: they fuse, run, fail and have gradients as those do.\n");
    println!("| call | takes | gradient | what |\n|---|---|---|---|");
    for row in COMPOSITE {
        structured(row, row.arguments, &all, if row.name == "one_hot" { "" } else { "yes" });
    }
}

fn pointwise(row: &PointRow) {
    let arguments = match (row.class, row.arity) {
        (Class::Cast, _) => "x, dtype",
        (Class::Select, _) => "condition, x1, x2",
        (_, 1) => "x",
        (_, 3) => "x1, x2, x3",
        _ => "x1, x2",
    };
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

fn structured(row: &OpRow, arguments: &str, samples: &[Sample], smooth: &str) {
    // The dtypes of a row are those that its samples use.
    let tried = |d: &DType| samples.iter().any(|s| s.op == row.name && s.error.is_none() && s.dtypes.contains(d));
    let taken: Vec<DType> = DType::ALL.into_iter().filter(tried).collect();
    let first = row.doc.chars().next().into_iter().flat_map(char::to_uppercase);
    let doc: String = first.chain(row.doc.chars().skip(1)).collect();
    println!("| `{}({arguments})` | {} | {smooth} | {doc}. |", row.name, dtypes(&taken));
}

fn dtypes(taken: &[DType]) -> String {
    let missing: Vec<&str> = DType::ALL.iter().filter(|d| !taken.contains(d)).map(|d| d.name()).collect();
    match (taken.len(), missing.len()) {
        (_, 0) => "all".into(),
        (_, 1) => format!("all but {}", missing[0]),
        _ => taken.iter().map(|d| d.name()).collect::<Vec<_>>().join(", "),
    }
}
