//! Slots limit how many tasks and pieces run at once. Workers and helping waiters take one each, so that the number of
//! running pieces never exceeds the number of cores.

use crate::sync::{AtomicUsize, Ordering, Padded};

/// The slots of one pool.
pub(crate) struct Slots {
    taken: Padded<AtomicUsize>,
    total: AtomicUsize,
}

impl Slots {
    pub(crate) fn new(total: usize) -> Slots {
        Slots { taken: Padded(AtomicUsize::new(0)), total: AtomicUsize::new(total) }
    }

    pub(crate) fn total(&self) -> usize {
        self.total.load(Ordering::Relaxed)
    }

    pub(crate) fn set_total(&self, total: usize) {
        self.total.store(total, Ordering::Relaxed);
    }

    /// Frees all slots in a forked child, where nothing runs.
    pub(crate) fn forget(&self) {
        self.taken.store(0, Ordering::Relaxed);
    }

    /// Whether [`Slots::take`] would succeed.
    pub(crate) fn any_free(&self) -> bool {
        self.taken.load(Ordering::Relaxed) < self.total()
    }

    /// Takes a slot, if one is free.
    pub(crate) fn take(&self) -> Option<Slot<'_>> {
        let total = self.total();
        let more = |taken| (taken < total).then_some(taken + 1);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|_| Slot(self))
    }
}

/// A taken slot; dropping it frees the slot.
pub(crate) struct Slot<'a>(&'a Slots);

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn slots_are_limited() {
        let slots = Slots::new(2);
        let (a, b) = (slots.take(), slots.take());
        assert!(a.is_some() && b.is_some() && slots.take().is_none() && !slots.any_free());
        drop(a);
        assert!(slots.take().is_some());
    }
}
