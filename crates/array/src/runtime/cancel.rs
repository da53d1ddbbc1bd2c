//! Cancelling: what was submitted and has not started fails; what runs finishes.

use crate::runtime::runtime;
use forerun_base::{Error, ErrorKind};
use forerun_engine::Engine;

/// Fails everything that was submitted on any thread and has not started, with "cancelled". What runs finishes, and what is
/// submitted afterwards runs as ever. Whoever reads a cancelled array gets the error; `wait_all` does not report it, since
/// the program asked for it.
pub fn cancel_pending() {
    let runtime = runtime();
    let paused = Engine::pause();
    let mut planner = runtime.planner.lock();
    let unseen = std::mem::take(&mut *runtime.failures.lock());
    let error = Error::new(ErrorKind::Runtime, "cancelled before it ran");
    // Tasks first: a record may read what they make, and both must fail for the same reason.
    runtime.engine.cancel_unstarted(&error, &paused);
    for window in runtime.windows.iter() {
        planner.fail_records(window, &error);
    }
    *runtime.failures.lock() = unseen;
    drop(planner);
    drop(paused);
    runtime.engine.published();
}
