//! Samples: small calls of every row of the catalogue. The tests of every frontend run them, so each row is tested with
//! every kind of array: strided, broadcast, empty, zero-dimensional and aliased.
//!
//! Invariant: every row has samples, including one that fails if the row can fail.

pub use crate::routine::Value;
use crate::{COMPOSITE, Class, Point, PointRow, Routine, STRUCTURED};
use forerun_base::DType;
use forerun_base::DType::{BF16, Bool, C64, C128, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};

pub(crate) const NUMBERS: [DType; 12] = [I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64];
const FLOATS: [DType; 4] = [F16, BF16, F32, F64];
pub(crate) const COMPLEX: [DType; 2] = [C64, C128];
/// The dtypes with an order, which most samples use.
pub const REAL: [DType; 13] = [Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64];

/// One call of an op.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The name of the op's row.
    pub op: &'static str,
    /// The arrays and scalars passed to it.
    pub inputs: Vec<Input>,
    /// Keyword arguments.
    pub args: Vec<(&'static str, Value)>,
    /// The dtypes to try.
    pub dtypes: Vec<DType>,
    /// The expected error, raised at the call or at the read.
    pub error: Option<String>,
}

/// An input of a sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Its shape, as the op sees it.
    pub shape: Vec<usize>,
    /// The memory layout.
    pub look: Look,
    /// The elements.
    pub values: Values,
    /// The dtype, if it differs from the one being tried.
    pub dtype: Option<DType>,
}

/// A memory layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Row-major.
    Dense,
    /// Column-major.
    Transposed,
    /// Every second element of each row, from the end.
    Backwards,
    /// One row, repeated with stride 0.
    Repeated,
    /// A scalar instead of an array: true, 2 or 1.5, depending on the dtype.
    Number,
    /// The same array as the first input.
    Tied,
}

/// The elements of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Small numbers of both signs.
    Ordinary,
    /// Numbers above zero.
    Positive,
    /// Edge cases: zeros of both signs, infinities, NaN, numbers that overflow.
    Special,
    /// Integers from 0 on, each one twice.
    Rising,
    /// Indices on an axis of this extent, some of them negative.
    Index(usize),
    /// The same, with some out of range; the first such index is the extent.
    Beyond(usize),
    /// Stacks of positive definite matrices with this many rows.
    Definite(usize),
}

impl Sample {
    pub(crate) fn on(mut self, inputs: impl Into<Vec<Input>>) -> Sample {
        self.inputs = inputs.into();
        self
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Sample {
        self.args.push((name, value.into()));
        self
    }

    pub(crate) fn of(mut self, dtypes: impl Into<Vec<DType>>) -> Sample {
        self.dtypes = dtypes.into();
        self
    }

    pub(crate) fn fails(mut self, text: impl Into<String>) -> Sample {
        self.error = Some(text.into());
        self
    }
}

impl Input {
    pub(crate) fn look(mut self, look: Look) -> Input {
        self.look = look;
        self
    }

    pub(crate) fn values(mut self, values: Values) -> Input {
        self.values = values;
        self
    }

    pub(crate) fn dtype(mut self, dtype: DType) -> Input {
        self.dtype = Some(dtype);
        self
    }
}

pub(crate) fn call(op: &'static str) -> Sample {
    Sample { op, inputs: Vec::new(), args: Vec::new(), dtypes: REAL.to_vec(), error: None }
}

pub(crate) fn x<const N: usize>(shape: [usize; N]) -> Input {
    Input { shape: shape.to_vec(), look: Look::Dense, values: Values::Ordinary, dtype: None }
}

/// Indices on an axis, as int64.
pub(crate) fn at<const N: usize>(shape: [usize; N], extent: usize) -> Input {
    x(shape).values(Values::Index(extent)).dtype(I64)
}

/// Every sample of the catalogue.
pub fn samples() -> Vec<Sample> {
    let mut all: Vec<Sample> = Point::ALL.iter().flat_map(|p| pointwise(p.row())).collect();
    all.extend(reductions());
    all.extend(rows());
    all.extend(structured());
    all.extend(composites());
    all.extend(layers());
    all.extend(complex());
    all.extend(Routine::samples());
    all
}

/// The names of all rows.
pub fn names() -> impl Iterator<Item = &'static str> {
    let points = Point::ALL.iter().map(|p| p.row().name);
    let structured = STRUCTURED.iter().map(|(_, row)| row.name);
    let routines = Routine::all().into_iter().map(Routine::name);
    points.chain(structured).chain(routines).chain(COMPOSITE.iter().map(|row| row.name))
}

/// One input in every layout.
fn looks() -> Vec<Input> {
    vec![
        x([40]).values(Values::Special),
        x([3, 4]).look(Look::Transposed),
        x([2, 5]).look(Look::Backwards),
        x([4, 3]).look(Look::Repeated),
        x([0, 3]),
        x([]),
    ]
}

fn pointwise(row: &PointRow) -> Vec<Sample> {
    let name = row.name;
    if row.point == Point::Cast {
        let mut all: Vec<Sample> = DType::ALL.iter().flat_map(|d| looks().into_iter().map(|x| cast(x, *d))).collect();
        for to in [Bool, C64, C128] {
            all.extend(looks().into_iter().map(|x| cast(x, to).of(COMPLEX)));
        }
        let text = "cast: cannot cast complex64 to float32: the imaginary part would be lost";
        all.push(cast(x([2]), F32).of([C64]).fails(text));
        return all;
    }
    let (fits, refused): (Vec<DType>, Vec<DType>) = DType::ALL.iter().partition(|d| row.types(**d).is_ok());
    let condition = |shape: Input| shape.dtype(Bool).values(Values::Ordinary);
    let mut all: Vec<Sample> = Vec::new();
    // An integer to a negative power is not an integer.
    let exponents = |[a, b]: [Input; 2]| match (name, b.look) {
        ("power", Look::Tied) => vec![a.values(Values::Positive), b],
        ("power", _) => vec![a, b.values(Values::Positive)],
        // Far from zero, only the magnitude of the result is specified.
        ("polygamma", _) => vec![a.values(Values::Positive), b.values(Values::Positive)],
        _ => vec![a, b],
    };
    for inputs in match row.arity {
        1 => looks().into_iter().map(|x| vec![x]).collect(),
        arity => pairs(arity == 2).into_iter().map(exponents).collect::<Vec<_>>(),
    } {
        let mut inputs = inputs;
        if row.class == Class::Select {
            inputs.insert(0, condition(inputs[0].clone()));
        } else if row.arity == 3 {
            inputs.push(x([]).look(Look::Number));
        }
        all.push(call(name).on(inputs).of(fits.clone()));
    }
    let few = || (0..row.arity).map(|_| x([2]).values(Values::Positive)).collect::<Vec<_>>();
    all.extend(refused.iter().map(|d| call(name).on(few()).of([*d]).fails(format!("{name}: not defined for {d}"))));
    if row.arity > 1 {
        let mut apart = few();
        apart[0] = x([2, 3]);
        if row.class == Class::Select {
            apart[0] = condition(apart[0].clone());
        }
        let text = format!("{name}: operands could not be broadcast together with shapes (2, 3) (2,)");
        all.push(call(name).on(apart).of(fits).fails(text));
    }
    all
}

fn cast(input: Input, to: DType) -> Sample {
    // The result of a cast that overflows is unspecified.
    call("cast").on([input.values(Values::Ordinary)]).with("dtype", to.name())
}

/// Two operands, in every layout and every way of broadcasting; with `numbers`, also scalars and aliased operands.
fn pairs(numbers: bool) -> Vec<[Input; 2]> {
    let special = |input: Input| input.values(Values::Special);
    let mut all = vec![
        [special(x([40])), special(x([40]))],
        [special(x([40, 1])), special(x([1, 40]))],
        [x([3, 4]).look(Look::Transposed), x([3, 4])],
        [x([3, 4]), x([4]).look(Look::Backwards)],
        [x([4, 3]).look(Look::Repeated), x([4, 1])],
        [x([]), x([2, 3])],
        [x([0, 3]), x([3])],
    ];
    if numbers {
        all.push([x([5]), x([]).look(Look::Number)]);
        all.push([x([]).look(Look::Number), x([5]).values(Values::Positive)]);
        all.push([x([5]), x([5]).look(Look::Tied)]);
    }
    all
}

fn reductions() -> Vec<Sample> {
    let mut all = Vec::new();
    for op in ["sum", "prod", "max", "min", "nanmax", "nanmin", "argmax", "argmin", "mean", "var", "std"] {
        let index = op.starts_with("arg");
        for input in [x([3, 4, 5]), x([5, 4, 3]).look(Look::Transposed), x([3, 2, 4]).look(Look::Backwards)] {
            let sample = call(op).on([input]);
            all.push(sample.clone());
            all.extend([0, 1, -1].map(|axis| sample.clone().with("axis", axis)));
            all.push(sample.clone().with("axis", 1).with("keepdims", true));
            if !index {
                all.push(sample.clone().with("axis", [0, 2]));
                all.push(sample.with("axis", [2]).with("keepdims", true));
            }
        }
        all.push(call(op).on([x([4, 3]).look(Look::Repeated)]).with("axis", 0));
        all.push(call(op).on([x([])]));
        all.push(call(op).on([x([3])]).with("axis", 1).fails(format!("{op}: axis 1 is out of bounds")));
        all.push(match op {
            "sum" | "prod" => call(op).on([x([0, 3])]).with("axis", 0),
            "mean" | "var" | "std" => call(op).on([x([2, 0])]).with("axis", 0),
            _ => call(op).on([x([0, 3])]).fails(format!("{op}: zero-size array (0, 3) has no identity")),
        });
    }
    for op in ["max", "min", "nanmax", "nanmin", "argmax", "argmin"] {
        all.push(call(op).on([x([40]).values(Values::Special)]));
    }
    all.push(call("var").on([x([3, 4])]).with("axis", 1).with("ddof", 1.0));
    all.push(call("std").on([x([3, 4])]).with("ddof", 2.0));
    all
}

fn rows() -> Vec<Sample> {
    let beyond = |extent: usize| x([3]).values(Values::Beyond(extent)).dtype(I64);
    let mut all = Vec::new();
    for axis in [0, 1, -1] {
        let take = call("take").with("axis", axis);
        all.push(take.clone().on([x([3, 3, 3]), at([2, 2], 3)]));
        all.push(take.clone().on([x([3, 3]).look(Look::Transposed), at([4], 3).dtype(I32)]));
        all.push(take.clone().on([x([3, 3]).look(Look::Repeated), at([3], 3).look(Look::Backwards)]));
        all.push(take.clone().on([x([3, 3]), beyond(3)]).with("mode", "clip"));
        all.push(take.on([x([3, 3]), beyond(3)]).with("mode", "wrap"));
        let add = call("scatter_add").with("axis", axis);
        all.push(add.clone().on([x([3, 3]), at([3], 3), x([3, 3])]));
        all.push(add.clone().on([x([3, 3]).look(Look::Transposed), at([3], 3), x([3, 3]).look(Look::Transposed)]));
        all.push(add.clone().on([x([3, 3]), at([3], 3), x([3, 1])]));
        all.push(add.on([x([3, 3]), beyond(3), x([3, 3])]).with("mode", "wrap"));
    }
    all.push(call("take").with("axis", 0).on([x([3]), at([], 3)]));
    all.push(call("take").with("axis", 0).on([x([0, 2]), at([0], 1)]));
    for look in [Look::Transposed, Look::Repeated, Look::Backwards] {
        all.push(call("transfer").on([x([3, 3]).look(look)]).with("device", 1));
    }
    all.push(call("transfer").on([x([0])]).with("device", 1));
    all.push(call("transfer").on([x([2])]).with("device", -1).fails("transfer: no device gpu(99)"));
    let bad = "index 3 is out of bounds for axis 0 with size 3";
    all.push(call("take").with("axis", 0).on([x([3, 2]), beyond(3)]).fails(format!("take: {bad}")));
    all.push(call("take").with("axis", 0).on([x([3]), x([2]).dtype(F32)]).fails("take: indices must be integers"));
    all.push(call("take").with("axis", 0).on([x([0]), at([2], 1)]).fails("take: axis 0 of (0,) is empty"));
    all.push(call("take").with("axis", 1).on([x([3]), at([2], 3)]).fails("take: axis 1 is out of bounds"));
    let add = || call("scatter_add").with("axis", 0);
    all.push(add().on([x([3]), beyond(3), x([3])]).fails(format!("scatter_add: {bad}")));
    all.push(
        add().on([x([3]), at([2], 3), x([4])]).fails("scatter_add: updates (4,) do not broadcast to the rows (2,)"),
    );
    all.push(call("embedding").on([at([2, 2], 5), x([5, 3])]));
    all.push(call("embedding").on([beyond(3), x([3, 2])]).of([F32]).fails(format!("take: {bad}")));
    for (axis, keepdims) in [(0, false), (1, true), (-1, false)] {
        let pick = || call("pick").with("axis", axis).with("keepdims", keepdims);
        all.push(pick().on([x([3, 3]), at([3], 3)]).with("mode", "clip"));
        all.push(pick().on([x([3, 3]).look(Look::Transposed), beyond(3)]).with("mode", "clip"));
        all.push(pick().on([x([3, 3]), beyond(3)]).with("mode", "wrap"));
        all.push(pick().on([x([3, 3, 3]), at([3, 3], 3).dtype(F32)]).with("mode", "clip").of([F32, I64]));
    }
    let pick = call("pick").with("axis", 1).with("keepdims", false).with("mode", "clip");
    all.push(pick.on([x([3, 4]), at([4], 4)]).fails("pick: index of shape (4,) does not fit (3, 4) without axis 1"));
    let hot = || call("one_hot").with("depth", 4).with("on_value", 2.5).with("off_value", -1.0);
    let named = [I8, I16, I32, I64, F16, F32, F64];
    all.push(hot().on([x([2, 3]).values(Values::Index(4))]).with("dtype", "float32").of(named));
    all.push(hot().on([x([3]).values(Values::Beyond(4))]).with("dtype", "float64").of(named));
    all.push(hot().on([x([]).values(Values::Index(4))]).with("dtype", "int64").of(named));
    all
}

fn structured() -> Vec<Sample> {
    let mut all = vec![
        call("view").on([x([2, 3])]).with("axes", [1, 0]),
        call("view").on([x([2, 3, 4]).look(Look::Backwards)]).with("axes", [2, 0, 1]),
        call("view").on([x([0, 2])]).with("axes", [1, 0]),
        call("view").on([x([2])]).with("axes", [1, 0]).fails("transpose: axis 1 is out of bounds"),
        call("update").on([x([4, 3]), x([3, 3])]),
        call("update").on([x([4, 3]).look(Look::Transposed), x([3])]),
        call("update").on([x([4, 3]), x([]).look(Look::Number)]),
        call("update")
            .on([x([4]), x([4])])
            .fails("setitem: could not broadcast input array from shape (4,) into shape (3,)"),
        call("full").with("shape", [2, 3]).with("value", 3),
        call("full").with("shape", [0]).with("value", 3),
        call("full").with("shape", [2]).with("value", 1 << 40).of([I8, U8, I16, U16, I32, U32]).fails("full: "),
        call("full").with("shape", [2]).with("value", -1).of([U8, U16, U32, U64]).fails("full: integer -1 is out of"),
        call("arange").with("start", 2).with("stop", 11).with("step", 3).of(NUMBERS),
        call("arange").with("start", 1.5).with("stop", -2.0).with("step", -0.5).of(FLOATS),
        call("arange")
            .with("start", 0)
            .with("stop", 1)
            .with("step", 0)
            .of([I64])
            .fails("arange: step must not be zero"),
        call("eye").with("rows", 3).with("columns", 4).with("diagonal", -1),
        call("eye").with("rows", 2).with("columns", 0).with("diagonal", 0),
    ];
    for op in ["normal", "uniform"] {
        all.push(call(op).with("shape", [3, 5]).of(FLOATS));
        all.push(call(op).with("shape", [2]).of([I32]).fails(format!("{op}: needs a float dtype, not int32")));
    }
    for op in ["matmul", "dot"] {
        for (a, b) in [
            (x([3, 4]), x([4, 5])),
            (x([4]), x([4])),
            (x([3, 4]).look(Look::Transposed), x([4]).look(Look::Backwards)),
            (x([3, 0]), x([0, 2])),
            (x([4, 4]), x([4, 4]).look(Look::Tied)),
        ] {
            all.push(call(op).on([a, b]).of(NUMBERS));
        }
        let text = "inner dimensions differ: (2, 3) x (2, 3)";
        all.push(call(op).on([x([2, 3]), x([2, 3])]).of(NUMBERS).fails(text));
        all.push(call(op).on([x([2, 2]), x([2, 2])]).of([Bool]).fails("not defined for bool"));
    }
    all.push(call("matmul").on([x([2, 1, 3, 4]), x([5, 4, 2])]).of(NUMBERS));
    all.push(call("matmul").on([x([]), x([2])]).of(NUMBERS).fails("matmul: needs at least one dimension: () x (2,)"));
    all.push(call("dot").on([x([]), x([2, 3])]).of(NUMBERS));
    all.push(call("dot").on([x([2, 3, 4]), x([5, 4, 2])]).of(NUMBERS));
    for axis in [0, 1, -1] {
        let join = call("concatenate").with("axis", axis);
        all.push(join.clone().on([x([2, 2]), x([2, 2]).look(Look::Transposed), x([2, 2]).look(Look::Repeated)]));
        all.push(join.on([x([2, 2]), x([2, 2]).look(Look::Tied)]));
    }
    let join = call("concatenate").with("axis", 0);
    all.push(join.clone().on([x([0, 2]), x([3, 2])]));
    all.push(join.on([x([2, 3]), x([3, 2])]).fails("concatenate: shapes differ outside axis 0: (2, 3) and (3, 2)"));
    all
}

/// Samples for complex numbers: moves, sums and products.
fn complex() -> Vec<Sample> {
    let mut all = Vec::new();
    for op in ["sum", "prod", "mean", "var", "std"] {
        for input in [x([3, 4, 5]), x([5, 4]).look(Look::Transposed), x([3, 4]).look(Look::Backwards), x([])] {
            all.push(call(op).on([input]).of(COMPLEX));
        }
        all.push(call(op).on([x([3, 4, 5])]).with("axis", [0, 2]).of(COMPLEX));
        all.push(call(op).on([x([3, 4])]).with("axis", -1).with("keepdims", true).of(COMPLEX));
    }
    all.push(call("sum").on([x([0, 3])]).with("axis", 0).of(COMPLEX));
    all.push(call("prod").on([x([0, 3])]).with("axis", 0).of(COMPLEX));
    for op in ["max", "min", "nanmax", "nanmin", "argmax", "argmin"] {
        all.push(call(op).on([x([3])]).of([C64]).fails(format!("{op}: not defined for complex64")));
    }
    for op in ["matmul", "dot"] {
        all.push(call(op).on([x([3, 4]), x([4, 5]).look(Look::Transposed)]).of(COMPLEX));
        all.push(call(op).on([x([4]), x([4]).look(Look::Backwards)]).of(COMPLEX));
    }
    all.push(call("take").with("axis", 1).on([x([3, 4]), at([3], 4)]).of(COMPLEX));
    all.push(call("scatter_add").with("axis", 0).on([x([3, 3]), at([3], 3), x([3, 3])]).of(COMPLEX));
    all.push(call("concatenate").with("axis", 1).on([x([2, 2]), x([2, 3]).look(Look::Backwards)]).of(COMPLEX));
    all.push(call("view").on([x([2, 3])]).with("axes", [1, 0]).of(COMPLEX));
    all.push(call("update").on([x([4, 3]), x([3])]).of(COMPLEX));
    all.push(call("update").on([x([4, 3]), x([]).look(Look::Number)]).of(COMPLEX));
    all.push(call("full").with("shape", [2, 3]).with("value", 3).of(COMPLEX));
    all.push(call("eye").with("rows", 3).with("columns", 4).with("diagonal", 1).of(COMPLEX));
    all.push(call("arange").with("start", 2).with("stop", 11).with("step", 3).of(COMPLEX));
    all.push(call("transfer").on([x([3, 3]).look(Look::Transposed)]).with("device", 1).of(COMPLEX));
    all
}

fn composites() -> Vec<Sample> {
    let mut all = vec![
        call("clip").on([x([40]).values(Values::Special)]).with("low", -1.0).with("high", 1.5).of(FLOATS),
        call("clip").on([x([3, 4]).look(Look::Transposed)]).with("low", -1).of([I8, I16, I32, I64, F16, F32, F64]),
        call("clip").on([x([0])]).with("high", 1).of(NUMBERS),
    ];
    for op in ["softmax", "log_softmax"] {
        for axis in [0, -1] {
            all.extend(looks()[1..5].iter().map(|x| call(op).on([x.clone()]).with("axis", axis)));
        }
        all.push(call(op).on([x([2, 3])]).with("axis", 2).fails(format!("{op}: axis 2 is out of bounds")));
    }
    all
}

fn layers() -> Vec<Sample> {
    let mut all = Vec::new();
    let kinds = ["relu", "sigmoid", "tanh", "softrelu", "softsign", "silu", "gelu", "gelu_erf", "leaky", "elu", "selu"];
    for kind in kinds {
        for input in &looks()[1..] {
            all.push(
                call("activation").on([input.clone()]).with("kind", kind).of([I8, I32, I64, U8, F16, BF16, F32, F64]),
            );
        }
    }
    let norm = |name| call(name).with("axis", 1).with("eps", 1e-3).of(FLOATS);
    for input in [x([4, 3]), x([4, 3]).look(Look::Transposed), x([4, 3, 2])] {
        all.push(norm("layer_norm").on([input.clone(), x([3]), x([3])]));
        let statistics = [x([3]), x([3]).values(Values::Positive)];
        for (training, fix_gamma) in [(true, false), (false, false), (true, true)] {
            let batch = norm("batch_norm").with("momentum", 0.8).with("fix_gamma", fix_gamma);
            let inputs: Vec<Input> = [input.clone(), x([3]), x([3])].into_iter().chain(statistics.clone()).collect();
            all.push(batch.with("training", training).on(inputs));
        }
    }
    for input in [x([4, 3]), x([4, 3]).look(Look::Transposed), x([4, 3, 2])] {
        all.push(norm("rms_norm").on([input.clone(), x([3])]));
        all.push(call("prelu").on([input.clone(), x([3])]).of([I32, F16, BF16, F32, F64]));
        all.push(call("prelu").on([input, x([1])]).of(FLOATS));
    }
    for input in [x([2, 3, 5]), x([3, 3, 2, 2]).look(Look::Transposed), x([0, 3, 2])] {
        all.push(norm("instance_norm").on([input, x([3]), x([3])]));
    }
    let group = |groups: i64| call("group_norm").with("groups", groups).with("eps", 1e-3).of(FLOATS);
    for (groups, input) in [(2, x([3, 4])), (1, x([2, 4, 3])), (4, x([2, 4, 3]).look(Look::Transposed))] {
        all.push(group(groups).on([input, x([4]), x([4])]));
    }
    let text = "group_norm: 3 groups do not divide the channels of (2, 4, 3)";
    all.push(group(3).on([x([2, 4, 3]), x([4]), x([4])]).fails(text));
    let text = "instance_norm: needs samples, channels and further axes, got axis 1 of (2, 3)";
    all.push(norm("instance_norm").on([x([2, 3]), x([3]), x([3])]).fails(text));
    let text = "rms_norm: gamma of shape (2,) does not fit axis 1 of (4, 3)";
    all.push(norm("rms_norm").on([x([4, 3]), x([2])]).fails(text));
    let text = "prelu: slope of shape (2,) does not fit axis 1 of (4, 3)";
    all.push(call("prelu").on([x([4, 3]), x([2])]).of(FLOATS).fails(text));
    let misfit = "gamma of shape (2,) does not fit axis 1 of (4, 3)";
    all.push(norm("layer_norm").on([x([4, 3]), x([2]), x([3])]).fails(format!("layer_norm: {misfit}")));
    let batch = norm("batch_norm").with("momentum", 0.8).with("fix_gamma", false).with("training", true);
    all.push(batch.on([x([4, 3]), x([2]), x([3]), x([3]), x([3])]).fails(format!("batch_norm: {misfit}")));
    for (p, training) in [(0.4, true), (0.0, true), (1.0, true), (0.4, false)] {
        all.push(call("dropout").on([x([6, 5]).values(Values::Positive)]).with("p", p).with("training", training));
    }
    let text = "dropout: p must be between 0 and 1, not 1.5";
    all.push(call("dropout").on([x([2])]).with("p", 1.5).with("training", true).of(FLOATS).fails(text));
    let dense =
        |flatten: bool| call("fully_connected").with("flatten", flatten).of([I8, I32, I64, U8, F16, BF16, F32, F64]);
    all.push(dense(true).on([x([2, 3, 2]), x([4, 6]), x([4])]));
    all.push(dense(true).on([x([3, 2]).look(Look::Transposed), x([4, 2])]));
    all.push(dense(false).on([x([2, 3, 2]), x([4, 2]).look(Look::Transposed), x([4])]));
    all.push(dense(true).on([x([0, 2]), x([4, 2]), x([4])]));
    let text = "fully_connected: weight of shape (4, 5) does not fit an input of shape (2, 3)";
    all.push(dense(true).on([x([2, 3]), x([4, 5])]).fails(text));
    let text = "fully_connected: bias of shape (3,) does not fit 4 units";
    all.push(dense(true).on([x([2, 3]), x([4, 3]), x([3])]).fails(text));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_samples_and_every_sample_a_row() {
        let all = samples();
        // A user's kernel runs on a GPU only, so no sample of it has a value on every device.
        for name in names().filter(|name| !["user_kernel", "user_kernel_packed"].contains(name)) {
            assert!(all.iter().any(|s| s.op == name && s.error.is_none()), "{name} has no sample");
        }
        for sample in &all {
            assert!(names().any(|name| name == sample.op), "{} has no row", sample.op);
            assert!(!sample.dtypes.is_empty());
        }
    }

    #[test]
    fn what_takes_shapes_or_dtypes_has_a_sample_that_fails() {
        let all = samples();
        for name in names() {
            let point = Point::from_name(name).map(Point::row);
            // These rows take every dtype.
            let takes_all = point.is_some_and(|row| row.arity == 1 && DType::ALL.iter().all(|d| row.types(*d).is_ok()));
            if takes_all || ["eye", "clip", "activation", "one_hot"].contains(&name) {
                continue;
            }
            assert!(all.iter().any(|s| s.op == name && s.error.is_some()), "{name} has no sample that fails");
        }
    }
}
