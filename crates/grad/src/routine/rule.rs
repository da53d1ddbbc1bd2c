//! Which family has the rule, and what they share.

use super::{along, choose, fft, linalg, normalise, order, place, scan};
use crate::entry::Recorded;
use forerun_array::{Array, ops};
use forerun_base::{Loc, Result};
use forerun_ops::Routine;

/// What flows back to each input of a recorded routine.
pub(crate) fn rule(
    routine: Routine,
    words: &[i64],
    recorded: &Recorded,
    grad: &Array,
    loc: Loc,
) -> Result<Vec<Option<Array>>> {
    match routine {
        Routine::Along(routine) => along::rule(routine, words, recorded, grad, loc),
        Routine::Fft(routine) => fft::rule(routine, words, recorded, grad, loc),
        Routine::Linalg(routine) => linalg::rule(routine, words, recorded, grad, loc),
        Routine::Choose(routine) => choose::rule(routine, words, recorded, grad, loc),
        Routine::Normalise(routine) => normalise::rule(routine, words, recorded, grad, loc),
        Routine::Order(routine) => order::rule(routine, words, recorded, grad, loc),
        Routine::Place(routine) => place::rule(routine, words, recorded, grad, loc),
        Routine::Scan(routine) => scan::rule(routine, words, recorded, grad, loc),
        Routine::Draw(_) | Routine::Search(_) | Routine::Unique(_) => {
            unreachable!("indices and draws are never on the tape")
        }
    }
}

/// The elements of an axis in reverse order; a view.
pub(super) fn reverse(x: &Array, axis: isize) -> Result<Array> {
    let axis = x.shape().axis(axis)?;
    let mut items = vec![forerun_array::Index::ALL; axis];
    items.push(forerun_array::Index::Slice { start: None, stop: None, step: -1 });
    ops::index(x, &items)
}
