//! Positions that indices along several axes name, and rows written there.

use super::call::{Args, Body, Element};
use crate::gather::Walk;
use crate::pointwise::Shared;
use forerun_base::{DType, Error, ErrorKind, Layout, Result, Shape, Team};
use forerun_ops::{Beyond, Place};
use std::collections::HashSet;
use std::ops::Range;

/// Positions in a piece of work.
const PIECE: usize = 1 << 14;

pub(super) fn body(routine: Place) -> Body {
    match routine {
        Place::Positions => positions,
        // Elements are moved, not looked at: only their size matters.
        Place::Put => |args, team| match args.dtype(0).size() {
            1 => put::<u8>(args, team),
            2 => put::<u16>(args, team),
            4 => put::<u32>(args, team),
            8 => put::<u64>(args, team),
            size => unreachable!("no elements of {size} bytes"),
        },
        Place::Last => last,
    }
}

/// The first index of a piece that names nothing: which one, in order, and what it says.
type Bad = (usize, i64);

fn positions(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (to, shape) = (args.output::<i64>(), args.call.out.1);
    to.fill(args.scalar(0) as i64);
    for (k, (dtype, named)) in args.call.inputs.iter().enumerate() {
        let (axis, extent, stride) = (args.word(3 * k), args.word(3 * k + 1) as usize, args.word(3 * k + 2));
        let wide = Layout::dense(*named).broadcast_to(shape).expect("inference looked at it");
        let bad = match dtype {
            DType::I32 => add(args.input::<i32>(k), &wide, (extent, stride), to, team),
            DType::I64 => add(args.input::<i64>(k), &wide, (extent, stride), to, team),
            dtype => return Err(Error::new(ErrorKind::Index, format!("indices must be int32 or int64, not {dtype}"))),
        };
        if let Some((_, index)) = bad {
            let text = format!("index {index} is out of bounds for axis {axis} with size {extent}");
            return Err(Error::new(ErrorKind::Index, text));
        }
    }
    Ok(())
}

/// Adds what indices along one axis say to all positions; gives the first index that says nothing.
fn add<T: Element + Into<i64>>(
    indices: &[T],
    wide: &Layout,
    (extent, stride): (usize, i64),
    to: &mut [i64],
    team: &dyn Team,
) -> Option<Bad> {
    let (walk, size, target) = (Walk::new(wide), to.len(), Shared(to.as_mut_ptr()));
    let pieces = size.div_ceil(PIECE);
    let mut bad: Vec<Option<Bad>> = vec![None; pieces];
    let found = Shared(bad.as_mut_ptr());
    team.split(pieces, &|piece| {
        let (to, first) = (target.get(), piece * PIECE);
        let mut wrong = None;
        walk.runs(first, PIECE.min(size - first), |offset, step, done, length| {
            for i in 0..length {
                let index: i64 = indices[(offset + i as isize * step) as usize].into();
                let Some(position) = Beyond::Raise.position(index, extent) else {
                    wrong = wrong.or(Some((first + done + i, index)));
                    continue;
                };
                // SAFETY: pieces add to positions of their own.
                unsafe { *to.add(first + done + i) += position as i64 * stride };
            }
        });
        // SAFETY: one place a piece.
        unsafe { found.get().add(piece).write(wrong) };
    });
    bad.into_iter().flatten().min()
}

/// A row: its layout, from its first element on.
fn row(args: &Args<'_>) -> Layout {
    let (extents, strides) = args.call.words.split_at(args.call.words.len() / 2);
    let dims: Vec<usize> = extents.iter().map(|d| *d as usize).collect();
    let strides: Vec<isize> = strides.iter().map(|s| *s as isize).collect();
    Layout::strided(Shape::of(&dims), &strides)
}

/// Whether every row lies within the base.
pub(super) fn check_put(args: &Args<'_>) -> Result<()> {
    let size = args.call.out.1.size() as i64;
    let Some((low, high)) = row(args).extent() else { return Ok(()) };
    let outside = |position: &&i64| **position < -(low as i64) || **position > size - 1 - high as i64;
    match args.input::<i64>(1).iter().find(outside) {
        None => Ok(()),
        Some(position) => {
            let text = format!("a row at position {position} reaches beyond {size} elements");
            Err(Error::new(ErrorKind::Index, text))
        }
    }
}

/// Elements a row at least, so that several threads write it in parts.
const WORTH_SPLITTING: usize = 1 << 16;

fn put<T: Element>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (positions, values, to) = (args.input::<i64>(1), args.input::<T>(2), args.output::<T>());
    if !args.is_in_place() {
        to.copy_from_slice(args.input::<T>(0));
    }
    let (size, row) = (to.len(), row(args));
    let (target, walk, count) = (Shared(to.as_mut_ptr()), Walk::new(&row), row.shape.size());
    if count == 0 || positions.is_empty() {
        return Ok(());
    }
    let (plain, single) = (row.is_dense(), values.len() == 1);
    // Of several rows at one position the last stays, so who writes where is a matter of positions, never of turns.
    let part = |range: Range<i64>| {
        let to = target.get();
        for (i, position) in positions.iter().enumerate().filter(|(_, position)| range.contains(position)) {
            // SAFETY: every row lies within the output: that was checked; rows at other positions are others.
            unsafe {
                let to = to.offset(*position as isize);
                match (single, plain) {
                    (true, _) if count == 1 => to.write(values[0]),
                    (true, _) => walk.runs(0, count, |offset, stride, _, length| {
                        (0..length as isize).for_each(|k| to.offset(offset + k * stride).write(values[0]));
                    }),
                    (false, _) if count == 1 => to.write(values[i]),
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
    if width == 1 || positions.len() * count < WORTH_SPLITTING {
        part(i64::MIN..i64::MAX);
        return Ok(());
    }
    let per_part = size.div_ceil(width as usize) as i64;
    team.split(width as usize, &|i| part(i as i64 * per_part..(i as i64 + 1) * per_part));
    Ok(())
}

fn last(args: &Args<'_>, _: &dyn Team) -> Result<()> {
    let (positions, to) = (args.input::<i64>(0), args.output::<u8>());
    let mut seen = HashSet::with_capacity(positions.len());
    for (position, to) in positions.iter().zip(to).rev() {
        *to = seen.insert(*position) as u8;
    }
    Ok(())
}
