//! `await x`: a Python callback is called when an array is settled.
//!
//! Whoever settles the array must not stop for the GIL; so it only leaves the callback in a list. A thread of its own,
//! started by the first `await`, takes the GIL and calls them. It waits on a pipe, for nothing that the engine does.

use crate::array::PyArray;
use crate::error::raise;
use crate::loc::here;
use crate::pycall;
use forerun::{Wait, fail_point};
use pyo3::prelude::*;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Wake, Waker};

/// Callbacks on their way to Python.
#[derive(Default)]
struct Carrier {
    callbacks: Vec<Py<PyAny>>,
    /// Where to ring, and in which process: a fork has none of its parent's threads.
    bell: Option<(u32, PipeWriter)>,
}

static CARRIER: Mutex<Carrier> = Mutex::new(Carrier { callbacks: Vec::new(), bell: None });

fn carrier() -> MutexGuard<'static, Carrier> {
    CARRIER.lock().unwrap_or_else(|e| e.into_inner())
}

/// Makes sure that somebody carries callbacks.
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
                // Whoever awaits would wait for ever: what failed once, for want of memory say, is tried again.
                if let Err(error) = call(py, &callback).or_else(|_| call(py, &callback)) {
                    error.write_unraisable(py, None);
                }
            }
        });
        if called.is_none() {
            // The interpreter is gone, and so is whoever could take the references back.
            std::mem::forget(callbacks);
        }
    }
}

fn call(py: Python<'_>, callback: &Py<PyAny>) -> PyResult<()> {
    fail_point!("await.call", error => return Err(raise(error)));
    pycall::call(callback.bind(py), ()).map(drop)
}

/// Calls a callback, from another thread.
struct Callback(Mutex<Option<Py<PyAny>>>);

impl Wake for Callback {
    fn wake(self: Arc<Self>) {
        let Some(callback) = self.0.lock().unwrap_or_else(|e| e.into_inner()).take() else { return };
        let mut carrier = carrier();
        carrier.callbacks.push(callback);
        if carrier.callbacks.len() == 1
            && let Some((_, bell)) = &mut carrier.bell
        {
            // A pipe without a reader means that the process ends.
            let _ = bell.write_all(&[0]);
        }
    }
}

/// True if the array is settled: raises if what makes it failed. Else the callback is called when it may be.
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

/// The only element of an array that is settled, for those who awaited it.
#[pyfunction]
pub(crate) fn awaited_item<'py>(py: Python<'py>, array: &Bound<'py, PyArray>) -> PyResult<Bound<'py, PyAny>> {
    let (array, loc) = (array.get().0.clone(), here(py));
    let item = py.detach(move || array.item_with(&Wait { allowed: true, ..Wait::at(loc, "item_async") }));
    crate::array::python_scalar(py, item.map_err(raise)?)
}
