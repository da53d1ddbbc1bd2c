//! The plan cache. Where timing ends a segment (`docs/internals/planning.md`), a loop keeps producing plans that rarely
//! recur. Only plans that are requested often are kept for long, so that the others do not fill memory.

use crate::runtime::lower::CachedPlan;
use forerun_base::WordHash;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::sync::Arc;

/// Maximum number of plans kept for long.
const MOST_KEPT: usize = 1024;
/// Maximum number of recent plans.
const MOST_NEW: usize = 64;
/// Number of recent requests after which a plan is kept for long.
const OFTEN: u8 = 8;
/// Number of requests that count as recent.
const LATELY: u32 = 1 << 16;
/// Number of request counters: enough that few keys share one.
const COUNTS: usize = 1 << 16;

pub(crate) struct Plans {
    kept: HashMap<Box<[u32]>, Arc<CachedPlan>, WordHash>,
    /// Recent plans, with the most recently requested last.
    new: VecDeque<(Box<[u32]>, Arc<CachedPlan>)>,
    /// Number of recent requests of a key, by its hash.
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
        let often = self.count_request(key);
        let found = self.new.iter().rposition(|(k, _)| **k == *key)?;
        let (key, plan) = self.new.remove(found)?;
        if often {
            self.keep_for_long(key, plan.clone());
        } else {
            self.new.push_back((key, plan.clone()));
        }
        Some(plan)
    }

    /// Adds a plan that was requested and not found.
    pub(crate) fn keep(&mut self, key: &[u32], plan: Arc<CachedPlan>) {
        if self.counts[self.count_of(key)] >= OFTEN {
            return self.keep_for_long(key.into(), plan);
        }
        self.new.push_back((key.into(), plan));
        if self.new.len() > MOST_NEW {
            self.new.pop_front();
        }
    }

    /// Adds a plan to those kept for long. When there are too many, all are dropped, which only costs computing them
    /// again.
    fn keep_for_long(&mut self, key: Box<[u32]>, plan: Arc<CachedPlan>) {
        if self.kept.len() >= MOST_KEPT {
            self.kept.clear();
        }
        self.kept.insert(key, plan);
    }

    fn count_of(&self, key: &[u32]) -> usize {
        self.kept.hasher().hash_one(key) as usize % COUNTS
    }

    /// Counts a request; returns true if there were many recently.
    fn count_request(&mut self, key: &[u32]) -> bool {
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

    fn request(plans: &mut Plans, key: u32) -> bool {
        let found = plans.get(&[key]).is_some();
        if !found {
            plans.keep(&[key], plan());
        }
        found
    }

    #[test]
    fn only_frequently_requested_plans_stay() {
        let mut plans = Plans::default();
        for iteration in 0..20_000 {
            // One plan per iteration, one that recurs after ten thousand, and one that never does.
            assert!(request(&mut plans, 0) || iteration == 0);
            assert!(iteration % 20 != 0 || !request(&mut plans, 1 + iteration / 20 % 500));
            assert!(!request(&mut plans, 2000 + iteration));
        }
        assert!(plans.kept.len() < 40, "{} are kept", plans.kept.len());
        assert_eq!(plans.new.len(), MOST_NEW);
    }

    #[test]
    fn a_long_cycle_of_plans_is_kept() {
        let mut plans = Plans::default();
        for _ in 0..OFTEN {
            (0..500).for_each(|key| _ = request(&mut plans, key));
        }
        assert!((0..500).all(|key| request(&mut plans, key)));
    }

    #[test]
    fn the_cache_is_bounded() {
        let mut plans = Plans::default();
        for key in 0..5000 {
            (0..OFTEN).for_each(|_| _ = request(&mut plans, key));
            assert!(plans.kept.len() <= MOST_KEPT && plans.new.len() <= MOST_NEW);
        }
    }
}
