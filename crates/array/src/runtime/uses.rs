//! The balance of a value with a buffer: when do the bytes go back?
//!
//! | event | who | change |
//! |---|---|---|
//! | a record of another window will use it | that frontend, while it holds a handle | +1 |
//! | closed: no new uses; `uses` were announced by the owner | whoever drops the last handle, once | +CLOSED + uses |
//! | uses done (its making is one) | whoever ran the records | -n |
//!
//! The owner announces its own uses only when the value is closed, so that submitting never touches this line. Until the
//! close the word may be negative. It equals CLOSED exactly once: when the value is closed and every use is done. Whoever
//! makes it so frees the buffer; acquire and release order every use before that. Only then does it mark the word FREED,
//! and only a word so marked may begin the slot's next life: else the next life's buffer might be taken for the old
//! one's. It does not know what a buffer is.

use super::sync::{AtomicI64, Ordering};

const CLOSED: i64 = 1 << 40;
const FREED: i64 = 1 << 41;

/// Uses announced minus uses done, plus CLOSED once closed.
#[derive(Debug)]
pub(crate) struct Balance(AtomicI64);

impl Balance {
    pub(crate) fn new() -> Balance {
        Balance(AtomicI64::new(0))
    }

    /// A record of another window will use it.
    pub(crate) fn announce(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// No new uses; the owner's were so many. True if the buffer is the caller's to free.
    #[must_use]
    pub(crate) fn close(&self, uses: u32) -> bool {
        self.change(CLOSED + uses as i64)
    }

    /// Uses are done. True if the buffer is the caller's to free.
    #[must_use]
    pub(crate) fn done(&self, uses: u32) -> bool {
        self.change(-(uses as i64))
    }

    fn change(&self, by: i64) -> bool {
        self.0.fetch_add(by, Ordering::AcqRel) + by == CLOSED
    }

    /// Whether the caller's uses are all that is left: then the buffer is the caller's to take.
    pub(crate) fn is_left_to(&self, uses: u32) -> bool {
        self.0.load(Ordering::Acquire) == CLOSED + uses as i64
    }

    /// Whether every use of an open value is done; the owner's were so many.
    pub(crate) fn is_open_and_done(&self, uses: u32) -> bool {
        self.0.load(Ordering::Acquire) == -(uses as i64)
    }

    /// How many uses are left of a closed value.
    pub(crate) fn left(&self) -> Option<u64> {
        let left = self.0.load(Ordering::Acquire) - CLOSED;
        u64::try_from(left).ok().filter(|left| *left < CLOSED as u64)
    }

    /// Whether every announced use of a value that is never closed here is done.
    pub(crate) fn is_zero(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }

    /// The buffer is freed: nothing of this life is left.
    pub(crate) fn mark_freed(&self) {
        self.0.store(CLOSED | FREED, Ordering::Release);
    }

    /// If nothing of this life is left, makes the word ready for the slot's next one.
    pub(crate) fn reset_if_freed(&self) -> bool {
        let freed = self.0.load(Ordering::Acquire) == CLOSED | FREED;
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
    fn comes_out_even_once_in_any_order() {
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
        /// What the buffer holds: using it reads, freeing it writes.
        bytes: UnsafeCell<u32>,
        freed: loom::sync::atomic::AtomicU32,
    }

    impl Value {
        fn finish(&self, even: bool) {
            if even {
                // SAFETY: loom checks that nobody reads at the same time: that is the point.
                self.bytes.with_mut(|b| unsafe { *b = 0 });
                self.freed.fetch_add(1, Ordering::Relaxed);
                self.balance.mark_freed();
            }
        }

        /// What the owner does when it takes the slot again: writes the next life's bytes.
        fn reuse(&self) -> bool {
            let free = self.balance.reset_if_freed();
            if free {
                // SAFETY: as above.
                self.bytes.with_mut(|b| unsafe { *b = 7 });
            }
            free
        }

        fn use_it(&self) {
            // SAFETY: as above.
            self.bytes.with(|b| assert_eq!(unsafe { *b }, 7));
        }
    }

    /// A maker, a reader in the owner's window, a reader in another window, and the close, all at once.
    #[test]
    fn freed_once_after_every_use() {
        // Three preemptions find every order that matters here, in seconds instead of minutes.
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
            // The owner looks for slots to take again at any time.
            let early = value.reuse();
            own.join().unwrap();
            other.join().unwrap();
            assert_eq!(value.freed.load(Ordering::Relaxed), 1);
            assert!(early || value.reuse());
        });
    }
}
