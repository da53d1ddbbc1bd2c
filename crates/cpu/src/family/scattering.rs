//! Flat positions from index arrays, and writes to rows at such positions.

use crate::gather::Walk;
use crate::pointwise::Shared;
use crate::routine::call::{Args, Body, Element, HostKernel};
use forerun_base::{Complex, DType, Error, ErrorKind, Layout, Result, Shape, Team};
use forerun_ops::scattering::{Axes, Rows};
use forerun_ops::{Given, Scattering};
use forerun_plan::RoutineCall;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Positions per piece.
const PIECE: usize = 1 << 14;

impl HostKernel for Scattering {
    fn body(&self) -> Body {
        match self {
            Scattering::Positions => positions,
            // Elements are only moved, so only their size matters.
            Scattering::Put => |args, team| match args.dtype(0).size() {
                1 => put::<u8>(args, team),
                2 => put::<u16>(args, team),
                4 => put::<u32>(args, team),
                8 => put::<u64>(args, team),
                16 => put::<Complex<f64>>(args, team),
                size => unreachable!("no elements of {size} bytes"),
            },
            Scattering::Last => last,
        }
    }

    fn check(&self, args: &Args<'_>) -> Result<()> {
        if *self == Scattering::Put { check_put(args) } else { Ok(()) }
    }

    fn scratch(&self, call: &RoutineCall, _: usize) -> usize {
        call.inputs.get(1).map_or(0, |(_, shape)| shape.size()).saturating_mul(48)
    }
}

/// An index out of range: the number of the index array, the position in it, and the value.
type Bad = (usize, usize, i64);

enum Indices<'a> {
    Narrow(&'a [i32]),
    Wide(&'a [i64]),
}

fn positions(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (to, shape) = (args.output::<i64>(), args.call.out.1);
    let wide = |named: &Shape| {
        Walk::new(&Layout::dense(*named).broadcast_to(shape).expect("inference has checked the shapes"))
    };
    let Axes { axes: names, extents, strides } = args.attributes();
    let along = |(k, (dtype, named)): (usize, &Given)| {
        let indices = match dtype {
            DType::I32 => Indices::Narrow(args.input(k)),
            DType::I64 => Indices::Wide(args.input(k)),
            dtype => unreachable!("inference rejects {dtype} indices"),
        };
        (indices, wide(named), (extents[k], strides[k]))
    };
    let axes: Vec<(Indices<'_>, Walk, (i64, i64))> = args.call.inputs.iter().enumerate().map(along).collect();
    let start = args.scalar(0) as i64;
    let (size, target, pieces) = (to.len(), Shared(to.as_mut_ptr()), to.len().div_ceil(PIECE));
    let mut bad: Vec<Option<Bad>> = vec![None; pieces];
    let found = Shared(bad.as_mut_ptr());
    team.split(pieces, &|piece| {
        let first = piece * PIECE;
        let count = PIECE.min(size - first);
        // SAFETY: pieces have disjoint positions, and each has its own slot for an error.
        let (to, found) =
            unsafe { (std::slice::from_raw_parts_mut(target.get().add(first), count), &mut *found.get().add(piece)) };
        to.fill(start);
        for (k, (indices, walk, along)) in axes.iter().enumerate() {
            let wrong = match indices {
                Indices::Narrow(indices) => add(indices, walk, first, *along, to),
                Indices::Wide(indices) => add(indices, walk, first, *along, to),
            };
            *found = found.or(wrong.map(|(i, index)| (k, i, index)));
        }
    });
    match bad.into_iter().flatten().min() {
        None => Ok(()),
        Some((k, _, index)) => {
            let (axis, extent) = (names[k], extents[k]);
            let text = format!("index {index} is out of bounds for axis {axis} with size {extent}");
            Err(Error::new(ErrorKind::Index, text))
        }
    }
}

/// Adds the contribution of indices along one axis to the positions from `first` on; returns the first index out of
/// range.
fn add<T: Element + Into<i64>>(
    indices: &[T],
    walk: &Walk,
    first: usize,
    (extent, stride): (i64, i64),
    to: &mut [i64],
) -> Option<(usize, i64)> {
    let mut wrong = false;
    let mut one = |to: &mut i64, index: &T| {
        let index: i64 = (*index).into();
        wrong |= index >= extent || index < -extent;
        *to = to.wrapping_add((index + if index < 0 { extent } else { 0 }).wrapping_mul(stride));
    };
    walk.runs(first, to.len(), |offset, step, done, length| {
        let (to, offset) = (&mut to[done..done + length], offset as usize);
        match step {
            1 => to.iter_mut().zip(&indices[offset..offset + length]).for_each(|(to, index)| one(to, index)),
            _ => to.iter_mut().for_each(|to| one(to, &indices[offset])),
        }
    });
    if !wrong {
        return None;
    }
    let mut bad = None;
    walk.runs(first, to.len(), |offset, step, done, length| {
        let index = |i: usize| -> i64 { indices[(offset + i as isize * step) as usize].into() };
        let outside = |i: &usize| !(-extent..extent).contains(&index(*i));
        bad = bad.or((0..length).find(outside).map(|i| (first + done + i, index(i))));
    });
    bad
}

/// The layout of a row, relative to its first element.
fn row(rows: &Rows) -> Layout {
    let dims: Vec<usize> = rows.extents.iter().map(|d| *d as usize).collect();
    let strides: Vec<isize> = rows.strides.iter().map(|s| *s as isize).collect();
    Layout::strided(Shape::of(&dims), &strides)
}

/// Checks that every row lies within the base.
pub(crate) fn check_put(args: &Args<'_>) -> Result<()> {
    let (size, rows) = (args.call.out.1.size() as i64, args.attributes::<Rows>());
    let Some((low, high)) = row(&rows).extent() else { return Ok(()) };
    let outside = |position: i64| position < -(low as i64) || position > size - 1 - high as i64;
    let beyond = |position: i64| {
        let text = format!("a row at position {position} exceeds an array of {size} elements");
        Err(Error::new(ErrorKind::Index, text))
    };
    if let Some([axis, extent, stride]) = rows.by_index() {
        let ends = if extent == 0 { [0, 0] } else { [0, (extent - 1).saturating_mul(stride)] };
        if let Some(position) = ends.into_iter().find(|position| extent > 0 && outside(*position)) {
            return beyond(position);
        }
        return match args.dtype(1) {
            DType::I32 => check_indices((axis, extent), args.input::<i32>(1)),
            _ => check_indices((axis, extent), args.input::<i64>(1)),
        };
    }
    let positions = args.input::<i64>(1);
    // The range check has no branch; the offending position is located only on failure.
    if !positions.iter().fold(false, |found, position| found | outside(*position)) {
        return Ok(());
    }
    positions.iter().find(|position| outside(**position)).map_or(Ok(()), |position| beyond(*position))
}

/// Checks that every index is in range.
fn check_indices<I: Element + Into<i64>>((axis, extent): (i64, i64), indices: &[I]) -> Result<()> {
    // As above: an index is out of range if one of two differences is negative. If a difference overflows, the other
    // one is negative.
    let signs = indices.iter().fold(0, |signs, index| {
        let index: i64 = (*index).into();
        signs | index.wrapping_add(extent) | (extent - 1).wrapping_sub(index)
    });
    if signs >= 0 {
        return Ok(());
    }
    let outside = |index: i64| index >= extent || index < -extent;
    indices.iter().map(|index| (*index).into()).find(|index| outside(*index)).map_or(Ok(()), |index| {
        let text = format!("index {index} is out of bounds for axis {axis} with size {extent}");
        Err(Error::new(ErrorKind::Index, text))
    })
}

/// Rows of at least this many elements are split over threads.
const WORTH_SPLITTING: usize = 1 << 16;

fn put<T: Element>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let rows: Rows = args.attributes();
    let Some([_, extent, stride]) = rows.by_index() else {
        return put_at::<T, i64>(args, &row(&rows), args.input(1), |position| position, team);
    };
    // A negative index counts from the end.
    let position = |index: i64| (index + (extent & (index >> 63))) * stride;
    match args.dtype(1) {
        DType::I32 => put_at::<T, i32>(args, &row(&rows), args.input(1), position, team),
        _ => put_at::<T, i64>(args, &row(&rows), args.input(1), position, team),
    }
}

/// Writes rows at the positions that `position` returns.
fn put_at<T: Element, I: Element + Into<i64>>(
    args: &Args<'_>,
    row: &Layout,
    places: &[I],
    position: impl Fn(i64) -> i64 + Sync,
    team: &dyn Team,
) -> Result<()> {
    let (values, to) = (args.input::<T>(2), args.output::<T>());
    if !args.is_in_place() {
        to.copy_from_slice(args.input::<T>(0));
    }
    let (size, target) = (to.len(), Shared(to.as_mut_ptr()));
    let (walk, count) = (Walk::new(row), row.shape.size());
    if count == 0 || places.is_empty() {
        return Ok(());
    }
    let (plain, single) = (row.is_dense(), values.len() == 1);
    let positions = || places.iter().map(|place| position((*place).into()));
    if count == 1 && single && places.len() >= WORTH_SPLITTING && team.width() > 1 && size_of::<T>() <= 8 {
        scatter_one(places, values[0], &position, target.get(), team);
        return Ok(());
    }
    if count == 1 {
        // One thread: determining which thread owns an element takes longer than the write.
        let to = target.get();
        match single {
            // SAFETY: `check_put` has verified that every element lies within the output.
            true => positions().for_each(|position| unsafe { to.offset(position as isize).write(values[0]) }),
            false => positions().zip(values).for_each(|(position, value)| {
                // SAFETY: `check_put` has verified that every element lies within the output.
                unsafe { to.offset(position as isize).write(*value) }
            }),
        }
        return Ok(());
    }
    // Threads own ranges of positions, so that the last write to a position wins.
    let part = |range: Range<i64>| {
        let to = target.get();
        for (i, position) in positions().enumerate().filter(|(_, position)| range.contains(position)) {
            // SAFETY: `check_put` has verified that every row lies within the output; rows at different positions do
            // not overlap.
            unsafe {
                let to = to.offset(position as isize);
                match (single, plain) {
                    (true, _) => walk.runs(0, count, |offset, stride, _, length| {
                        (0..length as isize).for_each(|k| to.offset(offset + k * stride).write(values[0]));
                    }),
                    (false, true) => std::ptr::copy_nonoverlapping(values[i * count..][..count].as_ptr(), to, count),
                    (false, false) => walk.runs(0, count, |offset, stride, done, length| {
                        let from = &values[i * count + done..][..length];
                        let place = |k: usize| to.offset(offset + k as isize * stride);
                        from.iter().enumerate().for_each(|(k, value)| place(k).write(*value));
                    }),
                }
            }
        }
    };
    let width = team.width().min(8) as i64;
    if width == 1 || places.len() * count < WORTH_SPLITTING {
        part(i64::MIN..i64::MAX);
        return Ok(());
    }
    let per_part = size.div_ceil(width as usize) as i64;
    team.split(width as usize, &|i| part(i as i64 * per_part..(i as i64 + 1) * per_part));
    Ok(())
}

/// Writes one value of at most eight bytes to elements in parallel. Threads may write the same element, but they write
/// the same value.
fn scatter_one<T: Element, I: Element + Into<i64>>(
    places: &[I],
    value: T,
    position: &(impl Fn(i64) -> i64 + Sync),
    to: *mut T,
    team: &dyn Team,
) {
    let target = Shared(to);
    team.split(places.len().div_ceil(PIECE), &|piece| {
        for place in &places[piece * PIECE..places.len().min((piece + 1) * PIECE)] {
            // SAFETY: `check_put` has verified that every element lies within the output. All accesses are atomic
            // meanwhile, and the sizes match the types.
            unsafe {
                let to = target.get().offset(position((*place).into()) as isize);
                match size_of::<T>() {
                    1 => AtomicU8::from_ptr(to.cast()).store(std::mem::transmute_copy(&value), Relaxed),
                    2 => AtomicU16::from_ptr(to.cast()).store(std::mem::transmute_copy(&value), Relaxed),
                    4 => AtomicU32::from_ptr(to.cast()).store(std::mem::transmute_copy(&value), Relaxed),
                    8 => AtomicU64::from_ptr(to.cast()).store(std::mem::transmute_copy(&value), Relaxed),
                    size => unreachable!("elements of {size} bytes are written by one thread"),
                }
            }
        }
    });
}

fn last(args: &Args<'_>, _: &dyn Team) -> Result<()> {
    let (positions, to) = (args.input::<i64>(0), args.output::<u8>());
    let mut seen = HashSet::with_capacity(positions.len());
    for (position, to) in positions.iter().zip(to).rev() {
        *to = seen.insert(*position) as u8;
    }
    Ok(())
}
