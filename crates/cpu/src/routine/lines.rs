//! Iteration over lines: the elements along one axis.

use super::call::{Args, Element};
use crate::pointwise::Shared;
use forerun_base::{Solo, Team};

/// The minimum number of elements per piece.
const PIECE: usize = 1 << 15;

/// The team for the lines, and the team within a line: if there are too few long lines, the team processes them one
/// after another.
pub(crate) fn teams<'a>(args: &Args<'_>, team: &'a dyn Team) -> (&'a dyn Team, &'a dyn Team) {
    let (outer, count, inner) = args.extents(0);
    if outer * inner < team.width() && count >= PIECE / 2 { (&Solo, team) } else { (team, &Solo) }
}

/// The function for one line: its elements, the output, and the scratch.
pub(crate) type OnLine<'a, T, U, N> = dyn Fn(&[T], &mut [U], &mut N) + Sync + 'a;

/// Calls `f(from, to)` for every line of input 0 along the axis that the first attribute gives. Lines that are not
/// contiguous are copied first.
pub(crate) fn each_line<T: Element, U: Element>(args: &Args<'_>, team: &dyn Team, f: &(dyn Fn(&[T], &mut [U]) + Sync)) {
    each_line_near::<T, U, ()>(args, team, &|from, to, ()| f(from, to));
}

/// Like [`each_line`], with scratch that a thread reuses for its lines. Output lines may have another length.
pub(crate) fn each_line_near<T: Element, U: Element, N: Default>(
    args: &Args<'_>,
    team: &dyn Team,
    f: &OnLine<'_, T, U, N>,
) {
    let (from, to) = (args.input::<T>(0), args.output::<U>());
    let (outer, count, inner) = args.extents(0);
    if from.is_empty() || to.is_empty() {
        return;
    }
    let made = to.len() / (outer * inner);
    let target = Shared(to.as_mut_ptr());
    let one = |line: usize, gathered: &mut (Vec<T>, Vec<U>), near: &mut N| {
        let (o, i) = (line / inner, line % inner);
        let (first, place) = (o * count * inner + i, o * made * inner + i);
        let at = target.get();
        if inner == 1 {
            // SAFETY: lines do not overlap, and each lies within the output.
            let to = unsafe { std::slice::from_raw_parts_mut(at.add(place), made) };
            return f(&from[first..first + count], to, near);
        }
        let (line, results) = gathered;
        line.clear();
        line.extend((0..count).map(|k| from[first + k * inner]));
        results.resize(made, U::default());
        f(line, results, near);
        for (k, element) in results.iter().enumerate() {
            // SAFETY: lines do not overlap, and each lies within the output.
            unsafe { at.add(place + k * inner).write(*element) };
        }
    };
    let lines = outer * inner;
    let per_piece = (PIECE / count).max(1);
    let piece = |p: usize| {
        let (mut gathered, mut near) = ((Vec::new(), Vec::new()), N::default());
        (p * per_piece..lines.min((p + 1) * per_piece)).for_each(|line| one(line, &mut gathered, &mut near));
    };
    team.split(lines.div_ceil(per_piece), &piece);
}
