//! Statistics of machine code.

use std::sync::atomic::{AtomicUsize, Ordering};

static EMITTED: AtomicUsize = AtomicUsize::new(0);
static INTERPRETED: AtomicUsize = AtomicUsize::new(0);

/// Memory spans that are mapped for code.
pub(super) static SPANS: AtomicUsize = AtomicUsize::new(0);

/// The number of compiled and interpreted programs, and the memory for code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeStats {
    /// Programs compiled to machine code.
    pub emitted: usize,
    /// Large programs without machine code: an instruction is not supported, or memory was refused.
    pub interpreted: usize,
    /// Memory spans with code; many programs share one.
    pub spans: usize,
}

impl CodeStats {
    /// The current statistics of the process.
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
