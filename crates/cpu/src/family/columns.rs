//! Windows as columns, and back. Half floats are added up in single precision and rounded once.
//!
//! Invariant: a plane is one thread's, and columns are added in the order of the kernel's elements; so the bits do not depend on the
//! team.

use crate::convolution::Stored;
use crate::pointwise::Shared;
use crate::routine::call::{Args, Body, HostKernel};
use forerun_base::{BFloat16, DType, Float16, Result, Team};
use forerun_ops::Columns;
use forerun_ops::columns::{PatchGeometry, Patches};
use forerun_plan::RoutineCall;

impl HostKernel for Columns {
    fn body(&self) -> Body {
        match self {
            Columns::Gather => |args, team| run(Columns::Gather, args, team),
            Columns::Add => |args, team| run(Columns::Add, args, team),
        }
    }

    fn scratch(&self, call: &RoutineCall, threads: usize) -> usize {
        match self {
            Columns::Gather => 0,
            Columns::Add => call.out.1[2..].iter().product::<usize>().saturating_mul(8).saturating_mul(threads),
        }
    }
}

fn run(kind: Columns, args: &Args<'_>, team: &dyn Team) -> Result<()> {
    match args.dtype(0) {
        DType::F32 => each::<f32>(kind, args, team),
        DType::F64 => each::<f64>(kind, args, team),
        DType::F16 => each::<Float16>(kind, args, team),
        DType::BF16 => each::<BFloat16>(kind, args, team),
        dtype => unreachable!("inference refuses {dtype}"),
    }
    Ok(())
}

fn each<E: Stored>(kind: Columns, args: &Args<'_>, team: &dyn Team) {
    let geometry =
        kind.geometry(&args.call.inputs[0], &args.call.attributes::<Patches>()).expect("inference accepted the call");
    let (from, to) = (args.input::<E>(0), args.output::<E>());
    if to.is_empty() {
        return;
    }
    let (from_size, to_size) = (from.len() / geometry.planes, to.len() / geometry.planes);
    let target = Shared(to.as_mut_ptr());
    team.split(geometry.planes, &|plane| {
        let from = &from[plane * from_size..(plane + 1) * from_size];
        // SAFETY: a plane of the result, which is no other piece's.
        let to = unsafe { std::slice::from_raw_parts_mut(target.get().add(plane * to_size), to_size) };
        if kind == Columns::Gather {
            to.fill(E::default());
            taps(&geometry, |column, pixel| to[column] = from[pixel]);
        } else {
            let mut sums = vec![E::Wide::default(); to_size];
            taps(&geometry, |column, pixel| sums[pixel] = sums[pixel] + from[column].widen());
            to.iter_mut().zip(sums).for_each(|(to, sum)| *to = E::round(sum));
        }
    });
}

/// Calls with every element of a plane's columns that lies within the plane, and the pixel it is.
#[inline(always)]
fn taps(geometry: &PatchGeometry, mut each: impl FnMut(usize, usize)) {
    let PatchGeometry { input, kernel, output, stride, padding, dilation, .. } = geometry;
    // The place that an element of a window has along an axis.
    let place = |axis: usize, window: usize, tap: usize| {
        let place = (window * stride[axis] + tap * dilation[axis]).checked_sub(padding[axis])?;
        (place < input[axis]).then_some(place)
    };
    let mut tap = 0;
    for k0 in 0..kernel[0] {
        for k1 in 0..kernel[1] {
            for k2 in 0..kernel[2] {
                for w0 in 0..output[0] {
                    let Some(p0) = place(0, w0, k0) else { continue };
                    for w1 in 0..output[1] {
                        let Some(p1) = place(1, w1, k1) else { continue };
                        let column = ((tap * output[0] + w0) * output[1] + w1) * output[2];
                        let row = (p0 * input[1] + p1) * input[2];
                        // Windows whose element is in the row: from the first that is not before it.
                        let begin = padding[2].saturating_sub(k2 * dilation[2]).div_ceil(stride[2]);
                        for w2 in begin..output[2] {
                            let Some(p2) = place(2, w2, k2) else { break };
                            each(column + w2, row + p2);
                        }
                    }
                }
                tap += 1;
            }
        }
    }
}
