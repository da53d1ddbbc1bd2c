//! When a program becomes machine code: at once if it runs over many elements, else after it has run often.
//!
//! Invariant: machine code has the interpreter's bits, so it may appear between two tiles of a run.

use super::MachineCode;
use crate::simd::Isa;
use forerun_plan::{Program, Reg};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};

/// A program over few elements becomes machine code after it has run over about this many. Code takes as long to make as
/// 64 Ki elements to interpret, and saves about a quarter of each run; most programs of a short script never get here.
const WORTH_EMITTING_LATER: isize = 512 * 1024;

/// The machine code of a program, if there is some, or what it is made from later.
#[derive(Debug, Default)]
pub(crate) struct Tier {
    /// Unset until code was asked for; `None` if there is none for this program.
    code: OnceLock<Option<MachineCode>>,
    later: Option<Box<Later>>,
}

/// What machine code is made from once the program has run often enough.
#[derive(Debug)]
pub(crate) struct Later {
    pub(crate) isa: Isa,
    pub(crate) program: Program,
    pub(crate) watched: Option<Reg>,
    /// Elements that are interpreted before.
    left: AtomicIsize,
}

impl Tier {
    /// Code made at once.
    pub(crate) fn now(code: Option<MachineCode>) -> Tier {
        Tier { code: OnceLock::from(code), later: None }
    }

    /// Code made when the program has run often enough.
    pub(crate) fn later(isa: Isa, program: &Program, watched: Option<Reg>) -> Tier {
        let left = AtomicIsize::new(WORTH_EMITTING_LATER);
        let later = Later { isa, program: program.clone(), watched, left };
        Tier { code: OnceLock::new(), later: Some(Box::new(later)) }
    }

    /// The machine code, if it was made.
    #[inline]
    pub(crate) fn code(&self) -> Option<&MachineCode> {
        self.code.get()?.as_ref()
    }

    /// Counts elements that are about to run, and calls `emit` once there were enough.
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
