//! The dependency graph as submitted, for inspecting a program; off by default.

use crate::observe::trace;
use crate::runtime::node::Node;
use crate::runtime::recipe::Recipe;
use crate::runtime::submit::SubmitInput;
use forerun_base::{Loc, Shape};
use std::any::Any;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// One submitted op.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// The op.
    pub op: &'static str,
    /// The id of the value it produces.
    pub value: u64,
    /// The ids of the values it reads.
    pub inputs: Vec<u64>,
    /// The shape of its result.
    pub shape: Shape,
    /// The user's line.
    pub loc: Loc,
}

static ON: AtomicBool = AtomicBool::new(false);
static SEEN: Mutex<Vec<Submission>> = Mutex::new(Vec::new());

/// Starts or stops recording submissions; returns those recorded so far.
pub fn note_submissions(on: bool) -> Vec<Submission> {
    let mut seen = SEEN.lock().unwrap_or_else(|e| e.into_inner());
    ON.store(on, Relaxed);
    std::mem::take(&mut seen)
}

/// Takes the lock before a fork.
pub(crate) fn lock_for_fork() -> Box<dyn Any> {
    Box::new(SEEN.lock().unwrap_or_else(|e| e.into_inner()))
}

#[inline]
pub(crate) fn is_on() -> bool {
    ON.load(Relaxed)
}

/// Records a submission.
#[cold]
pub(crate) fn note(recipe: &Recipe, inputs: &[SubmitInput<'_>], out: &Node, loc: Loc) {
    let entry = Submission {
        op: recipe.op().name(),
        value: trace::current(out),
        inputs: inputs.iter().map(trace::read_by).collect(),
        shape: recipe.signature.out.shape(),
        loc,
    };
    SEEN.lock().unwrap_or_else(|e| e.into_inner()).push(entry);
}
