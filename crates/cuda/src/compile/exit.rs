//! Process exit during a compilation or a link. Exit handlers unload the libraries of the compiler and the driver even
//! while a thread runs inside them, and a compilation cannot be cancelled.
//!
//! Invariant: no thread is inside a library when it is unloaded, or the process has ended before. A frontend that can
//! detect the exit stops the compiler first (`Accelerator::stop`): from then on only the thread that stopped it may call
//! the libraries. That thread exits the process, so it is in no call when the exit handlers run. For other programs, an exit
//! handler of this module waits for calls in flight. The library registers handlers while it compiles, and handlers run
//! in reverse order of registration, so this module registers its handler again after the 1st, 2nd, 4th, 8th ... call.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// Counts the calls into a library, and admits fewer and then none while the process exits.
#[derive(Debug, Default)]
pub(super) struct CallGate {
    in_flight: AtomicUsize,
    /// Which threads may call: [`ALL`], [`NOBODY`], or one, by its [`this_thread`].
    admits: AtomicUsize,
    /// Calls that have returned.
    done: AtomicUsize,
}

const ALL: usize = 0;
const NOBODY: usize = 1;

/// A number that no other running thread has; neither [`ALL`] nor [`NOBODY`].
fn this_thread() -> usize {
    thread_local! {
        static MARK: u64 = const { 0 };
    }
    MARK.with(|mark| (&raw const *mark).addr())
}

/// A call in flight.
pub(super) struct CallGuard<'a>(&'a Arc<CallGate>);

impl CallGate {
    /// Admits a call; `None` if the process exits and this thread may not call any more.
    pub(super) fn enter(self: &Arc<CallGate>) -> Option<CallGuard<'_>> {
        let guard = CallGuard(self);
        self.in_flight.fetch_add(1, Ordering::SeqCst);
        let admitted = self.admits.load(Ordering::SeqCst);
        (admitted == ALL || admitted == this_thread()).then_some(guard)
    }

    /// Admits only calls of this thread from now on, until the exit handlers run, and waits for those in flight, at most
    /// `at_most`. Where there is no such handler, it admits no more calls.
    pub(super) fn leave_to_this_thread(self: &Arc<CallGate>, at_most: Duration) {
        let admits = if cfg!(target_env = "gnu") { this_thread() } else { NOBODY };
        // If it fails, the gate is closed already, or another thread has it.
        let _ = self.admits.compare_exchange(ALL, admits, Ordering::SeqCst, Ordering::SeqCst);
        self.drain(at_most);
        register_exit_handler(self);
    }

    /// Admits no more calls, and waits for those in flight, at most `at_most`. Returns whether all have returned.
    pub(super) fn close(&self, at_most: Duration) -> bool {
        self.admits.store(NOBODY, Ordering::SeqCst);
        self.drain(at_most)
    }

    fn drain(&self, at_most: Duration) -> bool {
        let begun = Instant::now();
        while self.in_flight.load(Ordering::SeqCst) > 0 {
            if begun.elapsed() > at_most {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        let done = self.0.done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_power_of_two() {
            register_exit_handler(self.0);
        }
        self.0.in_flight.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The gates that the exit handler closes.
static GATES: Mutex<Vec<Weak<CallGate>>> = Mutex::new(Vec::new());

unsafe extern "C" {
    /// Like `atexit`, but the function receives the exit status.
    #[cfg(target_env = "gnu")]
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Registers an exit handler that closes the gate before the handlers registered so far run.
fn register_exit_handler(gate: &Arc<CallGate>) {
    let mut gates = GATES.lock().unwrap_or_else(|e| e.into_inner());
    gates.retain(|known| known.strong_count() > 0 && !std::ptr::eq(known.as_ptr(), &raw const **gate));
    gates.push(Arc::downgrade(gate));
    // SAFETY: the function exists for the life of the process and ignores its argument.
    #[cfg(target_env = "gnu")]
    unsafe {
        on_exit(close_gates, std::ptr::null_mut());
    }
}

/// How long an exiting process waits for compilations; after that it exits without unloading libraries.
#[cfg(target_env = "gnu")]
const PATIENCE: Duration = Duration::from_millis(200);

#[cfg(target_env = "gnu")]
extern "C" fn close_gates(status: c_int, _: *mut c_void) {
    let gates: Vec<Weak<CallGate>> = GATES.lock().unwrap_or_else(|e| e.into_inner()).clone();
    if !gates.iter().filter_map(Weak::upgrade).all(|gate| gate.close(PATIENCE)) {
        // SAFETY: `fflush` of null flushes all C streams; `_exit` runs no handlers.
        unsafe {
            libc::fflush(std::ptr::null_mut());
            libc::_exit(status);
        }
    }
}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_closed_gate_admits_no_call() {
        let gate = Arc::new(CallGate::default());
        let guard = gate.enter().unwrap();
        assert!(!gate.close(Duration::from_millis(5)), "a call is in flight");
        assert!(gate.enter().is_none());
        drop(guard);
        assert!(gate.close(Duration::ZERO));
    }

    #[test]
    fn after_the_exit_hook_the_exiting_thread_may_call_until_the_exit_handlers_run() {
        let gate = Arc::new(CallGate::default());
        let admits_another_thread =
            || std::thread::scope(|scope| scope.spawn(|| gate.enter().is_some()).join().unwrap());
        assert!(admits_another_thread());
        gate.leave_to_this_thread(Duration::ZERO);
        assert!(gate.enter().is_some());
        assert!(!admits_another_thread());
        assert!(gate.close(Duration::ZERO));
        gate.leave_to_this_thread(Duration::ZERO);
        assert!(gate.enter().is_none(), "a closed gate stays closed");
    }

    /// Runs in its own process: it exits with a status while a thread compiles forever.
    #[test]
    #[ignore = "ends its process"]
    fn ends_while_compiling() {
        extern "C" fn never() {
            // Simulates a library that is unloaded.
            std::process::abort();
        }
        // SAFETY: the function exists for the life of the process.
        unsafe { libc::atexit(never) };
        let gate = Arc::new(CallGate::default());
        drop(gate.enter());
        let _guard = gate.enter().unwrap();
        std::process::exit(7);
    }

    #[test]
    fn a_process_that_compiles_ends_with_its_status() {
        let program = std::env::current_exe().unwrap();
        let name = "compile::exit::tests::ends_while_compiling";
        let mut command = Command::new(program);
        let output = command.args(["--exact", name, "--ignored", "--nocapture"]).output().unwrap();
        assert_eq!(output.status.code(), Some(7), "{output:?}");
    }
}
