//! The compilation target of kernels.

use crate::simd::Isa;
use forerun_base::Settings;

/// Programs over fewer elements are interpreted at first. Compilation takes about 50 us, as long as interpreting a
/// chain of six instructions over this many elements; machine code saves a quarter of each run.
const WORTH_EMITTING: usize = 64 * 1024;

/// An instruction set, and the condition for machine code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) isa: Isa,
    /// The minimum number of elements for machine code.
    pub(crate) emit_from: usize,
}

impl Target {
    /// Whether machine code is enabled.
    pub(crate) fn emits(&self) -> bool {
        self.emit_from < usize::MAX
    }

    /// The default target: machine code where it pays off, unless `FORERUN_JIT` disables it.
    pub(crate) fn new(isa: Isa) -> Target {
        let emits = Settings::environment().switch("FORERUN_JIT").unwrap_or(true);
        Target { isa, emit_from: if emits { WORTH_EMITTING } else { usize::MAX } }
    }
}
