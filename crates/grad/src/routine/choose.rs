//! What flows back to elements that a mask chose.

use crate::entry::Recorded;
use crate::rules::saved;
use forerun_array::{Arg, Array, Index, ops};
use forerun_base::{Loc, Result, Scalar};
use forerun_ops::{Choose, Point, Routine};

pub(super) fn rule(
    routine: Choose,
    words: &[i64],
    recorded: &Recorded,
    grad: &Array,
    loc: Loc,
) -> Result<Vec<Option<Array>>> {
    let shape = |k: usize| recorded.signature.inputs[k].shape();
    match routine {
        Choose::Nonzero => unreachable!("positions are never on the tape"),
        Choose::Compress => {
            let zeros = ops::full(&shape(0), Scalar::Int(0), grad.dtype(), loc)?;
            let fill = Routine::Choose(Choose::Fill);
            let back = ops::routine(fill, &[&zeros, saved(&recorded.inputs[1]), grad], &words[..1], loc)?;
            Ok(vec![Some(back), None])
        }
        Choose::Fill => {
            let (mask, at) = (saved(&recorded.inputs[1]), words[0] as usize);
            let wanted = |k: usize| recorded.edges[k].is_some();
            let base = || {
                let mut items = vec![Index::Ellipsis];
                items.extend(vec![Index::NewAxis; grad.ndim() - at - mask.ndim()]);
                let mask = ops::index(mask, &items)?;
                ops::pointwise(Point::Where, &[(&mask).into(), Arg::Scalar(Scalar::Int(0)), grad.into()], loc)
            };
            let values = || {
                let words = [words[0], shape(2)[at] as i64];
                ops::routine(Routine::Choose(Choose::Compress), &[grad, mask], &words, loc)
            };
            Ok(vec![wanted(0).then(base).transpose()?, None, wanted(2).then(values).transpose()?])
        }
    }
}
