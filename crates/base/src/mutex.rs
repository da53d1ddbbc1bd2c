//! The mutex of crates whose locks are held during a fork.
//!
//! Invariant: a lock that was taken before a fork is free in the child once its guard is dropped. A lock with a queue of
//! waiting threads, such as that of parking_lot, breaks this: it may be handed to a waiting thread, which the child does not have.

pub use std::sync::MutexGuard;
use std::sync::{PoisonError, TryLockError};

/// A mutex that a panic does not poison: values that a panic may leave incomplete carry a state of their own.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// An unlocked mutex.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(std::sync::Mutex::new(value))
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Locks, after waiting if another thread has the lock.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks if no other thread has the lock.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The value, without a lock: the reference is the only one.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_does_not_poison() {
        let mutex = Mutex::new(1);
        let held = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut guard = mutex.lock();
            *guard = 2;
            assert!(mutex.try_lock().is_none());
            panic!("while it is locked");
        }));
        assert!(held.is_err());
        assert_eq!(mutex.try_lock().map(|guard| *guard), Some(2));
        assert_eq!(*mutex.lock(), 2);
        assert_eq!(mutex.into_inner(), 2);
    }
}
