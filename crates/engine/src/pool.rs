//! The threads of the pool: started one by one when they are called for, sent home together.
//!
//! Threads are named, take no signals (so that Ctrl-C reaches the frontend's thread), and are never started at import.

use crate::engine::Engine;
use crate::gate;
use crate::sync::{AtomicBool, AtomicUsize, Condvar, Mutex, Ordering};
use crate::worker;
use forerun_base::fail_point;
use std::any::Any;
use std::cell::Cell;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long the end of a program may wait for workers.
pub(crate) const JOIN_BOUND: Duration = Duration::from_secs(1);

thread_local! {
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

/// The threads of one engine.
pub(crate) struct WorkerPool {
    stopped: AtomicBool,
    /// How many threads are there; a copy for looking without the lock.
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

    /// No more threads start, and those that are there leave.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    /// Starts a thread if there are fewer than `total`; it counts as searching at once.
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
                    // Without any thread the waiters run everything, as after a shutdown.
                    self.stop();
                }
            }
        }
        self.started.store(threads.iter().flatten().count(), Ordering::Relaxed);
    }

    /// In a forked child: the threads are not there. Their handles must not be joined, detached or dropped.
    pub(crate) fn forget_threads(&self) {
        for thread in self.threads.lock().drain(..).flatten() {
            std::mem::forget(thread);
        }
        self.started.store(0, Ordering::Relaxed);
    }

    /// The lock, held for a fork.
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

    /// Waits until all threads have left, within the bound.
    pub(crate) fn join(&self) {
        let own = IS_WORKER.get() as usize;
        let deadline = Instant::now() + JOIN_BOUND;
        let mut threads = self.threads.lock();
        while threads.iter().flatten().count() > own && !self.left.wait_until(&mut threads, deadline).timed_out() {}
    }
}

/// Runs `start` with all signals blocked, so that a thread started in it has them blocked for good.
#[cfg(unix)]
pub(crate) fn without_signals<R>(start: impl FnOnce() -> R) -> R {
    // SAFETY: a signal set is plain bits, filled before it is used.
    let mut before: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: both sets live on this stack; the calls only fail for a wrong first argument.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
    }
    let result = start();
    // SAFETY: restores the set that was read above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut()) };
    result
}

#[cfg(not(unix))]
pub(crate) fn without_signals<R>(start: impl FnOnce() -> R) -> R {
    start()
}
