//! Observation of a program: traces, waits, submissions, reads that would block, and the op that produced the first
//! NaN.

pub use forerun_array::{
    Blocker, EventKind, Origin, Submission, SyncRule, TraceEvent, Track, Waiting, blockers, detect_nonfinite,
    last_wait, name_track, no_sync, note_submissions, reset_blockers, set_sync_rule, start_trace, stop_trace,
    sync_rule,
};
