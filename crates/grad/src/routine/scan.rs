//! What flows back through cumulative ops: each element is in all results from its own on.

use super::rule::reverse;
use crate::entry::Recorded;
use crate::rules::{binary, saved};
use forerun_array::{Array, ops};
use forerun_base::{Loc, Result};
use forerun_ops::{Point, Routine, Scan};

pub(super) fn rule(
    routine: Scan,
    words: &[i64],
    recorded: &Recorded,
    grad: &Array,
    loc: Loc,
) -> Result<Vec<Option<Array>>> {
    let axis = words[0] as isize;
    let from_here_on = |x: &Array| {
        let sums = ops::routine(Routine::Scan(Scan::CumSum), &[&reverse(x, axis)?], words, loc)?;
        reverse(&sums, axis)
    };
    let back = match routine {
        Scan::CumSum => from_here_on(grad)?,
        Scan::CumProd => {
            // Without a zero among the factors: sums of what flows times the products, over the factor.
            let (x, y) = (saved(&recorded.inputs[0]), saved(&recorded.output));
            let weighted = from_here_on(&binary(Point::Multiply, grad, y, loc)?)?;
            binary(Point::Divide, &weighted, x, loc)?
        }
    };
    Ok(vec![Some(back)])
}
