//! Prints `docs/catalogue.json`: a list of the ops that a record can name, one a line, for interfaces and tests in other languages.
//!
//! An op's name is its stable identifier. `inputs` are arrays in order (`variadic`: one or more of the last), `attributes` the
//! other arguments with their kinds, and `dtypes` maps the dtype of the operands to that of the result. A pointwise op also has its
//! class and its accuracy in units in the last place. `python` is the namespace of the generated function.

use forerun_base::{DType, Shape};
use forerun_ops::samples::{Sample, samples};
use forerun_ops::{Attribute, AttributeKind, Class, Namespace, Op, OpRow, Point, PointRow, Routine, STRUCTURED, infer};

fn main() {
    let samples = samples();
    let mut lines: Vec<String> = Point::ALL.iter().map(|point| pointwise(point.row())).collect();
    lines.extend(STRUCTURED.iter().map(|(op, row)| {
        let dtypes = tried(&samples, row).map(|(dtype, _)| (dtype, result(*op, dtype)));
        structured("structured", row, &dtypes.collect::<Vec<_>>())
    }));
    lines.extend(Routine::all().into_iter().map(|routine| {
        let dtypes = tried(&samples, routine.row()).map(|(dtype, sample)| (dtype, inferred(routine, sample, dtype)));
        structured("routine", routine.row(), &dtypes.collect::<Vec<_>>())
    }));
    println!("[\n{}\n]", lines.join(",\n"));
}

/// The dtypes that a row takes, each with a call: those that its samples are tried with.
fn tried<'a>(samples: &'a [Sample], row: &'a OpRow) -> impl Iterator<Item = (DType, &'a Sample)> {
    DType::ALL.into_iter().filter_map(|dtype| {
        let takes = |s: &&Sample| s.op == row.name && s.error.is_none() && s.dtypes.contains(&dtype);
        samples.iter().find(takes).map(|sample| (dtype, sample))
    })
}

/// The dtype of the result of a structured op that is no routine.
fn result(op: Op, dtype: DType) -> DType {
    match op {
        Op::Reduce(kind) => {
            infer::reduce(kind, dtype, &Shape::of(&[1]), 1, false).map_or(dtype, |(_, result, _)| result)
        }
        _ => dtype,
    }
}

/// The dtype of the result of a sample.
fn inferred(routine: Routine, sample: &Sample, dtype: DType) -> DType {
    let given: Vec<_> = sample.inputs.iter().map(|x| (x.dtype.unwrap_or(dtype), Shape::of(&x.shape))).collect();
    let attributes = routine.encode(&sample.args).expect("a sample names the attributes");
    routine.infer(&given, &attributes).expect("a sample that does not fail").0
}

fn pointwise(row: &PointRow) -> String {
    let cast = Attribute { name: "dtype", kind: AttributeKind::Other("dtype") };
    let attributes = if row.class == Class::Cast { vec![cast] } else { Vec::new() };
    let dtypes: Vec<_> = DType::ALL.into_iter().filter_map(|d| Some((d, row.types(d).ok()?.1))).collect();
    let about = format!(r#", "class": "{:?}", "ulp": {}"#, row.class, row.ulp);
    line(row.name, "pointwise", row.inputs(), "", &attributes, &dtypes, &about, row.python)
}

fn structured(tier: &str, row: &OpRow, dtypes: &[(DType, DType)]) -> String {
    let variadic = if row.variadic { r#", "variadic": true"# } else { "" };
    line(row.name, tier, row.inputs, variadic, row.attributes, dtypes, "", row.python.map(|python| python.namespace))
}

#[expect(clippy::too_many_arguments, reason = "the fields of a line")]
fn line(
    name: &str,
    tier: &str,
    inputs: &[&str],
    variadic: &str,
    attributes: &[Attribute],
    dtypes: &[(DType, DType)],
    about: &str,
    python: Option<Namespace>,
) -> String {
    let inputs: Vec<String> = inputs.iter().map(|input| format!("{input:?}")).collect();
    let attributes: Vec<String> = attributes.iter().map(|a| format!("{:?}: {:?}", a.name, a.kind.name())).collect();
    let dtypes: Vec<String> = dtypes.iter().map(|(from, to)| format!("{:?}: {:?}", from.name(), to.name())).collect();
    let python = python.map_or("null".to_owned(), |namespace| format!("{:?}", namespace.name()));
    format!(
        r#"{{"name": "{name}", "tier": "{tier}", "inputs": [{}]{variadic}, "attributes": {{{}}}, "outputs": 1, "dtypes": {{{}}}{about}, "python": {python}}}"#,
        inputs.join(", "),
        attributes.join(", "),
        dtypes.join(", ")
    )
}
