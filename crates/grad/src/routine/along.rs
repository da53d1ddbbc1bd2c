//! What flows back to elements that indices named.

use crate::entry::Recorded;
use crate::rules::{binary, saved};
use forerun_array::{Array, ops};
use forerun_base::{DType, Loc, Result, Scalar};
use forerun_ops::{Along, Point, Routine};

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
        Along::Put => {
            let (take, put) = (Routine::Along(Along::Take), Routine::Along(Along::Put));
            let indices = saved(&recorded.inputs[1]);
            let named = indices.shape();
            let nothing = ops::full(&named, Scalar::Int(0), grad.dtype(), loc)?;
            let base = ops::routine(put, &[grad, indices, &nothing], words, loc)?;
            let updates = match recorded.edges.get(2).is_some_and(Option::is_some) {
                true => {
                    // Of updates to one place, the last is there: the one that finds its own number.
                    let size = Scalar::Int(named.size() as i64);
                    let numbers = ops::arange(Scalar::Int(0), size, Scalar::Int(1), Some(DType::I64), loc)?;
                    let numbers = ops::reshape(&numbers, &named.iter().map(|d| *d as isize).collect::<Vec<_>>(), loc)?;
                    let none = ops::full(&grad.shape(), Scalar::Int(-1), DType::I64, loc)?;
                    let winners = ops::routine(put, &[&none, indices, &numbers], words, loc)?;
                    let winners = ops::routine(take, &[&winners, indices], words, loc)?;
                    let stays = ops::cast(&binary(Point::Equal, &winners, &numbers, loc)?, grad.dtype(), loc)?;
                    let taken = ops::routine(take, &[grad, indices], words, loc)?;
                    Some(binary(Point::Multiply, &taken, &stays, loc)?)
                }
                false => None,
            };
            Ok(vec![Some(base), None, updates])
        }
    }
}
