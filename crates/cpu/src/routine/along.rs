//! Elements named along an axis, line by line.

use super::call::{Args, Body, Element};
use crate::pointwise::Shared;
use forerun_base::{DType, Error, ErrorKind, Result, Team};
use forerun_ops::{Along, Beyond};

/// Indices a piece of work holds at least.
const PIECE: usize = 1 << 14;

pub(super) fn body(routine: Along) -> Body {
    match routine {
        // Elements are moved, not looked at: only their size matters.
        Along::Take => |args, team| match args.dtype(0).size() {
            1 => take::<u8>(args, team),
            2 => take::<u16>(args, team),
            4 => take::<u32>(args, team),
            8 => take::<u64>(args, team),
            size => unreachable!("no elements of {size} bytes"),
        },
        Along::Add => |args, team| match args.dtype(0) {
            DType::Bool => add::<u8>(args, team, |a, b| a | b),
            DType::I32 => add::<i32>(args, team, i32::wrapping_add),
            DType::I64 => add::<i64>(args, team, i64::wrapping_add),
            DType::F32 => add::<f32>(args, team, |a, b| a + b),
            DType::F64 => add::<f64>(args, team, |a, b| a + b),
        },
    }
}

/// The indices as positions; all of them are looked at before anything is written.
fn positions(args: &Args<'_>) -> Result<Vec<usize>> {
    let (_, extent, _) = args.extents(0);
    let place = |index: i64| {
        Beyond::Raise.position(index, extent).ok_or_else(|| {
            let shape = args.call.inputs[0].1;
            let axis = shape.axis(args.word(0) as isize).unwrap_or(0);
            let text = format!("index {index} is out of bounds for axis {axis} with size {extent}");
            Error::new(ErrorKind::Index, text)
        })
    };
    match args.dtype(1) {
        DType::I32 => args.input::<i32>(1).iter().map(|i| place(*i as i64)).collect(),
        DType::I64 => args.input::<i64>(1).iter().map(|i| place(*i)).collect(),
        dtype => unreachable!("inference refuses {dtype} indices"),
    }
}

fn take<T: Element>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let (from, to, positions) = (args.input::<T>(0), args.output::<T>(), positions(args)?);
    let ((_, extent, inner), (_, count, _)) = (args.extents(0), args.extents(1));
    let (size, target) = (to.len(), Shared(to.as_mut_ptr()));
    team.split(size.div_ceil(PIECE), &|piece| {
        let to = target.get();
        for at in piece * PIECE..size.min((piece + 1) * PIECE) {
            let (outer, i) = (at / (count * inner), at % inner);
            // SAFETY: pieces write elements of their own, within the output.
            unsafe { to.add(at).write(from[(outer * extent + positions[at]) * inner + i]) };
        }
    });
    Ok(())
}

/// Where several indices name one element, updates are added in their order.
fn add<T: Element>(args: &Args<'_>, team: &dyn Team, sum: fn(T, T) -> T) -> Result<()> {
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
            for k in 0..count * inner {
                let from = o * count * inner + k;
                // SAFETY: pieces have outer positions of their own, within the output.
                unsafe {
                    let place = to.add((o * extent + positions[from]) * inner + k % inner);
                    place.write(sum(place.read(), updates[from]));
                }
            }
        }
    });
    Ok(())
}
