//! Cumulative ops.
//!
//! Sums are split into runs of a fixed length. Each run is summed separately, and the total of all earlier runs is
//! added to each of its sums. Several runs of a line proceed at once, and the bits depend only on the length of the
//! line. For nonnegative numbers the sums never decrease, because the last sum of a run equals the offset of the next
//! one. Products are not split, because 0 times an overflowed product is not 0.

use crate::pointwise::Shared;
use crate::routine::call::{Args, Body, Element, HostKernel, Number, line_scratch, with_type};
use crate::routine::keys::Ordered;
use crate::routine::lines::{each_line, teams};
use forerun_base::{Result, Team};
use forerun_ops::Scan;
use forerun_plan::RoutineCall;

/// Elements per run.
const RUN: usize = 512;
/// Runs that are processed side by side: as many sums as the adder can have in flight.
const SIDE: usize = 8;
/// Elements of a line per piece.
const PIECE: usize = SIDE * RUN * 8;
/// Adjacent lines per piece.
const COLUMNS: usize = 512;

impl HostKernel for Scan {
    fn body(&self) -> Body {
        match self {
            Scan::CumSum => |args, team| with_type!(args.dtype(0), sum_all(args, team)),
            Scan::CumProd => |args, team| with_type!(args.dtype(0), multiply_all(args, team)),
            Scan::Linear => |args, team| with_type!(args.dtype(0), linear(args, team)),
            Scan::ArgCumMax => |args, team| with_type!(args.dtype(0), extremes(args, team, true)),
            Scan::ArgCumMin => |args, team| with_type!(args.dtype(0), extremes(args, team, false)),
        }
    }

    fn scratch(&self, call: &RoutineCall, threads: usize) -> usize {
        line_scratch(call, call.extents(0)[1], threads)
    }
}

fn sum_all<T: Number>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    sums::<T>(args, team, T::NOTHING, T::plus)
}

fn multiply_all<T: Number>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    folds::<T>(args, team, T::times)
}

/// Cumulative sums. `nothing` is the neutral element: adding it leaves the bits of any element unchanged.
fn sums<T: Element>(args: &Args<'_>, team: &dyn Team, nothing: T, add: impl Fn(T, T) -> T + Copy + Sync) -> Result<()> {
    let (_, _, inner) = args.extents(0);
    if inner == 1 {
        let (team, within) = teams(args, team);
        each_line::<T, T>(args, team, &|from, to| sum_line(from, to, nothing, add, within));
    } else {
        columns(args, team, add, RUN);
    }
    Ok(())
}

fn folds<T: Element>(args: &Args<'_>, team: &dyn Team, fold: impl Fn(T, T) -> T + Copy + Sync) -> Result<()> {
    let (_, count, inner) = args.extents(0);
    match inner == 1 {
        true => each_line::<T, T>(args, team, &|from, to| _ = run(from, to, fold)),
        false => columns(args, team, fold, count.max(1)),
    }
    Ok(())
}

/// Folds a run into its output; returns the last value.
#[inline(always)]
fn run<T: Element>(from: &[T], to: &mut [T], fold: impl Fn(T, T) -> T) -> T {
    let mut so_far = from[0];
    to[0] = so_far;
    for (to, from) in to[1..].iter_mut().zip(&from[1..]) {
        so_far = fold(so_far, *from);
        *to = so_far;
    }
    so_far
}

fn sum_line<T: Element>(from: &[T], to: &mut [T], nothing: T, add: impl Fn(T, T) -> T + Copy + Sync, team: &dyn Team) {
    let count = from.len();
    let runs = count.div_ceil(RUN);
    if runs == 1 {
        run(from, to, add);
        return;
    }
    // The total of each run goes into the slot of the next; then a prefix sum gives the total before each run.
    let mut before = vec![nothing; runs + 1];
    let (pieces, totals) = (count.div_ceil(PIECE), Shared(before.as_mut_ptr()));
    team.split(pieces, &|piece| {
        let first = piece * PIECE;
        for (block, elements) in from[first..count.min(first + PIECE)].chunks(SIDE * RUN).enumerate() {
            let total = |r: usize, sum: T| {
                // SAFETY: each run has its own total.
                unsafe { totals.get().add(first / RUN + block * SIDE + r + 1).write(sum) };
            };
            totals_of(elements, add, total);
        }
    });
    for r in 2..=runs {
        before[r] = add(before[r - 1], before[r]);
    }
    let (before, target) = (&before, Shared(to.as_mut_ptr()));
    team.split(pieces, &|piece| {
        let first = piece * PIECE;
        for (block, elements) in from[first..count.min(first + PIECE)].chunks(SIDE * RUN).enumerate() {
            let start = first + block * SIDE * RUN;
            // SAFETY: blocks are disjoint and within the output.
            let to = unsafe { std::slice::from_raw_parts_mut(target.get().add(start), elements.len()) };
            sums_of(elements, to, add, &before[start / RUN..]);
        }
    });
}

/// The totals of the runs of a block.
#[inline(always)]
fn totals_of<T: Element>(elements: &[T], add: impl Fn(T, T) -> T, total: impl Fn(usize, T)) {
    if let Ok(block) = <&[T; SIDE * RUN]>::try_from(elements) {
        let mut sums: [T; SIDE] = std::array::from_fn(|r| block[r * RUN]);
        for i in 1..RUN {
            for (r, sum) in sums.iter_mut().enumerate() {
                *sum = add(*sum, block[r * RUN + i]);
            }
        }
        sums.into_iter().enumerate().for_each(|(r, sum)| total(r, sum));
        return;
    }
    for (r, run) in elements.chunks(RUN).enumerate() {
        total(r, run[1..].iter().fold(run[0], |sum, x| add(sum, *x)));
    }
}

/// The sums of a block, given the totals before its runs.
#[inline(always)]
fn sums_of<T: Element>(elements: &[T], to: &mut [T], add: impl Fn(T, T) -> T + Copy, before: &[T]) {
    if let (Ok(block), Ok(to)) = (<&[T; SIDE * RUN]>::try_from(elements), <&mut [T; SIDE * RUN]>::try_from(&mut *to)) {
        let offsets: [T; SIDE] = std::array::from_fn(|r| before[r]);
        let mut sums: [T; SIDE] = std::array::from_fn(|r| block[r * RUN]);
        for i in 0..RUN {
            for (r, sum) in sums.iter_mut().enumerate() {
                if i > 0 {
                    *sum = add(*sum, block[r * RUN + i]);
                }
                to[r * RUN + i] = add(offsets[r], *sum);
            }
        }
        return;
    }
    for ((from, to), offset) in elements.chunks(RUN).zip(to.chunks_mut(RUN)).zip(before) {
        run(from, to, add);
        to.iter_mut().for_each(|to| *to = add(*offset, *to));
    }
}

/// Adjacent lines, one element of each at a time: no transposition is needed.
fn columns<T: Element>(args: &Args<'_>, team: &dyn Team, fold: impl Fn(T, T) -> T + Copy + Sync, run: usize) {
    let (from, to) = (args.input::<T>(0), args.output::<T>());
    let (outer, count, inner) = args.extents(0);
    if from.is_empty() {
        return;
    }
    let (across, target) = (inner.div_ceil(COLUMNS), Shared(to.as_mut_ptr()));
    team.split(outer * across, &|piece| {
        let (o, first) = (piece / across, piece % across * COLUMNS);
        let width = COLUMNS.min(inner - first);
        // The total before the run, and the total of the run so far, for each line.
        let mut before = [T::default(); COLUMNS];
        let mut sums = [T::default(); COLUMNS];
        for k in 0..count {
            let start = (o * count + k) * inner + first;
            let from = &from[start..start + width];
            // SAFETY: pieces write disjoint columns within the output.
            let to = unsafe { std::slice::from_raw_parts_mut(target.get().add(start), width) };
            match (k / run, k % run) {
                (0, 0) => sums[..width].copy_from_slice(from),
                (1, 0) => {
                    before = sums;
                    sums[..width].copy_from_slice(from);
                }
                (_, 0) => {
                    before.iter_mut().zip(&sums).for_each(|(before, sum)| *before = fold(*before, *sum));
                    sums[..width].copy_from_slice(from);
                }
                _ => sums.iter_mut().zip(from).for_each(|(sum, x)| *sum = fold(*sum, *x)),
            }
            match k < run {
                true => to.copy_from_slice(&sums[..width]),
                false => {
                    let both = before.iter().zip(&sums);
                    to.iter_mut().zip(both).for_each(|(to, (before, sum))| *to = fold(*before, *sum));
                }
            }
        }
    });
}

/// The index of the largest or smallest element so far. NaN counts as an extreme in both directions.
fn extremes<T: Ordered>(args: &Args<'_>, team: &dyn Team, largest: bool) -> Result<()> {
    let beats = |x: T, best: T| match x.partial_cmp(&best) {
        Some(order) => order.is_eq() || order.is_gt() == largest,
        None => x.partial_cmp(&x).is_none(),
    };
    each_line::<T, i64>(args, team, &|from, to| {
        let mut best = 0;
        for (i, to) in to.iter_mut().enumerate() {
            if beats(from[i], from[best]) {
                best = i;
            }
            *to = best as i64;
        }
    });
    Ok(())
}

/// A linear recurrence. The factor of the first element of a line is ignored.
fn linear<T: Number>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (x, factors, to) = (args.input::<T>(0), args.input::<T>(1), args.output::<T>());
    let (outer, count, inner) = args.extents(0);
    if x.is_empty() {
        return Ok(());
    }
    let (across, target) = (inner.div_ceil(COLUMNS), Shared(to.as_mut_ptr()));
    team.split(outer * across, &|piece| {
        let (o, first) = (piece / across, piece % across * COLUMNS);
        for k in 0..count {
            let start = (o * count + k) * inner;
            for at in start + first..start + inner.min(first + COLUMNS) {
                // SAFETY: pieces write disjoint columns within the output; values that are read were written one step
                // before.
                unsafe {
                    let to = target.get().add(at);
                    to.write(if k == 0 { x[at] } else { x[at].plus(factors[at].times(to.sub(inner).read())) });
                }
            }
        }
    });
    Ok(())
}
