//! Where values belong among numbers in order.

use super::call::{Args, Body, with_type};
use super::keys::Ordered;
use crate::pointwise::Shared;
use forerun_base::{Error, ErrorKind, Result, Team};
use forerun_ops::Search;

/// Values a piece of work holds at least.
const PIECE: usize = 1 << 12;

pub(super) fn body(routine: Search) -> Body {
    match routine {
        Search::Sorted => |args, team| with_type!(args.dtype(0), search(args, team)),
        Search::Digitize => |args, team| with_type!(args.dtype(0), digitize(args, team)),
    }
}

fn search<T: Ordered>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let right = args.word(0) != 0;
    place_each::<T>(args, team, &|sorted, x| place(sorted, x, right, false));
    Ok(())
}

/// Edges may fall; they are then looked at from their end, and what lies on one belongs to the other side.
fn digitize<T: Ordered>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (edges, right) = (args.input::<T>(0), args.word(0) != 0);
    let goes = |descending: bool| edges.windows(2).all(|w| w[0].joined(descending) <= w[1].joined(descending));
    match (goes(false), goes(true)) {
        (true, _) => place_each::<T>(args, team, &|edges, x| place(edges, x, !right, false)),
        (false, true) => place_each::<T>(args, team, &|edges, x| place(edges, x, right, true)),
        (false, false) => return Err(Error::new(ErrorKind::Value, "bins must rise or fall")),
    }
    Ok(())
}

fn place_each<T: Ordered>(args: &Args<'_>, team: &dyn Team, find: &(dyn Fn(&[T], T) -> usize + Sync)) {
    let (sorted, values, to) = (args.input::<T>(0), args.input::<T>(1), args.output::<i64>());
    let (size, target) = (to.len(), Shared(to.as_mut_ptr()));
    team.split(size.div_ceil(PIECE), &|piece| {
        let first = piece * PIECE;
        for (i, x) in values[first..size.min(first + PIECE)].iter().enumerate() {
            // SAFETY: pieces write elements of their own, within the output.
            unsafe { target.get().add(first + i).write(find(sorted, *x) as i64) };
        }
    });
}

/// How many go before `x`: those that come first, and with `right` those that are equal.
fn place<T: Ordered>(sorted: &[T], x: T, right: bool, descending: bool) -> usize {
    let x = x.joined(descending);
    sorted.partition_point(|s| {
        let s = s.joined(descending);
        s < x || right && s == x
    })
}
