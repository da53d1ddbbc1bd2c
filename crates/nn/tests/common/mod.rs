//! Small arrays, and gradients by finite differences.

// Each suite uses its part.
#![allow(dead_code)]

use forerun_array::{Array, ops};
use forerun_base::{DType, Error, Loc, Result};
use forerun_grad::{Differentiable, record};
use forerun_nn::{Layer, Parameter};

pub(crate) fn array(numbers: &[f32], shape: &[usize]) -> Array {
    ops::from_slice(numbers, shape, Loc::default()).unwrap()
}

pub(crate) fn doubles(numbers: &[f64], shape: &[usize]) -> Array {
    ops::from_slice(numbers, shape, Loc::default()).unwrap()
}

/// Pseudo-random numbers between -1 and 1, the same in every run.
pub(crate) fn numbers(count: usize) -> Vec<f64> {
    (1..=count).map(|i| ((i as f64 * 12.9898).sin() * 43_758.545_3).rem_euclid(1.0) * 2.0 - 1.0).collect()
}

/// Gives every trained parameter different numbers, the same in every run. Their shapes must be known.
pub(crate) fn fill(net: &dyn Layer) {
    let mut taken = 0;
    for parameter in net.parameters().into_iter().filter(Parameter::is_trainable) {
        let shape = parameter.shape().expect("a shape");
        parameter.set(&doubles(&numbers(taken + shape.size())[taken..], &shape)).unwrap();
        taken += shape.size();
    }
}

pub(crate) fn values(x: &Array) -> Vec<f64> {
    x.to_vec::<f64>().unwrap()
}

#[track_caller]
pub(crate) fn assert_close(x: &Array, expected: &[f64], tolerance: f64) {
    let found = values(x);
    let close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= tolerance * b.abs().max(1.0));
    assert!(close && found.len() == expected.len(), "{found:?} is not {expected:?}");
}

pub(crate) fn failure<T>(result: Result<T>) -> Error {
    result.err().expect("it fails")
}

pub(crate) fn named(net: &dyn Layer, name: &str) -> Parameter {
    net.parameters().into_iter().find(|p| p.name() == name).expect("the network has a parameter of this name")
}

pub(crate) fn set(net: &dyn Layer, name: &str, numbers: &[f64], shape: &[usize]) {
    named(net, name).set(&doubles(numbers, shape)).unwrap();
}

/// Compares the gradients of the sum of `f` for every trained parameter with finite differences, in double precision.
pub(crate) fn check_gradients(net: &dyn Layer, f: impl Fn() -> Array) {
    const STEP: f64 = 1e-5;
    net.cast(DType::F64).unwrap();
    fill(net);
    record(&f).backward().unwrap();
    let sum = || values(&record(&f)).iter().sum::<f64>();
    for parameter in net.parameters().into_iter().filter(Parameter::is_trainable) {
        let (start, shape) = (values(&parameter.array().unwrap()), parameter.shape().unwrap());
        let expected: Vec<f64> = (0..start.len())
            .map(|i| {
                let at = |by: f64| {
                    let mut moved = start.clone();
                    moved[i] += by;
                    parameter.set(&doubles(&moved, &shape)).unwrap();
                    sum()
                };
                (at(STEP) - at(-STEP)) / (2.0 * STEP)
            })
            .collect();
        parameter.set(&doubles(&start, &shape)).unwrap();
        let most = expected.iter().fold(0.0f64, |most, g| most.max(g.abs()));
        assert!(most > 1e-3, "{} does not matter", parameter.name());
        let found = values(&parameter.gradient().unwrap());
        let close = found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6 * most);
        assert!(close && found.len() == expected.len(), "{}: {found:?} is not {expected:?}", parameter.name());
    }
}
