//! LeNet on images of noise: how fast a step is, and that the loss falls.
//!
//! `cargo run --release --example lenet -- [STEPS [BATCH]]`, by default `20 256`.

use forerun::grad::{Differentiable, record};
use forerun::nn::{Activation, Conv, Dense, Init, Layer, Pooling, Scaling, Sequential, Sgd, softmax_cross_entropy};
use forerun::{DType, Result, normal, uniform};
use std::time::Instant;

fn main() -> Result<()> {
    let mut given = std::env::args().skip(1).map(|word| word.parse().expect("a number"));
    let (steps, batch) = (given.next().unwrap_or(20), given.next().unwrap_or(256));
    let net = Sequential::new()
        .then(Conv::new(6, &[5, 5]).padding(&[2, 2]).activation(Activation::Sigmoid))
        .then(Pooling::average(&[2, 2]))
        .then(Conv::new(16, &[5, 5]).activation(Activation::Sigmoid))
        .then(Pooling::average(&[2, 2]))
        .then(Dense::new(120).activation(Activation::Sigmoid))
        .then(Dense::new(84).activation(Activation::Sigmoid))
        .then(Dense::new(10));
    net.initialize(Init::Xavier(Scaling::default()))?;
    let (x, labels) = (normal([batch, 1, 28, 28]), (uniform([batch]) * 10.0).cast(DType::I64));
    net.forward(&x)?;
    let mut sgd = Sgd::new(net.parameters(), 0.5);
    let start = Instant::now();
    let mut losses = Vec::new();
    for _ in 0..steps {
        let loss = record(|| softmax_cross_entropy(&net.forward(&x)?, &labels))?;
        loss.backward()?;
        sgd.step(batch)?;
        losses.push(loss.mean());
    }
    let (first, last) = (losses[0].item::<f64>()?, losses[steps - 1].item::<f64>()?);
    println!("{:.2} ms a step, loss {first:.3} -> {last:.3}", start.elapsed().as_secs_f64() * 1e3 / steps as f64);
    Ok(())
}
