//! Backpressure on host data: bytes that were copied in at submission, and how many of them may be queued.
//!
//! A value made from host memory is *queued* from the moment it is closed until its bytes are freed or donated: only
//! its pending readers need it. A copy that would bring the queued bytes above the prefetch allowance blocks until
//! enough of them are freed. Arrays that the user still holds are not counted.

use crate::array::wait::{LOCK_PATIENCE, Wait};
use crate::observe::blockers;
use crate::runtime::planner::Until;
use crate::runtime::runtime;
use forerun_base::{ErrorKind, Result};
use forerun_engine::{Engine, Fed, WaitOptions, WaitTarget};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes from the host that only pending readers need.
#[derive(Default)]
pub(crate) struct HostQueue(AtomicUsize);

impl HostQueue {
    /// Notes that a value made from host memory was closed.
    pub(crate) fn enter(&self, bytes: usize) {
        self.0.fetch_add(bytes, Relaxed);
    }

    /// Notes that its bytes were freed or donated to a result.
    pub(crate) fn leave(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Relaxed);
        runtime().engine.published();
    }

    pub(crate) fn bytes(&self) -> usize {
        self.0.load(Relaxed)
    }

    /// Whether `bytes` more stay within the allowance. If nothing is queued, any number does.
    fn admits(&self, bytes: usize, allowance: usize) -> bool {
        let queued = self.bytes();
        queued == 0 || queued.saturating_add(bytes) <= allowance
    }
}

/// Waits until a copy of this many bytes is admitted, or no work is left.
struct HostTarget(usize);

impl WaitTarget for HostTarget {
    fn done(&self) -> bool {
        let runtime = runtime();
        // A blocked copy waits for some more space, so that the next copies need not block one by one.
        let allowance = runtime.engine.prefetch() / 4 * 3;
        runtime.host.admits(self.0, allowance) || (!runtime.windows.any_pending() && runtime.engine.in_flight() == 0)
    }

    fn age_limit(&self) -> u64 {
        u64::MAX
    }

    fn feed(&self, engine: &Engine) -> Fed {
        let runtime = runtime();
        let Some(mut planner) = runtime.planner.try_lock() else { return Fed::Later(LOCK_PATIENCE) };
        let mut answer = Fed::Empty;
        for (window, tail) in runtime.windows.tails() {
            if window.ring.head() < tail && planner.advance(window, Until::Bounded(tail), engine) == Fed::Progress {
                answer = Fed::Progress;
            }
        }
        answer
    }
}

/// Whether this many bytes of host data can be copied in without blocking.
#[inline]
pub fn has_host_room(bytes: usize) -> bool {
    let runtime = runtime();
    runtime.host.admits(bytes, runtime.engine.prefetch())
}

/// Blocks until this many bytes of host data can be copied in: call it before [`from_host`](crate::ops::from_host).
/// Fails only if it is interrupted.
pub fn make_host_room(bytes: usize, wait: &Wait<'_>) -> Result<()> {
    if has_host_room(bytes) {
        return Ok(());
    }
    let options = WaitOptions { interrupt: wait.interrupt, loc: wait.loc };
    match blockers::hold(&HostTarget(bytes), options, blockers::HELD_BY_HOST, &runtime().held.host) {
        Err(error) if error.kind() == ErrorKind::Interrupted => Err(error),
        // A task must not block; the copy is made anyway.
        _ => Ok(()),
    }
}
