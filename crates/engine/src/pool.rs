//! The worker threads of an engine: started one by one on demand, stopped together.
//!
//! Threads are named, block all signals (so that Ctrl-C reaches the frontend's thread), and never start at import.

use crate::engine::Engine;
use crate::gate;
use crate::sync::{AtomicBool, AtomicUsize, Condvar, Mutex, Ordering};
use crate::worker;
use forerun_base::fail_point;
use std::any::Any;
use std::cell::Cell;
use std::thread::JoinHandle;
use std::time::Duration;

/// How long shutdown waits for workers.
pub(crate) const JOIN_BOUND: Duration = Duration::from_secs(1);

thread_local! {
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

/// The threads of one engine.
pub(crate) struct WorkerPool {
    stopped: AtomicBool,
    /// Number of running threads; a copy that can be read without the lock.
    started: AtomicUsize,
    threads: Mutex<Vec<Option<JoinHandle<()>>>>,
    left: Condvar,
}

impl WorkerPool {
    pub(crate) fn new() -> WorkerPool {
        WorkerPool {
            stopped: AtomicBool::new(false),
            started: AtomicUsize::new(0),
            threads: Mutex::new(Vec::new()),
            left: Condvar::new(),
        }
    }

    pub(crate) fn started(&self) -> usize {
        self.started.load(Ordering::Relaxed)
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Stops the pool: no thread starts any more, and running ones exit.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    /// Starts a thread if fewer than `total` run; it counts as searching immediately.
    pub(crate) fn start_one(&self, engine: &Engine, total: usize) {
        if self.started() >= total {
            return;
        }
        let mut threads = self.threads.lock();
        if self.is_stopped() || threads.iter().flatten().count() >= total {
            return;
        }
        let index = threads.iter().position(Option::is_none).unwrap_or(threads.len());
        engine.state.signals.sleep.begin_search();
        let handle = engine.for_worker();
        let body = move || {
            IS_WORKER.set(true);
            let _inside = gate::enter();
            worker::main(&handle, index);
            handle.state.pool.leave(index);
        };
        let start = || {
            fail_point!("thread.start", _error => return Err(std::io::ErrorKind::WouldBlock.into()));
            std::thread::Builder::new().name(format!("forerun-{index}")).spawn(body)
        };
        let spawned = without_signals(start);
        match spawned {
            Ok(thread) if index == threads.len() => threads.push(Some(thread)),
            Ok(thread) => threads[index] = Some(thread),
            Err(_) => {
                engine.state.signals.sleep.end_search(false);
                if threads.iter().flatten().count() == 0 {
                    // Without any thread, waiters run everything, as after a shutdown.
                    self.stop();
                }
            }
        }
        self.started.store(threads.iter().flatten().count(), Ordering::Relaxed);
    }

    /// Resets the pool in a forked child, where the threads do not exist. Their handles must not be joined, detached or
    /// dropped.
    pub(crate) fn forget_threads(&self) {
        for thread in self.threads.lock().drain(..).flatten() {
            std::mem::forget(thread);
        }
        self.started.store(0, Ordering::Relaxed);
    }

    /// Takes the lock before a fork.
    pub(crate) fn lock_for_fork(&'static self) -> Box<dyn Any> {
        Box::new(self.threads.lock())
    }

    fn leave(&self, index: usize) {
        let mut threads = self.threads.lock();
        threads[index] = None;
        self.started.store(threads.iter().flatten().count(), Ordering::Relaxed);
        drop(threads);
        self.left.notify_all();
    }

    /// Waits until all threads have exited, for at most `JOIN_BOUND`.
    pub(crate) fn join(&self) {
        let own = IS_WORKER.get() as usize;
        let others = |threads: &mut Vec<Option<_>>| threads.iter().flatten().count() > own;
        drop(self.left.wait_timeout_while(self.threads.lock(), JOIN_BOUND, others));
    }
}

/// Runs `start` with all signals blocked; a thread started in it inherits the blocked mask.
#[cfg(unix)]
pub(crate) fn without_signals<R>(start: impl FnOnce() -> R) -> R {
    // SAFETY: a signal set is plain bits, for which zero is valid; the call below fills it before it is used.
    let mut before: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: both sets are on this stack; the calls fail only for a wrong first argument.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
    }
    let result = start();
    // SAFETY: restores the mask that was read above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut()) };
    result
}

#[cfg(not(unix))]
pub(crate) fn without_signals<R>(start: impl FnOnce() -> R) -> R {
    start()
}
