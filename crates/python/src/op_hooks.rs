//! Hooks that see every op of a call.

use crate::array::PyArray;
use crate::pycall;
use forerun::frontend::{ObservedOp, Observer, add_observer, remove_observer};
use pyo3::prelude::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Reports submissions to a Python function: the op, its inputs and its result.
struct Reporting {
    hook: Py<PyAny>,
    /// Whether the hook is running; ops that it submits are not reported.
    busy: Cell<bool>,
    /// The first exception that the hook raised.
    raised: RefCell<Option<PyErr>>,
}

impl Observer for Reporting {
    fn submitted(&self, note: &ObservedOp<'_>) {
        if self.busy.get() || self.raised.borrow().is_some() {
            return;
        }
        self.busy.set(true);
        let called = Python::attach(|py| {
            let inputs: Vec<PyArray> = note.inputs.iter().map(|x| PyArray(x.freeze())).collect();
            let arguments = (note.signature.op.name(), inputs, PyArray(note.freeze_result()));
            pycall::call(self.hook.bind(py), arguments).map(drop)
        });
        self.busy.set(false);
        if let Err(exception) = called {
            *self.raised.borrow_mut() = Some(exception);
        }
    }
}

/// Calls a function without arguments; `hook(op, inputs, result)` is called for every op that it submits. The arrays are
/// snapshots off the tape. An exception of the hook is raised after the function has returned.
#[pyfunction]
pub(crate) fn observed<'py>(function: &Bound<'py, PyAny>, hook: Py<PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let reporting = Rc::new(Reporting { hook, busy: Cell::new(false), raised: RefCell::new(None) });
    let observer: Rc<dyn Observer> = reporting.clone();
    add_observer(observer.clone());
    let result = pycall::call(function, ());
    remove_observer(&observer);
    match reporting.raised.take() {
        Some(exception) => Err(exception),
        None => result,
    }
}
