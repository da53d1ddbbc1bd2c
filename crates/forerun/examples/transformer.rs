//! A transformer that learns to copy: it reads random tokens and a separator, and predicts the same tokens again. It
//! prints the loss as it falls, and how many tokens the trained model copies correctly.
//!
//! `cargo run --release --example transformer -- [STEPS [BATCH]]`, by default `400 64`.

use forerun::grad::{Differentiable, record};
use forerun::nn::{
    Adam, Dense, Embedding, Init, Layer, LayerNorm, Parameter, Scaling, Sequential, TransformerEncoderLayer,
    softmax_cross_entropy,
};
use forerun::{Array, DType, Index, Loc, ReduceKind, Result, full, ops, seed, uniform};

const UNITS: usize = 32;

/// How long a sequence is and how many tokens there are besides the separator.
#[derive(Clone, Copy)]
struct Task {
    length: usize,
    tokens: usize,
}

impl Task {
    /// Random tokens to copy, and what the model reads: the tokens, the separator, and all tokens but the last again.
    fn draw(self, batch: usize) -> Result<(Array, Array)> {
        let tokens = (uniform([batch, self.length]) * self.tokens as f64).cast(DType::I64);
        let separator = full([batch, 1], self.tokens as i64, DType::I64);
        let start = tokens.slice([Index::ALL, Index::Slice { start: None, stop: Some(-1), step: 1 }]);
        Ok((ops::concatenate(&[&tokens, &separator, &start], 1, Loc::caller())?, tokens))
    }
}

/// A decoder: embeddings of tokens and of positions, causal layers, and scores of the next token.
struct Transformer {
    task: Task,
    embedding: Embedding,
    positions: Parameter,
    layers: Sequential,
}

impl Transformer {
    fn new(task: Task) -> Transformer {
        let layer = || TransformerEncoderLayer::new(UNITS, 2 * UNITS, 4).causal();
        let layers = Sequential::new()
            .then(layer())
            .then(layer())
            .then(LayerNorm::new())
            .then(Dense::new(task.tokens).flatten(false));
        Transformer {
            task,
            embedding: Embedding::new(task.tokens + 1, UNITS),
            positions: Parameter::starting_as("positions", &[Some(2 * task.length), Some(UNITS)], Init::Normal(0.3)),
            layers,
        }
    }
}

impl Layer for Transformer {
    /// The scores of the tokens after the separator.
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array> {
        let scores = self.layers.forward_at(&(self.embedding.forward_at(x, loc)? + self.positions.array()?), loc)?;
        let copied = Index::Slice { start: Some(self.task.length as isize), stop: None, step: 1 };
        ops::index(&scores, &[Index::ALL, copied])
    }

    fn parameters(&self) -> Vec<Parameter> {
        let under = |name: &'static str, layer: &dyn Layer| -> Vec<Parameter> {
            layer.parameters().into_iter().map(|parameter| parameter.under(name)).collect()
        };
        let mut all = under("embedding", &self.embedding);
        all.push(self.positions.clone());
        all.extend(under("layers", &self.layers));
        all
    }
}

/// Trains a new model, and returns it with the loss of every step.
fn train(task: Task, steps: usize, batch: usize) -> Result<(Transformer, Vec<f64>)> {
    seed(1);
    let net = Transformer::new(task);
    net.initialize(Init::Xavier(Scaling::default()))?;
    let mut adam = Adam::new(net.parameters(), 0.003);
    let mut losses = Vec::new();
    for _ in 0..steps {
        let (x, labels) = task.draw(batch)?;
        let loss = record(|| Ok(softmax_cross_entropy(&net.forward(&x)?, &labels)?.mean()))?;
        loss.backward()?;
        adam.step(1)?;
        losses.push(loss);
    }
    let losses = losses.iter().map(|loss| loss.item::<f64>()).collect::<Result<_>>()?;
    Ok((net, losses))
}

/// The fraction of the tokens of new sequences that the model copies.
fn accuracy(net: &Transformer, batch: usize) -> Result<f64> {
    let (x, labels) = net.task.draw(batch)?;
    let best = ops::reduce(ReduceKind::ArgMax, &net.forward(&x)?, Some(&[-1]), false, Loc::caller())?;
    let (best, labels) = (best.to_vec::<f64>()?, labels.to_vec::<f64>()?);
    Ok(best.iter().zip(&labels).filter(|(a, b)| a == b).count() as f64 / labels.len() as f64)
}

fn main() -> Result<()> {
    let mut given = std::env::args().skip(1).map(|word| word.parse().expect("a number"));
    let (steps, batch) = (given.next().unwrap_or(400), given.next().unwrap_or(64));
    let (net, losses) = train(Task { length: 8, tokens: 10 }, steps, batch)?;
    for (step, loss) in
        losses.iter().enumerate().filter(|(step, _)| step % (steps / 10).max(1) == 0 || step + 1 == steps)
    {
        println!("step {step:4}  loss {loss:.3}");
    }
    println!("{:.1} % of the tokens are copied", 100.0 * accuracy(&net, 256)?);
    Ok(())
}

#[test]
fn the_loss_falls() {
    let (net, losses) = train(Task { length: 3, tokens: 4 }, 60, 32).unwrap();
    assert!(losses[59] < 0.8 * losses[0], "{losses:?}");
    let copied = accuracy(&net, 64).unwrap();
    assert!(copied > 0.4, "{copied}");
}
