//! Decides when a program is compiled to machine code: at once if it has many elements, otherwise after it has run
//! often.
//!
//! Invariant: machine code gives the interpreter's bits, so it may become available between two tiles of a run.

use super::MachineCode;
use crate::simd::Isa;
use forerun_plan::{Program, Reg};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};

/// A program over few elements is compiled after it has processed about this many. Compilation takes as long as
/// interpreting 64 Ki elements, and saves about a quarter of each run; most programs of a short script never reach
/// this.
const WORTH_EMITTING_LATER: isize = 512 * 1024;

/// The machine code of a program, or the data to compile it later.
#[derive(Debug, Default)]
pub(crate) struct Tier {
    /// Unset until compilation was tried; `None` if the program cannot be compiled.
    code: OnceLock<Option<MachineCode>>,
    later: Option<Box<Later>>,
}

/// The data to compile a program once it has run often enough.
#[derive(Debug)]
pub(crate) struct Later {
    pub(crate) isa: Isa,
    pub(crate) program: Program,
    pub(crate) watched: Option<Reg>,
    /// Elements to interpret before compilation.
    left: AtomicIsize,
}

impl Tier {
    /// Machine code that was compiled at once.
    pub(crate) fn now(code: Option<MachineCode>) -> Tier {
        Tier { code: OnceLock::from(code), later: None }
    }

    /// Machine code to be compiled after the program has run often enough.
    pub(crate) fn later(isa: Isa, program: &Program, watched: Option<Reg>) -> Tier {
        let left = AtomicIsize::new(WORTH_EMITTING_LATER);
        let later = Later { isa, program: program.clone(), watched, left };
        Tier { code: OnceLock::new(), later: Some(Box::new(later)) }
    }

    /// The machine code, if it was compiled.
    #[inline]
    pub(crate) fn code(&self) -> Option<&MachineCode> {
        self.code.get()?.as_ref()
    }

    /// Counts elements that are about to run; calls `emit` when there were enough.
    #[inline]
    pub(crate) fn count(&self, elements: usize, emit: impl FnOnce(&Later) -> Option<MachineCode>) {
        if let Some(later) = &self.later
            && later.left.load(Relaxed) > 0
            && later.left.fetch_sub(elements as isize, Relaxed) <= elements as isize
        {
            self.code.get_or_init(|| emit(later));
        }
    }
}
