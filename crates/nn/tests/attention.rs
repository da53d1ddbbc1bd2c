//! Attention layers against loops in double precision, and their gradients against finite differences.

mod common;

use common::{array, assert_close, check_gradients, doubles, failure, fill, named, numbers, values};
use forerun_array::ops::AttentionOptions;
use forerun_array::{Array, ops};
use forerun_base::{DType, Loc, Result};
use forerun_grad::record;
use forerun_nn::{Activation, Layer, MultiHeadAttention, Parameter, TransformerEncoderLayer};

const BATCH: usize = 2;
const STEPS: usize = 3;
const UNITS: usize = 4;
const HEADS: usize = 2;

/// `x w' + b` of rows.
fn dense(net: &dyn Layer, name: &str, x: &[f64]) -> Vec<f64> {
    let [weight, bias] = ["weight", "bias"].map(|part| values(&named(net, &format!("{name}.{part}")).array().unwrap()));
    let inputs = weight.len() / bias.len();
    let row = |x: &[f64], unit: usize| -> f64 { (0..inputs).map(|i| x[i] * weight[unit * inputs + i]).sum() };
    x.chunks(inputs)
        .flat_map(|x| bias.iter().enumerate().map(|(unit, b)| b + row(x, unit)).collect::<Vec<_>>())
        .collect()
}

/// The layer by loops. `sees(sample, query, key)` tells which keys count.
fn by_loops(net: &dyn Layer, [q, k, v]: [&[f64]; 3], sees: &dyn Fn(usize, usize, usize) -> bool) -> Vec<f64> {
    let (q, k, v) = (dense(net, "query", q), dense(net, "key", k), dense(net, "value", v));
    let (queries, keys, width) = (q.len() / BATCH / UNITS, k.len() / BATCH / UNITS, UNITS / HEADS);
    let mut y = vec![0.0; q.len()];
    for (sample, head, i) in (0..BATCH).flat_map(|s| (0..HEADS).flat_map(move |h| (0..queries).map(move |i| (s, h, i))))
    {
        let at = |steps: usize, step: usize| (sample * steps + step) * UNITS + head * width;
        let weight = |j: usize| {
            let product: f64 = (0..width).map(|e| q[at(queries, i) + e] * k[at(keys, j) + e]).sum();
            if sees(sample, i, j) { (product / (width as f64).sqrt()).exp() } else { 0.0 }
        };
        let sum: f64 = (0..keys).map(weight).sum();
        for j in 0..keys {
            for e in 0..width {
                y[at(queries, i) + e] += weight(j) / sum * v[at(keys, j) + e];
            }
        }
    }
    dense(net, "out", &y)
}

fn ready(net: &dyn Layer, x: &Array) {
    net.cast(DType::F64).unwrap();
    net.forward(x).unwrap();
    fill(net);
}

#[test]
fn heads_attend_to_keys_by_their_scores() {
    let numbers = numbers(BATCH * STEPS * UNITS + BATCH * 5 * UNITS);
    let (own, other) = numbers.split_at(BATCH * STEPS * UNITS);
    let (x, y) = (doubles(own, &[BATCH, STEPS, UNITS]), doubles(other, &[BATCH, 5, UNITS]));
    let net = MultiHeadAttention::new(UNITS, HEADS);
    ready(&net, &x);
    assert_close(&net.forward(&x).unwrap(), &by_loops(&net, [own; 3], &|_, _, _| true), 1e-12);
    assert_close(&net.attend(&x, &y, &y, None).unwrap(), &by_loops(&net, [own, other, other], &|_, _, _| true), 1e-12);
    let seen = |sample: usize, key: usize| key < 3 + sample;
    let mask: Vec<bool> = (0..BATCH).flat_map(|s| (0..5).map(move |j| seen(s, j))).collect();
    let mask = ops::from_slice(&mask, &[BATCH, 1, 1, 5], Loc::default()).unwrap();
    let expected = by_loops(&net, [own, other, other], &|sample, _, key| seen(sample, key));
    assert_close(&net.attend(&x, &y, &y, Some(&mask)).unwrap(), &expected, 1e-12);
    let causal = MultiHeadAttention::new(UNITS, HEADS).causal();
    ready(&causal, &x);
    assert_close(&causal.forward(&x).unwrap(), &by_loops(&causal, [own; 3], &|_, i, j| j <= i), 1e-12);
}

#[test]
fn the_composition_gives_what_the_routine_gives() {
    let x = |count: usize, width: usize| doubles(&numbers(6 * count * width), &[2, 3, count, width]);
    let (q, k, v) = (x(17, 4), x(19, 4), x(19, 5));
    for mask in [None, Some(doubles(&numbers(2 * 17 * 19), &[2, 1, 17, 19])), Some(doubles(&numbers(19), &[19]))] {
        for causal in [false, true] {
            let run = |mask_gradient: bool| {
                let how = AttentionOptions { causal, mask_gradient, ..AttentionOptions::default() };
                ops::scaled_dot_product_attention([&q, &k, &v], mask.as_ref(), how, Loc::default()).unwrap()
            };
            assert_close(&run(false), &values(&run(true)), 1e-13);
        }
    }
}

#[test]
fn dropout_acts_in_training_only() {
    let x = array(&[0.5; 2 * 40 * 4], &[2, 40, 4]);
    let net = MultiHeadAttention::new(4, 1).dropout(0.5);
    let (first, again) = (values(&net.forward(&x).unwrap()), values(&net.forward(&x).unwrap()));
    assert_eq!(first, again);
    fill(&net);
    let trained = values(&record(|| net.forward(&x)).unwrap());
    assert!(trained.chunks(4).any(|row| row != &trained[..4]), "every row keeps all weights");
}

/// A layer without the bias of the keys, which adds the same number to all scores of a query and so has no gradient.
struct Learned(TransformerEncoderLayer);

impl Layer for Learned {
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array> {
        self.0.forward_at(x, loc)
    }

    fn parameters(&self) -> Vec<Parameter> {
        self.0.parameters().into_iter().filter(|p| p.name() != "attention.key.bias").collect()
    }
}

#[test]
fn gradients() {
    let x = doubles(&numbers(24), &[2, 3, 4]);
    let weigh = doubles(&numbers(24 + 24)[24..], &[2, 3, 4]);
    let attention = MultiHeadAttention::new(4, 2).without_bias().causal();
    ready(&attention, &x);
    check_gradients(&attention, || &attention.forward(&x).unwrap() * &weigh);
    let encoder = || TransformerEncoderLayer::new(4, 6, 2);
    for net in [encoder(), encoder().post_norm().causal().activation(Activation::Tanh).epsilon(1e-3)] {
        let net = Learned(net);
        ready(&net, &x);
        check_gradients(&net, || &net.forward(&x).unwrap() * &weigh);
    }
}

#[test]
fn an_encoder_layer_adds_to_its_input() {
    let x = doubles(&numbers(24), &[2, 3, 4]);
    let net = TransformerEncoderLayer::new(4, 6, 2).dropout(0.1);
    ready(&net, &x);
    let names: Vec<String> = net.parameters().iter().map(|p| p.name().to_owned()).collect();
    assert_eq!(names.len(), 16);
    assert_eq!(
        [&names[0], &names[7], &names[8], &names[15]],
        ["attention.query.weight", "attention.out.bias", "up.weight", "norm2.beta"]
    );
    for name in ["attention.out.weight", "attention.out.bias", "down.weight", "down.bias"] {
        let parameter = named(&net, name);
        let shape = parameter.shape().unwrap();
        parameter.set(&doubles(&vec![0.0; shape.size()], &shape)).unwrap();
    }
    assert_eq!(values(&net.forward(&x).unwrap()), values(&x));
    let hidden = ops::from_slice(&[false; 3], &[3], Loc::default()).unwrap();
    assert_eq!(values(&net.forward_masked(&x, &hidden).unwrap()), values(&x));
}

#[test]
fn mistakes_are_errors() {
    let x = array(&[0.0; 8], &[1, 2, 4]);
    let text = |error: forerun_base::Error| error.to_string();
    let error = failure(MultiHeadAttention::new(4, 3).forward(&x));
    assert_eq!(text(error), "multi_head_attention: 4 units do not divide into 3 heads");
    let error = failure(MultiHeadAttention::new(4, 2).forward(&array(&[0.0; 4], &[1, 4])));
    assert_eq!(text(error), "multi_head_attention: needs the axes batch, step and unit, not (1, 4)");
    let mask = array(&[0.0; 3], &[3]);
    let error = failure(MultiHeadAttention::new(4, 2).attend(&x, &x, &x, Some(&mask)));
    let expected = "scaled_dot_product_attention: a mask of shape (3,) does not fit scores of shape (1, 2, 2, 2)";
    assert_eq!(text(error), expected);
    let error = failure(MultiHeadAttention::new(4, 2).dropout(1.0).forward(&x));
    assert_eq!(text(error), "scaled_dot_product_attention: dropout_p must be at least 0 and below 1, got 1");
}
