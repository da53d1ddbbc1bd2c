//! Traces: every submitted record runs, in a planned task or inline; waits are included.

use forerun::profile::{EventKind, TraceEvent, start_trace, stop_trace};
use forerun::runtime::{Mode, engine};
use forerun::{DType, full};
use std::collections::HashMap;
use std::sync::Mutex;

/// One trace can be on at a time.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn submitted_records_run() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let w = full([300, 300], 1e-3, DType::F32);
    w.wait_to_read().unwrap();
    start_trace(1 << 12).unwrap();
    assert!(start_trace(1).is_err(), "one trace at a time");
    let x = (0..6).fold(w.clone(), |x, _| x.matmul(&w).tanh() + 1.0);
    x.wait_to_read().unwrap();
    let small = &full([2], 1.0, DType::F32) + 1.0;
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

#[test]
fn events_name_operands_waits_and_memory() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let w = full([500, 500], 1e-3, DType::F32);
    w.wait_to_read().unwrap();
    start_trace(1 << 12).unwrap();
    // Long enough for the reader to wait.
    let c = (0..24).fold(w.clone(), |x, _| x.matmul(&w));
    let d = &c + 1.0;
    d.wait_to_read().unwrap();
    drop((c, d));
    let lanes = stop_trace().unwrap();
    let events: Vec<&TraceEvent> = lanes.iter().flat_map(|lane| &lane.events).collect();
    let submitted: Vec<&&TraceEvent> = events.iter().filter(|e| e.what == EventKind::Submitted).collect();
    let [.., product, sum] = submitted[..] else { panic!("{submitted:?}") };
    assert_eq!(product.signature.as_ref().unwrap().flops(), 2 * 500 * 500 * 500);
    assert_eq!(sum.signature.as_ref().unwrap().flops(), 0);
    assert_eq!((product.inputs.len(), &sum.inputs[..]), (2, &[product.value][..]));
    let waits = events.iter().filter(|e| matches!(e.what, EventKind::Waited { .. })).map(|e| e.value);
    let expected = if *engine().mode() == Mode::Sync { vec![] } else { vec![sum.value] };
    assert_eq!(waits.collect::<Vec<_>>(), expected, "{events:?}");
    let moved = |of: fn(&EventKind) -> bool| events.iter().filter(|e| of(&e.what)).map(|e| e.bytes).sum::<usize>();
    let allocated = moved(|what| matches!(what, EventKind::Allocated(_)));
    assert!(allocated >= 24 * 500 * 500 * 4, "{events:?}");
    assert_eq!(allocated, moved(|what| matches!(what, EventKind::Freed(_))), "all results are gone");
}
