//! How much stack is left: kernels keep their partial results there, and a program may give its threads little of it.
//!
//! A thread with too little runs no kernel. Where there are workers it leaves tasks to them; where there are none, each
//! task it would run gets a thread of its own.

use std::cell::Cell;
use std::thread;

/// Bytes that a kernel and what calls it may need, with room to spare.
const NEEDED: usize = 768 << 10;
/// The stack of a thread that runs what another has no room for.
const LENT: usize = 4 << 20;

/// The end of the stack is not known yet.
const UNKNOWN: usize = usize::MAX;

thread_local! {
    /// The lowest address of the thread's stack; 0 where the system does not say.
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
    // SAFETY: the attributes are filled by the first call, read by the next two and destroyed once.
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

/// Calls `f`, on a thread of its own if the caller's stack is short. `None` if there can be no such thread now.
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
    fn short_stacks_are_seen_and_work_goes_elsewhere() {
        let on = |size: usize| thread::Builder::new().stack_size(size).spawn(is_short).unwrap().join().unwrap();
        // The C library hands the stack of an ended thread to a new one that asked for a quarter of it or more.
        assert!(on(256 << 10));
        assert!(!on(2 << 20));
        let lent =
            || thread::Builder::new().stack_size(256 << 10).spawn(|| with_room(is_short)).unwrap().join().unwrap();
        assert_eq!(lent(), Some(false));
    }
}
