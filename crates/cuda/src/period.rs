//! Detects repeating launch sequences, and where a repetition ends.
//!
//! Programs do not declare steps. If the last launches equal those before them, for two full repetitions and at least
//! [`SURE`] launches, the distance is the period. From then on a batch ends after each period, until a launch differs.

use std::collections::{HashMap, VecDeque};

/// Launches that must have repeated before a period is accepted.
const SURE: usize = 24;
/// The longest period that is detected.
const LONGEST: usize = 512;
/// Short periods are combined until a batch has at least this many launches.
const WORTHWHILE: usize = 32;

/// The recent launches, each identified by a number, and their period.
#[derive(Debug, Default)]
pub(crate) struct PeriodDetector {
    history: VecDeque<usize>,
    last: HashMap<usize, u64>,
    count: u64,
    period: Option<usize>,
    /// The number of launches before the current batch.
    start: u64,
}

impl PeriodDetector {
    /// Records a launch. Returns whether a batch ends with it.
    pub(crate) fn observe(&mut self, name: usize) -> bool {
        let at = self.count;
        self.count += 1;
        self.history.push_back(name);
        if self.history.len() > 2 * LONGEST + SURE {
            self.history.pop_front();
        }
        if let Some(period) = self.period {
            if self.history.len() > period && self.history[self.history.len() - 1 - period] == name {
                let batch = (period * WORTHWHILE.div_ceil(period)) as u64;
                let ends = (self.count - self.start).is_multiple_of(batch);
                if ends {
                    self.start = self.count;
                }
                return ends;
            }
            self.period = None;
        }
        if self.last.len() > 8 * LONGEST {
            self.last.clear();
        }
        let before = self.last.insert(name, at);
        let Some(period) = before.map(|before| (at - before) as usize).filter(|period| *period <= LONGEST) else {
            return false;
        };
        let seen = (2 * period).max(period + SURE);
        if self.history.len() < seen {
            return false;
        }
        let from = self.history.len() - seen;
        let repeats = (from + period..self.history.len()).all(|n| self.history[n] == self.history[n - period]);
        if repeats {
            self.period = Some(period);
            self.start = self.count;
        }
        repeats
    }

    /// Whether launches currently repeat.
    pub(crate) fn is_periodic(&self) -> bool {
        self.period.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(names: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let mut detector = PeriodDetector::default();
        names.into_iter().enumerate().filter(|(_, name)| detector.observe(*name)).map(|(n, _)| n + 1).collect()
    }

    #[test]
    fn a_period_is_found_after_two_rounds() {
        let step: Vec<usize> = (0..40).collect();
        let ends = ends((0..200).map(|n| step[n % 40]));
        assert_eq!(ends, [80, 120, 160, 200]);
    }

    #[test]
    fn short_periods_are_combined() {
        assert_eq!(ends(vec![7; 100]), [25, 57, 89]);
        let found = ends((0..200).map(|n| n % 3));
        assert!(found.windows(2).all(|pair| pair[1] - pair[0] == 33), "{found:?}");
    }

    #[test]
    fn duplicates_inside_a_period_do_not_hide_it() {
        let step = [
            1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 9, 2, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27,
        ];
        let found = ends((0..240).map(|n| step[n % step.len()]));
        assert!(found.windows(2).all(|pair| (pair[1] - pair[0]).is_multiple_of(step.len())), "{found:?}");
        assert!(found.len() >= 2);
    }

    #[test]
    fn a_launch_that_differs_ends_the_period() {
        let mut detector = PeriodDetector::default();
        for n in 0..120 {
            detector.observe(n % 40);
        }
        assert!(detector.is_periodic());
        detector.observe(99);
        assert!(!detector.is_periodic());
    }
}
