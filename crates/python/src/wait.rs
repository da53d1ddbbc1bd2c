//! Waiting from Python: first without letting the GIL go, then without the GIL and open to signals.
//!
//! Invariant: no thread waits for the engine while it holds the GIL.

use crate::error::{raise, raise_all};
use crate::loc::here;
use forerun::{Array, Loc, Result, Wait};
use pyo3::prelude::*;
use std::cell::Cell;

/// Waits for what `read` needs of an array and gives what it read.
#[inline]
pub(crate) fn read<T: Send>(
    py: Python<'_>,
    array: &Array,
    read: impl FnOnce(&Array, &Wait<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    if array.settled_now() {
        // A value that is there needs no line; an error does.
        return read(array, &Wait::default()).map_err(|error| raise(error.read_at(here(py))));
    }
    let (array, loc) = (array.clone(), here(py));
    let (result, raised) = py.detach(move || interruptible(loc, |wait| read(&array, wait)));
    match raised {
        Some(exception) => Err(exception),
        None => result.map_err(raise),
    }
}

/// Waits for everything submitted so far; raises every error nobody has seen.
pub(crate) fn everything(py: Python<'_>) -> PyResult<()> {
    let loc = here(py);
    let (result, raised) = py.detach(move || interruptible(loc, forerun::wait_all_with));
    match raised {
        Some(exception) => Err(exception),
        None => result.map_err(|errors| raise_all(py, errors)),
    }
}

/// Runs `wait` with an interrupt that lets Python's signal handlers run; gives what a handler raised beside the result.
///
/// An exception of a handler is raised even when the wait ended well: the handler has run and will not run again.
fn interruptible<T>(loc: Loc, wait: impl FnOnce(&Wait<'_>) -> T) -> (T, Option<PyErr>) {
    let raised = Cell::new(None);
    let interrupt = || {
        let checked = Python::try_attach(|py| py.check_signals());
        match checked {
            Some(Err(exception)) => {
                raised.set(Some(exception));
                true
            }
            // No interpreter left to ask means no signal handler left to run.
            Some(Ok(())) | None => false,
        }
    };
    let result = wait(&Wait { loc, interrupt: Some(&interrupt) });
    (result, raised.take())
}

/// A submission that must wait for room does so without the GIL.
pub(crate) fn start() {
    forerun::set_around_wait(|work| Python::attach(|py| py.detach(work)));
}
