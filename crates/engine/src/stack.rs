//! Remaining stack space. Kernels keep partial results on the stack, and a program may give its threads small stacks.
//!
//! A thread with too little stack runs no kernel. If there are workers it leaves tasks to them; otherwise each task
//! that it would run gets a thread of its own.

use std::cell::Cell;
use std::thread;

/// Bytes of stack that a kernel and its callers may need, with a margin.
const NEEDED: usize = 768 << 10;
/// Stack size of a thread that runs a task for a thread with a short stack.
const LENT: usize = 4 << 20;

/// Marks a stack end that is not known yet.
const UNKNOWN: usize = usize::MAX;

thread_local! {
    /// The lowest address of the thread's stack; 0 where the system does not report it.
    static END: Cell<usize> = const { Cell::new(UNKNOWN) };
}

/// Whether the calling thread has less stack left than a kernel may need.
#[inline]
pub fn is_short() -> bool {
    let here = 0u8;
    let end = match END.get() {
        UNKNOWN => find_end(),
        end => end,
    };
    (&raw const here as usize).saturating_sub(end) < NEEDED
}

#[cold]
fn find_end() -> usize {
    let end = end_of_stack().unwrap_or(0);
    END.set(end);
    end
}

#[cfg(target_os = "linux")]
fn end_of_stack() -> Option<usize> {
    let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut address, mut size, mut guard) = (std::ptr::null_mut(), 0, 0);
    // SAFETY: the first call fills the attributes, the next two read them, and they are destroyed once.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let found = libc::pthread_attr_getstack(attributes.as_ptr(), &mut address, &mut size) == 0;
        let _ = libc::pthread_attr_getguardsize(attributes.as_ptr(), &mut guard);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        found.then(|| address as usize + guard)
    }
}

#[cfg(not(target_os = "linux"))]
fn end_of_stack() -> Option<usize> {
    None
}

/// Calls `f`, on a new thread if the caller's stack is short. Returns `None` if no thread can be started.
pub(crate) fn with_room<T: Send>(f: impl FnOnce() -> T + Send) -> Option<T> {
    if !is_short() {
        return Some(f());
    }
    thread::scope(|scope| {
        let thread =
            thread::Builder::new().name("forerun-stack".into()).stack_size(LENT).spawn_scoped(scope, f).ok()?;
        match thread.join() {
            Ok(made) => Some(made),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn short_stacks_are_detected_and_work_runs_on_another_thread() {
        let on = |size: usize| thread::Builder::new().stack_size(size).spawn(is_short).unwrap().join().unwrap();
        // The C library may reuse the stack of an exited thread for a new one that requested at least a quarter of its
        // size.
        assert!(on(256 << 10));
        assert!(!on(2 << 20));
        let lent =
            || thread::Builder::new().stack_size(256 << 10).spawn(|| with_room(is_short)).unwrap().join().unwrap();
        assert_eq!(lent(), Some(false));
    }
}
