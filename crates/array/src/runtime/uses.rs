//! The balance of a value with a buffer, which decides when its bytes are freed.
//!
//! A *use* is a record that writes or reads the value. The record that computes the value counts as its first use, so
//! the buffer is not freed before it is written.
//!
//! | event | who | change |
//! |---|---|---|
//! | a record of another window will use it | that frontend, while it holds a handle | +1 |
//! | closed: no new uses; the owner's window has submitted `uses` in total | the thread that removes the last cell's pointer to it, once | +CLOSED_OFFSET + uses |
//! | n uses are done | the thread that ran the records | -n |
//! | the buffer is freed | the thread that found the word equal to CLOSED_OFFSET | = CLOSED_OFFSET + FREED |
//! | the slot is reused | the owner, if the word is CLOSED_OFFSET + FREED | = 0 |
//!
//! The owner announces its own uses only when the value is closed, so that submission never touches this cache line.
//! Until the close the word may be negative. It equals CLOSED_OFFSET exactly once: when the value is closed and every
//! use is done. The thread that brings it there frees the buffer; acquire and release order every use before that.
//!
//! FREED says that this thread is done with the slot. At CLOSED_OFFSET alone, it may still be about to take the buffer
//! out of the slot. If the owner reused the slot at that point, the thread could free the buffer of the next value.
//!
//! `docs/internals/memory.md` has an example with numbers. This module does not know what a buffer is.

use super::sync::{AtomicI64, Ordering};

/// Added when the value is closed; more than the number of uses can reach.
const CLOSED_OFFSET: i64 = 1 << 40;
/// Added when the buffer is freed.
const FREED: i64 = 1 << 41;

/// Uses announced minus uses done, plus [`CLOSED_OFFSET`] once closed.
#[derive(Debug)]
pub(crate) struct Balance(AtomicI64);

impl Balance {
    pub(crate) fn new() -> Balance {
        Balance(AtomicI64::new(0))
    }

    /// Announces a use by a record of another window.
    pub(crate) fn announce(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends new uses and adds the owner's `uses`. Returns true if the caller must free the buffer.
    #[must_use]
    pub(crate) fn close(&self, uses: u32) -> bool {
        self.change(CLOSED_OFFSET + uses as i64)
    }

    /// Subtracts uses that are done. Returns true if the caller must free the buffer.
    #[must_use]
    pub(crate) fn done(&self, uses: u32) -> bool {
        self.change(-(uses as i64))
    }

    fn change(&self, by: i64) -> bool {
        self.0.fetch_add(by, Ordering::AcqRel) + by == CLOSED_OFFSET
    }

    /// Whether the caller's uses are the only ones left, so that it may take the buffer.
    pub(crate) fn is_left_to(&self, uses: u32) -> bool {
        self.0.load(Ordering::Acquire) == CLOSED_OFFSET + uses as i64
    }

    /// Whether every use of an open value is done, with `uses` of the owner.
    pub(crate) fn is_open_and_done(&self, uses: u32) -> bool {
        self.0.load(Ordering::Acquire) == -(uses as i64)
    }

    /// The number of uses left of a closed value.
    pub(crate) fn left(&self) -> Option<u64> {
        let left = self.0.load(Ordering::Acquire) - CLOSED_OFFSET;
        u64::try_from(left).ok().filter(|left| *left < CLOSED_OFFSET as u64)
    }

    /// Whether every announced use is done. For values without a buffer only: they are never closed in this word, and
    /// it counts the uses of other windows alone.
    pub(crate) fn is_zero(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }

    /// Marks the buffer as freed: this life has ended.
    pub(crate) fn mark_freed(&self) {
        self.0.store(CLOSED_OFFSET | FREED, Ordering::Release);
    }

    /// Resets the word for the slot's next life if this one has ended.
    pub(crate) fn reset_if_freed(&self) -> bool {
        let freed = self.0.load(Ordering::Acquire) == CLOSED_OFFSET | FREED;
        if freed {
            self.0.store(0, Ordering::Relaxed);
        }
        freed
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn reaches_the_final_state_once_in_any_order() {
        let b = Balance::new();
        assert!(b.is_open_and_done(0) && !b.is_open_and_done(1));
        assert!(!b.done(1));
        assert!(b.is_open_and_done(1) && !b.is_open_and_done(2));
        b.announce();
        assert!(!b.is_open_and_done(1));
        assert!(!b.close(2));
        assert!(b.is_left_to(2));
        assert!(!b.done(1));
        assert!(b.done(1));
        assert!(!b.reset_if_freed());
        b.mark_freed();
        assert!(b.reset_if_freed() && b.is_zero());
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    struct Value {
        balance: Balance,
        /// The buffer's bytes: using it reads, freeing it writes.
        bytes: UnsafeCell<u32>,
        freed: loom::sync::atomic::AtomicU32,
    }

    impl Value {
        fn finish(&self, must_free: bool) {
            if must_free {
                // SAFETY: loom checks that no thread reads at the same time, which is what this model tests.
                self.bytes.with_mut(|b| unsafe { *b = 0 });
                self.freed.fetch_add(1, Ordering::Relaxed);
                self.balance.mark_freed();
            }
        }

        /// What the owner does when it reuses the slot: writes the next life's bytes.
        fn reuse(&self) -> bool {
            let free = self.balance.reset_if_freed();
            if free {
                // SAFETY: loom checks the access.
                self.bytes.with_mut(|b| unsafe { *b = 7 });
            }
            free
        }

        fn use_it(&self) {
            // SAFETY: loom checks the access.
            self.bytes.with(|b| assert_eq!(unsafe { *b }, 7));
        }
    }

    /// A producer, a reader in the owner's window, a reader in another window, and the close, all at once.
    #[test]
    fn freed_once_after_every_use() {
        // Three preemptions cover every order that matters here, in seconds instead of minutes.
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let value = Arc::new(Value {
                balance: Balance::new(),
                bytes: UnsafeCell::new(7),
                freed: loom::sync::atomic::AtomicU32::new(0),
            });
            value.balance.announce();
            let (v1, v2) = (value.clone(), value.clone());
            let own = thread::spawn(move || {
                v1.use_it();
                v1.finish(v1.balance.done(2));
            });
            let other = thread::spawn(move || {
                v2.use_it();
                v2.finish(v2.balance.done(1));
            });
            value.finish(value.balance.close(2));
            // The owner may look for reusable slots at any time.
            let early = value.reuse();
            own.join().unwrap();
            other.join().unwrap();
            assert_eq!(value.freed.load(Ordering::Relaxed), 1);
            assert!(early || value.reuse());
        });
    }
}
