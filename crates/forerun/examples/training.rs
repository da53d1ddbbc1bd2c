//! A training loop, with and without a barrier after every step: the speed and memory use of running ahead.
//!
//! `cargo run --release --example training -- [BATCHES [ROWS [INPUTS [UNITS [UNITS]]]]]`, by default `150 1024 512 2048
//! 512`: batches of normal numbers, ones as targets, two hidden layers.

use forerun::grad::{Differentiable, record};
use forerun::memory::{memory_stats, reset_peak};
use forerun::nn::{Activation, Dense, Init, Layer, Sequential, Sgd, l2_loss};
use forerun::runtime::stats;
use forerun::{Array, Result, normal, ones, seed, wait_all};
use std::time::{Duration, Instant};

#[derive(Clone, Copy)]
struct Sizes {
    batches: usize,
    rows: usize,
    inputs: usize,
    units: [usize; 2],
}

/// The measurements of one epoch.
struct Epoch {
    /// Until the last step was submitted.
    submitted: Duration,
    /// Until the last step was done.
    done: Duration,
    first_loss: f64,
    last_loss: f64,
    /// Peak bytes of arrays, beyond those that were live before.
    growth: usize,
    /// Segments whose plan was found in the cache, of all.
    plans: (u64, u64),
    weights: Vec<Array>,
}

fn network(sizes: Sizes) -> Sequential {
    let [first, second] = sizes.units;
    Sequential::new()
        .then(Dense::new(first).activation(Activation::Relu))
        .then(Dense::new(second).activation(Activation::Relu))
        .then(Dense::new(1))
}

/// The barrier: waits for everything, and fails with the first error.
fn settle() -> Result<()> {
    wait_all().map_err(|failures| failures.into_iter().next().expect("a failed wait says why"))
}

/// One epoch from the same start: the same seed, so the same weights and batches.
fn train(sizes: Sizes, barrier: bool) -> Result<Epoch> {
    seed(1);
    let net = network(sizes);
    net.initialize(Init::Normal(0.01))?;
    // The first call determines the shapes, so that the epoch itself finds its weights.
    net.forward(&normal([sizes.rows, sizes.inputs]))?;
    let mut sgd = Sgd::new(net.parameters(), 0.01);
    settle()?;
    reset_peak();
    let (counts, live, start) = (stats(), memory_stats().live, Instant::now());

    let mut ends: Vec<Array> = Vec::new();
    for batch in 0..sizes.batches {
        let x = normal([sizes.rows, sizes.inputs]);
        let y = ones([sizes.rows, 1]);
        let loss = record(|| l2_loss(&net.forward(&x)?, &y))?;
        loss.backward()?;
        sgd.step(sizes.rows)?;
        if batch == 0 || batch + 1 == sizes.batches {
            ends.push(loss.mean());
        }
        if barrier {
            settle()?;
        }
    }
    let submitted = start.elapsed();
    settle()?;
    let (done, now) = (start.elapsed(), stats());
    let loss = |end: Option<&Array>| end.map_or(Ok(f64::NAN), |loss| loss.item());
    Ok(Epoch {
        submitted,
        done,
        first_loss: loss(ends.first())?,
        last_loss: loss(ends.last())?,
        growth: memory_stats().peak - live,
        plans: (now.plan_hits - counts.plan_hits, now.segments - counts.segments),
        weights: net.parameters().iter().map(|parameter| parameter.array()).collect::<Result<_>>()?,
    })
}

/// The bytes of every weight.
fn bits(epoch: &Epoch) -> Result<Vec<Vec<u8>>> {
    epoch.weights.iter().map(|weight| Ok(weight.snapshot()?.to_bytes())).collect()
}

fn sizes(mut arguments: impl Iterator<Item = String>) -> std::result::Result<Sizes, String> {
    let mut next = |default: usize| match arguments.next() {
        None => Ok(default),
        Some(text) => match text.parse() {
            Ok(0) | Err(_) => Err(format!("`{text}` is not a number above 0")),
            Ok(number) => Ok(number),
        },
    };
    Ok(Sizes { batches: next(150)?, rows: next(1024)?, inputs: next(512)?, units: [next(2048)?, next(512)?] })
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let sizes = sizes(std::env::args().skip(1))?;
    let Sizes { batches, rows, inputs, units: [first, second] } = sizes;
    println!("{batches} batches of ({rows}, {inputs}), units {first}, {second}, 1");
    println!("{:<16}{:>12}{:>10}{:>22}{:>14}{:>12}", "", "submitted", "done", "loss", "growth", "plan hits");
    // The first epoch of a process also pays for threads, pages and plans.
    train(Sizes { batches: batches.min(3), ..sizes }, false)?;
    let epochs = [("barrier", train(sizes, true)?), ("no barrier", train(sizes, false)?)];
    for (name, epoch) in &epochs {
        let (submitted, done) = (epoch.submitted.as_secs_f64(), epoch.done.as_secs_f64());
        let losses = format!("{:.4} -> {:.4}", epoch.first_loss, epoch.last_loss);
        let growth = format!("{:.1} MiB", epoch.growth as f64 / (1 << 20) as f64);
        let (hits, all) = epoch.plans;
        let hits = format!("{:.1} %", 100.0 * hits as f64 / all.max(1) as f64);
        println!("{name:<16}{submitted:>10.3} s{done:>8.3} s{losses:>22}{growth:>14}{hits:>12}");
    }
    let [(_, with), (_, without)] = &epochs;
    let verdict = if bits(with)? == bits(without)? { "the same" } else { "not the same" };
    println!("the weights are {verdict}, bit for bit");
    Ok(())
}

#[test]
fn the_loss_falls_and_a_barrier_changes_no_bit() {
    let small = ["24", "64", "16", "96", "48"].map(str::to_owned);
    let sizes = sizes(small.into_iter()).unwrap();
    let with = train(sizes, true).unwrap();
    assert!(with.last_loss < 0.8 * with.first_loss, "{} {}", with.first_loss, with.last_loss);
    assert_eq!(with.weights.len(), 6);
    let without = train(sizes, false).unwrap();
    assert_eq!(bits(&with).unwrap(), bits(&without).unwrap());
    let start = train(Sizes { batches: 1, ..sizes }, true).unwrap();
    assert_ne!(bits(&with).unwrap(), bits(&start).unwrap());
}

#[test]
fn arguments_are_checked() {
    assert!(sizes(["0".to_owned()].into_iter()).is_err());
    assert!(sizes(["many".to_owned()].into_iter()).is_err());
    assert_eq!(sizes(std::iter::empty()).unwrap().batches, 150);
}
