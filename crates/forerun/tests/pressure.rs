//! Memory pressure: every allocation of a training step fails in turn. The program gets an error that names the holders
//! of memory. Existing arrays do not change, later allocations that fit succeed, and nothing is lost.

#![cfg(any(feature = "faults", debug_assertions))]

use forerun::fail::{self, How};
use forerun::grad::{Differentiable, record};
use forerun::memory::memory_stats;
use forerun::nn::{Activation, Adam, Dense, Layer, Sequential, l2_loss};
use forerun::{Array, Error, ErrorKind, Loc, normal, ones, ops, seed, wait_all};

const BATCH: usize = 64;

/// Number of allocations that are made to fail.
fn injections() -> usize {
    if std::env::var("FORERUN_TEST_LONG").is_ok_and(|long| long == "1") { 1000 } else { 100 }
}

struct Trained {
    net: Sequential,
    adam: Adam,
    inputs: Vec<f32>,
    targets: Array,
}

type Bits = Vec<Vec<u64>>;

fn bits(arrays: &[Array]) -> Result<Bits, Error> {
    arrays.iter().map(|a| Ok(a.to_vec::<f64>()?.iter().map(|v| v.to_bits()).collect())).collect()
}

impl Trained {
    fn new() -> Trained {
        seed(5);
        let net = Sequential::new().then(Dense::new(96).activation(Activation::Relu)).then(Dense::new(40));
        let inputs: Vec<f32> = (0..BATCH * 48).map(|i| (i % 17) as f32 / 17.0).collect();
        let targets = normal([BATCH, 40]);
        let adam = Adam::new(net.parameters(), 0.01);
        let mut trained = Trained { net, adam, inputs, targets };
        // The first call creates the parameters.
        trained.forward().unwrap();
        trained.adam = Adam::new(trained.net.parameters(), 0.01);
        trained
    }

    fn forward(&self) -> Result<Array, Error> {
        let x = ops::from_slice(&self.inputs, &[BATCH, 48], Loc::caller())?;
        record(|| l2_loss(&self.net.forward(&x)?, &self.targets))
    }

    /// Performs one step; returns the loss and the weights.
    fn step(&mut self) -> Result<Bits, Error> {
        let loss = self.forward()?;
        loss.backward()?;
        self.adam.step(BATCH)?;
        bits(&[vec![loss], self.weights()].concat())
    }

    fn weights(&self) -> Vec<Array> {
        self.net.parameters().iter().map(|p| p.array().unwrap()).collect()
    }

    /// Resets the weights to earlier values.
    fn reset(&mut self, weights: &Bits) {
        for (array, bits) in self.weights().iter().zip(weights) {
            let numbers: Vec<f32> = bits.iter().map(|b| f64::from_bits(*b) as f32).collect();
            array.assign(ops::from_slice(&numbers, &array.shape(), Loc::caller()).unwrap());
        }
        self.adam = Adam::new(self.net.parameters(), 0.01);
    }
}

fn live() -> usize {
    let _ = wait_all();
    let look = || {
        std::thread::yield_now();
        memory_stats().live
    };
    (0..200).map(|_| look()).min().unwrap()
}

#[test]
fn every_allocation_of_a_training_step_fails_in_turn() {
    let (earlier, line) = (ones([100_000]), line!());
    let mut trained = Trained::new();
    let start = bits(&trained.weights()).unwrap();
    let expected = trained.step().unwrap();
    trained.reset(&start);
    assert_eq!(trained.step().unwrap(), expected, "the same step gives the same bits");
    trained.reset(&start);
    let before = live();
    let (mut nth, mut failed, mut done) = (1, 0, 0);
    while done < injections() {
        fail::arm("pool.block", nth, How::NoMemory).unwrap();
        let result = trained.step();
        if !fail::disarm().is_empty() {
            assert!(nth > 10, "a step has more than ten allocations");
            assert_eq!(result.unwrap(), expected);
            trained.reset(&start);
            nth = 1;
            continue;
        }
        nth += 1;
        done += 1;
        match result {
            // A fused kernel that finds no memory is run record by record, which may succeed.
            Ok(found) => assert_eq!(found, expected),
            Err(error) => {
                failed += 1;
                assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
                let text = error.to_string();
                assert!(text.contains("cannot allocate") && text.contains("submitted at"), "{text}");
                let holder = format!("are held by 1 array of full at {}:{line}", file!());
                assert!(text.contains(&holder), "the largest holder is named: {text}");
            }
        }
        // The next op that fits succeeds, and existing arrays are unchanged.
        let next = &ones([1000]) + 1.0;
        assert_eq!(next.sum().item::<f64>().unwrap(), 2000.0);
        assert!(earlier.to_vec::<f64>().unwrap().iter().all(|v| *v == 1.0));
        // Every weight is as before the step or as after it.
        trained.adam.restore().unwrap();
        for (at, found) in bits(&trained.weights()).unwrap().iter().enumerate() {
            assert!(*found == start[at] || *found == expected[at + 1], "weight {at} is neither");
        }
        let _ = wait_all();
        trained.reset(&start);
    }
    assert!(failed > injections() / 2, "{failed} of {done} failures were seen");
    assert_eq!(trained.step().unwrap(), expected);
    trained.reset(&start);
    // Gradients and weights are as before; the step creates the states.
    assert!(live() <= before, "{} bytes are live, {before} were", live());
}
