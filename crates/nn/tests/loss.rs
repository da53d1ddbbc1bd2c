//! Losses against hand-computed values, and their gradients against finite differences.

mod common;

use common::{array, assert_close, doubles, failure, numbers, values};
use forerun_array::{Array, ops};
use forerun_base::{ErrorKind, Loc, Result};
use forerun_grad::{Differentiable, record};
use forerun_nn::{Average, Loss, Poisson, l1_loss, l2_loss, sigmoid_bce, softmax_cross_entropy};

#[test]
fn one_loss_per_sample() {
    let prediction = array(&[1.0, 2.0, 3.0, 4.0], &[2, 2]);
    let label = array(&[1.0, 4.0, 0.0, 4.0], &[2, 2]);
    assert_close(&l2_loss(&prediction, &label).unwrap(), &[1.0, 2.25], 1e-6);
    assert_close(&l1_loss(&prediction, &label).unwrap(), &[1.0, 1.5], 1e-6);
    let flat = array(&[1.0, 2.0], &[2]);
    assert_close(&l2_loss(&flat, &array(&[0.0, 0.0], &[2, 1])).unwrap(), &[0.5, 2.0], 1e-6);
    assert_close(&l2_loss(&array(&[3.0, 5.0], &[2, 1]), &flat).unwrap(), &[2.0, 4.5], 1e-6);
}

#[test]
fn losses_of_three_arrays_and_of_counts() {
    let of = |loss: Loss<'_>, x: &Array, y: &Array| loss.per_sample(x, y, Average::default(), Loc::default()).unwrap();
    let (x, y) = (array(&[3.0, 4.0, 1.0, 0.0], &[2, 2]), array(&[4.0, 3.0, 0.0, 2.0], &[2, 2]));
    let negative = array(&[3.0, 4.0, 1.0, 9.0], &[2, 2]);
    assert_close(&of(Loss::Triplet { margin: 1.5, negative: &negative }, &x, &y), &[3.5, 0.0], 1e-6);
    let cosine = Loss::Cosine { margin: 0.5, other: &y };
    assert_close(&of(cosine, &x, &array(&[1.0, -1.0], &[2])), &[1.0 - 0.96, 0.0], 1e-6);
    assert_close(&of(cosine, &x, &array(&[-1.0, 1.0], &[2])), &[0.96 - 0.5, 1.0], 1e-6);
    let counts = Poisson { from_logits: true, full: false, epsilon: 0.0 };
    assert_close(
        &of(Loss::Poisson(counts), &array(&[0.0, 1.0], &[2]), &array(&[3.0, 2.0], &[2])),
        &[1.0, 0.71828183],
        1e-6,
    );
    let zeros = array(&[0.0; 4], &[2, 2]);
    let even = (0.7 * 1.4f64.ln() + 0.3 * 0.6f64.ln()) / 2.0;
    assert_close(&of(Loss::Metric(0.3), &zeros, &zeros), &[even, even], 1e-5);
}

#[test]
fn softmax_cross_entropy_values() {
    let (a, b) = (1.0f64, 3.0f64);
    let prediction = array(&[a as f32, b as f32, 0.0, 0.0], &[2, 2]);
    let total = a.exp() + b.exp();
    let expected = [-(a.exp() / total).ln(), 2f64.ln()];
    let labels = ops::from_slice(&[0i64, 1], &[2], Loc::default()).unwrap();
    assert_close(&softmax_cross_entropy(&prediction, &labels).unwrap(), &expected, 1e-6);
    assert_close(&softmax_cross_entropy(&prediction, &array(&[0.0, 1.0], &[2, 1])).unwrap(), &expected, 1e-6);
    let far = softmax_cross_entropy(&array(&[1000.0, 0.0], &[1, 2]), &array(&[1.0], &[1])).unwrap();
    assert_close(&far, &[1000.0], 1e-6);
    let deep = array(&[a as f32, b as f32, 0.0, 0.0], &[1, 2, 2]);
    let mean = (expected[0] + expected[1]) / 2.0;
    assert_close(&softmax_cross_entropy(&deep, &array(&[0.0, 1.0], &[1, 2])).unwrap(), &[mean], 1e-6);
}

#[test]
fn binary_cross_entropy_is_stable_far_from_zero() {
    let x = [-100.0f32, -1.0, 0.0, 2.0, 100.0];
    let labels = [0.0f32, 1.0, 0.0, 1.0, 0.0];
    let loss = sigmoid_bce(&array(&x, &[5]), &array(&labels, &[5])).unwrap();
    let one = |x: f64, label: f64| x.max(0.0) - x * label + (-x.abs()).exp().ln_1p();
    let expected: Vec<f64> = x.iter().zip(labels).map(|(x, l)| one(*x as f64, l as f64)).collect();
    assert_close(&loss, &expected, 1e-6);
}

#[test]
fn labels_that_do_not_fit_are_errors() {
    let prediction = array(&[0.0; 6], &[2, 3]);
    let error = failure(l2_loss(&prediction, &array(&[0.0; 2], &[2])));
    assert_eq!(error.to_string(), "l2_loss: labels of shape (2,) do not fit predictions of shape (2, 3)");
    assert_eq!(failure(l1_loss(&prediction, &array(&[0.0; 2], &[2]))).op(), "l1_loss");
    assert_eq!(failure(sigmoid_bce(&prediction, &array(&[0.0; 2], &[2]))).op(), "sigmoid_bce");
    assert!(softmax_cross_entropy(&prediction, &array(&[0.0; 3], &[3])).is_err());
    assert!(softmax_cross_entropy(&array(&[0.0], &[]), &array(&[0.0], &[])).is_err());
}

#[test]
fn an_invalid_class_fails_when_it_is_read() {
    let prediction = array(&[0.0; 6], &[2, 3]);
    for wrong in [3.0, 7.0, -1.0] {
        let loss = softmax_cross_entropy(&prediction, &array(&[0.0, wrong], &[2])).unwrap();
        let error = loss.to_vec::<f64>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Index);
        assert!(
            error.to_string().contains(&format!("index {wrong} is out of bounds for axis 0 with size 3")),
            "{error}"
        );
    }
}

fn check(loss: fn(&Array, &Array) -> Result<Array>, start: &[f64], label: &Array) {
    const STEP: f64 = 1e-5;
    let shape = [start.len() / 3, 3];
    let x = doubles(start, &shape);
    x.attach_grad();
    record(|| loss(&x, label)).unwrap().backward().unwrap();
    let at = |i: usize, by: f64| {
        let mut moved = start.to_vec();
        moved[i] += by;
        values(&loss(&doubles(&moved, &shape), label).unwrap()).iter().sum::<f64>()
    };
    let expected: Vec<f64> = (0..start.len()).map(|i| (at(i, STEP) - at(i, -STEP)) / (2.0 * STEP)).collect();
    assert_close(&x.grad().unwrap(), &expected, 1e-6);
}

#[test]
fn gradients() {
    let label = doubles(&[0.25, 1.0, 0.0, 1.0, 0.5, 0.75], &[2, 3]);
    check(l2_loss, &numbers(6), &label);
    check(l1_loss, &numbers(6), &label);
    check(sigmoid_bce, &numbers(6), &label);
    check(sigmoid_bce, &[0.0; 6], &label);
    check(softmax_cross_entropy, &numbers(6), &doubles(&[2.0, 0.0], &[2]));
}
