//! Dispatch of calls to the kernels.

use super::typed;
use crate::product::Packed;
use crate::routine::call::{Args, Body, HostKernel};
use crate::simd::by_set;
use forerun_base::{DType, Error, ErrorKind, Result, Team};
use forerun_ops::Recurrent;
use forerun_ops::recurrent::{Recurrence, RecurrenceBack, RecurrentExtents};
use forerun_plan::RoutineCall;

/// The maximum number of sequences of a task; smaller batches are divided into two tasks.
pub(super) const PIECE: usize = 16;

impl HostKernel for Recurrent {
    fn body(&self) -> Body {
        match self {
            Recurrent::Forward => |args, team| dispatch(args, team, true),
            Recurrent::Backward => |args, team| dispatch(args, team, false),
        }
    }

    fn scratch(&self, call: &RoutineCall, threads: usize) -> usize {
        let e = extents(call);
        let element = if call.out.0 == DType::F64 { 8 } else { 4 };
        // Packed matrices are padded to panels of at most 64 columns, forward and backward.
        let packed = |k: usize, n: usize| (n + 64).saturating_mul(k).saturating_mul(element);
        let weights = packed(e.state, e.width() + 64).max(packed(e.width(), e.state));
        let projection = if e.projected { packed(e.hidden, e.state) + packed(e.state, e.hidden) } else { 0 };
        let rows = PIECE.saturating_mul(4 * (e.hidden + e.state)).saturating_mul(element).saturating_mul(threads);
        // Half-float arrays are widened completely.
        let widened = match call.out.0 {
            DType::F16 | DType::BF16 => {
                call.inputs.iter().map(|(_, shape)| shape.size()).sum::<usize>().saturating_add(call.out.1.size()) * 4
            }
            _ => 0,
        };
        weights.saturating_add(projection).saturating_add(rows).saturating_add(widened)
    }
}

pub(super) fn extents(call: &RoutineCall) -> RecurrentExtents {
    match call.routine {
        forerun_ops::Routine::Recurrent(Recurrent::Forward) => {
            RecurrentExtents::of_scan(&call.inputs, &call.attributes::<Recurrence>())
        }
        _ => RecurrentExtents::of_back(&call.inputs, &call.attributes::<RecurrenceBack>()),
    }
    .expect("inference checked the extents")
}

pub(super) fn dispatch(args: &Args<'_>, team: &dyn Team, is_forward: bool) -> Result<()> {
    by_set!(args.isa, set => typed::run(set, args, &extents(args.call), team, is_forward))
}

/// The lengths of the sequences, if given. Fails if one is not between 0 and the number of steps.
pub(super) fn lengths<'a>(args: &'a Args<'_>, i: usize, e: &RecurrentExtents) -> Result<Option<&'a [i64]>> {
    if args.call.inputs[i].1.size() == 0 {
        return Ok(None);
    }
    let lengths = args.input::<i64>(i);
    match lengths.iter().position(|length| !(0..=e.steps as i64).contains(length)) {
        Some(sequence) => {
            let text = format!("length {} of sequence {sequence} is not between 0 and {}", lengths[sequence], e.steps);
            Err(Error::new(ErrorKind::Value, text).in_op(args.call.routine.name()))
        }
        None => Ok(Some(lengths)),
    }
}

/// Divides the sequences into tasks, and calls `piece` with the first sequence of each and their number.
pub(super) fn each_piece(batch: usize, team: &dyn Team, piece: &(dyn Fn(usize, usize) + Sync)) {
    let most = PIECE.min(batch.div_ceil(2)).max(1);
    team.split(batch.div_ceil(most), &|i| piece(i * most, most.min(batch - i * most)));
}

/// Whether a sequence ends before a step.
pub(super) fn is_over(lengths: Option<&[i64]>, sequence: usize, step: usize) -> bool {
    lengths.is_some_and(|lengths| step as i64 >= lengths[sequence])
}

/// The packed projection of the hidden units, if there is one.
pub(super) type Projection<V> = Option<Packed<V>>;
