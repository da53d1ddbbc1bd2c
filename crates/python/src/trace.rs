//! Traces as plain tuples, for the classes of `forerun._trace`.

use crate::blockers::{Line, line_of};
use crate::error::raise;
use forerun::profile::{EventKind, TraceEvent};
use pyo3::prelude::*;

/// Start and end in seconds since the trace was started.
type Span = (f64, f64);
/// Task and age, where the event has them.
type Task = (Option<u64>, Option<u64>);
/// Call, its line, parked and helped seconds of a wait.
type Wait = (&'static str, Line, f64, f64);
/// Kind, span, op, its line, value, shape, dtype, bytes, task, wait.
type Row =
    (&'static str, Span, (&'static str, Line), u64, Option<(Vec<usize>, &'static str)>, usize, Task, Option<Wait>);

fn row(event: &TraceEvent) -> Row {
    let span = (event.start.as_secs_f64(), event.end.as_secs_f64());
    let (kind, task, wait) = match event.what {
        EventKind::Submitted => ("submitted", (None, None), None),
        EventKind::Planned { task, age } => ("planned", (Some(task), Some(age)), None),
        EventKind::Ran { task, .. } => ("ran", (Some(task), None), None),
        EventKind::Waited { call, loc, parked, helped } => {
            let wait = (call, line_of(loc), parked.as_secs_f64(), helped.as_secs_f64());
            ("waited", (None, None), Some(wait))
        }
    };
    let made = event.meta.as_ref().map(|meta| (meta.shape().to_vec(), meta.dtype.name()));
    (kind, span, (event.origin.op, line_of(event.origin.loc)), event.value, made, event.bytes, task, wait)
}

/// Starts a trace with at most `most` events per thread.
#[pyfunction]
pub(crate) fn start_trace(most: usize) -> PyResult<()> {
    forerun::profile::start_trace(most).map_err(raise)
}

/// Stops the trace; returns the name and the events of each thread.
#[pyfunction]
pub(crate) fn stop_trace(py: Python<'_>) -> PyResult<Vec<(String, Vec<Row>)>> {
    let lanes = py.detach(forerun::profile::stop_trace).map_err(raise)?;
    Ok(lanes.into_iter().map(|lane| (lane.thread, lane.events.iter().map(row).collect())).collect())
}
