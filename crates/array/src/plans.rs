//! The plans that are kept. Where a waiter cuts the window is a matter of time, so a loop goes on making plans that it will not
//! ask for again; only what was asked for twice is worth keeping for long.

use crate::lower::CachedPlan;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Plans kept for long.
const MOST_KEPT: usize = 1024;
/// Plans kept until it shows whether they are asked for again.
const MOST_NEW: usize = 64;

#[derive(Default)]
pub(crate) struct Plans {
    plans: HashMap<Box<[u32]>, Plan>,
    /// The keys of plans that are new, oldest first.
    new: VecDeque<Box<[u32]>>,
}

struct Plan {
    plan: Arc<CachedPlan>,
    asked_again: bool,
}

impl Plans {
    pub(crate) fn get(&mut self, key: &[u32]) -> Option<&Arc<CachedPlan>> {
        let found = self.plans.get_mut(key)?;
        found.asked_again = true;
        Some(&found.plan)
    }

    /// Keeps a plan. When there are too many all are forgotten, which only costs making them again.
    pub(crate) fn keep(&mut self, key: &[u32], plan: Arc<CachedPlan>) {
        if self.plans.len() >= MOST_KEPT + MOST_NEW {
            self.plans.clear();
            self.new.clear();
        }
        self.plans.insert(key.into(), Plan { plan, asked_again: false });
        self.new.push_back(key.into());
        if self.new.len() > MOST_NEW
            && let Some(oldest) = self.new.pop_front()
            && self.plans.get(&oldest).is_some_and(|plan| !plan.asked_again)
        {
            self.plans.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forerun_plan::Plan as Made;

    fn plan() -> Arc<CachedPlan> {
        let plan = Made { groups: Vec::new(), dropped: 0 };
        Arc::new(CachedPlan { plan, kernels: Vec::new(), donors: Vec::new() })
    }

    #[test]
    fn only_what_is_asked_for_again_stays() {
        let mut plans = Plans::default();
        plans.keep(&[0], plan());
        plans.keep(&[1], plan());
        assert!(plans.get(&[0]).is_some());
        for key in 2..1000 {
            plans.keep(&[key], plan());
        }
        assert!(plans.get(&[0]).is_some(), "it was asked for again");
        assert!(plans.get(&[1]).is_none());
        assert_eq!(plans.plans.len(), MOST_NEW + 1);
        assert!(plans.get(&[999]).is_some());
    }

    #[test]
    fn there_are_never_too_many() {
        let mut plans = Plans::default();
        for key in 0..5000 {
            plans.keep(&[key], plan());
            assert!(plans.get(&[key]).is_some());
            assert!(plans.plans.len() <= MOST_KEPT + MOST_NEW && plans.new.len() <= MOST_NEW);
        }
    }
}
