//! The catalogue's terms as ops on arrays. Parts that are numbers alone are worked out here and now.

use crate::entry::Recorded;
use crate::shapes::sum_to;
use forerun_array::{Arg, Array, Attrs, Signature, ops};
use forerun_base::{DType, Loc, Result, Scalar};
use forerun_ops::gradient::{Flow, Term};
use forerun_ops::{Class, Op, Point};

/// For each argument of a record: which array input it is, or `None` for a scalar.
pub(crate) fn arguments(signature: &'static Signature) -> impl Iterator<Item = Option<usize>> {
    let (scalars, arity) = match signature.attrs {
        Attrs::Point { scalars, arity, .. } => (scalars, arity as usize),
        _ => (0, signature.inputs.len()),
    };
    let mut next = 0;
    (0..arity).map(move |a| {
        if a < 8 && scalars >> a & 1 == 1 {
            return None;
        }
        next += 1;
        Some(next - 1)
    })
}

/// What flows back to the arguments of a recorded pointwise op; `None` for those that nothing, or zero, flows to.
pub(crate) fn flow_back(point: Point, recorded: &Recorded, grad: &Array, loc: Loc) -> Result<Vec<Option<Array>>> {
    let mut back: Vec<Option<Array>> = vec![None; recorded.edges.len()];
    for (flow, argument) in forerun_ops::gradient::pointwise(point).iter().zip(arguments(recorded.signature)) {
        let Some(k) = argument else { continue };
        if recorded.edges[k].is_none() {
            continue;
        }
        if let Flow::Term(term) = flow {
            let shape = recorded.signature.inputs[k].shape();
            let array = match evaluate(term, recorded, grad, loc)? {
                Value::Array(array) => array,
                Value::Number(number) => ops::full(&grad.shape(), number, grad.dtype(), loc)?,
            };
            back[k] = Some(sum_to(&array, &shape, loc)?);
        }
    }
    Ok(back)
}

enum Value {
    Array(Array),
    Number(Scalar),
}

impl Value {
    fn arg(&self) -> Arg<'_> {
        match self {
            Value::Array(array) => Arg::Array(array),
            Value::Number(number) => Arg::Scalar(*number),
        }
    }
}

fn evaluate(term: &Term, recorded: &Recorded, grad: &Array, loc: Loc) -> Result<Value> {
    Ok(match term {
        Term::Grad => Value::Array(grad.clone()),
        Term::Out => Value::Array(recorded.output.clone().expect("the rule declared it")),
        Term::In(i) => argument(recorded, *i as usize),
        Term::Number(number) => Value::Number(Scalar::Float(*number)),
        Term::Point(point, args) => {
            let values: Result<Vec<Value>> = args.iter().map(|a| evaluate(a, recorded, grad, loc)).collect();
            apply(*point, values?, loc)?
        }
    })
}

fn argument(recorded: &Recorded, i: usize) -> Value {
    match arguments(recorded.signature).nth(i).expect("a rule names arguments that exist") {
        Some(k) => Value::Array(recorded.inputs[k].clone().expect("the rule declared it")),
        None => {
            let word = arguments(recorded.signature).take(i).filter(Option::is_none).count();
            let Attrs::Point { compute, .. } = recorded.signature.attrs else { unreachable!("scalars are pointwise") };
            let condition = i == 0 && is_select(recorded.signature.op);
            let dtype = if condition { DType::Bool } else { compute };
            Value::Number(Scalar::from_bits(recorded.immediates[word], dtype))
        }
    }
}

fn is_select(op: Op) -> bool {
    matches!(op, Op::Point(point) if point.row().class == Class::Select)
}

fn apply(point: Point, values: Vec<Value>, loc: Loc) -> Result<Value> {
    if let (Point::Where, Value::Number(condition)) = (point, &values[0]) {
        let chosen = if condition.as_f64() != 0.0 { 1 } else { 2 };
        return Ok(values.into_iter().nth(chosen).expect("a choice has three arguments"));
    }
    let numbers: Option<Vec<f64>> = values
        .iter()
        .map(|v| match v {
            Value::Number(number) => Some(number.as_f64()),
            Value::Array(_) => None,
        })
        .collect();
    if let Some(number) = numbers.and_then(|n| point.of_numbers(&n)) {
        return Ok(Value::Number(Scalar::Float(number)));
    }
    let args: Vec<Arg<'_>> = values.iter().map(Value::arg).collect();
    Ok(Value::Array(ops::pointwise(point, &args, loc)?))
}
