//! `await x`: calls a Python callback when an array is settled.
//!
//! The thread that settles the array must not wait for the GIL, so it only adds the callback to a list. A separate
//! thread, started by the first `await`, takes the GIL and calls the callbacks. It waits on a pipe and never on the
//! engine.

use crate::array::PyArray;
use crate::error::raise;
use crate::loc::here;
use crate::pycall;
use forerun::{Wait, fail_point};
use pyo3::prelude::*;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Wake, Waker};

/// Callbacks waiting to be called.
#[derive(Default)]
struct Carrier {
    callbacks: Vec<Py<PyAny>>,
    /// The pipe that wakes the thread, and the process it belongs to: a fork has none of its parent's threads.
    bell: Option<(u32, PipeWriter)>,
}

static CARRIER: Mutex<Carrier> = Mutex::new(Carrier { callbacks: Vec::new(), bell: None });

fn carrier() -> MutexGuard<'static, Carrier> {
    CARRIER.lock().unwrap_or_else(|e| e.into_inner())
}

/// Starts the callback thread if it is not running.
fn start() -> PyResult<()> {
    let mut carrier = carrier();
    let process = std::process::id();
    if carrier.bell.as_ref().is_none_or(|(started_in, _)| *started_in != process) {
        let (reader, writer) = std::io::pipe()?;
        std::thread::Builder::new().name("forerun-wakes".into()).spawn(|| carry(reader))?;
        carrier.bell = Some((process, writer));
    }
    Ok(())
}

fn carry(mut bell: PipeReader) {
    let mut rings = [0; 64];
    while bell.read(&mut rings).is_ok_and(|count| count > 0) {
        let mut callbacks = std::mem::take(&mut carrier().callbacks);
        let called = Python::try_attach(|py| {
            for callback in callbacks.drain(..) {
                // A lost callback would block the awaiting task forever, so a failed call, for instance for lack of
                // memory, is retried once.
                if let Err(error) = call(py, &callback).or_else(|_| call(py, &callback)) {
                    error.write_unraisable(py, None);
                }
            }
        });
        if called.is_none() {
            // The interpreter is gone, so the references cannot be released.
            std::mem::forget(callbacks);
        }
    }
}

fn call(py: Python<'_>, callback: &Py<PyAny>) -> PyResult<()> {
    fail_point!("await.call", error => return Err(raise(error)));
    pycall::call(callback.bind(py), ()).map(drop)
}

/// A callback that is called from another thread.
struct Callback(Mutex<Option<Py<PyAny>>>);

impl Wake for Callback {
    fn wake(self: Arc<Self>) {
        let Some(callback) = self.0.lock().unwrap_or_else(|e| e.into_inner()).take() else { return };
        let mut carrier = carrier();
        carrier.callbacks.push(callback);
        if carrier.callbacks.len() == 1
            && let Some((_, bell)) = &mut carrier.bell
        {
            // A pipe without a reader means that the process is ending.
            let _ = bell.write_all(&[0]);
        }
    }
}

/// Returns true if the array is settled, and raises if it failed. Otherwise the callback is called when it may be
/// settled.
#[pyfunction]
pub(crate) fn settled_or_call(py: Python<'_>, array: &Bound<'_, PyArray>, callback: Py<PyAny>) -> PyResult<bool> {
    start()?;
    let (array, loc) = (array.get().0.clone(), here(py));
    let waker = Waker::from(Arc::new(Callback(Mutex::new(Some(callback)))));
    let settled = py.detach(move || {
        if !array.settled_or_wake(&waker) {
            return Ok(false);
        }
        array.wait_to_read_with(&Wait { allowed: true, ..Wait::at(loc, "await") }).map(|()| true)
    });
    settled.map_err(raise)
}

/// The only element of a settled array, after awaiting it.
#[pyfunction]
pub(crate) fn awaited_item<'py>(py: Python<'py>, array: &Bound<'py, PyArray>) -> PyResult<Bound<'py, PyAny>> {
    let (array, loc) = (array.get().0.clone(), here(py));
    let item = py.detach(move || array.item_with(&Wait { allowed: true, ..Wait::at(loc, "item_async") }));
    crate::array::python_scalar(py, item.map_err(raise)?)
}
