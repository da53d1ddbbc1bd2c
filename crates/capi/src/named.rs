//! Ops by name, with named attributes, as the catalogue declares them.
//!
//! Pointwise ops and routines are called through their tables. The other ops have a line each.

use crate::caller::Outcome;
use crate::error::Failure;
use forerun::frontend::samples::{self, Value};
use forerun::frontend::{Attribute, AttributeKind, COMPOSITE, Op, STRUCTURED};
use forerun::ops::{Activation, BatchNormOptions, Channels};
use forerun::{Arg, Array, Beyond, DType, Device, Loc, Point, Routine, Scalar, ops};

/// The value of an attribute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Given<'a> {
    Number(Scalar),
    Integers(&'a [i64]),
    Floats(&'a [f64]),
    Text(&'a str),
}

/// The names of all ops that can be called.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    samples::names().filter(|name| !BY_FUNCTION.iter().any(|(other, _)| other == name))
}

/// Ops whose attributes are layouts, and the functions that take them.
const BY_FUNCTION: [(&str, &str); 2] =
    [("view", "forerun_reshape, forerun_transpose or forerun_slice"), ("update", "forerun_slice and forerun_assign")];

/// Attributes that have a default, besides flags and the optional attributes of routines.
const OPTIONAL: [(&str, &[&str]); 20] = [
    ("sum", &["axis"]),
    ("prod", &["axis"]),
    ("max", &["axis"]),
    ("min", &["axis"]),
    ("argmax", &["axis"]),
    ("argmin", &["axis"]),
    ("nanmax", &["axis"]),
    ("nanmin", &["axis"]),
    ("mean", &["axis"]),
    ("var", &["axis", "ddof"]),
    ("std", &["axis", "ddof"]),
    ("take", &["mode"]),
    ("scatter_add", &["mode"]),
    ("pick", &["mode"]),
    ("full", &["dtype"]),
    ("arange", &["dtype"]),
    ("eye", &["diagonal", "dtype"]),
    ("normal", &["mean", "scale", "dtype"]),
    ("uniform", &["low", "high", "dtype"]),
    ("one_hot", &["on", "off", "dtype"]),
];

/// The inputs and attributes of one call.
struct Call<'a> {
    op: &'static str,
    inputs: &'a [Arg<'a>],
    given: &'a [(&'a str, Given<'a>)],
}

impl<'a> Call<'a> {
    /// Checks the names of the attributes against those of the catalogue.
    fn check(&self, declared: &[Attribute]) -> Outcome<()> {
        for (place, (name, _)) in self.given.iter().enumerate() {
            if declared.iter().all(|attribute| attribute.name != *name) {
                return Err(Failure::kind(format!("unexpected attribute {name}")));
            }
            if self.given[..place].iter().any(|(earlier, _)| earlier == name) {
                return Err(Failure::kind(format!("attribute {name} is given twice")));
            }
        }
        let optional = OPTIONAL.iter().find(|(op, _)| *op == self.op).map_or(&[][..], |(_, names)| *names);
        for Attribute { name, kind } in declared {
            let has_default = optional.contains(name)
                || matches!(kind, AttributeKind::Flag | AttributeKind::OptionalFloat)
                || ["slope", "axes"].contains(name);
            if !has_default && self.find(name).is_none() {
                return Err(Failure::kind(format!("attribute {name} is missing")));
            }
        }
        Ok(())
    }

    fn find(&self, name: &str) -> Option<Given<'a>> {
        self.given.iter().find(|(other, _)| *other == name).map(|(_, value)| *value)
    }

    /// The value of an attribute, if it is given and of the right type.
    fn read<T>(&self, name: &str, kind: &str, read: impl FnOnce(Given<'a>) -> Option<T>) -> Outcome<Option<T>> {
        let Some(value) = self.find(name) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| Failure::kind(format!("attribute {name} must be {kind}, got {value:?}")))
    }

    fn number(&self, name: &str) -> Outcome<Option<Scalar>> {
        self.read(name, "a number", |value| if let Given::Number(number) = value { Some(number) } else { None })
    }

    fn float(&self, name: &str, default: f64) -> Outcome<f64> {
        let float = |value| match value {
            Given::Number(number @ (Scalar::Int(_) | Scalar::Large(_) | Scalar::Float(_))) => Some(number.as_f64()),
            _ => None,
        };
        Ok(self.read(name, "a float", float)?.unwrap_or(default))
    }

    fn integer(&self, name: &str) -> Outcome<isize> {
        let integer = |value| match value {
            Given::Number(Scalar::Int(number)) => Some(number as isize),
            _ => None,
        };
        Ok(self.read(name, "an integer", integer)?.unwrap_or(0))
    }

    fn size(&self, name: &str) -> Outcome<usize> {
        let size = self.integer(name)?;
        usize::try_from(size).map_err(|_| Failure::value(format!("{name} must not be negative, got {size}")))
    }

    fn flag(&self, name: &str) -> Outcome<bool> {
        let flag = |value| if let Given::Number(Scalar::Bool(flag)) = value { Some(flag) } else { None };
        Ok(self.read(name, "a truth value", flag)?.unwrap_or(false))
    }

    fn text(&self, name: &str) -> Outcome<Option<&'a str>> {
        self.read(name, "a name", |value| if let Given::Text(text) = value { Some(text) } else { None })
    }

    /// One integer or several.
    fn integers(&self, name: &str) -> Outcome<Option<Vec<isize>>> {
        self.read(name, "integers", |value| match value {
            Given::Number(Scalar::Int(number)) => Some(vec![number as isize]),
            Given::Integers(numbers) => Some(numbers.iter().map(|number| *number as isize).collect()),
            _ => None,
        })
    }

    fn shape(&self) -> Outcome<Vec<usize>> {
        let extents = self.integers("shape")?.unwrap_or_default();
        let extent = |extent: &isize| {
            usize::try_from(*extent)
                .map_err(|_| Failure::value(format!("an extent must not be negative, got {extent}")))
        };
        extents.iter().map(extent).collect()
    }

    fn dtype(&self) -> Outcome<Option<DType>> {
        let Some(name) = self.text("dtype")? else { return Ok(None) };
        DType::from_name(name).map(Some).ok_or_else(|| Failure::kind(format!("there is no dtype {name}")))
    }

    fn float_dtype(&self) -> Outcome<DType> {
        Ok(self.dtype()?.unwrap_or(DType::default_float()))
    }

    fn mode(&self) -> Outcome<Beyond> {
        let name = self.text("mode")?.unwrap_or("raise");
        Beyond::from_name(name).ok_or_else(|| Failure::value(format!("mode must be raise, clip or wrap, not {name}")))
    }

    /// The inputs as arrays, of which there must be as many as asked for.
    fn arrays<const N: usize>(&self) -> Outcome<[&'a Array; N]> {
        let arrays = self.every()?;
        let found = arrays.len();
        arrays.try_into().map_err(|_| self.miscounted(N, found))
    }

    fn every(&self) -> Outcome<Vec<&'a Array>> {
        let array = |arg: &Arg<'a>| match arg {
            Arg::Array(array) => Ok(*array),
            Arg::Scalar(_) => Err(Failure::kind("takes arrays, got a number")),
        };
        self.inputs.iter().map(array).collect()
    }

    fn miscounted(&self, wanted: usize, found: usize) -> Failure {
        Failure::kind(format!("takes {wanted} inputs, got {found}"))
    }

    fn run(&self, loc: Loc) -> Outcome<Vec<Array>> {
        if let Some(point) = Point::from_name(self.op) {
            return self.pointwise(point, loc).map(|made| vec![made]);
        }
        if let Some(routine) = Routine::from_name(self.op) {
            return self.routine(routine, loc).map(|made| vec![made]);
        }
        if let Some((_, function)) = BY_FUNCTION.iter().find(|(op, _)| *op == self.op) {
            return Err(Failure::value(format!("has no attributes in C: call {function}")));
        }
        let structured = STRUCTURED.iter().find(|(_, row)| row.name == self.op);
        let row = structured.map(|(_, row)| row).or_else(|| COMPOSITE.iter().find(|row| row.name == self.op));
        let Some(row) = row else { return Err(Failure::value("there is no op of that name")) };
        self.check(row.attributes)?;
        if let Some((Op::Reduce(kind), _)) = structured {
            let [x] = self.arrays()?;
            return Ok(vec![ops::reduce(*kind, x, self.integers("axis")?.as_deref(), self.flag("keepdims")?, loc)?]);
        }
        self.other(loc)
    }

    fn pointwise(&self, point: Point, loc: Loc) -> Outcome<Array> {
        if point == Point::Cast {
            let [x] = self.arrays()?;
            self.check(&[Attribute { name: "dtype", kind: AttributeKind::Other("dtype") }])?;
            return Ok(ops::cast(x, self.dtype()?.unwrap_or(x.dtype()), loc)?);
        }
        self.check(&[])?;
        if self.inputs.len() != point.row().arity {
            return Err(self.miscounted(point.row().arity, self.inputs.len()));
        }
        if !self.inputs.iter().any(|input| matches!(input, Arg::Array(_))) {
            return Err(Failure::kind("needs at least one array, got numbers alone"));
        }
        Ok(ops::pointwise(point, self.inputs, loc)?)
    }

    fn routine(&self, routine: Routine, loc: Loc) -> Outcome<Array> {
        let declared = routine.attributes();
        self.check(declared)?;
        let mut values = Vec::with_capacity(declared.len());
        for Attribute { name, kind } in declared {
            if self.find(name).is_none() {
                continue;
            }
            let value = match kind {
                AttributeKind::Axis | AttributeKind::Integer => Value::Int(self.integer(name)? as i64),
                AttributeKind::Flag => Value::Bool(self.flag(name)?),
                AttributeKind::Float | AttributeKind::OptionalFloat => Value::Float(self.float(name, 0.0)?),
                AttributeKind::Integers => {
                    Value::Ints(self.integers(name)?.unwrap_or_default().iter().map(|number| *number as i64).collect())
                }
                AttributeKind::Floats => {
                    let floats = |value| if let Given::Floats(floats) = value { Some(floats.to_vec()) } else { None };
                    Value::Floats(self.read(name, "floats", floats)?.unwrap_or_default())
                }
                AttributeKind::Other(kind) => return Err(Failure::kind(format!("attribute {name} is a {kind}"))),
            };
            values.push((*name, value));
        }
        Ok(ops::routine_encoded(routine, &self.every()?, &routine.encode(&values)?, loc)?)
    }

    /// An op that is neither pointwise nor a reduction nor a routine.
    fn other(&self, loc: Loc) -> Outcome<Vec<Array>> {
        let (axis, eps) = (|| self.integer("axis"), || self.float("eps", 0.0));
        let (axes, keepdims) = (|| self.integers("axis"), || self.flag("keepdims"));
        Ok(vec![match self.op {
            "matmul" => {
                let [x, y] = self.arrays()?;
                ops::matmul(x, y, loc)?
            }
            "dot" => {
                let [x, y] = self.arrays()?;
                ops::dot(x, y, loc)?
            }
            "concatenate" => ops::concatenate(&self.every()?, axis()?, loc)?,
            "take" => {
                let [x, indices] = self.arrays()?;
                ops::take(x, indices, axis()?, self.mode()?, loc)?
            }
            "scatter_add" => {
                let [base, indices, updates] = self.arrays()?;
                ops::scatter_add(base, indices, updates, axis()?, self.mode()?, loc)?
            }
            "transfer" => {
                let [x] = self.arrays()?;
                ops::transfer(x, device(self.text("device")?.unwrap_or(""))?, loc)?
            }
            "full" => {
                let (_, value): ([&Array; 0], _) = (self.arrays()?, self.number("value")?.unwrap_or(Scalar::Int(0)));
                ops::full(&self.shape()?, value, self.dtype()?.unwrap_or(value.default_dtype()), loc)?
            }
            "arange" => {
                let _: [&Array; 0] = self.arrays()?;
                let [start, stop, step] = ["start", "stop", "step"].map(|name| self.number(name));
                let number = |given: Outcome<Option<Scalar>>| given.map(|number| number.unwrap_or(Scalar::Int(0)));
                ops::arange(number(start)?, number(stop)?, number(step)?, self.dtype()?, loc)?
            }
            "eye" => {
                let _: [&Array; 0] = self.arrays()?;
                let (rows, columns) = (self.size("rows")?, self.size("columns")?);
                ops::eye(rows, columns, self.integer("diagonal")?, self.float_dtype()?, loc)?
            }
            "normal" => {
                let _: [&Array; 0] = self.arrays()?;
                let (mean, scale) = (self.float("mean", 0.0)?, self.float("scale", 1.0)?);
                ops::normal(&self.shape()?, mean, scale, self.float_dtype()?, loc)?
            }
            "uniform" => {
                let _: [&Array; 0] = self.arrays()?;
                let (low, high) = (self.float("low", 0.0)?, self.float("high", 1.0)?);
                ops::uniform(&self.shape()?, low, high, self.float_dtype()?, loc)?
            }
            "mean" => {
                let [x] = self.arrays()?;
                ops::mean(x, axes()?.as_deref(), keepdims()?, loc)?
            }
            "var" => {
                let [x] = self.arrays()?;
                ops::var(x, axes()?.as_deref(), self.float("ddof", 0.0)?, keepdims()?, loc)?
            }
            "std" => {
                let [x] = self.arrays()?;
                ops::std(x, axes()?.as_deref(), self.float("ddof", 0.0)?, keepdims()?, loc)?
            }
            "clip" => {
                let [Arg::Array(x), low, high] = self.inputs else {
                    return Err(Failure::kind("takes an array, a lower and an upper limit"));
                };
                ops::clip(x, Some(*low), Some(*high), loc)?
            }
            "softmax" => {
                let [x] = self.arrays()?;
                ops::softmax(x, axis()?, loc)?
            }
            "log_softmax" => {
                let [x] = self.arrays()?;
                ops::log_softmax(x, axis()?, loc)?
            }
            "layer_norm" => {
                let [x, gamma, beta] = self.arrays()?;
                ops::layer_norm(x, gamma, beta, axis()?, eps()?, loc)?
            }
            "rms_norm" => {
                let [x, gamma] = self.arrays()?;
                ops::rms_norm(x, gamma, axis()?, eps()?, loc)?
            }
            "group_norm" => {
                let [x, gamma, beta] = self.arrays()?;
                ops::group_norm(x, gamma, beta, self.size("groups")?, eps()?, loc)?
            }
            "instance_norm" => {
                let [x, gamma, beta] = self.arrays()?;
                ops::instance_norm(x, gamma, beta, axis()?, eps()?, loc)?
            }
            "batch_norm" => {
                let [x, gamma, beta, mean, variance] = self.arrays()?;
                let how = BatchNormOptions {
                    axis: axis()?,
                    eps: eps()?,
                    momentum: self.float("momentum", 0.0)?,
                    fix_gamma: self.flag("fix_gamma")?,
                    training: self.flag("training")?,
                };
                return Ok(ops::batch_norm(x, Channels { gamma, beta, mean, variance }, how, loc)?.into());
            }
            "activation" => {
                let ([x], kind) = (self.arrays()?, self.text("kind")?.unwrap_or(""));
                let kind = Activation::from_name(kind, self.float("slope", 0.25)?)
                    .ok_or_else(|| Failure::value(format!("there is no activation {kind}")))?;
                ops::activation(kind, x, loc)?
            }
            "prelu" => {
                let [x, slope] = self.arrays()?;
                ops::prelu(x, slope, loc)?
            }
            "dropout" => {
                let ([x], axes) = (self.arrays()?, self.integers("axes")?.unwrap_or_default());
                ops::dropout(x, self.float("p", 0.0)?, &axes, self.flag("training")?, loc)?
            }
            "fully_connected" => {
                let (inputs, flatten) = (self.every()?, self.flag("flatten")?);
                let (&[x, weight], bias) =
                    inputs.split_first_chunk().ok_or_else(|| self.miscounted(3, inputs.len()))?;
                if bias.len() > 1 {
                    return Err(self.miscounted(3, inputs.len()));
                }
                ops::fully_connected(x, weight, bias.first().copied(), flatten, loc)?
            }
            "one_hot" => {
                let ([indices], depth) = (self.arrays()?, self.size("depth")?);
                let [on, off] = [("on", 1.0), ("off", 0.0)].map(|(name, default)| self.float(name, default));
                ops::one_hot(indices, depth, Scalar::Float(on?), Scalar::Float(off?), self.float_dtype()?, loc)?
            }
            "pick" => {
                let [x, index] = self.arrays()?;
                ops::pick(x, index, axis()?, keepdims()?, self.mode()?, loc)?
            }
            "embedding" => {
                let [indices, weight] = self.arrays()?;
                ops::embedding(indices, weight, loc)?
            }
            _ => return Err(Failure::value("cannot be called by name")),
        }])
    }
}

/// A device by its name: its kind, and after a colon its number.
fn device(name: &str) -> Outcome<Device> {
    let (kind, number) = name.split_once(':').unwrap_or((name, "0"));
    match (kind, number.parse()) {
        ("cpu", Ok(number)) => Ok(Device::Cpu(number)),
        ("gpu", Ok(number)) => Ok(Device::Gpu(number)),
        _ => Err(Failure::value(format!("unknown device {name}; expected cpu, cpu:0, gpu or gpu:0"))),
    }
}

/// Submits an op by its name; returns its results.
pub(crate) fn call(name: &str, inputs: &[Arg<'_>], given: &[(&str, Given<'_>)], loc: Loc) -> Outcome<Vec<Array>> {
    let Some(op) = samples::names().find(|op| *op == name) else {
        return Err(Failure::value(format!("there is no op {name}")));
    };
    Call { op, inputs, given }.run(loc).map_err(|failure| failure.within(op))
}
