//! Gather and scatter along one axis.

use crate::pointwise::Shared;
use crate::routine::call::{Args, Body, Element, HostKernel, Number, with_type};
use forerun_base::{Complex, DType, Error, ErrorKind, Result, Team};
use forerun_ops::{AxisIndexing, Beyond};
use forerun_plan::RoutineCall;

/// The minimum number of indices per piece.
const PIECE: usize = 1 << 14;

impl HostKernel for AxisIndexing {
    fn body(&self) -> Body {
        match self {
            // Elements are only moved, so only their size matters.
            AxisIndexing::Take => |args, team| match args.dtype(0).size() {
                1 => take::<u8>(args, team),
                2 => take::<u16>(args, team),
                4 => take::<u32>(args, team),
                8 => take::<u64>(args, team),
                16 => take::<Complex<f64>>(args, team),
                size => unreachable!("no elements of {size} bytes"),
            },
            AxisIndexing::Add => |args, team| match args.dtype(0) {
                DType::Bool => update::<u8>(args, team, |a, b| a | b),
                dtype => with_type!(dtype, add(args, team)),
            },
            AxisIndexing::Put => |args, team| match args.dtype(0).size() {
                1 => update::<u8>(args, team, |_, b| b),
                2 => update::<u16>(args, team, |_, b| b),
                4 => update::<u32>(args, team, |_, b| b),
                8 => update::<u64>(args, team, |_, b| b),
                16 => update::<Complex<f64>>(args, team, |_, b| b),
                size => unreachable!("no elements of {size} bytes"),
            },
        }
    }

    fn scratch(&self, call: &RoutineCall, _: usize) -> usize {
        call.inputs[1].1.size().saturating_mul(8)
    }
}

fn add<T: Number>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    update::<T>(args, team, T::plus)
}

/// The indices as positions. All are validated before anything is written.
fn positions(args: &Args<'_>) -> Result<Vec<usize>> {
    let (_, extent, _) = args.extents(0);
    let place = |index: i64| {
        Beyond::Raise.position(index, extent).ok_or_else(|| {
            let axis = args.call.axis(0);
            let text = format!("index {index} is out of bounds for axis {axis} with size {extent}");
            Error::new(ErrorKind::Index, text)
        })
    };
    match args.dtype(1) {
        DType::I8 => args.input::<i8>(1).iter().map(|i| place(*i as i64)).collect(),
        DType::I16 => args.input::<i16>(1).iter().map(|i| place(*i as i64)).collect(),
        DType::I32 => all_of(args.input::<i32>(1), extent, place),
        DType::I64 => all_of(args.input::<i64>(1), extent, place),
        DType::U8 => args.input::<u8>(1).iter().map(|i| place(*i as i64)).collect(),
        DType::U16 => args.input::<u16>(1).iter().map(|i| place(*i as i64)).collect(),
        DType::U32 => args.input::<u32>(1).iter().map(|i| place(*i as i64)).collect(),
        DType::U64 => args.input::<u64>(1).iter().map(|i| place(i64::try_from(*i).unwrap_or(i64::MAX))).collect(),
        dtype => unreachable!("inference rejects {dtype} indices"),
    }
}

/// Converts indices to positions. The range check has no branch; the offending index is located only on failure.
fn all_of<I: Copy + Into<i64>>(
    indices: &[I],
    extent: usize,
    place: impl Fn(i64) -> Result<usize>,
) -> Result<Vec<usize>> {
    let extent = extent as i64;
    let mut wrong = false;
    let position = |index: &I| {
        let index: i64 = (*index).into();
        wrong |= index >= extent || index < -extent;
        (index + if index < 0 { extent } else { 0 }) as usize
    };
    let all: Vec<usize> = indices.iter().map(position).collect();
    match wrong {
        true => indices.iter().map(|index| place((*index).into())).collect(),
        false => Ok(all),
    }
}

fn take<T: Element>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (from, to, positions) = (args.input::<T>(0), args.output::<T>(), positions(args)?);
    let ((_, extent, inner), (_, count, _)) = (args.extents(0), args.extents(1));
    let (size, target) = (to.len(), Shared(to.as_mut_ptr()));
    team.split(size.div_ceil(PIECE), &|piece| {
        let to = target.get();
        let range = piece * PIECE..size.min((piece + 1) * PIECE);
        if inner == 1 {
            // Iterate line by line, to avoid a division per element.
            let mut at = range.start;
            while at < range.end {
                let line = at / count;
                let (elements, end) = (&from[line * extent..][..extent], range.end.min((line + 1) * count));
                for (i, position) in (at..end).zip(&positions[at..end]) {
                    // SAFETY: pieces write disjoint elements within the output.
                    unsafe { to.add(i).write(elements[*position]) };
                }
                at = end;
            }
            return;
        }
        for at in range {
            let (outer, i) = (at / (count * inner), at % inner);
            // SAFETY: pieces write disjoint elements within the output.
            unsafe { to.add(at).write(from[(outer * extent + positions[at]) * inner + i]) };
        }
    });
    Ok(())
}

/// Applies updates. If several indices refer to one element, their updates are applied in order.
fn update<T: Element>(args: &Args<'_>, team: &dyn Team, with: impl Fn(T, T) -> T + Sync) -> Result<()> {
    let (base, updates, to) = (args.input::<T>(0), args.input::<T>(2), args.output::<T>());
    let positions = positions(args)?;
    to.copy_from_slice(base);
    let ((outer, extent, inner), (_, count, _)) = (args.extents(0), args.extents(1));
    let (size, target) = (to.len(), Shared(to.as_mut_ptr()));
    if size == 0 || positions.is_empty() {
        return Ok(());
    }
    let per_piece = (PIECE / (count * inner)).max(1);
    team.split(outer.div_ceil(per_piece), &|piece| {
        let to = target.get();
        for o in piece * per_piece..outer.min((piece + 1) * per_piece) {
            if inner == 1 {
                let line = o * count..(o + 1) * count;
                for (position, new) in positions[line.clone()].iter().zip(&updates[line]) {
                    // SAFETY: as below.
                    unsafe {
                        let place = to.add(o * extent + position);
                        place.write(with(place.read(), *new));
                    }
                }
                continue;
            }
            for k in 0..count * inner {
                let from = o * count * inner + k;
                // SAFETY: pieces have disjoint outer positions within the output.
                unsafe {
                    let place = to.add((o * extent + positions[from]) * inner + k % inner);
                    place.write(with(place.read(), updates[from]));
                }
            }
        }
    });
    Ok(())
}
