//! Host data: bytes that were copied in when they were submitted, and how many of them may pile up.
//!
//! A value made from host memory is *queued* from the moment it is closed until its bytes go back or are donated: nobody
//! holds it any more, it only waits for its readers. A copy that would bring the queued bytes above the
//! prefetch allowance is held until enough of them went back. What the user still holds is never counted.

use crate::array::wait::{LOCK_PATIENCE, Wait};
use crate::observe::blockers;
use crate::runtime::planner::Until;
use crate::runtime::runtime;
use forerun_base::{ErrorKind, Result};
use forerun_engine::{Engine, Fed, WaitOptions, WaitTarget};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes from the host that wait for their readers.
#[derive(Default)]
pub(crate) struct HostQueue(AtomicUsize);

impl HostQueue {
    /// A value made from host memory was closed.
    pub(crate) fn enter(&self, bytes: usize) {
        self.0.fetch_add(bytes, Relaxed);
    }

    /// Its bytes go back, or belong to a result from now on.
    pub(crate) fn leave(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Relaxed);
        runtime().engine.published();
    }

    pub(crate) fn bytes(&self) -> usize {
        self.0.load(Relaxed)
    }

    /// Whether so many more bytes stay within the allowance. Where nothing is queued, anything does.
    fn admits(&self, bytes: usize, allowance: usize) -> bool {
        let queued = self.bytes();
        queued == 0 || queued.saturating_add(bytes) <= allowance
    }
}

/// Waits until a copy of so many bytes is admitted, or nothing is left to run.
struct HostTarget(usize);

impl WaitTarget for HostTarget {
    fn done(&self) -> bool {
        let runtime = runtime();
        // Once held, it waits a little longer, so that the next copies need not be held one by one.
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

/// Whether so many bytes of host data can be copied in without being held.
#[inline]
pub fn has_host_room(bytes: usize) -> bool {
    let runtime = runtime();
    runtime.host.admits(bytes, runtime.engine.prefetch())
}

/// Holds the caller until so many bytes of host data can be copied in: call it before [`from_host`](crate::ops::from_host).
/// Fails only if it is interrupted.
pub fn make_host_room(bytes: usize, wait: &Wait<'_>) -> Result<()> {
    if has_host_room(bytes) {
        return Ok(());
    }
    let options = WaitOptions { interrupt: wait.interrupt, loc: wait.loc };
    match blockers::hold(&HostTarget(bytes), options, blockers::HELD_BY_HOST, &runtime().held.host) {
        Err(error) if error.kind() == ErrorKind::Interrupted => Err(error),
        // Inside a task nobody can be held; the copy is made all the same.
        _ => Ok(()),
    }
}
