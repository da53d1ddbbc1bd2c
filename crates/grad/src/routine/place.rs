//! What flows back to rows that were written at positions.

use crate::entry::Recorded;
use crate::rules::saved;
use forerun_array::{Arg, Array, Index, ops};
use forerun_base::{Loc, Result, Scalar};
use forerun_ops::{Beyond, Place, Point, ReduceKind, Routine, is_by_index};

pub(super) fn rule(
    routine: Place,
    words: &[i64],
    recorded: &Recorded,
    grad: &Array,
    loc: Loc,
) -> Result<Vec<Option<Array>>> {
    match routine {
        Place::Positions | Place::Last => unreachable!("positions are never on the tape"),
        Place::Put => {
            debug_assert!(!is_by_index(words), "whoever records has positions made of its indices");
            let positions = saved(&recorded.inputs[1]);
            let wanted = |k: usize| recorded.edges[k].is_some();
            // The base gets nothing where it was overwritten.
            let base = || {
                let zero = ops::full(&[], Scalar::Int(0), grad.dtype(), loc)?;
                ops::routine(Routine::Place(Place::Put), &[grad, positions, &zero], words, loc)
            };
            let values = || written(words, recorded, positions, grad, loc);
            Ok(vec![wanted(0).then(base).transpose()?, None, wanted(2).then(values).transpose()?])
        }
    }
}

/// What flows to the values: where several went to one place, all of it to the last.
fn written(words: &[i64], recorded: &Recorded, positions: &Array, grad: &Array, loc: Loc) -> Result<Array> {
    let (extents, strides) = words.split_at(words.len() / 2);
    let dims: Vec<(usize, isize)> = extents.iter().zip(strides).map(|(d, s)| (*d as usize, *s as isize)).collect();
    let places = ops::spread_rows(positions, &dims, loc)?;
    let flat = ops::reshape(grad, &[-1], loc)?;
    let taken = ops::take(&flat, &places, 0, Beyond::Raise, loc)?;
    let last = ops::routine(Routine::Place(Place::Last), &[positions], &[], loc)?;
    let mut items = vec![Index::Ellipsis];
    items.extend(vec![Index::NewAxis; dims.len()]);
    let last = ops::index(&last, &items)?;
    let kept = ops::pointwise(Point::Where, &[(&last).into(), (&taken).into(), Arg::Scalar(Scalar::Int(0))], loc)?;
    let shape = recorded.signature.inputs[2].shape();
    let dims: Vec<isize> = shape.iter().map(|d| *d as isize).collect();
    if shape.size() == 1 && kept.size() != 1 {
        return ops::reshape(&ops::reduce(ReduceKind::Sum, &kept, None, false, loc)?, &dims, loc);
    }
    ops::reshape(&kept, &dims, loc)
}
