//! What flows back through convolutions: each vector is convolved with the other one turned round.

use super::rule::reverse;
use crate::entry::Recorded;
use crate::rules::saved;
use forerun_array::{Array, ops};
use forerun_base::{Loc, Result};
use forerun_ops::{Convolve, Routine};

pub(super) fn rule(
    routine: Convolve,
    words: &[i64],
    recorded: &Recorded,
    grad: &Array,
    loc: Loc,
) -> Result<Vec<Option<Array>>> {
    let lengths = [0, 1].map(|i| recorded.signature.inputs[i].size as i64);
    let back = |i: usize| {
        let wanted = recorded.edges.get(i).is_some_and(Option::is_some);
        wanted.then(|| {
            let other = 1 - i;
            let turned = reverse(saved(&recorded.inputs[other]), 0)?;
            // Element k of a vector meets element `first + o - k` of the other in each result o.
            let words = [lengths[other] - 1 - words[0], lengths[i]];
            ops::routine(Routine::Convolve(routine), &[grad, &turned], &words, loc)
        })
    };
    Ok(vec![back(0).transpose()?, back(1).transpose()?])
}
