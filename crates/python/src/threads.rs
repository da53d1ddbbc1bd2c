//! Threads of Python. What a thread keeps goes back while Python clears the thread's state, which is before anybody who joins the
//! thread is told that it ended; the system's own end of the thread comes later, at a time that varies.

use crate::pycall;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyCapsule;
use std::thread::{ThreadId, current};

/// An object of `threading.local`, whose attributes go with the thread.
static LOCALS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

pub(crate) fn start(py: Python<'_>) -> PyResult<()> {
    LOCALS.get_or_try_init(py, || {
        let local = pycall::function(py, "_thread", "_local")?;
        pycall::call(&local, ()).map(Bound::unbind)
    })?;
    forerun::frontend::on_arrival(arrive);
    Ok(())
}

/// What a thread's state holds: with it the thread leaves.
struct Presence(ThreadId);

impl Drop for Presence {
    fn drop(&mut self) {
        // A thread's state may be cleared by another one, when the interpreter ends or in a forked child.
        if self.0 == current().id() {
            forerun::frontend::leave();
        }
    }
}

fn arrive() {
    // SAFETY: only asks whether the thread has a state; one made for this call alone would end with it.
    let foreign = unsafe { pyo3::ffi::PyGILState_GetThisThreadState() }.is_null();
    if foreign {
        return;
    }
    // Without it the thread's things go back when the system ends the thread.
    let _ = Python::try_attach(|py| {
        let presence = PyCapsule::new_with_value(py, Presence(current().id()), c"forerun.presence")?;
        LOCALS.get(py).map_or(Ok(()), |locals| locals.bind(py).setattr("presence", presence))
    });
}
