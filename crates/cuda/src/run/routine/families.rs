//! All families together.

use super::fft::Transformer;
use super::job::{Caller, Plan};
use super::{along, choose, draw, linalg, normalise, order, place, scan, search, unique};
use crate::gpu::Gpu;
use crate::run::kernel::Run;
use forerun_base::Kind;
use forerun_ops::{Along, Draw, Given, Order, Routine, Search};
use forerun_plan::RoutineCall;

/// Elements of an array up to which indices of kernels fit 32 bits where they must.
const MOST: usize = u32::MAX as usize;

/// Whether a routine over these inputs is done on the device, if the libraries are there.
pub fn runs(routine: Routine, given: &[Given]) -> bool {
    // Of complex numbers there are moves and transforms, no arithmetic.
    let real = given.iter().all(|(dtype, _)| dtype.kind() != Kind::Complex);
    match routine {
        Routine::Along(routine) => real || routine != Along::Add,
        Routine::Choose(_) | Routine::Place(_) => true,
        Routine::Convolve(_) => false,
        Routine::Scan(_) | Routine::Search(Search::Sorted | Search::Digitize) => real,
        // Shortcuts of the host: frontends have ops of the device that do the same.
        Routine::Count(_) | Routine::Search(_) | Routine::Draw(Draw::Order) => false,
        Routine::Order(Order::Partition | Order::Argpartition | Order::Quantile) => false,
        // Of one probability for several outcomes the host knows nothing either.
        Routine::Draw(routine) => routine != Draw::Multinomial || given[1].1.size() != 1,
        Routine::Order(_) | Routine::Unique(_) => real && given[0].1.size() < MOST / 2,
        Routine::Linalg(routine) => real && linalg::runs(routine),
        Routine::Normalise(_) => normalise::runs(&given[0]),
        // Where the library is found, which the device knows.
        Routine::Fft(_) => true,
    }
}

/// The routine, ready to be launched.
pub(in crate::run) fn launcher(gpu: &Gpu, call: &RoutineCall) -> Box<dyn Run> {
    match call.routine {
        Routine::Fft(routine) => Box::new(Transformer::new(gpu, routine, call)),
        _ => Box::new(Caller::new(gpu, call)),
    }
}

/// How a routine is done that [`runs`] by kernels of ours.
pub(crate) fn plan(call: &RoutineCall) -> Plan {
    match call.routine {
        Routine::Along(routine) => along::plan(routine, call),
        Routine::Choose(routine) => choose::plan(routine, call),
        Routine::Draw(routine) => draw::plan(routine, call),
        Routine::Normalise(routine) => normalise::plan(routine, call),
        Routine::Order(routine) => order::plan(routine, call),
        Routine::Place(routine) => place::plan(routine, call),
        Routine::Scan(routine) => scan::plan(routine, call),
        Routine::Search(routine) => search::plan(routine, call),
        Routine::Unique(routine) => unique::plan(routine, call),
        Routine::Linalg(routine) => linalg::plan(routine, call),
        Routine::Fft(_) => unreachable!("{} is done by a library", call.routine.name()),
        Routine::Convolve(_) | Routine::Count(_) => unreachable!("{} is done by the host", call.routine.name()),
    }
}
