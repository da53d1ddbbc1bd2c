//! Sleeping until a word changes. The kernel keeps who sleeps, so a forked child inherits no list of dead sleepers.
//!
//! Every wait may return early, for no reason: callers look at the word again.

use crate::sync::AtomicU32;
use std::time::Duration;

/// Sleeps while the word holds `expected`, until somebody wakes it, a signal, or the end of the time. True after a signal.
#[cfg(target_os = "linux")]
pub(crate) fn wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) -> bool {
    use std::ptr;
    let time = timeout.map(|t| libc::timespec {
        tv_sec: t.as_secs().min(i32::MAX as u64) as libc::time_t,
        tv_nsec: t.subsec_nanos() as _,
    });
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word outlives the call, and `time` is null or points at a timespec on this stack.
    let failed = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, expected, time) } != 0;
    failed && std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR)
}

/// Wakes up to so many who sleep for the word.
#[cfg(target_os = "linux")]
pub(crate) fn wake(word: &AtomicU32, most: i32) {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: waking only uses the address.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, most) };
}

/// Without such words in the kernel the caller goes round once more, after the others.
#[cfg(not(target_os = "linux"))]
pub(crate) fn wait(_word: &AtomicU32, _expected: u32, _timeout: Option<Duration>) -> bool {
    std::thread::yield_now();
    false
}

/// Nobody sleeps: see [`wait`].
#[cfg(not(target_os = "linux"))]
pub(crate) fn wake(_word: &AtomicU32, _most: i32) {}
