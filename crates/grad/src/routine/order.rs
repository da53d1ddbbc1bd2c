//! What flows back through an order: each element gets its own again.

use crate::entry::Recorded;
use crate::rules::saved;
use forerun_array::{Array, ops};
use forerun_base::{Loc, Result};
use forerun_ops::{Along, Order, Routine};

pub(super) fn rule(
    routine: Order,
    words: &[i64],
    recorded: &Recorded,
    grad: &Array,
    loc: Loc,
) -> Result<Vec<Option<Array>>> {
    match routine {
        Order::Sort => {
            let argsort = Routine::Order(Order::Argsort);
            let places = ops::routine(argsort, &[saved(&recorded.inputs[0])], words, loc)?;
            // Where each element went: the order of the places.
            let went = ops::routine(argsort, &[&places], &words[..1], loc)?;
            Ok(vec![Some(ops::routine(Routine::Along(Along::Take), &[grad, &went], &words[..1], loc)?)])
        }
        Order::Partition => {
            let argpartition = Routine::Order(Order::Argpartition);
            let places = ops::routine(argpartition, &[saved(&recorded.inputs[0])], words, loc)?;
            let went = ops::routine(Routine::Order(Order::Argsort), &[&places], &words[..1], loc)?;
            Ok(vec![Some(ops::routine(Routine::Along(Along::Take), &[grad, &went], &words[..1], loc)?)])
        }
        Order::Argsort | Order::Argtop | Order::Argpartition | Order::Quantile => {
            unreachable!("indices and what has no gradient are never on the tape")
        }
    }
}
