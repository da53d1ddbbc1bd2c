//! Slots retired by threads that do not own them: a stack that any thread pushes to and the owner takes as a whole.
//!
//! A push writes the link, then publishes the slot with a release exchange. The owner takes everything with one acquire
//! swap, so it sees every link and all earlier accesses to the slots. A slot is on the stack at most once, because it
//! is retired once per life. There is no pop of single slots, hence no ABA problem.

use super::sync::{AtomicPtr, Ordering};
use std::ptr::null_mut;

/// An element of the stack: it provides the link.
pub(crate) trait Linked: Sized {
    fn link(&self) -> &AtomicPtr<Self>;
}

/// The stack of retired slots.
pub(crate) struct Retired<T: Linked>(AtomicPtr<T>);

impl<T: Linked> Retired<T> {
    pub(crate) fn new() -> Retired<T> {
        Retired(AtomicPtr::new(null_mut()))
    }

    /// Pushes a slot.
    pub(crate) fn push(&self, slot: &T) {
        let new = slot as *const T as *mut T;
        let mut head = self.0.load(Ordering::Relaxed);
        loop {
            slot.link().store(head, Ordering::Relaxed);
            match self.0.compare_exchange_weak(head, new, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Takes all slots.
    ///
    /// # Safety
    /// Slots must outlive the iterator.
    pub(crate) unsafe fn take_all<'a>(&self) -> impl Iterator<Item = &'a T> + use<'a, T>
    where
        T: 'a,
    {
        let mut next = self.0.swap(null_mut(), Ordering::Acquire);
        std::iter::from_fn(move || {
            // SAFETY: the caller guarantees that slots are alive; the link was written before the slot was published.
            let slot = unsafe { next.as_ref()? };
            next = slot.link().load(Ordering::Relaxed);
            Some(slot)
        })
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    struct Slot {
        link: AtomicPtr<Slot>,
        note: UnsafeCell<u32>,
    }

    impl Linked for Slot {
        fn link(&self) -> &AtomicPtr<Slot> {
            &self.link
        }
    }

    // SAFETY: loom checks the accesses.
    unsafe impl Sync for Slot {}
    // SAFETY: loom checks the accesses.
    unsafe impl Send for Slot {}

    #[test]
    fn every_slot_arrives_with_earlier_writes() {
        // Three preemptions cover every order that matters here, in seconds instead of minutes.
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let slots: &'static [Slot; 2] = Box::leak(Box::new(
                [(); 2].map(|()| Slot { link: AtomicPtr::new(null_mut()), note: UnsafeCell::new(0) }),
            ));
            let stack = Arc::new(Retired::new());
            let threads: Vec<_> = slots
                .iter()
                .map(|slot| {
                    let stack = stack.clone();
                    thread::spawn(move || {
                        // SAFETY: loom checks the access.
                        slot.note.with_mut(|n| unsafe { *n = 1 });
                        stack.push(slot);
                    })
                })
                .collect();
            let mut taken = 0;
            while taken < 2 {
                // SAFETY: slots are leaked.
                for slot in unsafe { stack.take_all() } {
                    // SAFETY: loom checks the access.
                    slot.note.with(|n| assert_eq!(unsafe { *n }, 1));
                    taken += 1;
                }
                thread::yield_now();
            }
            threads.into_iter().for_each(|t| t.join().unwrap());
        });
    }
}
