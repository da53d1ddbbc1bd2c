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
/// Shape, dtype and device of a value.
type Made = (Vec<usize>, &'static str, String);
/// Ids of the values that an op reads, the bytes of each operand, and its floating-point operations.
type Work = (Vec<u64>, Vec<usize>, usize);
/// Kind, span, op, its line, value, what it makes, bytes, task, wait, work.
type Row = (&'static str, Span, (&'static str, Line), u64, Option<Made>, usize, Task, Option<Wait>, Work);

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
        EventKind::Allocated(_) => ("allocated", (None, None), None),
        EventKind::Freed(_) => ("freed", (None, None), None),
    };
    let made = match (&event.signature, event.what) {
        (Some(op), _) => Some((op.out.shape().to_vec(), op.out.dtype.name(), op.runs_on().to_string())),
        (None, EventKind::Allocated(device) | EventKind::Freed(device)) => Some((Vec::new(), "", device.to_string())),
        _ => None,
    };
    let work = event.signature.as_ref().map_or_else(Work::default, |op| {
        (event.inputs.clone(), op.inputs.iter().map(|meta| meta.touched()).collect(), op.flops())
    });
    (kind, span, (event.origin.op, line_of(event.origin.loc)), event.value, made, event.bytes, task, wait, work)
}

/// Names the track of the calling thread.
#[pyfunction]
pub(crate) fn name_track(name: &str) {
    forerun::profile::name_track(name);
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
