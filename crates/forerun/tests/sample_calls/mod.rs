//! Calls of the catalogue's samples through the typed functions of this crate. Tests of other frontends include this file,
//! and compare their results with these.

use forerun::frontend::samples::{Input, Look, Sample, Value, Values};
use forerun::frontend::{Op, STRUCTURED};
use forerun::ops::{Activation, BatchNormOptions, Channels};
use forerun::{Arg, Array, Beyond, DType, Device, Index, Kind, Loc, Point, Result, Routine, Scalar, array, ops};

const AT: Loc = Loc::UNKNOWN;

const EDGES: [f64; 10] = [0.0, -0.0, 1.0, -1.0, 0.5, 88.0, 1e30, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];

/// The n-th element of an input.
fn element(values: Values, whole: bool, n: usize, place: usize) -> f64 {
    let spread = ((n * 7 + place * 3) % 13) as f64 / 2.0 - 3.0;
    let cycle = |all: &[i64]| all[n % all.len()] as f64;
    match values {
        Values::Ordinary if whole => spread.floor(),
        Values::Ordinary => spread,
        Values::Positive if whole => 1.0 + (n % 3) as f64,
        Values::Positive => 4.0 + spread,
        Values::Special if whole => cycle(&[0, 1, -1, 2, -7, 100, -100]),
        Values::Special => EDGES[(n * (2 * place + 1) + n / EDGES.len()) % EDGES.len()],
        Values::Rising => (n / 2) as f64,
        Values::Index(e) => cycle(&[0, e as i64 - 1, -1, e as i64 / 2, -(e as i64)]),
        Values::Definite(e) => {
            let (i, j) = (n / e % e, n % e);
            if i == j { (e + i + 1) as f64 } else { 1.0 / (1.0 + i.abs_diff(j) as f64) }
        }
        Values::Beyond(e) => cycle(&[0, e as i64, -(e as i64) - 1, 2 * e as i64 + 1]),
    }
}

/// The shape of the array from which an input of this look is made.
pub(crate) fn base_shape(input: &Input) -> Vec<usize> {
    let mut shape = input.shape.clone();
    match input.look {
        Look::Dense | Look::Tied | Look::Number => {}
        Look::Transposed => shape.reverse(),
        Look::Backwards => *shape.last_mut().unwrap() *= 2,
        Look::Repeated => shape[0] = 1,
    }
    shape
}

/// The array from which an input is made: dense, with the input's elements.
pub(crate) fn base(input: &Input, dtype: DType, place: usize) -> Array {
    let (whole, shape) = (dtype.kind() != Kind::Float, base_shape(input));
    let numbers: Vec<f32> =
        (0..shape.iter().product()).map(|n| element(input.values, whole, n, place) as f32).collect();
    array(&numbers, &shape).cast(dtype)
}

/// The number that stands for an input of a dtype.
pub(crate) fn number(dtype: DType) -> Scalar {
    match dtype.kind() {
        Kind::Bool => Scalar::Bool(true),
        Kind::Int => Scalar::Int(2),
        Kind::Float => Scalar::Float(1.5),
        Kind::Complex => Scalar::Complex(1.5, -1.0),
    }
}

/// The inputs of a sample, with the required layouts.
fn inputs(sample: &Sample, dtype: DType) -> Vec<Operand> {
    let mut all: Vec<Operand> = Vec::new();
    for (place, input) in sample.inputs.iter().enumerate() {
        let dtype = input.dtype.unwrap_or(dtype);
        let made = || base(input, dtype, place);
        all.push(match input.look {
            Look::Dense => Operand::Array(made()),
            Look::Transposed => Operand::Array(made().t()),
            Look::Backwards => {
                let slice = Index::Slice { start: None, stop: None, step: -2 };
                Operand::Array(made().slice([Index::Ellipsis, slice]))
            }
            Look::Repeated => Operand::Array(ops::broadcast_to(&made(), &input.shape).unwrap()),
            Look::Tied => Operand::Array(all[0].array().clone()),
            Look::Number => Operand::Number(number(dtype)),
        });
    }
    all
}

enum Operand {
    Array(Array),
    Number(Scalar),
}

impl Operand {
    fn arg(&self) -> Arg<'_> {
        match self {
            Operand::Array(array) => Arg::Array(array),
            Operand::Number(number) => Arg::Scalar(*number),
        }
    }

    fn array(&self) -> &Array {
        match self {
            Operand::Array(array) => array,
            Operand::Number(_) => panic!("a number where an array should be"),
        }
    }
}

/// The arguments of a sample, by name.
struct Args<'a>(&'a Sample);

impl Args<'_> {
    fn get(&self, name: &str) -> Option<&Value> {
        self.0.args.iter().find(|(n, _)| *n == name).map(|(_, value)| value)
    }

    fn int(&self, name: &str) -> isize {
        match self.get(name) {
            Some(Value::Int(value)) => *value as isize,
            other => panic!("{}: {name} is {other:?}", self.0.op),
        }
    }

    fn ints(&self, name: &str) -> Option<Vec<isize>> {
        match self.get(name)? {
            Value::Int(value) => Some(vec![*value as isize]),
            Value::Ints(values) => Some(values.iter().map(|v| *v as isize).collect()),
            other => panic!("{}: {name} is {other:?}", self.0.op),
        }
    }

    fn number(&self, name: &str) -> Option<Scalar> {
        match self.get(name)? {
            Value::Int(value) => Some(Scalar::Int(*value)),
            Value::Float(value) => Some(Scalar::Float(*value)),
            other => panic!("{}: {name} is {other:?}", self.0.op),
        }
    }

    fn float(&self, name: &str) -> f64 {
        self.number(name).map_or(0.0, Scalar::as_f64)
    }

    fn flag(&self, name: &str) -> bool {
        self.get(name) == Some(&Value::Bool(true))
    }

    fn text(&self, name: &str) -> &'static str {
        match self.get(name) {
            Some(Value::Text(value)) => value,
            _ => "raise",
        }
    }

    fn shape(&self) -> Vec<usize> {
        self.ints("shape").unwrap_or_default().iter().map(|d| *d as usize).collect()
    }
}

/// Calls the op of a sample; returns its results, and the inputs that it wrote.
pub(crate) fn call(sample: &Sample, dtype: DType) -> Result<Vec<Array>> {
    let operands = inputs(sample, dtype);
    let args = Args(sample);
    let x = |k: usize| operands[k].array();
    let axes = args.ints("axis");
    let (axes, keepdims) = (axes.as_deref(), args.flag("keepdims"));
    let beyond = Beyond::from_name(args.text("mode")).unwrap();
    if let Some(point) = Point::from_name(sample.op) {
        if point == Point::Cast {
            return Ok(vec![ops::cast(x(0), DType::from_name(args.text("dtype")).unwrap(), AT)?]);
        }
        let all: Vec<Arg<'_>> = operands.iter().map(Operand::arg).collect();
        return Ok(vec![ops::pointwise(point, &all, AT)?]);
    }
    if let Some(routine) = Routine::from_name(sample.op) {
        let all: Vec<&Array> = operands.iter().map(Operand::array).collect();
        return Ok(vec![ops::routine_encoded(routine, &all, &routine.encode(&sample.args)?, AT)?]);
    }
    let structured = STRUCTURED.iter().find(|(_, row)| row.name == sample.op).map(|(op, _)| *op);
    if let Some(Op::Reduce(kind)) = structured {
        return Ok(vec![ops::reduce(kind, x(0), axes, keepdims, AT)?]);
    }
    Ok(vec![match sample.op {
        "view" => ops::transpose(x(0), args.ints("axes").as_deref())?,
        "matmul" => ops::matmul(x(0), x(1), AT)?,
        "dot" => ops::dot(x(0), x(1), AT)?,
        "concatenate" => {
            let all: Vec<&Array> = operands.iter().map(Operand::array).collect();
            ops::concatenate(&all, args.int("axis"), AT)?
        }
        "update" => {
            let base = ops::copy(x(0), AT)?;
            let rest = ops::index(&base, &[Index::Slice { start: Some(1), stop: None, step: 1 }])?;
            ops::assign(&rest, operands[1].arg(), AT)?;
            base
        }
        "transfer" => {
            let device = args.int("device");
            ops::transfer(x(0), if device < 0 { Device::Gpu(99) } else { Device::Cpu(device as u8) }, AT)?
        }
        "take" => ops::take(x(0), x(1), args.int("axis"), beyond, AT)?,
        "embedding" => ops::embedding(x(0), x(1), AT)?,
        "scatter_add" => ops::scatter_add(x(0), x(1), x(2), args.int("axis"), beyond, AT)?,
        "pick" => ops::pick(x(0), x(1), args.int("axis"), keepdims, beyond, AT)?,
        "one_hot" => {
            let (on, off) = (args.number("on_value").unwrap(), args.number("off_value").unwrap());
            let to = DType::from_name(args.text("dtype")).unwrap();
            ops::one_hot(x(0), args.int("depth") as usize, on, off, to, AT)?
        }
        "full" => ops::full(&args.shape(), args.number("value").unwrap(), dtype, AT)?,
        "arange" => {
            let [start, stop, step] = ["start", "stop", "step"].map(|name| args.number(name).unwrap());
            ops::arange(start, stop, step, Some(dtype), AT)?
        }
        "eye" => ops::eye(args.int("rows") as usize, args.int("columns") as usize, args.int("diagonal"), dtype, AT)?,
        "normal" => ops::normal(&args.shape(), 0.0, 1.0, dtype, AT)?,
        "uniform" => ops::uniform(&args.shape(), 0.0, 1.0, dtype, AT)?,
        "mean" => ops::mean(x(0), axes, keepdims, AT)?,
        "var" => ops::var(x(0), axes, args.float("ddof"), keepdims, AT)?,
        "std" => ops::std(x(0), axes, args.float("ddof"), keepdims, AT)?,
        "clip" => ops::clip(x(0), args.number("low").map(Arg::Scalar), args.number("high").map(Arg::Scalar), AT)?,
        "softmax" => ops::softmax(x(0), args.int("axis"), AT)?,
        "log_softmax" => ops::log_softmax(x(0), args.int("axis"), AT)?,
        "activation" => ops::activation(Activation::from_name(args.text("kind"), 0.25).unwrap(), x(0), AT)?,
        "dropout" => ops::dropout(x(0), args.float("p"), &[], args.flag("training"), AT)?,
        "fully_connected" => {
            ops::fully_connected(x(0), x(1), operands.get(2).map(Operand::array), args.flag("flatten"), AT)?
        }
        "rms_norm" => ops::rms_norm(x(0), x(1), args.int("axis"), args.float("eps"), AT)?,
        "group_norm" => ops::group_norm(x(0), x(1), x(2), args.int("groups") as usize, args.float("eps"), AT)?,
        "instance_norm" => ops::instance_norm(x(0), x(1), x(2), args.int("axis"), args.float("eps"), AT)?,
        "prelu" => ops::prelu(x(0), x(1), AT)?,
        "layer_norm" => ops::layer_norm(x(0), x(1), x(2), args.int("axis"), args.float("eps"), AT)?,
        "batch_norm" => {
            let channels = Channels { gamma: x(1), beta: x(2), mean: x(3), variance: x(4) };
            let how = BatchNormOptions {
                axis: args.int("axis"),
                eps: args.float("eps"),
                momentum: args.float("momentum"),
                fix_gamma: args.flag("fix_gamma"),
                training: args.flag("training"),
            };
            let made = ops::batch_norm(x(0), channels, how, AT)?;
            return Ok(made.into_iter().chain([x(3).clone(), x(4).clone()]).collect());
        }
        op => panic!("{op}: no call for this row"),
    }])
}
