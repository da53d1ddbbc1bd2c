//! Counts of what became machine code.

use std::sync::atomic::{AtomicUsize, Ordering};

static EMITTED: AtomicUsize = AtomicUsize::new(0);
static INTERPRETED: AtomicUsize = AtomicUsize::new(0);

/// Spans of memory that are mapped for code.
pub(super) static SPANS: AtomicUsize = AtomicUsize::new(0);

/// How many programs became machine code, how many did not though they were large enough, and what it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeStats {
    /// Programs that became machine code.
    pub emitted: usize,
    /// Programs that have an instruction without machine code, or were refused memory.
    pub interpreted: usize,
    /// Spans of memory with code in them; many programs share one.
    pub spans: usize,
}

impl CodeStats {
    /// The figures of the process, so far.
    pub fn now() -> CodeStats {
        CodeStats {
            emitted: EMITTED.load(Ordering::Relaxed),
            interpreted: INTERPRETED.load(Ordering::Relaxed),
            spans: SPANS.load(Ordering::Relaxed),
        }
    }
}

/// Counts a program.
pub(super) fn count(emitted: bool) {
    if emitted { &EMITTED } else { &INTERPRETED }.fetch_add(1, Ordering::Relaxed);
}
