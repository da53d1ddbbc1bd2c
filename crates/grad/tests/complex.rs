//! Gradients of complex functions against finite differences of their parts in float64, first and second order.

mod common;

use common::{array, check, composed, numbers, parts};
use forerun_array::{Arg, Array, Index, ops};
use forerun_base::{DType, Loc, Scalar};
use forerun_grad::{GradReq, attach_grad, backward, gradients, record};
use forerun_ops::{AxisIndexing, Beyond, Linalg, Order, Point, ReduceKind, Routine, Scan};

fn loc() -> Loc {
    Loc::default()
}

fn drawn(shape: &[usize], seed: u64) -> Array {
    array(shape, &numbers(shape.iter().product(), seed, 0.3, 0.9))
}

fn inputs(count: usize, shape: &[usize]) -> Vec<Array> {
    (0..2 * count as u64).map(|k| drawn(shape, 40 + k)).collect()
}

/// Complex numbers from pairs of inputs.
fn complex(x: &[Array]) -> Vec<Array> {
    x.chunks(2).map(|pair| composed(&pair[0], &pair[1])).collect()
}

/// Checks a function of complex arrays, each given by its parts, and returns the parts of its result.
fn check_parts(name: &str, f: &dyn Fn(&[Array]) -> Array, inputs: &[Array]) {
    check(name, &|x| parts(&f(&complex(x))), inputs);
}

fn point(p: Point, args: &[&Array]) -> Array {
    let args: Vec<Arg<'_>> = args.iter().map(|x| Arg::Array(x)).collect();
    ops::pointwise(p, &args, loc()).unwrap()
}

#[test]
fn complex_pointwise_functions() {
    for &p in Point::ALL {
        let row = p.row();
        let smooth = forerun_ops::gradient::pointwise(p).iter().all(|f| *f != forerun_ops::gradient::Flow::Nothing);
        if !smooth || p == Point::Cast || p == Point::Sign {
            continue;
        }
        if row.types(DType::C128).is_ok_and(|(compute, out)| (compute, out) == (DType::C128, DType::C128)) {
            let f = |z: &[Array]| point(p, &z.iter().collect::<Vec<_>>());
            check_parts(row.name, &f, &inputs(row.arity, &[3]));
        }
    }
}

#[test]
fn parts_and_absolute_values() {
    let x = inputs(1, &[2, 2]);
    for p in [Point::Real, Point::Imag, Point::Abs] {
        check(p.row().name, &|x| point(p, &[&point(Point::Square, &[&complex(x)[0]])]), &x);
    }
}

#[test]
fn mixed_with_real_arrays_and_numbers() {
    let x = [drawn(&[3], 50), drawn(&[3], 51), drawn(&[1], 52)];
    check("real", &|x| parts(&point(Point::Multiply, &[&complex(&x[..2])[0], &x[2]])), &x);
    check("cast", &|x| parts(&point(Point::Exp, &[&ops::cast(&x[0], DType::C128, loc()).unwrap()])), &x[..1]);
    for number in [Scalar::Float(1.5), Scalar::Complex(0.5, -1.5)] {
        for p in [Point::Multiply, Point::Power, Point::Divide] {
            let left = |z: &[Array]| ops::pointwise(p, &[Arg::Scalar(number), Arg::Array(&z[0])], loc()).unwrap();
            let right = |z: &[Array]| ops::pointwise(p, &[Arg::Array(&z[0]), Arg::Scalar(number)], loc()).unwrap();
            check_parts(p.row().name, &left, &x[..2]);
            check_parts(p.row().name, &right, &x[..2]);
        }
    }
}

#[test]
fn structured_ops() {
    let x = inputs(1, &[2, 3]);
    for kind in [ReduceKind::Sum, ReduceKind::Prod] {
        check_parts("reduce", &|z| ops::reduce(kind, &z[0], Some(&[1]), false, loc()).unwrap(), &x);
    }
    let right: Vec<Array> = inputs(1, &[3, 2]);
    let both: Vec<Array> = x.iter().chain(&right).cloned().collect();
    check_parts("matmul", &|z| ops::matmul(&z[0], &z[1], loc()).unwrap(), &both);
    let two: Vec<Array> = x.iter().chain(&inputs(1, &[2, 3])).cloned().collect();
    let joined = |z: &[Array]| ops::concatenate(&[&z[0], &point(Point::Square, &[&z[1]])], 0, loc()).unwrap();
    check_parts("concatenate", &joined, &two);
    let at = ops::cast(&array(&[2], &[1.0, 1.0]), DType::I64, loc()).unwrap();
    let taken = |z: &[Array]| ops::take(&point(Point::Square, &[&z[0]]), &at, 1, Beyond::Raise, loc()).unwrap();
    check_parts("take", &taken, &x);
    let written = |x: &[Array]| {
        let base = point(Point::Square, &[&composed(&x[0], &x[1])]);
        // A real array written into a complex one.
        ops::assign(&ops::index(&base, &[Index::At(0)]).unwrap(), Arg::Array(&x[2]), loc()).unwrap();
        parts(&point(Point::Exp, &[&base]))
    };
    check("update", &written, &[x[0].clone(), x[1].clone(), drawn(&[3], 53)]);
}

#[test]
fn routines() {
    let x = inputs(1, &[3, 3]);
    let call = |routine: Routine, x: &[&Array], attributes: &[i64]| {
        ops::routine_encoded(routine, x, attributes, loc()).unwrap()
    };
    let at = ops::cast(&array(&[1, 3], &[1.0, 0.0, 2.0]), DType::I64, loc()).unwrap();
    check_parts("take_along_axis", &|z| call(Routine::AxisIndexing(AxisIndexing::Take), &[&z[0], &at], &[0]), &x);
    check_parts("sort", &|z| call(Routine::Order(Order::Sort), &[&z[0]], &[1, 0]), &x);
    for scan in [Scan::CumSum, Scan::CumProd] {
        check_parts("scan", &|z| call(Routine::Scan(scan), &[&z[0]], &[1]), &x);
    }
}

#[test]
fn linear_algebra() {
    let x = inputs(1, &[2, 2]);
    let both: Vec<Array> = x.iter().chain(&inputs(1, &[2, 1])).cloned().collect();
    let call = |routine: Linalg, x: &[&Array], flags: &[i64]| {
        let mut encoded = flags.to_vec();
        encoded.resize(Routine::from(routine).attributes().len(), 0);
        ops::routine_encoded(Routine::Linalg(routine), x, &encoded, loc()).unwrap()
    };
    // Far from singular matrices.
    let far = |z: &Array| {
        let eye = ops::eye(2, 2, 0, DType::C128, loc()).unwrap();
        point(Point::Add, &[z, &point(Point::Add, &[&eye, &eye])])
    };
    check_parts("inv", &|z| call(Linalg::Inv, &[&far(&z[0])], &[]), &x);
    check_parts("det", &|z| call(Linalg::Det, &[&far(&z[0])], &[]), &x);
    check_parts("solve", &|z| call(Linalg::Solve, &[&far(&z[0]), &z[1]], &[]), &both);
    for words in [[0, 0, 0], [1, 1, 0], [1, 0, 1]] {
        check_parts("triangular", &|z| call(Linalg::SolveTriangular, &[&far(&z[0]), &z[1]], &words), &both);
    }
}

#[test]
fn complex_variables() {
    let z = composed(&drawn(&[2], 60), &drawn(&[2], 61));
    attach_grad(&z, GradReq::Write, loc()).unwrap();
    let size = record(|| {
        let squares = point(Point::Square, &[&point(Point::Abs, &[&z])]);
        ops::reduce(ReduceKind::Sum, &squares, None, false, loc()).unwrap()
    });
    // The gradient of the squared absolute value is twice the number.
    let grad = gradients(&[&size], &[&z], &[], false, false, loc()).unwrap();
    let twice = point(Point::Add, &[&z, &z]);
    let off = point(Point::Abs, &[&point(Point::Subtract, &[&grad[0], &twice])]);
    assert!(off.to_vec::<f64>().unwrap().iter().all(|off| *off < 1e-14));
    let head = record(|| point(Point::Square, &[&z]));
    let error = backward(&[&head], &[], false, loc()).unwrap_err().to_string();
    assert_eq!(error, "backward: a complex128 head needs an explicit gradient");
}

#[test]
fn missing_complex_gradients_are_reported() {
    let z = composed(&drawn(&[2, 2], 62), &drawn(&[2, 2], 63));
    attach_grad(&z, GradReq::Write, loc()).unwrap();
    let refused = |head: Array, text: &str| {
        let error = backward(&[&point(Point::Abs, &[&head])], &[], false, loc()).unwrap_err().to_string();
        assert_eq!(error, text);
    };
    record(|| {
        refused(point(Point::Sign, &[&z]), "sign: no gradient for complex128");
        let found = ops::routine(Linalg::Eigvals, &[&z], &(), loc()).unwrap();
        refused(found, "eigvals: no gradient for complex128");
    });
}
