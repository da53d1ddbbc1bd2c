//! Rows by index and composite ops against finite differences: their gradients come from the ops they consist of.

mod common;

use common::{array, check, check_first, numbers, tape_gradients, values};
use forerun_array::{Array, ops};
use forerun_base::{DType, Loc};
use forerun_grad::{gradients, record};
use forerun_ops::Beyond;
use ops::{Activation, BatchNormOptions, Channels};

fn loc() -> Loc {
    Loc::default()
}

fn indices(shape: &[usize], values: &[f64]) -> Array {
    ops::cast(&array(shape, values), DType::I64, loc()).unwrap()
}

fn random(shape: &[usize], seed: u64) -> Array {
    array(shape, &numbers(shape.iter().product(), seed, -2.0, 2.0))
}

#[test]
fn rows_by_indices() {
    let x = [random(&[3, 4, 2], 1)];
    for (axis, beyond) in [(0, Beyond::Raise), (1, Beyond::Wrap), (-1, Beyond::Clip)] {
        // One index twice, one never.
        let named = indices(&[2, 2], &[0.0, 1.0, 1.0, -1.0]);
        check("take", &|x| ops::take(&x[0], &named, axis, beyond, loc()).unwrap(), &x);
    }
    let named = indices(&[3], &[1.0, 0.0, 1.0]);
    let x = [random(&[2, 3], 2), random(&[3, 3], 3)];
    check("scatter_add", &|x| ops::scatter_add(&x[0], &named, &x[1], 0, Beyond::Raise, loc()).unwrap(), &x);
    let base = random(&[2, 3], 2);
    check("updates", &|x| ops::scatter_add(&base, &named, &x[0], 0, Beyond::Raise, loc()).unwrap(), &x[1..]);
    let updates = random(&[3, 3], 2);
    check("base", &|x| ops::scatter_add(&x[0], &named, &updates, 0, Beyond::Raise, loc()).unwrap(), &x[..1]);
    let picked = indices(&[2], &[2.0, 0.0]);
    check("pick", &|x| ops::pick(&x[0], &picked, 1, false, Beyond::Clip, loc()).unwrap(), &x[..1]);
    let picked = indices(&[1, 3], &[1.0, 0.0, 1.0]);
    check("pick", &|x| ops::pick(&x[0], &picked, 0, true, Beyond::Wrap, loc()).unwrap(), &x[..1]);
}

#[test]
fn along_an_axis() {
    let x = [random(&[3, 4], 1)];
    for axis in [0, 1] {
        check("softmax", &|x| ops::softmax(&x[0], axis, loc()).unwrap(), &x);
        check("log_softmax", &|x| ops::log_softmax(&x[0], axis, loc()).unwrap(), &x);
        check("var", &|x| ops::var(&x[0], Some(&[axis]), 1.0, false, loc()).unwrap(), &x);
        check("std", &|x| ops::std(&x[0], Some(&[axis]), 0.0, true, loc()).unwrap(), &x);
    }
    let x = [random(&[3, 4], 1), random(&[4], 2), random(&[4], 3)];
    check("layer_norm", &|x| ops::layer_norm(&x[0], &x[1], &x[2], -1, 1e-3, loc()).unwrap(), &x);
}

#[test]
fn batches_in_both_modes() {
    let x = [random(&[4, 3, 2], 1), random(&[3], 2), random(&[3], 3)];
    for training in [true, false] {
        check_first(
            "batch_norm",
            &|x| {
                let (mean, variance) = (random(&[3], 4), array(&[3], &[0.5, 1.0, 2.0]));
                let channels = Channels { gamma: &x[1], beta: &x[2], mean: &mean, variance: &variance };
                let how = BatchNormOptions { axis: 1, eps: 1e-3, momentum: 0.9, fix_gamma: false, training };
                ops::batch_norm(&x[0], channels, how, loc()).unwrap()[0].clone()
            },
            &x,
        );
    }
    // No gradient flows to or through the running statistics.
    let (mean, variance) = (array(&[3], &[0.0; 3]), array(&[3], &[1.0; 3]));
    let channels = Channels { gamma: &x[1], beta: &x[2], mean: &mean, variance: &variance };
    let how = BatchNormOptions { axis: 1, eps: 1e-3, momentum: 0.9, fix_gamma: false, training: true };
    let y = record(|| {
        ops::batch_norm(&x[0], channels, how, loc()).unwrap();
        ops::copy(&mean, loc()).unwrap()
    });
    assert!(values(&y).iter().all(|v| *v != 0.0));
    assert!(gradients(&[&y], &[&x[0]], &[], false, false, loc()).is_err());
}

#[test]
fn every_activation() {
    use Activation::*;
    let x = [random(&[7], 5), array(&[3], &[-30.0, 30.0, 0.7])];
    for kind in [Relu, Sigmoid, Tanh, Softrelu, Softsign, Silu, Gelu, GeluErf, Leaky(0.2), Elu(0.7), Selu] {
        for x in &x {
            check(&format!("{kind:?}"), &|x| ops::activation(kind, &x[0], loc()).unwrap(), std::slice::from_ref(x));
        }
    }
    // Where the two branches meet, and where one of them would overflow.
    check_first("softrelu", &|x| ops::activation(Softrelu, &x[0], loc()).unwrap(), &[array(&[1], &[0.0])]);
    let g = tape_gradients(
        &|x| ops::activation(Elu(1.0), &x[0], loc()).unwrap(),
        &[array(&[2], &[1000.0, -1000.0])],
        false,
    );
    assert!(values(&g[0])[0] > 0.5 && values(&g[0])[1] == 0.0);
}

#[test]
fn layers() {
    let x = [random(&[2, 3, 2], 1), random(&[4, 6], 2), random(&[4], 3)];
    check("dense", &|x| ops::fully_connected(&x[0], &x[1], Some(&x[2]), true, loc()).unwrap(), &x);
    let y = [random(&[2, 3, 2], 1), random(&[4, 2], 2)];
    check("dense, last axis", &|x| ops::fully_connected(&x[0], &x[1], None, false, loc()).unwrap(), &y);
    check("clip", &|x| ops::clip(&x[0], Some((-1.0).into()), Some(1.0.into()), loc()).unwrap(), &x[..1]);
    // The draw is the same every time, so the gradient is that of the kept elements.
    let drop = |x: &[Array]| {
        forerun_array::seed(3);
        ops::dropout(&x[0], 0.4, &[1], true, loc()).unwrap()
    };
    check_first("dropout", &drop, &x[..1]);
}
