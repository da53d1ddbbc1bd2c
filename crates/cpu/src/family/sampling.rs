//! Bilinear samples. Places are split into a pixel and fractions in double precision; half floats are computed in single precision and
//! rounded once.
//!
//! Invariant: the sum of a sample takes its pixels row by row, and sums over samples or channels follow their order; so the bits do not
//! depend on the team.

use crate::convolution::Stored;
use crate::pointwise::Shared;
use crate::routine::call::{Args, Body, HostKernel};
use forerun_base::{BFloat16, DType, Float16, Result, Team};
use forerun_ops::Sampling;
use forerun_plan::RoutineCall;
use std::ops::{Mul, Sub};

/// Samples of a piece of work, about.
const PIECE: usize = 1 << 14;

impl HostKernel for Sampling {
    fn body(&self) -> Body {
        match self {
            Sampling::Sample => |args, team| run(Sampling::Sample, args, team),
            Sampling::Spread => |args, team| run(Sampling::Spread, args, team),
            Sampling::Slopes => |args, team| run(Sampling::Slopes, args, team),
        }
    }

    fn scratch(&self, call: &RoutineCall, threads: usize) -> usize {
        let count = call.inputs[call.inputs.len() - 1].1[2];
        let plane = call.out.1[2..].iter().product::<usize>();
        // Corners of the places, and sums: of a plane, or of slopes.
        let corners = count.saturating_mul(size_of::<Corners<f64>>());
        corners.saturating_add(plane.saturating_mul(16)).saturating_mul(threads)
    }
}

fn run(kind: Sampling, args: &Args<'_>, team: &dyn Team) -> Result<()> {
    match args.dtype(0) {
        DType::F32 => each::<f32>(kind, args, team),
        DType::F64 => each::<f64>(kind, args, team),
        DType::F16 => each::<Float16>(kind, args, team),
        DType::BF16 => each::<BFloat16>(kind, args, team),
        dtype => unreachable!("inference refuses {dtype}"),
    }
    Ok(())
}

/// The type that samples are computed in.
pub(crate) trait Real: Into<f64> + Mul<Output = Self> + Sub<Output = Self> + PartialOrd {
    fn nearest(value: f64) -> Self;
}

impl Real for f32 {
    #[inline(always)]
    fn nearest(value: f64) -> f32 {
        value as f32
    }
}

impl Real for f64 {
    #[inline(always)]
    fn nearest(value: f64) -> f64 {
        value
    }
}

/// An element that samples are taken from.
pub(crate) trait Pixel: Stored<Wide: Real> {}

impl<E: Stored<Wide: Real>> Pixel for E {}

/// The four pixels around a place. Those beyond the image are absent.
struct Corners<T> {
    /// Offsets of the pixels, row by row.
    at: [Option<u32>; 4],
    /// Distances from the first row and column.
    down: T,
    right: T,
}

impl<T: Real + Copy> Corners<T> {
    fn new(y: f64, x: f64, rows: usize, columns: usize) -> Corners<T> {
        let (top, left) = (y.floor(), x.floor());
        let pixel = |row: f64, column: f64| {
            // Not a number is in no range.
            let inside = (0.0..rows as f64).contains(&row) && (0.0..columns as f64).contains(&column);
            inside.then(|| (row as usize * columns + column as usize) as u32)
        };
        let at = [pixel(top, left), pixel(top, left + 1.0), pixel(top + 1.0, left), pixel(top + 1.0, left + 1.0)];
        Corners { at, down: T::nearest(y - top), right: T::nearest(x - left) }
    }

    /// The share of each pixel.
    #[inline(always)]
    fn shares(&self) -> [T; 4] {
        let one = T::nearest(1.0);
        let (up, left) = (one - self.down, one - self.right);
        [up * left, up * self.right, self.down * left, self.down * self.right]
    }
}

/// The pixels around each place of one image.
fn corners<E: Pixel>(places: &[E], rows: usize, columns: usize) -> Vec<Corners<E::Wide>> {
    let (ys, xs) = places.split_at(places.len() / 2);
    let near = |(y, x): (&E, &E)| Corners::new(y.widen().into(), x.widen().into(), rows, columns);
    ys.iter().zip(xs).map(near).collect()
}

fn each<E: Pixel>(kind: Sampling, args: &Args<'_>, team: &dyn Team) {
    let (inputs, out) = (&args.call.inputs, &args.call.out.1);
    let images = match kind {
        Sampling::Sample => &inputs[0].1,
        Sampling::Spread => out,
        Sampling::Slopes => &inputs[1].1,
    };
    let [batch, channels, rows, columns] = images[..] else { unreachable!("images have four dimensions") };
    let places = args.input::<E>(inputs.len() - 1);
    let to = args.output::<E>();
    if to.is_empty() {
        return;
    }
    let (count, plane) = (places.len() / (2 * batch), rows * columns);
    assert!(plane <= u32::MAX as usize, "an image has too many pixels");
    let own = |image: usize| &places[image * 2 * count..(image + 1) * 2 * count];
    let target = Shared(to.as_mut_ptr());
    let first = args.input::<E>(0);
    if kind == Sampling::Slopes {
        let x = args.input::<E>(1);
        let together = (PIECE / channels.max(1)).clamp(1, count);
        let parts = count.div_ceil(together);
        team.split(batch * parts, &|piece| {
            let (image, begin) = (piece / parts, piece % parts * together);
            let end = count.min(begin + together);
            let (ys, xs) = own(image).split_at(count);
            let near: Vec<_> = (ys[begin..end].iter().zip(&xs[begin..end]))
                .map(|(y, x)| Corners::<E::Wide>::new(y.widen().into(), x.widen().into(), rows, columns))
                .collect();
            let mut sums = vec![[E::Wide::default(); 2]; end - begin];
            for channel in image * channels..(image + 1) * channels {
                let (x, grad) =
                    (&x[channel * plane..(channel + 1) * plane], &first[channel * count..(channel + 1) * count]);
                for ((sum, near), grad) in sums.iter_mut().zip(&near).zip(&grad[begin..end]) {
                    let slopes = slopes(x, near);
                    for (sum, slope) in sum.iter_mut().zip(slopes) {
                        *sum = *sum + grad.widen() * slope;
                    }
                }
            }
            for (i, sum) in sums.iter().enumerate() {
                for (axis, sum) in sum.iter().enumerate() {
                    // SAFETY: a piece writes the slopes of its own places.
                    unsafe { target.get().add((image * 2 + axis) * count + begin + i).write(E::round(*sum)) };
                }
            }
        });
        return;
    }
    // Channels of an image that are computed together, so that the corners are found once for all of them.
    let together = (PIECE / count.max(1)).clamp(1, channels);
    let parts = channels.div_ceil(together);
    team.split(batch * parts, &|piece| {
        let image = piece / parts;
        let near = corners(own(image), rows, columns);
        let begin = piece % parts * together;
        let mut sums = vec![E::Wide::default(); if kind == Sampling::Spread { plane } else { 0 }];
        for channel in begin..channels.min(begin + together) {
            let channel = image * channels + channel;
            if kind == Sampling::Sample {
                // SAFETY: the samples of a channel, which are no other piece's.
                let to = unsafe { std::slice::from_raw_parts_mut(target.get().add(channel * count), count) };
                let x = &first[channel * plane..(channel + 1) * plane];
                to.iter_mut().zip(&near).for_each(|(to, near)| *to = E::round(sample(x, near)));
            } else {
                sums.fill(E::Wide::default());
                for (near, grad) in near.iter().zip(&first[channel * count..(channel + 1) * count]) {
                    for (at, share) in near.at.iter().zip(near.shares()) {
                        if let Some(at) = at {
                            let sum = &mut sums[*at as usize];
                            *sum = *sum + grad.widen() * share;
                        }
                    }
                }
                // SAFETY: the plane of a channel, which is no other piece's.
                let to = unsafe { std::slice::from_raw_parts_mut(target.get().add(channel * plane), plane) };
                to.iter_mut().zip(&sums).for_each(|(to, sum)| *to = E::round(*sum));
            }
        }
    });
}

#[inline(always)]
fn sample<E: Pixel>(x: &[E], near: &Corners<E::Wide>) -> E::Wide {
    let nothing = E::Wide::default();
    let mut sum = nothing;
    for (at, share) in near.at.iter().zip(near.shares()) {
        // A pixel without a share does not count, even if it is infinite.
        if let Some(at) = at.filter(|_| share != nothing) {
            sum = sum + x[at as usize].widen() * share;
        }
    }
    sum
}

/// How a sample changes with its row and its column.
#[inline(always)]
fn slopes<E: Pixel>(x: &[E], near: &Corners<E::Wide>) -> [E::Wide; 2] {
    // A place that is infinite or no number has no pixels, and no fractions either.
    if near.at == [None; 4] {
        return [E::Wide::default(); 2];
    }
    let one = E::Wide::nearest(1.0);
    let [a, b, c, d] = near.at.map(|at| at.map_or(E::Wide::default(), |at| x[at as usize].widen()));
    let down = (c - a) * (one - near.right) + (d - b) * near.right;
    let right = (b - a) * (one - near.down) + (d - c) * near.down;
    [down, right]
}
