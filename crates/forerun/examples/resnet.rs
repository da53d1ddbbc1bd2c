//! ResNet-18 on images of noise: how fast a step is, and that the loss falls.
//!
//! `cargo run --release --example resnet -- [STEPS [BATCH]]`, by default `5 16`.

use forerun::grad::{Differentiable, record};
use forerun::nn::{
    Activation, BatchNorm, Conv, Dense, GlobalPooling, Init, Layer, Parameter, PoolKind, Pooling, Scaling, Sequential,
    Sgd, softmax_cross_entropy,
};
use forerun::{Array, DType, Loc, Result, normal, ops, uniform};
use std::time::Instant;

/// Two convolutions, around which the input is led.
struct Residual {
    main: Sequential,
    around: Option<Conv>,
}

impl Residual {
    fn new(channels: usize, stride: usize) -> Residual {
        let main = Sequential::new()
            .then(Conv::new(channels, &[3, 3]).padding(&[1, 1]).stride(&[stride, stride]))
            .then(BatchNorm::new())
            .then(Activation::Relu)
            .then(Conv::new(channels, &[3, 3]).padding(&[1, 1]))
            .then(BatchNorm::new());
        let around = (stride > 1).then(|| Conv::new(channels, &[1, 1]).stride(&[stride, stride]));
        Residual { main, around }
    }
}

impl Layer for Residual {
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array> {
        let around = self.around.as_ref().map_or(Ok(x.clone()), |layer| layer.forward_at(x, loc))?;
        ops::activation(Activation::Relu, &(self.main.forward_at(x, loc)? + around), loc)
    }

    fn parameters(&self) -> Vec<Parameter> {
        let around = self.around.iter().flat_map(Layer::parameters).map(|parameter| parameter.under("around"));
        self.main.parameters().into_iter().chain(around).collect()
    }
}

fn main() -> Result<()> {
    let mut given = std::env::args().skip(1).map(|word| word.parse().expect("a number"));
    let (steps, batch) = (given.next().unwrap_or(5), given.next().unwrap_or(16));
    let mut net = Sequential::new()
        .then(Conv::new(64, &[7, 7]).stride(&[2, 2]).padding(&[3, 3]))
        .then(BatchNorm::new())
        .then(Activation::Relu)
        .then(Pooling::max(&[3, 3]).stride(&[2, 2]).padding(&[1, 1]));
    for (i, channels) in [64, 64, 128, 128, 256, 256, 512, 512].into_iter().enumerate() {
        net = net.then(Residual::new(channels, if i > 0 && i % 2 == 0 { 2 } else { 1 }));
    }
    let net = net.then(GlobalPooling::new(PoolKind::Average(false))).then(Dense::new(10));
    net.initialize(Init::Xavier(Scaling::default()))?;
    let (x, labels) = (normal([batch, 1, 96, 96]), (uniform([batch]) * 10.0).cast(DType::I64));
    net.forward(&x)?;
    let mut sgd = Sgd::new(net.parameters(), 0.01);
    let start = Instant::now();
    let mut losses = Vec::new();
    for _ in 0..steps {
        let loss = record(|| softmax_cross_entropy(&net.forward(&x)?, &labels))?;
        loss.backward()?;
        sgd.step(batch)?;
        losses.push(loss.mean());
    }
    let (first, last) = (losses[0].item::<f64>()?, losses[steps - 1].item::<f64>()?);
    println!("{:.1} ms a step, loss {first:.3} -> {last:.3}", start.elapsed().as_secs_f64() * 1e3 / steps as f64);
    Ok(())
}
