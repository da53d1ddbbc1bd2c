//! Sleeping until a word changes. The kernel keeps the list of sleepers, so a forked child inherits no dead entries.
//!
//! Every wait may return spuriously: callers check the word again.

use crate::sync::AtomicU32;
use std::time::Duration;

/// Sleeps while the word holds `expected`, until it is woken, a signal arrives, or the timeout ends. Returns true after
/// a signal.
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

/// Wakes at most `most` threads that sleep on the word.
#[cfg(target_os = "linux")]
pub(crate) fn wake(word: &AtomicU32, most: i32) {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the call only uses the address as a key.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, most) };
}

/// Without futexes, yields and returns; the caller checks again.
#[cfg(not(target_os = "linux"))]
pub(crate) fn wait(_word: &AtomicU32, _expected: u32, _timeout: Option<Duration>) -> bool {
    std::thread::yield_now();
    false
}

/// Does nothing, because no thread sleeps: see [`wait`].
#[cfg(not(target_os = "linux"))]
pub(crate) fn wake(_word: &AtomicU32, _most: i32) {}
