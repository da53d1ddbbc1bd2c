//! Interleaved rounds: each contender runs once per round, so that slow phases of the machine affect all of them.

use std::time::{Duration, Instant};

/// The times of one contender.
pub struct Samples {
    /// Its name.
    pub name: String,
    nanos: Vec<f64>,
}

impl Samples {
    /// The median, in nanoseconds.
    pub fn median(&self) -> f64 {
        let mut sorted = self.nanos.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }

    /// The minimum, in nanoseconds.
    pub fn minimum(&self) -> f64 {
        self.nanos.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// A contender: a name, and a function for one round.
pub type Contender<'a> = (&'a str, Box<dyn FnMut() -> Duration + 'a>);

/// Runs each contender once per round, after a warm-up round.
pub fn interleave(rounds: usize, contenders: &mut [Contender<'_>]) -> Vec<Samples> {
    let mut samples: Vec<Samples> =
        contenders.iter().map(|(name, _)| Samples { name: (*name).to_owned(), nanos: Vec::new() }).collect();
    for round in 0..=rounds {
        for (sample, (_, run)) in samples.iter_mut().zip(contenders.iter_mut()) {
            let took = run();
            if round > 0 {
                sample.nanos.push(took.as_nanos() as f64);
            }
        }
    }
    samples
}

/// Times a call.
pub fn time(f: impl FnOnce()) -> Duration {
    let start = Instant::now();
    f();
    start.elapsed()
}
