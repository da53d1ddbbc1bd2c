//! The plans that are kept. Where a waiter cuts the window is a matter of time, so a loop goes on making plans that hardly ever
//! come again; only what is asked for often is kept for long, so that memory does not creep up with the rest.

use crate::runtime::lower::CachedPlan;
use forerun_base::WordHash;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::sync::Arc;

/// Plans kept for long.
const MOST_KEPT: usize = 1024;
/// Plans kept for a while.
const MOST_NEW: usize = 64;
/// A plan that was asked for so many times lately is kept for long.
const OFTEN: u8 = 8;
/// Lately: within about so many questions.
const LATELY: u32 = 1 << 16;
/// Counts of questions: so many that few keys share one.
const COUNTS: usize = 1 << 16;

pub(crate) struct Plans {
    kept: HashMap<Box<[u32]>, Arc<CachedPlan>, WordHash>,
    /// The rest, the one asked for last at the end.
    new: VecDeque<(Box<[u32]>, Arc<CachedPlan>)>,
    /// How often a key was asked for lately, by its hash.
    counts: Box<[u8]>,
    asked: u32,
}

impl Default for Plans {
    fn default() -> Plans {
        Plans { kept: HashMap::default(), new: VecDeque::new(), counts: vec![0; COUNTS].into(), asked: 0 }
    }
}

impl Plans {
    pub(crate) fn get(&mut self, key: &[u32]) -> Option<Arc<CachedPlan>> {
        self.asked += 1;
        if self.asked == LATELY {
            self.asked = 0;
            self.counts.iter_mut().for_each(|count| *count /= 2);
        }
        if let Some(plan) = self.kept.get(key) {
            return Some(plan.clone());
        }
        let often = self.ask(key);
        let found = self.new.iter().rposition(|(k, _)| **k == *key)?;
        let (key, plan) = self.new.remove(found)?;
        if often {
            self.keep_for_long(key, plan.clone());
        } else {
            self.new.push_back((key, plan.clone()));
        }
        Some(plan)
    }

    /// Keeps a plan that was asked for and not found.
    pub(crate) fn keep(&mut self, key: &[u32], plan: Arc<CachedPlan>) {
        if self.counts[self.count_of(key)] >= OFTEN {
            return self.keep_for_long(key.into(), plan);
        }
        self.new.push_back((key.into(), plan));
        if self.new.len() > MOST_NEW {
            self.new.pop_front();
        }
    }

    /// When there are too many all are forgotten, which only costs making them again.
    fn keep_for_long(&mut self, key: Box<[u32]>, plan: Arc<CachedPlan>) {
        if self.kept.len() >= MOST_KEPT {
            self.kept.clear();
        }
        self.kept.insert(key, plan);
    }

    fn count_of(&self, key: &[u32]) -> usize {
        self.kept.hasher().hash_one(key) as usize % COUNTS
    }

    /// Counts a question; true if there were many lately.
    fn ask(&mut self, key: &[u32]) -> bool {
        let at = self.count_of(key);
        self.counts[at] = self.counts[at].saturating_add(1);
        self.counts[at] >= OFTEN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forerun_plan::Plan;

    fn plan() -> Arc<CachedPlan> {
        let plan = Plan { groups: Vec::new(), dropped: 0 };
        Arc::new(CachedPlan { plan, kernels: Vec::new(), donors: Vec::new(), sizes: Vec::new() })
    }

    fn ask(plans: &mut Plans, key: u32) -> bool {
        let found = plans.get(&[key]).is_some();
        if !found {
            plans.keep(&[key], plan());
        }
        found
    }

    #[test]
    fn only_what_is_asked_for_often_stays() {
        let mut plans = Plans::default();
        for turn in 0..20_000 {
            // One in every turn, one that comes again after ten thousand, and one that never does.
            assert!(ask(&mut plans, 0) || turn == 0);
            assert!(turn % 20 != 0 || !ask(&mut plans, 1 + turn / 20 % 500));
            assert!(!ask(&mut plans, 2000 + turn));
        }
        assert!(plans.kept.len() < 40, "{} are kept", plans.kept.len());
        assert_eq!(plans.new.len(), MOST_NEW);
    }

    #[test]
    fn a_long_round_is_kept_whole() {
        let mut plans = Plans::default();
        for _ in 0..OFTEN {
            (0..500).for_each(|key| _ = ask(&mut plans, key));
        }
        assert!((0..500).all(|key| ask(&mut plans, key)));
    }

    #[test]
    fn there_are_never_too_many() {
        let mut plans = Plans::default();
        for key in 0..5000 {
            (0..OFTEN).for_each(|_| _ = ask(&mut plans, key));
            assert!(plans.kept.len() <= MOST_KEPT && plans.new.len() <= MOST_NEW);
        }
    }
}
