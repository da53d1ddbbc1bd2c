//! Evaluates the catalogue's gradient terms as ops on arrays. Terms of scalars only are computed immediately.

use crate::entry::Recorded;
use crate::shapes::sum_to;
use forerun_array::{Arg, Array, Attrs, Signature, ops};
use forerun_base::{DType, Error, ErrorKind, Kind, Loc, Result, Scalar};
use forerun_ops::gradient::{Flow, Needs, Term};
use forerun_ops::{Class, Op, Point};

/// For each argument of a record: which array input it is, or `None` for a scalar.
pub(crate) fn arguments(signature: &Signature) -> impl Iterator<Item = Option<usize>> + use<> {
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

/// The complex conjugate; other dtypes unchanged.
///
/// A rule multiplies the gradient by a derivative. For a complex function with a derivative, the gradient is multiplied
/// by the conjugate of the derivative. So the gradient is conjugated before the rule, and the result after it.
pub(crate) fn conjugate(x: &Array, loc: Loc) -> Result<Array> {
    if x.dtype().kind() != Kind::Complex {
        return Ok(x.clone());
    }
    let part = |point: Point| ops::pointwise(point, &[Arg::Array(x)], loc);
    let below = ops::pointwise(Point::Negative, &[Arg::Array(&part(Point::Imag)?)], loc)?;
    ops::pointwise(Point::Compose, &[Arg::Array(&part(Point::Real)?), Arg::Array(&below)], loc)
}

/// The gradient of the absolute value of complex numbers: away from zero, and zero at zero.
fn outwards(z: &Array, grad: &Array, loc: Loc) -> Result<Array> {
    let size = ops::pointwise(Point::Abs, &[Arg::Array(z)], loc)?;
    let none = ops::pointwise(Point::Equal, &[Arg::Array(&size), Arg::Scalar(Scalar::Int(0))], loc)?;
    let one = Arg::Scalar(Scalar::Int(1));
    let length = ops::pointwise(Point::Where, &[Arg::Array(&none), one, Arg::Array(&size)], loc)?;
    let share = ops::pointwise(Point::Divide, &[Arg::Array(grad), Arg::Array(&length)], loc)?;
    ops::pointwise(Point::Multiply, &[Arg::Array(z), Arg::Array(&share)], loc)
}

/// The gradients of the arguments of a recorded pointwise op; `None` for those that are zero or not needed.
pub(crate) fn flow_back(point: Point, recorded: &Recorded, grad: &Array, loc: Loc) -> Result<Vec<Option<Array>>> {
    let complex = recorded.signature.out.dtype.kind() == Kind::Complex;
    if complex && point == Point::Sign {
        let text = format!("no gradient for {}", recorded.signature.out.dtype);
        return Err(Error::new(ErrorKind::Type, text).in_op(point.row().name));
    }
    if let (Point::Abs, [Some(z)]) = (point, &recorded.inputs[..])
        && z.dtype().kind() == Kind::Complex
    {
        return Ok(vec![Some(outwards(z, grad, loc)?)]);
    }
    let turned = if complex { Some(conjugate(grad, loc)?) } else { None };
    let mut back: Vec<Option<Array>> = vec![None; recorded.edges.len()];
    for (flow, argument) in forerun_ops::gradient::pointwise(point).iter().zip(arguments(&recorded.signature)) {
        let Some(k) = argument else { continue };
        if recorded.edges[k].is_none() {
            continue;
        }
        if let Flow::Term(term) = flow {
            let shape = recorded.signature.inputs[k].shape();
            // A term that only moves the gradient is the same for complex numbers.
            let turned = turned.as_ref().filter(|_| flow.needs() != Needs::NOTHING);
            let mut array = match evaluate(term, recorded, turned.unwrap_or(grad), loc)? {
                Value::Array(array) => array,
                Value::Number(number) => ops::full(&grad.shape(), number, grad.dtype(), loc)?,
            };
            if turned.is_some() {
                array = conjugate(&array, loc)?;
            }
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
        Term::In(i) => argument(recorded, *i as usize, loc)?,
        Term::Number(number) => Value::Number(Scalar::Float(*number)),
        Term::Point(point, args) => {
            let values: Result<Vec<Value>> = args.iter().map(|a| evaluate(a, recorded, grad, loc)).collect();
            apply(*point, values?, loc)?
        }
    })
}

fn argument(recorded: &Recorded, i: usize, loc: Loc) -> Result<Value> {
    Ok(match arguments(&recorded.signature).nth(i).expect("a rule names arguments that exist") {
        Some(k) => Value::Array(recorded.inputs[k].clone().expect("the rule declared it")),
        None => match scalar(&recorded.signature, recorded.immediates, i) {
            (Scalar::Complex(re, 0.0), _) => Value::Number(Scalar::Float(re)),
            (number @ Scalar::Complex(..), dtype) => Value::Array(ops::full(&[], number, dtype, loc)?),
            (number, _) => Value::Number(number),
        },
    })
}

/// The scalar that is an argument of a record, and the dtype that it is used in.
pub(crate) fn scalar(signature: &Signature, immediates: [u64; 2], i: usize) -> (Scalar, DType) {
    let word = arguments(signature).take(i).filter(Option::is_none).count();
    let Attrs::Point { compute, .. } = signature.attrs else { unreachable!("scalars are pointwise") };
    let condition = i == 0 && is_select(signature.op);
    let dtype = if condition { DType::Bool } else { compute };
    (Scalar::from_bits(immediates[word], dtype), dtype)
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
