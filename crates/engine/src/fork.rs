//! Fork, exit and cancelling: what the engine does when threads vanish or work is no longer wanted.
//!
//! The hooks are the C library's, not a frontend's: they see every fork and every exit, whoever asked for it.
//!
//! | fork | what happens |
//! |---|---|
//! | before | whoever registered brings everything to a stand and takes its locks: no lock is held by a thread that will be missing |
//! | parent | locks and the gate are let go; all goes on |
//! | child | workers and waiters are forgotten, unfinished tasks fail; the next submission or wait starts new workers |

use crate::asymmetric;
use crate::config::Mode;
use crate::engine::Engine;
use crate::gate::{self, Paused};
use crate::sync::Ordering;
use forerun_base::Error;
use std::any::Any;

/// Calls `before` in the thread that forks, then in the same thread `parent` in the parent and `child` in the child.
/// Where there is no fork, never.
pub fn at_fork(before: extern "C" fn(), parent: extern "C" fn(), child: extern "C" fn()) {
    #[cfg(unix)]
    // SAFETY: plain functions for the life of the process. It fails only without memory; then forks are as if unhandled.
    unsafe {
        libc::pthread_atfork(Some(hook(before)), Some(hook(parent)), Some(hook(child)));
    }
    #[cfg(not(unix))]
    let _ = (before, parent, child);
}

/// The C library declares its hooks as unsafe to call.
#[cfg(unix)]
fn hook(f: extern "C" fn()) -> unsafe extern "C" fn() {
    f
}

/// Calls `last` when the process ends in an orderly way.
pub fn at_exit(last: extern "C" fn()) {
    // SAFETY: a plain function for the life of the process.
    unsafe { libc::atexit(last) };
}

impl Engine {
    /// Brings every engine to a stand: waits for running pieces, then nothing is planned or run until the guard goes.
    pub fn pause() -> Paused {
        gate::close()
    }

    /// The engine's locks, in the order in which they may be taken.
    pub fn hold_locks(&'static self) -> Vec<Box<dyn Any>> {
        let state = &*self.state;
        let signals = &*state.signals;
        let mut locks = vec![
            signals.waiters.lock_for_fork(),
            state.pool.lock_for_fork(),
            signals.sleep.lock_for_fork(),
            state.jobs.lock_for_fork(),
            state.ready.lock_for_fork(),
        ];
        locks.extend(self.devices().flat_map(|(_, device)| device.lock_for_fork()));
        locks
    }

    /// In a forked child, once the locks are let go: the calling thread is the only one left. Unfinished tasks fail with
    /// `error`; threads start anew when they are called for.
    pub fn forget_threads(&self, error: &Error, _paused: &Paused) {
        let state = &*self.state;
        asymmetric::prepare_again();
        gate::forget_others();
        state.pool.forget_threads();
        state.signals.sleep.forget(state.mode == Mode::Async);
        state.signals.waiters.forget();
        state.jobs.forget();
        state.slots.forget();
        self.devices().for_each(|(_, device)| device.forget_thread(state.mode == Mode::Async));
        self.abandon(true, error);
        state.in_flight.store(0, Ordering::Release);
        state.ledger.forget_tasks();
    }

    /// Fails every task that has not started. They go through the engine all the same, with nothing to do.
    pub fn cancel_unstarted(&self, error: &Error, paused: &Paused) {
        let devices = self.devices().flat_map(|(_, device)| device.ready.unstarted(paused));
        let mut tasks: Vec<_> = self.state.ready.unstarted(paused).into_iter().chain(devices).collect();
        tasks.sort_unstable_by_key(|task| task.age());
        for task in tasks {
            // SAFETY: nobody starts a task during the pause, and who starts it later finds no work.
            if let Some(work) = unsafe { task.take_work() } {
                work.fail(error.clone());
            }
        }
        self.published();
    }
}
