//! Interleaved rounds: every contender once a round, so that a slow spell of the machine falls on all.

use std::time::{Duration, Instant};

/// What one contender took, round by round.
pub struct Samples {
    /// Its name.
    pub name: String,
    nanos: Vec<f64>,
}

impl Samples {
    /// The middle round, in nanoseconds.
    pub fn median(&self) -> f64 {
        let mut sorted = self.nanos.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }

    /// The best round, in nanoseconds.
    pub fn minimum(&self) -> f64 {
        self.nanos.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// One contender: a name, and one round of its work.
pub type Contender<'a> = (&'a str, Box<dyn FnMut() -> Duration + 'a>);

/// Runs every contender once a round, after one round to warm up.
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
