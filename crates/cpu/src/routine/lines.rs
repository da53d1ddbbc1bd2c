//! Work on lines: the elements along one axis, each line on its own.

use super::call::{Args, Element};
use crate::pointwise::Shared;
use forerun_base::Team;

/// Elements a piece of work holds at least.
const PIECE: usize = 1 << 15;

/// Calls `f(from, to)` for every line of input 0 along the axis that the first word names. Lines that do not lie together are
/// brought together first.
pub(super) fn each_line<T: Element, U: Element>(args: &Args<'_>, team: &dyn Team, f: &(dyn Fn(&[T], &mut [U]) + Sync)) {
    let (from, to) = (args.input::<T>(0), args.output::<U>());
    let (outer, count, inner) = args.extents(0);
    if from.is_empty() {
        return;
    }
    let target = Shared(to.as_mut_ptr());
    let one = |line: usize, near: &mut (Vec<T>, Vec<U>)| {
        let (o, i) = (line / inner, line % inner);
        let first = o * count * inner + i;
        let at = target.get();
        if inner == 1 {
            // SAFETY: lines do not overlap, and each lies within the output.
            let to = unsafe { std::slice::from_raw_parts_mut(at.add(first), count) };
            return f(&from[first..first + count], to);
        }
        let (line, made) = near;
        line.clear();
        line.extend((0..count).map(|k| from[first + k * inner]));
        made.resize(count, U::default());
        f(line, made);
        for (k, element) in made.iter().enumerate() {
            // SAFETY: as above.
            unsafe { at.add(first + k * inner).write(*element) };
        }
    };
    let lines = outer * inner;
    let per_piece = (PIECE / count).max(1);
    let piece = |p: usize| {
        let mut near = (Vec::new(), Vec::new());
        (p * per_piece..lines.min((p + 1) * per_piece)).for_each(|line| one(line, &mut near));
    };
    team.split(lines.div_ceil(per_piece), &piece);
}
