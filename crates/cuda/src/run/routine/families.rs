//! All families together.

use super::job::Plan;
use super::{along, choose, draw, order, place, scan, search, unique};
use forerun_base::Kind;
use forerun_ops::{Draw, Given, Routine};
use forerun_plan::RoutineCall;

/// Elements of an array up to which indices of kernels fit 32 bits where they must.
const MOST: usize = u32::MAX as usize;

/// Whether there is a kernel for a routine over these inputs.
pub fn runs(routine: Routine, given: &[Given]) -> bool {
    let real = given.iter().all(|(dtype, _)| matches!(dtype.kind(), Kind::Bool | Kind::Int | Kind::Float));
    real && match routine {
        Routine::Along(_) | Routine::Choose(_) | Routine::Place(_) | Routine::Scan(_) => true,
        Routine::Search(_) => true,
        // Of one probability for several outcomes the host knows nothing either.
        Routine::Draw(routine) => routine != Draw::Multinomial || given[1].1.size() != 1,
        Routine::Order(_) | Routine::Unique(_) => given[0].1.size() < MOST / 2,
        Routine::Fft(_) | Routine::Linalg(_) => false,
    }
}

/// How a routine that [`runs`] is done.
pub(crate) fn plan(call: &RoutineCall) -> Plan {
    match call.routine {
        Routine::Along(routine) => along::plan(routine, call),
        Routine::Choose(routine) => choose::plan(routine, call),
        Routine::Draw(routine) => draw::plan(routine, call),
        Routine::Order(routine) => order::plan(routine, call),
        Routine::Place(routine) => place::plan(routine, call),
        Routine::Scan(routine) => scan::plan(routine, call),
        Routine::Search(routine) => search::plan(routine, call),
        Routine::Unique(routine) => unique::plan(routine, call),
        Routine::Fft(_) | Routine::Linalg(_) => unreachable!("{} runs on the host", call.routine.name()),
    }
}
