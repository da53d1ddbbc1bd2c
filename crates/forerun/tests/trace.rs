//! Traces: every submitted record runs, in a planned task or inline; waits are included.

use forerun::profile::{EventKind, TraceEvent, start_trace, stop_trace};
use forerun::{DType, full};
use std::collections::HashMap;

#[test]
fn submitted_records_run() {
    let w = full(&[300, 300], 1e-3, DType::F32);
    w.wait_to_read().unwrap();
    start_trace(1 << 12).unwrap();
    assert!(start_trace(1).is_err(), "one trace at a time");
    let x = (0..6).fold(w.clone(), |x, _| x.matmul(&w).tanh() + 1.0);
    x.wait_to_read().unwrap();
    let small = &full(&[2], 1.0, DType::F32) + 1.0;
    small.wait_to_read().unwrap();
    let lanes = stop_trace().unwrap();
    assert!(stop_trace().is_err());
    let events: Vec<&TraceEvent> = lanes.iter().flat_map(|lane| &lane.events).collect();
    assert!(events.iter().all(|event| event.start <= event.end));
    let submitted: Vec<&&TraceEvent> = events.iter().filter(|e| e.what == EventKind::Submitted).collect();
    assert_eq!(submitted.len(), 6 * 3 + 2);
    let tasks: HashMap<u64, u64> = events
        .iter()
        .filter_map(|e| match e.what {
            EventKind::Planned { task, .. } => Some((e.value, task)),
            _ => None,
        })
        .collect();
    for record in submitted {
        let task = tasks.get(&record.value).copied().unwrap_or(record.value);
        let run = events.iter().find(|e| matches!(e.what, EventKind::Ran { task: ran, .. } if ran == task));
        let run = run.unwrap_or_else(|| panic!("{record:?} was not run"));
        assert!(run.start >= record.start, "{record:?} {run:?}");
    }
}
