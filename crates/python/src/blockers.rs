//! Blockers and `no_sync`, as plain tuples for the classes of `forerun._blockers`.

use forerun::Loc;
use forerun::profile::{SyncRule, Waiting};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// File and line.
pub(crate) type Line = (String, u32);

/// The line of a loc; an empty file if it is unknown.
pub(crate) fn line_of(loc: Loc) -> Line {
    loc.resolve().map_or_else(|| (String::new(), 0), |line| (line.file, line.line))
}

/// The waiting line and call, the op waited for and its line; parked, helped and total seconds.
type Wait = (Line, &'static str, &'static str, Line, f64, f64, f64);

fn wait(wait: &Waiting) -> Wait {
    let seconds = [wait.parked, wait.helped, wait.time].map(|time| time.as_secs_f64());
    let [parked, helped, time] = seconds;
    (line_of(wait.loc), wait.call, wait.origin.op, line_of(wait.origin.loc), parked, helped, time)
}

/// Every line that waited: number of waits; parked, helped and total seconds; and its longest wait.
#[pyfunction]
pub(crate) fn blockers() -> Vec<(u64, f64, f64, f64, Wait)> {
    let seconds = |time: std::time::Duration| time.as_secs_f64();
    let row = |b: &forerun::profile::Blocker| {
        (b.count, seconds(b.parked), seconds(b.helped), seconds(b.time), wait(&b.longest))
    };
    forerun::profile::blockers().iter().map(row).collect()
}

/// Clears the recorded waits.
#[pyfunction]
pub(crate) fn reset_blockers() {
    forerun::profile::reset_blockers();
}

/// The last wait of the calling thread.
#[pyfunction]
pub(crate) fn last_wait() -> Option<Wait> {
    forerun::profile::last_wait().as_ref().map(wait)
}

/// Sets the calling thread's rule for blockers: ``allow``, ``warn`` or ``error``. Returns the previous rule.
#[pyfunction]
pub(crate) fn set_sync(rule: &str) -> PyResult<&'static str> {
    let rule = match rule {
        "allow" => SyncRule::Allowed,
        "warn" => SyncRule::Warned,
        "error" => SyncRule::Refused,
        _ => return Err(PyValueError::new_err(format!("no_sync: expected 'warn' or 'error', not '{rule}'"))),
    };
    Ok(match forerun::profile::set_sync_rule(rule) {
        SyncRule::Allowed => "allow",
        SyncRule::Warned => "warn",
        SyncRule::Refused => "error",
    })
}
