//! The end of the process while something is being compiled. The compiler's library is taken down then, whoever is inside, and a
//! compilation cannot be broken off.
//!
//! Invariant: when libraries are taken down, nobody is inside the compiler, or the process is over before that.

use std::ffi::{c_int, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long a process that ends waits for compilations; after that it ends without taking libraries down.
const PATIENCE: Duration = Duration::from_millis(200);

/// Compilations under way.
static BUSY: AtomicUsize = AtomicUsize::new(0);

/// What to do first.
static FIRST: Mutex<Vec<Box<dyn Fn() + Send>>> = Mutex::new(Vec::new());

/// A compilation, for as long as it is held.
pub(super) struct Busy;

impl Busy {
    pub(super) fn begin() -> Busy {
        BUSY.fetch_add(1, Ordering::AcqRel);
        Busy
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        BUSY.fetch_sub(1, Ordering::AcqRel);
    }
}

unsafe extern "C" {
    /// As `atexit`, but the function is told the status.
    #[cfg(target_env = "gnu")]
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Calls `first` when the process ends, before libraries loaded until now are taken down, and waits then for compilations.
pub(super) fn before_libraries(first: Box<dyn Fn() + Send>) {
    FIRST.lock().unwrap_or_else(|e| e.into_inner()).push(first);
    // SAFETY: a plain function for the life of the process.
    #[cfg(target_env = "gnu")]
    unsafe {
        on_exit(last, std::ptr::null_mut());
    }
}

#[cfg(target_env = "gnu")]
extern "C" fn last(status: c_int, _: *mut c_void) {
    for first in &*FIRST.lock().unwrap_or_else(|e| e.into_inner()) {
        first();
    }
    let begun = Instant::now();
    while BUSY.load(Ordering::Acquire) > 0 {
        if begun.elapsed() > PATIENCE {
            // SAFETY: writes out what is buffered; then nothing of this process runs any more.
            unsafe {
                libc::fflush(std::ptr::null_mut());
                libc::_exit(status);
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Run by itself in a process of its own: it ends with a status while a thread says it compiles for ever.
    #[test]
    #[ignore = "ends its process"]
    fn ends_while_compiling() {
        std::thread::spawn(|| {
            let _busy = Busy::begin();
            std::thread::sleep(Duration::from_secs(3600));
        });
        while BUSY.load(Ordering::Acquire) == 0 {
            std::thread::yield_now();
        }
        extern "C" fn never() {
            // Stands for a library that is taken down.
            std::process::abort();
        }
        // SAFETY: a plain function.
        unsafe { libc::atexit(never) };
        before_libraries(Box::new(|| eprintln!("first")));
        std::process::exit(7);
    }

    #[test]
    fn a_process_that_compiles_ends_with_its_status() {
        let program = std::env::current_exe().unwrap();
        let name = "compile::end::tests::ends_while_compiling";
        let mut command = Command::new(program);
        let output = command.args(["--exact", name, "--ignored", "--nocapture"]).output().unwrap();
        assert_eq!(output.status.code(), Some(7), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("first"));
    }
}
