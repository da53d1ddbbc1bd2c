//! What flows back to elements that indices named.

use crate::entry::Recorded;
use crate::rules::saved;
use forerun_array::{Array, ops};
use forerun_base::{Loc, Result, Scalar};
use forerun_ops::{Along, Routine};

pub(super) fn rule(
    routine: Along,
    words: &[i64],
    recorded: &Recorded,
    grad: &Array,
    loc: Loc,
) -> Result<Vec<Option<Array>>> {
    match routine {
        Along::Take => {
            let zeros = ops::full(&recorded.signature.inputs[0].shape(), Scalar::Int(0), grad.dtype(), loc)?;
            let indices = saved(&recorded.inputs[1]);
            let back = ops::routine(Routine::Along(Along::Add), &[&zeros, indices, grad], words, loc)?;
            Ok(vec![Some(back), None])
        }
        Along::Add => {
            let named = match recorded.edges.get(2).is_some_and(Option::is_some) {
                true => {
                    let indices = saved(&recorded.inputs[1]);
                    Some(ops::routine(Routine::Along(Along::Take), &[grad, indices], words, loc)?)
                }
                false => None,
            };
            Ok(vec![Some(grad.clone()), None, named])
        }
    }
}
