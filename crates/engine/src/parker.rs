//! Parking and unparking: one word per thread.
//!
//! | word | meaning | park | unpark |
//! |---|---|---|---|
//! | empty | awake, no token | -> parked, sleeps | -> token |
//! | parked | the owner sleeps, or is about to | | -> token, futex wake |
//! | token | a wake that is not consumed yet | -> empty, returns at once | unchanged |
//!
//! Only the owner parks. A park may return spuriously: callers check their condition and park again. On Linux the sleep
//! is a futex of our own, because it must return when a signal arrives, so that a waiter can check for interruption.

use std::time::Duration;

/// Why a park returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// Another thread called unpark.
    Called,
    /// A signal arrived.
    Signalled,
    /// The timeout ended, or the wake was spurious.
    Otherwise,
}

#[cfg(all(not(loom), target_os = "linux"))]
mod real {
    use super::*;
    use crate::sync::{AtomicU32, Ordering};
    use crate::{futex, gate};

    const EMPTY: u32 = 0;
    const TOKEN: u32 = 1;
    const PARKED: u32 = 2;

    /// The park word of one thread.
    pub(crate) struct Parker(AtomicU32);

    impl Parker {
        pub(crate) fn new() -> Parker {
            Parker(AtomicU32::new(EMPTY))
        }

        /// Sleeps until unparked, a signal arrives, or the timeout ends.
        pub(crate) fn park(&self, timeout: Option<Duration>) -> Woken {
            // Acquire wherever the token is consumed: what the waking thread wrote is visible.
            if self.0.compare_exchange(EMPTY, PARKED, Ordering::Acquire, Ordering::Acquire).is_err() {
                self.0.swap(EMPTY, Ordering::Acquire);
                return Woken::Called;
            }
            // A sleeping thread holds nothing, so a pause need not wait for it.
            let signalled = gate::outside(|| futex::wait(&self.0, PARKED, timeout));
            match self.0.swap(EMPTY, Ordering::Acquire) {
                TOKEN => Woken::Called,
                _ if signalled => Woken::Signalled,
                _ => Woken::Otherwise,
            }
        }

        /// Wakes the owner, or makes its next park return at once. Returns true if that took a system call.
        pub(crate) fn unpark(&self) -> bool {
            // Release: the owner sees everything written before.
            if self.0.swap(TOKEN, Ordering::Release) != PARKED {
                return false;
            }
            futex::wake(&self.0, 1);
            true
        }
    }
}

#[cfg(all(not(loom), not(target_os = "linux")))]
mod real {
    use super::*;
    use crate::gate;
    use crate::sync::{Condvar, Mutex};
    use std::sync::PoisonError;

    /// The park token of one thread.
    pub(crate) struct Parker(Mutex<bool>, Condvar);

    impl Parker {
        pub(crate) fn new() -> Parker {
            Parker(Mutex::new(false), Condvar::new())
        }

        /// Sleeps until unparked or the timeout ends.
        pub(crate) fn park(&self, timeout: Option<Duration>) -> Woken {
            gate::outside(|| self.sleep(timeout))
        }

        fn sleep(&self, timeout: Option<Duration>) -> Woken {
            let mut token = self.0.lock();
            if !*token {
                token = match timeout {
                    Some(timeout) => self.1.wait_timeout(token, timeout).unwrap_or_else(PoisonError::into_inner).0,
                    None => self.1.wait(token).unwrap_or_else(PoisonError::into_inner),
                };
            }
            if std::mem::take(&mut *token) { Woken::Called } else { Woken::Otherwise }
        }

        /// Wakes the owner, or makes its next park return at once. Returns true if that took a system call.
        pub(crate) fn unpark(&self) -> bool {
            *self.0.lock() = true;
            self.1.notify_one()
        }
    }
}

#[cfg(loom)]
mod real {
    use super::*;

    /// The park token of one thread. Time does not pass in a model: a lost wake-up shows as a deadlock.
    pub(crate) struct Parker(loom::sync::Mutex<bool>, loom::sync::Condvar);

    impl Parker {
        pub(crate) fn new() -> Parker {
            Parker(loom::sync::Mutex::new(false), loom::sync::Condvar::new())
        }

        pub(crate) fn park(&self, _timeout: Option<Duration>) -> Woken {
            let mut token = self.0.lock().unwrap();
            while !*token {
                token = self.1.wait(token).unwrap();
            }
            *token = false;
            Woken::Called
        }

        pub(crate) fn unpark(&self) -> bool {
            *self.0.lock().unwrap() = true;
            self.1.notify_one();
            true
        }
    }
}

pub(crate) use real::Parker;

#[cfg(not(loom))]
thread_local! {
    static CURRENT: crate::sync::Arc<Parker> = crate::sync::Arc::new(Parker::new());
}

/// The calling thread's parker.
#[cfg(not(loom))]
pub(crate) fn current() -> crate::sync::Arc<Parker> {
    CURRENT.with(crate::sync::Arc::clone)
}
