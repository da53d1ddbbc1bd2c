//! Every differentiable op of the catalogue against finite differences in float64, first and second order: plain,
//! broadcast, through views, with scalar arguments, with ties, empty, and written in place.

mod common;

use common::{array, check, check_first, numbers, tape_gradients, values};
use forerun_array::ops::{Activation, BatchNormOptions, Channels, Item};
use forerun_array::{Arg, Array, Index, ops};
use forerun_base::{DType, Loc, Result, Scalar};
use forerun_grad::{Differentiable, GradReq, attach_grad, gradients, record};
use forerun_ops::convolve::Window;
use forerun_ops::gradient::{Flow, pointwise};
use forerun_ops::masking::Compression;
use forerun_ops::samples::{Input, Look, Sample, Values, samples};
use forerun_ops::scattering::Rows;
use forerun_ops::{
    AlongAxis, AxisIndexing, Beyond, COMPOSITE, Class, List, Masking, Op, Point, ReduceKind, Routine, STRUCTURED, Scan,
    Scattering,
};

fn loc() -> Loc {
    Loc::default()
}

fn point(p: Point, args: &[Arg<'_>]) -> Array {
    ops::pointwise(p, args, loc()).unwrap()
}

fn arrays<'a>(x: &'a [Array]) -> Vec<Arg<'a>> {
    x.iter().map(Arg::Array).collect()
}

fn condition(shape: &[usize]) -> Array {
    let zero = Arg::Scalar(Scalar::Float(0.0));
    let x = array(shape, &numbers(shape.iter().product(), 5, -1.0, 1.0));
    point(Point::Greater, &[Arg::Array(&x), zero])
}

/// The op on its smooth arguments; arguments without a gradient are supplied: a condition, or a number.
fn apply(p: Point, x: &[Array]) -> Array {
    if p == Point::Cast {
        return ops::cast(&x[0], x[0].dtype(), loc()).unwrap();
    }
    let c = condition(&x[0].shape());
    let mut smooth = x.iter();
    let args: Vec<Arg<'_>> = pointwise(p)
        .iter()
        .map(|flow| match flow {
            Flow::Nothing if p == Point::Where => Arg::Array(&c),
            Flow::Nothing => Arg::Scalar(Scalar::Float(2.0)),
            _ => Arg::Array(smooth.next().unwrap()),
        })
        .collect();
    point(p, &args)
}

fn smooth_points() -> impl Iterator<Item = (Point, usize)> {
    // The parts of complex numbers have their own tests.
    let plain = |p: &&Point| !matches!(p.row().class, Class::Part | Class::Join);
    Point::ALL.iter().filter(plain).filter_map(|&p| {
        let count = pointwise(p).iter().filter(|f| **f != Flow::Nothing).count();
        (count > 0).then_some((p, count))
    })
}

/// Inputs away from integers, zeros and ties: positive, or their inverses for ops that require numbers above 1.
fn inputs(count: usize, shape: &[usize]) -> Vec<Array> {
    let size = shape.iter().product();
    (0..count).map(|k| array(shape, &numbers(size, 3 + 10 * k as u64, 0.2 + k as f64, 0.8 + k as f64))).collect()
}

fn is_smooth(p: Point, x: &[Array]) -> bool {
    values(&apply(p, x)).iter().all(|y| y.is_finite())
}

fn mapped(p: Point, x: &[Array]) -> Vec<Array> {
    x.iter().map(|x| point(p, &[Arg::Array(x)])).collect()
}

#[test]
fn every_smooth_pointwise_op() {
    for (p, count) in smooth_points() {
        let x = inputs(count, &[2, 3]);
        let x = if is_smooth(p, &x) { x } else { mapped(Point::Reciprocal, &x) };
        assert!(is_smooth(p, &x), "{p} is nowhere smooth");
        check(p.row().name, &|x| apply(p, x), &x);
    }
}

#[test]
fn every_smooth_pointwise_op_on_negative_numbers() {
    let mut tried = 0;
    for (p, count) in smooth_points() {
        let x = mapped(Point::Negative, &inputs(count, &[4]));
        if is_smooth(p, &x) {
            check(p.row().name, &|x| apply(p, x), &x);
            tried += 1;
        }
    }
    assert!(tried > 40, "{tried}");
}

#[test]
fn pointwise_ops_broadcast_back() {
    for (p, count) in smooth_points().filter(|(_, count)| *count == 2) {
        assert_eq!(count, 2);
        if p == Point::Where {
            continue;
        }
        let shapes: [(&[usize], &[usize]); 4] =
            [(&[2, 3], &[3]), (&[2, 1], &[1, 3]), (&[], &[2, 2]), (&[3, 1, 2], &[4, 1])];
        for (a, b) in shapes {
            let x = [inputs(2, a).remove(0), inputs(2, b).remove(1)];
            check(p.row().name, &|x| apply(p, x), &x);
        }
    }
}

#[test]
fn numbers_as_arguments() {
    for (p, count) in smooth_points().filter(|(p, count)| *count == 2 && *p != Point::Where) {
        let x = inputs(count, &[3]);
        let number = |v: f64| Arg::Scalar(Scalar::Float(v));
        check(p.row().name, &|x| point(p, &[Arg::Array(&x[0]), number(1.6)]), &x[..1]);
        check(p.row().name, &|x| point(p, &[number(0.4), Arg::Array(&x[0])]), &x[..1]);
    }
    let c = condition(&[3]);
    let x = inputs(1, &[3]);
    let zero = Arg::Scalar(Scalar::Float(0.0));
    check("where, a number", &|x| point(Point::Where, &[Arg::Array(&c), Arg::Array(&x[0]), zero]), &x);
    check("power 0", &|x| point(Point::Power, &[Arg::Array(&x[0]), zero]), &[array(&[2], &[0.0, 1.5])]);
    let two = Arg::Scalar(Scalar::Float(2.0));
    check("power 2 at 0", &|x| point(Point::Power, &[Arg::Array(&x[0]), two]), &[array(&[2], &[0.0, -1.5])]);
}

fn reduce(kind: ReduceKind, x: &Array, axes: Option<&[isize]>, keep: bool) -> Array {
    ops::reduce(kind, x, axes, keep, loc()).unwrap()
}

#[test]
fn every_reduction() {
    let x = [array(&[2, 3, 4], &numbers(24, 9, 0.5, 1.5))];
    for kind in
        [ReduceKind::Sum, ReduceKind::Prod, ReduceKind::Max, ReduceKind::Min, ReduceKind::NanMax, ReduceKind::NanMin]
    {
        let all: [Option<&[isize]>; 6] = [None, Some(&[0]), Some(&[1]), Some(&[-1]), Some(&[0, 2]), Some(&[])];
        for axes in all {
            for keep in [false, true] {
                check(&format!("{kind:?} over {axes:?}"), &|x| reduce(kind, &x[0], axes, keep), &x);
            }
        }
    }
    check("mean", &|x| ops::mean(&x[0], Some(&[1]), false, loc()).unwrap(), &x);
}

#[test]
fn products_with_zeros_are_right() {
    for zeros in [0, 1, 2] {
        let mut data = numbers(5, 4, 0.5, 1.5);
        data[..zeros].fill(0.0);
        check("prod", &|x| reduce(ReduceKind::Prod, &x[0], None, false), &[array(&[5], &data)]);
    }
}

#[test]
fn ties_share_evenly() {
    let tied = array(&[4], &[1.0, 3.0, 3.0, 2.0]);
    let g = tape_gradients(&|x| reduce(ReduceKind::Max, &x[0], None, false), &[tied], false);
    let g = values(&g[0]);
    assert_eq!((g[0], g[3], g[1] == g[2], g[1] > 0.0), (0.0, 0.0, true, true));
    let (a, b) = (array(&[3], &[1.0, 2.0, 3.0]), array(&[3], &[1.0, 3.0, 2.0]));
    check_first("maximum", &|x| point(Point::Maximum, &arrays(x)), &[a.clone(), b.clone()]);
    check_first("minimum", &|x| point(Point::Minimum, &arrays(x)), &[a, b]);
    check_first("abs at 0", &|x| point(Point::Abs, &arrays(x)), &[array(&[2], &[0.0, -1.0])]);
}

#[test]
fn matrix_products_of_every_kind() {
    let shapes: [(&[usize], &[usize]); 9] = [
        (&[2, 3], &[3, 4]),
        (&[3], &[3, 2]),
        (&[2, 3], &[3]),
        (&[3], &[3]),
        (&[5, 2, 3], &[3, 2]),
        (&[2, 3], &[4, 3, 2]),
        (&[2, 1, 2, 3], &[3, 3, 2]),
        (&[3], &[2, 3, 2]),
        (&[2, 2, 3], &[3]),
    ];
    for (a, b) in shapes {
        let x = [inputs(2, a).remove(0), inputs(2, b).remove(1)];
        check(&format!("matmul {a:?} {b:?}"), &|x| ops::matmul(&x[0], &x[1], loc()).unwrap(), &x);
        check(&format!("dot {a:?} {b:?}"), &|x| ops::dot(&x[0], &x[1], loc()).unwrap(), &x[..]);
    }
}

#[test]
fn matrix_products_of_transposed_views() {
    let x = [array(&[3, 2], &numbers(6, 1, -1.0, 1.0)), array(&[4, 3], &numbers(12, 2, -1.0, 1.0))];
    let t = |a: &Array| ops::transpose(a, None).unwrap();
    check("a.T b.T", &|x| ops::matmul(&t(&x[0]), &t(&x[1]), loc()).unwrap(), &x);
}

#[test]
fn concatenation_and_stacking() {
    let x = [inputs(2, &[2, 3]).remove(0), inputs(2, &[2, 3]).remove(1)];
    check("concatenate 0", &|x| ops::concatenate(&[&x[0], &x[1], &x[0]], 0, loc()).unwrap(), &x);
    check("concatenate 1", &|x| ops::concatenate(&[&x[0], &x[1]], -1, loc()).unwrap(), &x);
    check("stack", &|x| ops::stack(&[&x[0], &x[1]], 1, loc()).unwrap(), &x);
}

fn slice(start: isize, stop: isize, step: isize) -> Index {
    Index::Slice { start: Some(start), stop: Some(stop), step }
}

#[test]
fn views_of_every_kind() {
    let x = [array(&[3, 4], &numbers(12, 6, 0.5, 1.5))];
    let square = |a: &Array| point(Point::Square, &[Arg::Array(a)]);
    let view = |name: &str, f: &dyn Fn(&Array) -> Result<Array>| {
        check(name, &|x| square(&f(&x[0]).unwrap()), &x);
    };
    view("transpose", &|x| ops::transpose(x, None));
    view("reshape", &|x| ops::reshape(x, &[2, 6], loc()));
    view("reshape of a transpose", &|x| ops::reshape(&ops::transpose(x, None)?, &[6, 2], loc()));
    view("row", &|x| ops::index(x, &[Index::At(1)]));
    view("element", &|x| ops::index(x, &[Index::At(1), Index::At(-1)]));
    view("slice", &|x| ops::index(x, &[slice(0, 3, 2), slice(1, 3, 1)]));
    view("reversed", &|x| ops::index(x, &[Index::Slice { start: None, stop: None, step: -1 }]));
    view("reversed slice", &|x| ops::index(x, &[Index::ALL, slice(3, 0, -2)]));
    view("slice of a transpose", &|x| ops::index(&ops::transpose(x, None)?, &[slice(1, 4, 2)]));
    view("expand_dims", &|x| ops::expand_dims(x, 1));
    view("broadcast", &|x| ops::broadcast_to(x, &[2, 3, 4]));
    view("broadcast of a column", &|x| ops::broadcast_to(&ops::index(x, &[Index::ALL, slice(1, 2, 1)])?, &[3, 5]));
    view("empty", &|x| ops::index(x, &[slice(2, 2, 1)]));
}

#[test]
fn several_views_of_one_array_add_up() {
    let x = [array(&[4], &[0.5, 1.0, 1.5, 2.0])];
    check(
        "neighbours",
        &|x| {
            let (left, right) =
                (ops::index(&x[0], &[slice(0, 3, 1)]).unwrap(), ops::index(&x[0], &[slice(1, 4, 1)]).unwrap());
            let product = point(Point::Multiply, &[Arg::Array(&left), Arg::Array(&right)]);
            let first = ops::index(&x[0], &[Index::At(0)]).unwrap();
            let sum = point(Point::Add, &[Arg::Array(&product), Arg::Array(&first)]);
            point(Point::Multiply, &[Arg::Array(&sum), Arg::Array(&reduce(ReduceKind::Sum, &x[0], None, false))])
        },
        &x,
    );
}

#[test]
fn writing_in_place_while_recording() {
    let x = [array(&[2, 3], &numbers(6, 8, 0.5, 1.5)), array(&[3], &numbers(3, 9, 0.5, 1.5))];
    let square = |a: &Array| point(Point::Square, &[Arg::Array(a)]);
    check(
        "in-place arithmetic",
        &|x| {
            let y = square(&x[0]);
            ops::in_place(Point::Multiply, &y, Arg::Array(&x[1]), loc()).unwrap();
            ops::in_place(Point::Add, &y, Arg::Scalar(Scalar::Float(1.0)), loc()).unwrap();
            let kept = square(&y);
            ops::in_place(Point::Divide, &y, Arg::Array(&x[0]), loc()).unwrap();
            point(Point::Multiply, &[Arg::Array(&kept), Arg::Array(&y)])
        },
        &x,
    );
    check(
        "a row overwritten",
        &|x| {
            let y = square(&x[0]);
            let before = point(Point::Exp, &[Arg::Array(&y)]);
            let row = ops::index(&y, &[Index::At(1)]).unwrap();
            ops::assign(&row, Arg::Array(&square(&x[1])), loc()).unwrap();
            ops::in_place(
                Point::Multiply,
                &ops::index(&y, &[Index::ALL, slice(0, 2, 1)]).unwrap(),
                Arg::Scalar(Scalar::Float(3.0)),
                loc(),
            )
            .unwrap();
            ops::assign(
                &ops::index(&y, &[Index::At(0), Index::At(0)]).unwrap(),
                Arg::Scalar(Scalar::Float(2.0)),
                loc(),
            )
            .unwrap();
            let after = point(Point::Multiply, &[Arg::Array(&square(&y)), Arg::Array(&before)]);
            point(Point::Add, &[Arg::Array(&after), Arg::Array(&row)])
        },
        &x,
    );
    check(
        "an array filled piece by piece",
        &|x| {
            let y = ops::full(&[2, 3], Scalar::Float(0.0), x[0].dtype(), loc()).unwrap();
            for i in 0..2 {
                let row = ops::index(&x[0], &[Index::At(i)]).unwrap();
                let value = point(Point::Multiply, &[Arg::Array(&row), Arg::Array(&x[1])]);
                ops::assign(&ops::index(&y, &[Index::At(1 - i)]).unwrap(), Arg::Array(&value), loc()).unwrap();
            }
            square(&y)
        },
        &x,
    );
    check(
        "a whole array assigned",
        &|x| {
            let y = square(&x[0]);
            ops::assign(&y, Arg::Array(&x[1]), loc()).unwrap();
            point(Point::Multiply, &[Arg::Array(&y), Arg::Array(&x[0])])
        },
        &x,
    );
}

fn integers(shape: &[usize], values: &[f64]) -> Array {
    ops::cast(&array(shape, values), DType::I64, loc()).unwrap()
}

#[test]
fn rows_by_indices() {
    let x = [array(&[3, 2], &numbers(6, 11, 0.5, 1.5)), array(&[4, 2], &numbers(8, 12, 0.5, 1.5))];
    let indices = integers(&[4], &[2.0, 0.0, 2.0, -1.0]);
    let square = |a: &Array| point(Point::Square, &[Arg::Array(a)]);
    check("take", &|x| square(&ops::take(&x[0], &indices, 0, Beyond::Raise, loc()).unwrap()), &x[..1]);
    let columns = integers(&[2, 1], &[1.0, 1.0]);
    check("take, axis 1", &|x| square(&ops::take(&x[0], &columns, 1, Beyond::Clip, loc()).unwrap()), &x[..1]);
    let added =
        |x: &[Array]| ops::scatter_add(&square(&x[0]), &indices, &square(&x[1]), 0, Beyond::Raise, loc()).unwrap();
    check("scatter_add", &|x| square(&added(x)), &x);
    let one_each = integers(&[4], &[1.0, 0.0, 0.0, 1.0]);
    check("pick", &|x| square(&ops::pick(&x[0], &one_each, 1, false, Beyond::Clip, loc()).unwrap()), &x[1..]);
}

/// Composites consist of ops with rules, so each differentiates twice. A new composite without a test fails here.
#[test]
fn every_composite_is_tested() {
    for row in COMPOSITE {
        let x = [array(&[3, 4], &numbers(12, 13, -1.0, 1.0)), array(&[4], &numbers(4, 14, 0.5, 1.5))];
        let y = [x[0].clone(), x[1].clone(), array(&[4], &numbers(4, 15, 0.5, 1.5))];
        let of = |inputs: &[Array], f: &dyn Fn(&[Array]) -> Result<Array>| check(row.name, &|x| f(x).unwrap(), inputs);
        match row.name {
            "mean" => of(&x[..1], &|x| ops::mean(&x[0], Some(&[1]), false, loc())),
            "dot" => of(&x, &|x| ops::dot(&x[0], &x[1], loc())),
            "var" => of(&x[..1], &|x| ops::var(&x[0], Some(&[0]), 1.0, false, loc())),
            "std" => of(&x[..1], &|x| ops::std(&x[0], Some(&[1]), 0.0, true, loc())),
            "clip" => {
                let bounds = [Some(Arg::Scalar(Scalar::Float(-0.4))), Some(Arg::Scalar(Scalar::Float(0.6)))];
                of(&x[..1], &|x| ops::clip(&x[0], bounds[0], bounds[1], loc()));
            }
            "softmax" => of(&x[..1], &|x| ops::softmax(&x[0], 1, loc())),
            "log_softmax" => of(&x[..1], &|x| ops::log_softmax(&x[0], 0, loc())),
            "layer_norm" => of(&y, &|x| ops::layer_norm(&x[0], &x[1], &x[2], -1, 1e-3, loc())),
            "rms_norm" => of(&y[..2], &|x| ops::rms_norm(&x[0], &x[1], -1, 1e-3, loc())),
            "group_norm" => of(&y, &|x| ops::group_norm(&x[0], &x[1], &x[2], 2, 1e-3, loc())),
            "instance_norm" => {
                let image = array(&[3, 4, 2], &numbers(24, 17, -1.0, 1.0));
                let inputs = [image, y[1].clone(), y[2].clone()];
                of(&inputs, &|x| ops::instance_norm(&x[0], &x[1], &x[2], 1, 1e-3, loc()));
            }
            "prelu" => of(&y[..2], &|x| ops::prelu(&x[0], &x[1], loc())),
            "batch_norm" => {
                let how = BatchNormOptions { axis: 1, eps: 1e-3, momentum: 0.9, fix_gamma: false, training: true };
                let running = array(&[4], &[0.5; 4]);
                of(&y, &|x| {
                    let channels = Channels { gamma: &x[1], beta: &x[2], mean: &running, variance: &running };
                    Ok(ops::batch_norm(&x[0], channels, how, loc())?[0].clone())
                });
                assert!(running.attachment().is_none(), "statistics stay off the tape");
            }
            "activation" => {
                let kinds = [Activation::Relu, Activation::Sigmoid, Activation::Tanh, Activation::Softrelu];
                let more = [Activation::Softsign, Activation::Silu, Activation::Gelu, Activation::Selu];
                let sloped = [Activation::Leaky(0.1), Activation::Elu(0.7), Activation::Swish(1.5)];
                for kind in kinds.into_iter().chain(more).chain(sloped).chain([Activation::GeluErf]) {
                    of(&x[..1], &|x| ops::activation(kind, &x[0], loc()));
                }
            }
            "dropout" => of(&x[..1], &|x| {
                forerun_array::seed(5);
                ops::dropout(&x[0], 0.5, &[], true, loc())
            }),
            "fully_connected" => {
                let weight = array(&[2, 4], &numbers(8, 16, -1.0, 1.0));
                let bias = array(&[2], &[0.1, 0.2]);
                of(&[x[0].clone(), weight, bias], &|x| ops::fully_connected(&x[0], &x[1], Some(&x[2]), true, loc()));
            }
            // Indices have no gradient; rows and picked elements are tested above.
            "one_hot" | "pick" | "embedding" => {}
            name => panic!("no test of the gradient of {name}"),
        }
    }
}

#[test]
fn empty_arrays() {
    let x = [array(&[0, 3], &[])];
    check_first("sum", &|x| reduce(ReduceKind::Sum, &x[0], Some(&[0]), false), &x);
    check_first("tanh", &|x| point(Point::Tanh, &arrays(x)), &x);
    check_first("matmul", &|x| ops::matmul(&x[0], &ops::transpose(&x[0], None).unwrap(), loc()).unwrap(), &x);
}

#[test]
fn routines() {
    let values: Vec<f64> = (0..12).map(|i| ((i * 7) % 12) as f64 * 0.25 - 1.2).collect();
    let x = array(&[3, 4], &values);
    let named = forerun_array::ops::from_slice(&[2i64, 0, 1, 1, 0, 2, 2, 2], &[2, 4], loc()).unwrap();
    let updates = array(&[2, 4], &values[..8]);
    let axis = AlongAxis { axis: 0 };
    for routine in Routine::all().into_iter().filter(|r| (0..2).any(|i| r.needs(i).is_some())) {
        match routine {
            // Tested in `linalg.rs`, `fft.rs`, `images.rs`, `vision.rs` and `recurrent.rs`.
            Routine::Linalg(_) | Routine::Fft(_) => {}
            Routine::Convolution(_) | Routine::Pooling(_) | Routine::BatchNorm(_) => {}
            Routine::Sampling(_) | Routine::Regions(_) => {}
            Routine::Recurrent(_) | Routine::Attention(_) | Routine::Ctc(_) => {}
            Routine::Masking(_) | Routine::Scattering(_) => chosen_and_placed(routine),
            Routine::Convolve(_) => convolved(routine),
            Routine::AxisIndexing(AxisIndexing::Take) => {
                let take = |x: &[Array]| ops::routine(routine, &[&x[0], &named], &axis, loc()).unwrap();
                check(routine.name(), &take, std::slice::from_ref(&x));
            }
            Routine::AxisIndexing(AxisIndexing::Add | AxisIndexing::Put) => {
                let update = |x: &[Array]| ops::routine(routine, &[&x[0], &named, &x[1]], &axis, loc()).unwrap();
                check(routine.name(), &update, &[x.clone(), updates.clone()]);
            }
            _ => sampled(routine),
        }
    }
}

/// Small samples of a routine with float inputs only, with other, pairwise distinct elements.
fn sampled(routine: Routine) {
    let is_small = |input: &Input| input.dtype.is_none() && (1..64).contains(&input.shape.iter().product::<usize>());
    let ordinary = |input: &Input| input.values == Values::Ordinary && input.look != Look::Repeated;
    let all = samples().into_iter().filter(|s| s.op == routine.name() && s.error.is_none());
    let fits = |s: &Sample| s.dtypes.contains(&DType::F64) && s.inputs.iter().all(|x| is_small(x) && ordinary(x));
    let mut tried = 0;
    for sample in all.filter(fits).take(4) {
        let encoded = routine.encode(&sample.args).unwrap();
        let input = |(n, input): (usize, &Input)| {
            let count: usize = input.shape.iter().product();
            let values = (0..count).map(|i| ((i * 7 + 3 * n) % 67) as f64 * 0.035 - 1.2).collect::<Vec<_>>();
            array(&input.shape, &values)
        };
        let inputs: Vec<Array> = sample.inputs.iter().enumerate().map(input).collect();
        let call = |x: &[Array]| ops::routine_encoded(routine, &x.iter().collect::<Vec<_>>(), &encoded, loc()).unwrap();
        check(routine.name(), &call, &inputs);
        tried += 1;
    }
    assert!(tried > 0, "{} has no sample to differentiate", routine.name());
}

/// A full convolution, a part of it, and more than its extent.
fn convolved(routine: Routine) {
    let vectors = [array(&[7], &numbers(7, 5, -1.0, 1.0)), array(&[3], &numbers(3, 3, -1.0, 1.0))];
    for (first, count) in [(0, 9), (2, 5), (-2, 14)] {
        let call = |x: &[Array]| ops::routine(routine, &[&x[0], &x[1]], &Window { first, count }, loc()).unwrap();
        check(routine.name(), &call, &vectors);
    }
}

fn chosen_and_placed(routine: Routine) {
    let x = array(&[3, 4], &numbers(12, 5, 0.5, 1.5));
    let mask = ops::from_slice(&[true, false, true], &[3], loc()).unwrap();
    let positions = ops::from_slice(&[1i64, 3, 1, 0], &[2, 2], loc()).unwrap();
    match routine {
        Routine::Masking(Masking::Compress) => {
            let compression = Compression { axis: 0, count: 2 };
            check("compress", &|x| ops::routine(routine, &[&x[0], &mask], &compression, loc()).unwrap(), &[x]);
        }
        Routine::Masking(Masking::Fill) => {
            let (values, axis) = (array(&[2, 4], &numbers(8, 3, 0.5, 1.5)), AlongAxis { axis: 0 });
            let fill = |x: &[Array]| ops::routine(routine, &[&x[0], &mask, &x[1]], &axis, loc()).unwrap();
            check("fill_chosen", &fill, &[x, values]);
        }
        Routine::Scattering(Scattering::Put) => {
            // Two rows at one position: the last one wins.
            let values = array(&[2, 2, 2], &numbers(8, 3, 0.5, 1.5));
            let rows = Rows { extents: List::from_slice(&[2]), strides: List::from_slice(&[8]), index: List::new() };
            let put = |x: &[Array]| ops::routine(routine, &[&x[0], &positions, &x[1]], &rows, loc()).unwrap();
            check("put", &put, &[x.clone(), values]);
            check("put one", &put, &[x, array(&[], &[0.75])]);
        }
        other => panic!("{} has no gradient", other.name()),
    }
}

#[test]
fn advanced_indexing() {
    let x = [array(&[3, 4, 2], &numbers(24, 7, 0.5, 1.5))];
    let (i, j) =
        (ops::from_slice(&[2i64, 0, 2], &[3], loc()).unwrap(), ops::from_slice(&[1i64, -1, 1], &[3], loc()).unwrap());
    let mask = ops::from_slice(&[true, false, true, true], &[4], loc()).unwrap();
    let (all, places) = (Item::Basic(Index::ALL), |a: &Array| Item::Places(a.clone()));
    let cases = [
        vec![places(&i)],
        vec![all.clone(), places(&j), all.clone()],
        vec![places(&i), places(&j)],
        vec![places(&i), all.clone(), places(&ops::from_slice(&[1i64, 0, 1], &[3], loc()).unwrap())],
        vec![all.clone(), Item::Mask(mask.clone())],
        vec![Item::Basic(Index::At(1)), Item::Mask(mask.clone()), Item::Basic(Index::At(0))],
    ];
    for items in &cases {
        let counts = vec![3; ops::uncounted(items, false).len()];
        check("getitem", &|x| ops::getitem(&x[0], items, &counts, loc()).unwrap(), &x);
        let shape = ops::getitem(&x[0], items, &counts, loc()).unwrap().shape();
        let values = array(&shape, &numbers(shape.size(), 3, 0.5, 1.5));
        let few = array(&[], &[0.25]);
        for values in [values, few] {
            let write = |x: &[Array]| {
                let base = ops::copy(&x[0], loc()).unwrap();
                ops::setitem(&base, items, &vec![3; ops::uncounted(items, true).len()], (&x[1]).into(), loc()).unwrap();
                base
            };
            check("setitem", &write, &[x[0].clone(), values]);
        }
    }
}

#[test]
fn cumulative_products_with_zeros_are_right() {
    let cumprod = |x: &[Array]| ops::routine(Scan::CumProd, &[&x[0]], &AlongAxis { axis: 0 }, loc()).unwrap();
    for zeros in [vec![0], vec![2], vec![1, 3], vec![5]] {
        let mut factors = numbers(6, 4, 0.5, 1.5);
        zeros.iter().for_each(|i| factors[*i] = 0.0);
        check("cumprod", &cumprod, &[array(&[6], &factors)]);
    }
    check_first("cumprod", &cumprod, &[array(&[0], &[])]);
    check("cumprod", &cumprod, &[array(&[1], &[0.5])]);
}

/// The structured ops that the tests above differentiate, and those without a gradient: a new op fails here.
#[test]
fn every_structured_op_is_tested() {
    for (op, row) in STRUCTURED {
        let spoken = match op {
            Op::View | Op::Concat | Op::Update | Op::Matmul | Op::Take | Op::ScatterAdd | Op::Transfer => true,
            Op::Reduce(kind) => {
                let smooth = !matches!(kind, ReduceKind::ArgMax | ReduceKind::ArgMin);
                smooth == forerun_ops::gradient::needs(*op, 0).is_some()
            }
            Op::Fill(_) => true,
            Op::Routine(_) => false,
            Op::Point(_) => false,
        };
        assert!(spoken, "{}", row.name);
    }
}

/// Returned gradients belong to the caller: writing to one changes nothing else.
#[test]
fn returned_gradients_are_not_shared() {
    let (x, y) = (array(&[2], &[1.0, 2.0]), array(&[2], &[3.0, 4.0]));
    let head = {
        attach_grad(&x, GradReq::Write, loc()).unwrap();
        attach_grad(&y, GradReq::Write, loc()).unwrap();
        record(|| point(Point::Add, &[Arg::Array(&x), Arg::Array(&y)]))
    };
    let asked = array(&[2], &[1.0, 1.0]);
    let found = gradients(&[&head], &[&x, &y], &[Some(&asked)], false, false, loc()).unwrap();
    ops::in_place(Point::Multiply, &found[0], Arg::Scalar(Scalar::Float(10.0)), loc()).unwrap();
    assert_eq!((values(&found[0]), values(&found[1]), values(&asked)), (vec![10.0; 2], vec![1.0; 2], vec![1.0; 2]));
}

#[test]
fn a_reshaped_array_can_be_a_variable() {
    let x = ops::transpose(&ops::reshape(&array(&[4], &[1.0, 2.0, 3.0, 4.0]), &[2, 2], loc()).unwrap(), None).unwrap();
    attach_grad(&x, GradReq::Write, loc()).unwrap();
    let row = ops::index(&x, &[Index::At(0)]).unwrap();
    let head = record(|| reduce(ReduceKind::Sum, &point(Point::Square, &[Arg::Array(&row)]), None, false));
    head.backward().unwrap();
    assert_eq!(values(&x.grad().unwrap()), [2.0, 6.0, 0.0, 0.0]);
    assert_eq!(values(&row.grad().unwrap()), [2.0, 6.0]);
    assert!(attach_grad(&row, GradReq::Write, loc()).is_err());
}

#[test]
fn unrecorded_writes_are_errors() {
    let x = array(&[3], &[1.0, 2.0, 3.0]);
    attach_grad(&x, GradReq::Write, loc()).unwrap();
    record(|| {
        let y = point(Point::Square, &[Arg::Array(&x)]);
        let part = ops::index(&y.detach(), &[Index::At(0)]).unwrap();
        assert!(ops::assign(&part, Arg::Scalar(Scalar::Float(5.0)), loc()).is_err());
        let error = ops::in_place(Point::Add, &x, Arg::Scalar(Scalar::Float(1.0)), loc()).unwrap_err();
        assert_eq!(error.to_string(), "add: a variable with a gradient cannot be written in place while recording");
        // A write that fails because of its shape changes nothing.
        let wide = array(&[4], &[0.0; 4]);
        assert!(ops::in_place(Point::Add, &y, Arg::Array(&wide), loc()).is_err());
        assert!(y.backward().is_ok());
    });
    let y = record(|| point(Point::Square, &[Arg::Array(&x)]));
    ops::assign(&ops::index(&y, &[Index::At(0)]).unwrap(), Arg::Scalar(Scalar::Float(0.0)), loc()).unwrap();
    assert!(y.backward().is_err());
}
