//! Python threads. The runtime's per-thread resources are released while Python clears the thread's state, before a
//! thread that joins it is notified. The system ends the thread later, at a time that varies.

use crate::pycall;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyCapsule;
use std::thread::{ThreadId, current};

/// A `threading.local` object, whose attributes are dropped with the thread.
static LOCALS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

pub(crate) fn start(py: Python<'_>) -> PyResult<()> {
    LOCALS.get_or_try_init(py, || {
        let local = pycall::function(py, "_thread", "_local")?;
        pycall::call(&local, ()).map(Bound::unbind)
    })?;
    forerun::frontend::on_arrival(arrive);
    Ok(())
}

/// Held by a thread's state; dropping it releases the thread's resources.
struct Presence(ThreadId);

impl Drop for Presence {
    fn drop(&mut self) {
        // Another thread may clear a thread's state, when the interpreter ends or in a forked child.
        if self.0 == current().id() {
            forerun::frontend::leave();
        }
    }
}

fn arrive() {
    // SAFETY: this only queries whether the thread has a state; one created for this call alone would end with it.
    let foreign = unsafe { pyo3::ffi::PyGILState_GetThisThreadState() }.is_null();
    if foreign {
        return;
    }
    // If this fails, the resources are released when the system ends the thread.
    let _ = Python::try_attach(|py| {
        let presence = PyCapsule::new_with_value(py, Presence(current().id()), c"forerun.presence")?;
        LOCALS.get(py).map_or(Ok(()), |locals| locals.bind(py).setattr("presence", presence))
    });
}
