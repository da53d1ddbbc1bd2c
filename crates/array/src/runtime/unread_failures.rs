//! Failures that no thread has read. The first ones are kept whole and the others counted, so that a program that never
//! reads them does not fill memory with errors.

use forerun_base::{Error, WordHash};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};

/// Maximum number of failures kept whole.
const MOST_LISTED: usize = 1000;
/// Maximum number of distinct failures counted beyond those.
const MOST_COUNTED: usize = 1 << 16;

#[derive(Default)]
pub(crate) struct Failures {
    listed: Vec<Error>,
    /// Number of occurrences of each failure that is not listed, by its identity hash.
    counted: HashMap<u64, usize, WordHash>,
    /// The remaining failures, which cannot be identified and so never count as read.
    rest: usize,
}

impl Failures {
    /// Adds a failure.
    pub(crate) fn note(&mut self, error: &Error) {
        if self.listed.len() < MOST_LISTED {
            return self.listed.push(error.clone());
        }
        let key = self.key(error);
        if self.counted.len() < MOST_COUNTED || self.counted.contains_key(&key) {
            *self.counted.entry(key).or_default() += 1;
        } else {
            self.rest += 1;
        }
    }

    /// Notes that a failure was read.
    pub(crate) fn seen(&mut self, error: &Error) {
        self.listed.retain(|e| !e.same_failure(error));
        if !self.counted.is_empty() {
            let key = self.key(error);
            self.counted.remove(&key);
        }
    }

    /// The listed failures, and the number of others.
    pub(crate) fn into_parts(self) -> (Vec<Error>, usize) {
        (self.listed, self.counted.values().sum::<usize>() + self.rest)
    }

    fn key(&self, error: &Error) -> u64 {
        let mut hasher = self.counted.hasher().build_hasher();
        (error.kind(), error.op(), error.submitted(), error.message()).hash(&mut hasher);
        std::hash::Hasher::finish(&hasher)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forerun_base::ErrorKind;

    #[test]
    fn all_failures_are_counted_and_few_are_kept() {
        let error = |n: usize| Error::new(ErrorKind::Value, format!("bad {n}"));
        let mut failures = Failures::default();
        (0..3000).for_each(|n| failures.note(&error(n)));
        failures.seen(&error(3));
        failures.seen(&error(2500));
        failures.seen(&error(2500));
        let (listed, more) = failures.into_parts();
        assert_eq!((listed.len(), more), (999, 1999));
    }
}
