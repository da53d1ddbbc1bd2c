//! Which family has the rule, and what they share.

use super::{along, choose, convolve, fft, linalg, normalise, order, place, scan};
use crate::entry::Recorded;
use crate::pointwise::conjugate;
use forerun_array::{Array, ops};
use forerun_base::{Error, ErrorKind, Kind, Loc, Result};
use forerun_ops::{Linalg, Routine, Scan};

/// What flows back to each input of a recorded routine.
pub(crate) fn rule(
    routine: Routine,
    words: &[i64],
    recorded: &Recorded,
    grad: &Array,
    loc: Loc,
) -> Result<Vec<Option<Array>>> {
    let signature = &recorded.signature;
    if signature.out.dtype.kind() == Kind::Complex || signature.inputs[0].dtype.kind() == Kind::Complex {
        return complex_rule(routine, words, recorded, grad, loc);
    }
    real_rule(routine, words, recorded, grad, loc)
}

/// The rules of what only moves elements, or adds them up, are the same for complex numbers; what has a slope takes a turn.
fn complex_rule(
    routine: Routine,
    words: &[i64],
    recorded: &Recorded,
    grad: &Array,
    loc: Loc,
) -> Result<Vec<Option<Array>>> {
    match routine {
        Routine::Scan(Scan::CumProd | Scan::Linear)
        | Routine::Convolve(_)
        | Routine::Linalg(Linalg::Inv | Linalg::Det | Linalg::Solve | Linalg::SolveTriangular) => {
            let back = real_rule(routine, words, recorded, &conjugate(grad, loc)?, loc)?;
            back.into_iter().map(|flows| flows.map(|flows| conjugate(&flows, loc)).transpose()).collect()
        }
        Routine::Linalg(_) => {
            let text = format!("no gradient for {}", recorded.signature.inputs[0].dtype);
            Err(Error::new(ErrorKind::Type, text).in_op(routine.name()))
        }
        _ => real_rule(routine, words, recorded, grad, loc),
    }
}

fn real_rule(
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
        Routine::Convolve(routine) => convolve::rule(routine, words, recorded, grad, loc),
        Routine::Normalise(routine) => normalise::rule(routine, words, recorded, grad, loc),
        Routine::Order(routine) => order::rule(routine, words, recorded, grad, loc),
        Routine::Place(routine) => place::rule(routine, words, recorded, grad, loc),
        Routine::Scan(routine) => scan::rule(routine, words, recorded, grad, loc),
        Routine::Count(_) | Routine::Draw(_) | Routine::Search(_) | Routine::Unique(_) => {
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
