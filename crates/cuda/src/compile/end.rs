//! The end of the process while something is being compiled or linked. The compiler's library and the driver's are taken down
//! then, whoever is inside, and a compilation cannot be broken off.
//!
//! Invariant: when a library is taken down, nobody is inside it, or the process is over before that. A frontend that knows that the
//! process is about to end stops the compiler before (`Accelerator::stop`); for the others we ask to be called early. The library
//! asks for calls of its own while it compiles, and whoever asked last is called first: so we ask again, ever more seldom.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// Who is inside a library, and whether anybody may still go in.
#[derive(Debug, Default)]
pub(super) struct Door {
    inside: AtomicUsize,
    closed: AtomicBool,
    /// How many have come out.
    done: AtomicUsize,
}

/// Somebody inside.
pub(super) struct Inside<'a>(&'a Arc<Door>);

impl Door {
    /// Goes in; `None` if the process ends.
    pub(super) fn enter(self: &Arc<Door>) -> Option<Inside<'_>> {
        let inside = Inside(self);
        self.inside.fetch_add(1, Ordering::SeqCst);
        (!self.closed.load(Ordering::SeqCst)).then_some(inside)
    }

    /// Lets nobody in any more, and waits until those inside have come out, so long at the most. Says whether they have.
    pub(super) fn close(&self, at_most: Duration) -> bool {
        self.closed.store(true, Ordering::SeqCst);
        let begun = Instant::now();
        while self.inside.load(Ordering::SeqCst) > 0 {
            if begun.elapsed() > at_most {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let done = self.0.done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_power_of_two() {
            call_before_libraries(self.0);
        }
        self.0.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The doors to close.
static DOORS: Mutex<Vec<Weak<Door>>> = Mutex::new(Vec::new());

unsafe extern "C" {
    /// As `atexit`, but the function is told the status.
    #[cfg(target_env = "gnu")]
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Closes the door when the process ends, before anything is taken down that asked for it until now.
fn call_before_libraries(door: &Arc<Door>) {
    let mut doors = DOORS.lock().unwrap_or_else(|e| e.into_inner());
    doors.retain(|known| known.strong_count() > 0 && !std::ptr::eq(known.as_ptr(), &raw const **door));
    doors.push(Arc::downgrade(door));
    // SAFETY: a plain function for the life of the process.
    #[cfg(target_env = "gnu")]
    unsafe {
        on_exit(last, std::ptr::null_mut());
    }
}

/// How long a process that ends waits for compilations; after that it ends without taking libraries down.
#[cfg(target_env = "gnu")]
const PATIENCE: Duration = Duration::from_millis(200);

#[cfg(target_env = "gnu")]
extern "C" fn last(status: c_int, _: *mut c_void) {
    let doors: Vec<Weak<Door>> = DOORS.lock().unwrap_or_else(|e| e.into_inner()).clone();
    if !doors.iter().filter_map(Weak::upgrade).all(|door| door.close(PATIENCE)) {
        // SAFETY: writes out what is buffered; then nothing of this process runs any more.
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
    fn a_closed_door_lets_nobody_in() {
        let door = Arc::new(Door::default());
        let inside = door.enter().unwrap();
        assert!(!door.close(Duration::from_millis(5)), "somebody is inside");
        assert!(door.enter().is_none());
        drop(inside);
        assert!(door.close(Duration::ZERO));
    }

    /// Run by itself in a process of its own: it ends with a status while a thread compiles for ever.
    #[test]
    #[ignore = "ends its process"]
    fn ends_while_compiling() {
        extern "C" fn never() {
            // Stands for a library that is taken down.
            std::process::abort();
        }
        // SAFETY: a plain function.
        unsafe { libc::atexit(never) };
        let door = Arc::new(Door::default());
        drop(door.enter());
        let _inside = door.enter().unwrap();
        std::process::exit(7);
    }

    #[test]
    fn a_process_that_compiles_ends_with_its_status() {
        let program = std::env::current_exe().unwrap();
        let name = "compile::end::tests::ends_while_compiling";
        let mut command = Command::new(program);
        let output = command.args(["--exact", name, "--ignored", "--nocapture"]).output().unwrap();
        assert_eq!(output.status.code(), Some(7), "{output:?}");
    }
}
