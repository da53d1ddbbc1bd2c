//! Observation of a running program: traces, waits, memory per source line, captures, NaN detection.
//!
//! Invariant: an observer changes neither a value nor the order of execution, and costs one flag test per submission or
//! read while it is off. A capture or a tape sees submissions only through [`observers`].
//!
//! Must not know: frontends; they format what is collected here.

pub(crate) mod blockers;
pub(crate) mod capture;
pub(crate) mod holders;
pub(crate) mod no_sync;
pub(crate) mod nonfinite;
pub(crate) mod observers;
pub(crate) mod origin;
pub(crate) mod read_hooks;
pub(crate) mod submissions;
pub(crate) mod trace;
