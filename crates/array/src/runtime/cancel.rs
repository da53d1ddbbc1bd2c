//! Cancellation: records that have not started fail; running ones finish.

use crate::runtime::runtime;
use forerun_base::{Error, ErrorKind};
use forerun_engine::Engine;

/// Fails every record, of any thread, that was submitted and has not started, with "cancelled". Running kernels finish,
/// and records submitted later run as usual. Reading a cancelled array raises the error; `wait_all` does not report it,
/// because the program requested it.
pub fn cancel_pending() {
    let runtime = runtime();
    let paused = Engine::pause();
    let mut planner = runtime.planner.lock();
    let unseen = std::mem::take(&mut *runtime.failures.lock());
    let error = Error::new(ErrorKind::Runtime, "cancelled before it ran");
    // Tasks first: a record may read their results, and both must fail for the same reason.
    runtime.engine.cancel_unstarted(&error, &paused);
    for window in runtime.windows.iter() {
        planner.fail_records(window, &error);
    }
    *runtime.failures.lock() = unseen;
    drop(planner);
    drop(paused);
    runtime.engine.published();
}
