//! Fork, exit and cancellation: what the engine does when threads vanish or pending work is dropped.
//!
//! The hooks are those of the C library, not of a frontend. They see every call of `fork` and every normal exit (`exit`, or
//! a return from `main`), but not `vfork`, `posix_spawn`, `_exit` or a fatal signal.
//!
//! At exit [`Engine::shutdown`] stops the workers. The engine stays usable: tasks can be spawned, and a thread that waits
//! runs those that lead to its target. Tasks that nobody waits for are not run.
//!
//! | fork | what happens |
//! |---|---|
//! | before | the handler pauses the engines and takes all locks, so no missing thread holds one in the child |
//! | parent | locks and gate are released; everything continues |
//! | child | workers and waiters are forgotten, unfinished tasks fail; the next submission or wait starts new workers |

use crate::asymmetric;
use crate::config::Mode;
use crate::engine::Engine;
use crate::gate::{self, Paused};
use crate::sync::Ordering;
use forerun_base::Error;
use std::any::Any;

/// Registers fork handlers: `before` runs in the forking thread before the fork, then `parent` in the parent and
/// `child` in the child. Does nothing on systems without fork.
pub fn at_fork(before: extern "C" fn(), parent: extern "C" fn(), child: extern "C" fn()) {
    #[cfg(unix)]
    // SAFETY: the functions live as long as the process. The call fails only without memory; forks are then not
    // handled.
    unsafe {
        libc::pthread_atfork(Some(hook(before)), Some(hook(parent)), Some(hook(child)));
    }
    #[cfg(not(unix))]
    let _ = (before, parent, child);
}

/// Converts a handler to the type that the C library declares, which is unsafe to call.
#[cfg(unix)]
fn hook(f: extern "C" fn()) -> unsafe extern "C" fn() {
    f
}

/// Calls `last` when the process exits normally: by `exit`, or by a return from `main`.
pub fn at_exit(last: extern "C" fn()) {
    // SAFETY: the function lives as long as the process.
    unsafe { libc::atexit(last) };
}

impl Engine {
    /// Pauses every engine: waits for running pieces; then nothing is planned or run until the guard is dropped.
    pub fn pause() -> Paused {
        gate::close()
    }

    /// Takes the engine's locks, in the order in which they may be taken.
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

    /// Resets the engine in a forked child after the locks are released: the calling thread is the only one left.
    /// Unfinished tasks fail with `error`; new threads start when they are needed.
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

    /// Fails every task that has not started. The tasks still pass through the engine, without work.
    pub fn cancel_unstarted(&self, error: &Error, paused: &Paused) {
        let devices = self.devices().flat_map(|(_, device)| device.ready.unstarted(paused));
        let mut tasks: Vec<_> = self.state.ready.unstarted(paused).into_iter().chain(devices).collect();
        tasks.sort_unstable_by_key(|task| task.age());
        for task in tasks {
            // SAFETY: no thread starts a task during the pause, and a thread that starts it later finds no work.
            if let Some(work) = unsafe { task.take_work() } {
                work.fail(error.clone());
            }
        }
        self.published();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use forerun_base::Mutex;
    use std::time::Duration;

    #[test]
    fn a_lock_that_other_threads_wait_for_is_free_in_a_child() {
        static LOCK: Mutex<()> = Mutex::new(());
        static ENDS: Mutex<bool> = Mutex::new(false);
        let threads: Vec<_> = (0..3)
            .map(|_| {
                std::thread::spawn(|| {
                    while !*ENDS.lock() {
                        drop(LOCK.lock());
                    }
                })
            })
            .collect();
        let free = (0..30).all(|_| {
            let guard = LOCK.lock();
            // The others begin to wait, long enough that a fair lock would be handed to one of them.
            std::thread::sleep(Duration::from_millis(2));
            // SAFETY: the child releases the lock, takes it again and exits; it calls nothing that needs another thread.
            let child = unsafe { libc::fork() };
            drop(guard);
            if child == 0 {
                let status = if LOCK.try_lock().is_some() { 0 } else { 1 };
                // SAFETY: ends the child without running the parent's handlers.
                unsafe { libc::_exit(status) };
            }
            let mut status = 1;
            // SAFETY: the status is on this stack.
            child > 0 && unsafe { libc::waitpid(child, &mut status, 0) } == child && status == 0
        });
        *ENDS.lock() = true;
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(free);
    }
}
