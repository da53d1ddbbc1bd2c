//! Waiting from Python: first a quick attempt with the GIL held, then a wait without the GIL that signals can
//! interrupt.
//!
//! Invariant: no thread waits for the engine while it holds the GIL.

use crate::error::{raise, raise_all, raise_read};
use crate::loc::here;
use crate::pycall;
use forerun::profile::SyncRule;
use forerun::{Array, Loc, Result, Wait};
use pyo3::prelude::*;
use std::cell::Cell;

/// Waits for what `read` needs of an array and returns its result.
#[inline]
pub(crate) fn read<T: Send>(
    py: Python<'_>,
    array: &Array,
    call: &'static str,
    read: impl FnOnce(&Array, &Wait<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    // Device elements are copied to the host first, which takes a while even if they are ready.
    if forerun::frontend::reads_plainly() && array.device().is_host() && array.settled_now() {
        // A ready value needs no line; an error does.
        let wait = Wait { plain: true, ..Wait::default() };
        return read(array, &wait).map_err(|error| raise_read(array, error.read_at(here(py))));
    }
    read_slowly(py, array, call, read)
}

/// The same if the value is not ready, or a hook applies.
#[cold]
fn read_slowly<T: Send>(
    py: Python<'_>,
    array: &Array,
    call: &'static str,
    read: impl FnOnce(&Array, &Wait<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    if forerun::profile::sync_rule() != SyncRule::Allowed {
        forbid(py, Some(array), call)?;
    }
    if !forerun::frontend::detects_nonfinite() && array.device().is_host() && array.settled_now() {
        let wait = Wait { allowed: true, ..Wait::default() };
        return read(array, &wait).map_err(|error| raise_read(array, error.read_at(here(py))));
    }
    let (held, loc) = (array.clone(), here(py));
    let (result, raised) = py.detach(move || interruptible(loc, call, |wait| read(&held, wait)));
    match raised {
        Some(exception) => Err(exception),
        None => result.map_err(|error| raise_read(array, error)),
    }
}

/// Raises or warns for a blocker under `no_sync`.
#[cold]
fn forbid(py: Python<'_>, array: Option<&Array>, call: &'static str) -> PyResult<()> {
    let error = forerun::frontend::refusal(&Wait::at(here(py), call), array);
    if forerun::profile::sync_rule() == SyncRule::Refused {
        return Err(raise(error));
    }
    pycall::call(&pycall::function(py, "forerun._blockers", "warn")?, (error.to_string(),))?;
    Ok(())
}

/// Raises or warns if the calling thread is in `no_sync`, before a call that is about to wait.
pub(crate) fn announce(py: Python<'_>, call: &'static str) -> PyResult<()> {
    if forerun::profile::sync_rule() == SyncRule::Allowed { Ok(()) } else { forbid(py, None, call) }
}

/// Waits for everything submitted so far; raises all errors that were not read.
pub(crate) fn everything(py: Python<'_>) -> PyResult<()> {
    let (loc, call) = (here(py), "waitall");
    if forerun::profile::sync_rule() != SyncRule::Allowed {
        forbid(py, None, call)?;
    }
    let (result, raised) = py.detach(move || interruptible(loc, call, forerun::frontend::wait_all_counted));
    match raised {
        Some(exception) => Err(exception),
        None => result.map_err(|(errors, more)| raise_all(py, errors, more)),
    }
}

/// Waits for everything submitted so far, without a record of the wait; failures stay unread.
pub(crate) fn drain(py: Python<'_>) -> PyResult<()> {
    let loc = here(py);
    match py.detach(move || interruptible(loc, "profile", forerun::frontend::drain)) {
        (_, Some(exception)) => Err(exception),
        (result, None) => result.map_err(raise),
    }
}

/// Ends the detection of nonfinite values; with `ask`, waits for its checks and raises what was found.
pub(crate) fn stop_detecting(py: Python<'_>, ask: bool) -> PyResult<()> {
    if !ask {
        // Another exception is already being raised, perhaps an interrupt, so this must not wait.
        forerun::frontend::abandon_detecting();
        return Ok(());
    }
    let loc = here(py);
    let (result, raised) = py.detach(move || interruptible(loc, "detect_nonfinite", forerun::frontend::stop_detecting));
    match raised {
        Some(exception) => Err(exception),
        None => result.map_err(raise),
    }
}

/// If the window is nearly full after a submission, waits for room here, where a signal can still end the wait. The
/// submission stays, as if the signal had arrived right after it.
#[inline]
pub(crate) fn leave_room(py: Python<'_>) -> PyResult<()> {
    if forerun::frontend::has_room() { Ok(()) } else { hold(py, forerun::frontend::make_room_with) }
}

/// Waits while too much host data is queued, before more is copied in.
pub(crate) fn make_host_room(py: Python<'_>, bytes: usize) -> PyResult<()> {
    if forerun::frontend::has_host_room(bytes) {
        Ok(())
    } else {
        hold(py, move |wait| forerun::frontend::make_host_room(bytes, wait))
    }
}

#[cold]
fn hold(py: Python<'_>, wait: impl FnOnce(&Wait<'_>) -> Result<()> + Send) -> PyResult<()> {
    let loc = here(py);
    let (result, raised) = py.detach(move || interruptible(loc, "", wait));
    match raised {
        Some(exception) => Err(exception),
        None => result.map_err(raise),
    }
}

/// Runs `wait` with an interrupt function that lets Python's signal handlers run; returns a handler's exception beside
/// the result.
///
/// An exception of a handler is raised even if the wait succeeded: the handler has run and will not run again.
fn interruptible<T>(loc: Loc, call: &'static str, wait: impl FnOnce(&Wait<'_>) -> T) -> (T, Option<PyErr>) {
    let raised = Cell::new(None);
    let interrupt = || {
        let checked = Python::try_attach(|py| py.check_signals());
        match checked {
            Some(Err(exception)) => {
                raised.set(Some(exception));
                true
            }
            // Without an interpreter there is no signal handler to run.
            Some(Ok(())) | None => false,
        }
    };
    let result = wait(&Wait { loc, call, allowed: true, interrupt: Some(&interrupt), ..Wait::default() });
    (result, raised.take())
}

/// Makes submissions that find the window full wait without the GIL.
pub(crate) fn start() {
    forerun::frontend::set_around_wait(|work| Python::attach(|py| py.detach(work)));
}
