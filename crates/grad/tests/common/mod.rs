//! Gradients against finite differences, in float64.
#![allow(dead_code, reason = "each test file uses its part")]

use forerun_array::{Arg, Array, ops};
use forerun_base::{DType, Loc, Scalar, Shape};
use forerun_grad::{GradReq, attach_grad, gradients, record};
use forerun_ops::{Point, ReduceKind};

/// An array of these elements.
pub(crate) fn array(shape: &[usize], values: &[f64]) -> Array {
    assert_eq!(shape.iter().product::<usize>(), values.len());
    let dims: Vec<isize> = shape.iter().map(|d| *d as isize).collect();
    let one = |v: &f64| ops::full(&[1], Scalar::Float(*v), DType::F64, Loc::default()).unwrap();
    let elements: Vec<Array> = values.iter().map(one).collect();
    if elements.is_empty() {
        return ops::full(shape, Scalar::Int(0), DType::F64, Loc::default()).unwrap();
    }
    let flat = ops::concatenate(&elements.iter().collect::<Vec<_>>(), 0, Loc::default()).unwrap();
    ops::copy(&ops::reshape(&flat, &dims, Loc::default()).unwrap(), Loc::default()).unwrap()
}

/// Pseudo-random numbers in (low, high), the same in every run.
pub(crate) fn numbers(count: usize, seed: u64, low: f64, high: f64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            low + (high - low) * ((state >> 11) as f64 / (1u64 << 53) as f64)
        })
        .collect()
}

pub(crate) fn values(x: &Array) -> Vec<f64> {
    x.to_vec::<f64>().unwrap()
}

/// Complex numbers from their parts.
pub(crate) fn composed(re: &Array, im: &Array) -> Array {
    ops::pointwise(Point::Compose, &[Arg::Array(re), Arg::Array(im)], Loc::default()).unwrap()
}

/// The parts of complex numbers, concatenated.
pub(crate) fn parts(z: &Array) -> Array {
    let part = |point| ops::pointwise(point, &[Arg::Array(z)], Loc::default()).unwrap();
    ops::stack(&[&part(Point::Real), &part(Point::Imag)], -1, Loc::default()).unwrap()
}

fn weights(shape: &Shape) -> Array {
    array(shape, &numbers(shape.size(), 77, 0.5, 1.5))
}

/// A scalar that depends on every element of `y` with a different weight.
fn weighed(y: &Array) -> Array {
    let product = ops::pointwise(Point::Multiply, &[Arg::Array(y), Arg::Array(&weights(&y.shape()))], Loc::default());
    ops::reduce(ReduceKind::Sum, &product.unwrap(), None, false, Loc::default()).unwrap()
}

pub(crate) type Function<'a> = &'a dyn Fn(&[Array]) -> Array;

/// The gradients of a weighted sum of the result of `f`.
pub(crate) fn tape_gradients(f: Function<'_>, inputs: &[Array], create_graph: bool) -> Vec<Array> {
    for x in inputs {
        attach_grad(x, GradReq::Write, Loc::default()).unwrap();
    }
    let head = record(|| weighed(&f(inputs)));
    let variables: Vec<&Array> = inputs.iter().collect();
    gradients(&[&head], &variables, &[], create_graph, create_graph, Loc::default()).unwrap()
}

fn differences(f: &dyn Fn(&[Array]) -> f64, inputs: &[Array], step: f64) -> Vec<Vec<f64>> {
    let plain: Vec<(Shape, Vec<f64>)> = inputs.iter().map(|x| (x.shape(), values(x))).collect();
    let at = |k: usize, i: usize, by: f64| {
        let moved: Vec<Array> = plain
            .iter()
            .enumerate()
            .map(|(j, (shape, data))| {
                let mut data = data.clone();
                if j == k {
                    data[i] += by;
                }
                array(shape, &data)
            })
            .collect();
        f(&moved)
    };
    (0..plain.len())
        .map(|k| (0..plain[k].1.len()).map(|i| (at(k, i, step) - at(k, i, -step)) / (2.0 * step)).collect())
        .collect()
}

fn assert_close(name: &str, got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len(), "{name}");
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        assert!((g - w).abs() <= tolerance * (1.0 + w.abs()), "{name}: element {i}: tape {g}, differences {w}");
    }
}

/// Compares first-order gradients of `f` with finite differences.
pub(crate) fn check_first(name: &str, f: Function<'_>, inputs: &[Array]) {
    let got = tape_gradients(f, inputs, false);
    let plain = |x: &[Array]| weighed(&f(x)).item().unwrap();
    for (k, want) in differences(&plain, inputs, 1e-6).iter().enumerate() {
        assert_eq!(got[k].shape(), inputs[k].shape(), "{name}: input {k}");
        assert_close(&format!("{name}: input {k}"), &values(&got[k]), want, 2e-7);
    }
}

/// Compares gradients of the gradients of `f` with finite differences of the gradients.
pub(crate) fn check_second(name: &str, f: Function<'_>, inputs: &[Array]) {
    for which in 0..inputs.len() {
        let of_gradient = |x: &[Array]| {
            let first = tape_gradients(f, x, true);
            weighed(&first[which]).item().unwrap()
        };
        for x in inputs {
            attach_grad(x, GradReq::Write, Loc::default()).unwrap();
        }
        let variables: Vec<&Array> = inputs.iter().collect();
        let head = record(|| {
            let y = weighed(&f(inputs));
            let first = gradients(&[&y], &variables, &[], true, true, Loc::default()).unwrap();
            // Every variable takes part, so that a zero gradient is a gradient too.
            let mut sum = weighed(&first[which]);
            for x in inputs {
                let nothing =
                    ops::pointwise(Point::Multiply, &[Arg::Array(x), Arg::Scalar(Scalar::Float(0.0))], Loc::default());
                let nothing = ops::reduce(ReduceKind::Sum, &nothing.unwrap(), None, false, Loc::default()).unwrap();
                sum = ops::pointwise(Point::Add, &[Arg::Array(&sum), Arg::Array(&nothing)], Loc::default()).unwrap();
            }
            sum
        });
        let got = gradients(&[&head], &variables, &[], false, false, Loc::default()).unwrap();
        for (k, want) in differences(&of_gradient, inputs, 1e-5).iter().enumerate() {
            assert_close(&format!("{name}: gradient {which} by input {k}"), &values(&got[k]), want, 3e-6);
        }
    }
}

/// Checks both orders.
pub(crate) fn check(name: &str, f: Function<'_>, inputs: &[Array]) {
    check_first(name, f, inputs);
    check_second(name, f, inputs);
}
