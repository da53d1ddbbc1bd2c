//! What kernels are compiled for.

use crate::simd::Isa;
use forerun_base::Settings;

/// Programs over fewer elements are interpreted. Making code takes some 50 us, as long as this many elements of a chain of
/// six instructions take the interpreter; a quarter of that is saved by each run.
const WORTH_EMITTING: usize = 64 * 1024;

/// An instruction set, and which programs become machine code of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) isa: Isa,
    /// The fewest elements of a program that becomes machine code; the rest is interpreted.
    pub(crate) emit_from: usize,
}

impl Target {
    /// Whether any program becomes machine code.
    pub(crate) fn emits(&self) -> bool {
        self.emit_from < usize::MAX
    }

    /// Machine code where it is worth it, unless `FORERUN_JIT` says no.
    pub(crate) fn new(isa: Isa) -> Target {
        let emits = Settings::environment().switch("FORERUN_JIT").unwrap_or(true);
        Target { isa, emit_from: if emits { WORTH_EMITTING } else { usize::MAX } }
    }
}
