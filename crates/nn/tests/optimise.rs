//! Optimisers against hand-computed steps, and small networks that learn.

mod common;

use common::{array, assert_close, failure, fill, named, numbers, set, values};
use forerun_array::{Array, ops};
use forerun_base::{ErrorKind, Loc, Result};
use forerun_grad::{Differentiable, record};
use forerun_nn::{
    Activation, Adam, BatchNorm, Dense, Embedding, Init, Layer, Samples, Sequential, Sgd, batches, l2_loss,
};

/// One weight of 1, whose gradient for the sum over two samples is 6.
fn weight_with_gradient() -> Dense {
    let net = Dense::new(1).without_bias().in_units(1);
    net.initialize(Init::One).unwrap();
    backward(&net);
    net
}

fn backward(net: &Dense) {
    let x = array(&[2.0, 4.0], &[2, 1]);
    record(|| net.forward(&x)).unwrap().backward().unwrap();
}

fn weight(net: &Dense) -> Array {
    named(net, "weight").array().unwrap()
}

#[test]
fn sgd_goes_against_the_mean_gradient() {
    let net = weight_with_gradient();
    let mut sgd = Sgd::new(net.parameters(), 0.1);
    sgd.step(2).unwrap();
    assert_close(&weight(&net), &[0.7], 1e-6);
    sgd.set_learning_rate(0.2);
    assert_eq!(sgd.learning_rate(), 0.2);
    sgd.step(2).unwrap();
    assert_close(&weight(&net), &[0.1], 1e-6);
}

#[test]
fn sgd_with_momentum_and_decay() {
    let net = weight_with_gradient();
    let mut sgd = Sgd::new(net.parameters(), 0.1).momentum(0.5).weight_decay(1.0);
    sgd.step(2).unwrap();
    // The first step is 0.1 (3 + 1).
    assert_close(&weight(&net), &[0.6], 1e-6);
    sgd.step(2).unwrap();
    // The second is half the first and 0.1 (3 + 0.6).
    assert_close(&weight(&net), &[0.6 - 0.2 - 0.36], 1e-6);
}

#[test]
fn adam_by_hand() {
    let net = weight_with_gradient();
    let mut adam = Adam::new(net.parameters(), 0.1).betas(0.8, 0.9).epsilon(1e-3).weight_decay(0.5);
    let (mut w, mut m, mut v) = (1.0f64, 0.0, 0.0);
    for step in 1..=3 {
        adam.step(2).unwrap();
        let g = 3.0 + 0.5 * w;
        m = 0.8 * m + 0.2 * g;
        v = 0.9 * v + 0.1 * g * g;
        let rate = 0.1 * (1.0 - 0.9f64.powi(step)).sqrt() / (1.0 - 0.8f64.powi(step));
        w -= rate * m / (v.sqrt() + 1e-3);
        assert_close(&weight(&net), &[w], 1e-5);
    }
    adam.set_learning_rate(0.0);
    adam.step(2).unwrap();
    assert_close(&weight(&net), &[w], 1e-5);
    assert_eq!(adam.learning_rate(), 0.0);
}

#[test]
fn a_parameter_that_is_named_twice_is_trained_once() {
    let net = weight_with_gradient();
    let twice = [net.parameters(), net.parameters()].concat();
    Sgd::new(twice, 0.1).step(2).unwrap();
    assert_close(&weight(&net), &[0.7], 1e-6);
}

#[test]
fn an_invalid_step_is_an_error_and_changes_nothing() {
    let net = Sequential::new().then(Dense::new(1).in_units(1)).then(Dense::new(1));
    let first = named(&net, "0.weight").array().unwrap();
    let before = values(&first);
    let error = failure(Sgd::new(net.parameters(), 0.1).step(1));
    assert_eq!(error.to_string(), "sgd: `0.bias` has no gradient: no forward pass has used it");
    assert_eq!(values(&first), before);
    assert_eq!(failure(Adam::new(net.parameters(), 0.1).step(0)).op(), "adam");
}

#[test]
fn statistics_are_not_trained() {
    let net = BatchNorm::new();
    let y = record(|| net.forward(&array(&[1.0, 2.0, 3.0, 4.0], &[2, 2]))).unwrap();
    y.backward().unwrap();
    let before = values(&named(&net, "running_mean").array().unwrap());
    Sgd::new(net.parameters(), 1.0).step(1).unwrap();
    assert_eq!(values(&named(&net, "running_mean").array().unwrap()), before);
    assert_close(&named(&net, "beta").array().unwrap(), &[-2.0, -2.0], 1e-6);
}

/// Trains for `epochs` epochs; returns the loss of the first batch and of the last.
fn train(
    net: &dyn Layer,
    x: &Samples<'_, f32>,
    y: &Samples<'_, f32>,
    epochs: u64,
    mut step: impl FnMut(usize) -> Result<()>,
) -> (f64, f64) {
    let mut losses = Vec::new();
    for epoch in 0..epochs {
        for batch in batches(x, y, 16, Some(epoch)).unwrap() {
            let (x, y) = batch.unwrap();
            let loss = record(|| l2_loss(&net.forward(&x)?, &y)).unwrap();
            loss.backward().unwrap();
            step(x.shape()[0]).unwrap();
            losses.push(loss.mean());
        }
    }
    (values(&losses[0])[0], values(losses.last().unwrap())[0])
}

#[test]
fn a_linear_model_is_learnt() {
    let x: Vec<f32> = numbers(100).iter().map(|x| *x as f32).collect();
    let y: Vec<f32> = x.iter().map(|x| 2.0 * x - 0.5).collect();
    let (x, y) = (Samples::new(&x, &[1]).unwrap(), Samples::new(&y, &[1]).unwrap());
    let net = Dense::new(1);
    net.initialize(Init::Normal(0.01)).unwrap();
    let mut sgd = Sgd::new(net.parameters(), 0.5);
    train(&net, &x, &y, 20, |batch| sgd.step(batch));
    assert_close(&named(&net, "weight").array().unwrap(), &[2.0], 1e-3);
    assert_close(&named(&net, "bias").array().unwrap(), &[-0.5], 1e-3);
}

#[test]
fn a_curve_is_learnt() {
    let x: Vec<f32> = numbers(96).iter().map(|x| *x as f32).collect();
    let y: Vec<f32> = x.iter().map(|x| x * x).collect();
    let (x, y) = (Samples::new(&x, &[1]).unwrap(), Samples::new(&y, &[1]).unwrap());
    let net = Sequential::new()
        .then(Dense::new(16).in_units(1).activation(Activation::Tanh))
        .then(Dense::new(1).in_units(16));
    fill(&net);
    let mut adam = Adam::new(net.parameters(), 0.02);
    let (first, last) = train(&net, &x, &y, 60, |batch| adam.step(batch));
    assert!(last < first / 20.0, "{first} {last}");
}

#[test]
fn training_continues_from_set_weights() {
    let net = weight_with_gradient();
    set(&net, "weight", &[5.0], &[1, 1]);
    backward(&net);
    Sgd::new(net.parameters(), 1.0).step(2).unwrap();
    assert_close(&weight(&net), &[2.0], 1e-6);
}

/// A batch with bad indices between good ones: restoring leaves no trace of it.
#[test]
fn a_bad_batch_is_undone() {
    fn learnt(bad: bool, adam: bool) -> Vec<Vec<f64>> {
        let table = Embedding::new(5, 3);
        let net = Dense::new(1).in_units(3);
        table.initialize(Init::Constant(0.5)).unwrap();
        net.initialize(Init::One).unwrap();
        let parameters = || [table.parameters(), net.parameters()].concat();
        let mut sgd = Sgd::new(parameters(), 0.1).momentum(0.9);
        let mut other = Adam::new(parameters(), 0.1);
        for words in [[0, 1], [2, 3], [4, 5], [4, 0]] {
            let words: [i64; 2] = words;
            let spoilt = words.contains(&5);
            if spoilt && !bad {
                continue;
            }
            let words = ops::from_slice(&words, &[2], Loc::caller()).unwrap();
            let loss =
                record(|| l2_loss(&net.forward(&table.forward(&words)?)?, &array(&[1.0, 2.0], &[2, 1]))).unwrap();
            loss.backward().unwrap();
            if adam {
                other.step(2).unwrap()
            } else {
                sgd.step(2).unwrap()
            }
            if spoilt {
                assert_eq!(failure(loss.wait_to_read()).kind(), ErrorKind::Index);
                assert_eq!(if adam { other.restore().unwrap() } else { sgd.restore().unwrap() }, 1);
            }
        }
        parameters().iter().map(|p| values(&p.array().unwrap())).collect()
    }
    for adam in [false, true] {
        assert_eq!(learnt(true, adam), learnt(false, adam));
    }
}
