//! Linear interpolation.

use super::call::Args;
use super::keys::Ordered;
use crate::family::search::places_of;
use crate::pointwise::Shared;
use forerun_base::{DType, Result, Team};
use forerun_ops::search::Ends;
use std::ops::{Add, Div, Mul, Sub};

/// The minimum number of values per piece.
const PIECE: usize = 1 << 12;
/// Values searched at a time.
const BLOCK: usize = 64;

pub(crate) fn body(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    match args.dtype(0) {
        DType::F32 => interp::<f32>(args, team, |x| x as f32),
        _ => interp::<f64>(args, team, |x| x),
    }
    Ok(())
}

trait Float: Ordered + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> {}

impl Float for f32 {}
impl Float for f64 {}

fn interp<T: Float>(args: &Args<'_>, team: &dyn Team, round: fn(f64) -> T) {
    let (points, from, values, to) = (args.input::<T>(0), args.input::<T>(1), args.input::<T>(2), args.output::<T>());
    let count = points.len();
    let (first, last) = (points[0], points[count - 1]);
    let Ends { left, right } = args.attributes();
    let (below, above) = (left.map_or(values[0], round), right.map_or(values[count - 1], round));
    let between = |x: T, place: i64| {
        if count == 1 {
            return values[0];
        }
        let line = (place - 1).clamp(0, count as i64 - 2) as usize;
        let (start, height, end, top) = (points[line], values[line], points[line + 1], values[line + 1]);
        if x == end { top } else { height + (top - height) * ((x - start) / (end - start)) }
    };
    let (size, target, isa) = (to.len(), Shared(to.as_mut_ptr()), args.isa);
    team.split(size.div_ceil(PIECE), &|piece| {
        let start = piece * PIECE;
        let from = &from[start..size.min(start + PIECE)];
        // SAFETY: pieces write disjoint elements within the output.
        let to = unsafe { std::slice::from_raw_parts_mut(target.get().add(start), from.len()) };
        let mut places = [0; BLOCK];
        for (from, to) in from.chunks(BLOCK).zip(to.chunks_mut(BLOCK)) {
            let places = &mut places[..from.len()];
            // Skip the search if all values lie outside of the points.
            if from.iter().fold(false, |any, x| any | !((*x < first) | (last < *x))) {
                places_of::<T, true>(points, from, places, false, isa);
                to.iter_mut().zip(from.iter().zip(&*places)).for_each(|(to, (x, place))| *to = between(*x, *place));
            }
            for (to, x) in to.iter_mut().zip(from) {
                *to = if last < *x {
                    above
                } else if *x < first {
                    below
                } else {
                    *to
                };
            }
        }
    });
}
