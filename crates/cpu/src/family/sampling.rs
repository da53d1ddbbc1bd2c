//! Bilinear samples. Places are split into a pixel and fractions in double precision; half floats are computed in single precision and
//! rounded once. Several channels are computed together, as the lanes of [`Lanes`].
//!
//! Invariant: the sum of a sample takes its pixels row by row, and sums over samples or channels follow their order; so the bits do not
//! depend on the team.

use crate::channel_lanes::{Lanes, MOST_LANES, gather, scatter, with_lanes};
use crate::convolution::Stored;
use crate::pointwise::Shared;
use crate::routine::call::{Args, Body, HostKernel};
use crate::simd::with_features;
use forerun_base::{BFloat16, DType, Float16, Result, Shape, Team};
use forerun_ops::Sampling;
use forerun_plan::RoutineCall;
use std::ops::{Mul, Sub};

/// Pieces of work that a call is divided into, about.
const PIECES: usize = 16;
/// Places whose lanes are transposed together.
const TILE: usize = 32;

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
        let [_, _, rows, columns] = images(*self, call)[..] else { unreachable!("images have four dimensions") };
        // Corners of the places, slopes, and the lanes of a plane.
        let corners = count.saturating_mul(size_of::<Corners<f64>>() + 2 * size_of::<f64>());
        let lanes = rows.saturating_mul(columns).saturating_mul(MOST_LANES * size_of::<f64>());
        corners.saturating_add(lanes).saturating_add(1 << 14).saturating_mul(threads)
    }
}

/// The shape of the images of a call.
fn images(kind: Sampling, call: &RoutineCall) -> &Shape {
    match kind {
        Sampling::Sample => &call.inputs[0].1,
        Sampling::Spread => &call.out.1,
        Sampling::Slopes => &call.inputs[1].1,
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

/// A pixel beyond the image.
const BEYOND: u32 = u32::MAX;

/// The four pixels around a place.
struct Corners<T> {
    /// Offsets of the pixels, row by row; those beyond the image are [`BEYOND`].
    at: [u32; 4],
    /// Distances from the first row and column.
    down: T,
    right: T,
}

impl<T: Real + Copy> Corners<T> {
    #[inline(always)]
    fn new(y: f64, x: f64, rows: usize, columns: usize) -> Corners<T> {
        let (top, left) = (y.floor(), x.floor());
        let pixel = |row: f64, column: f64| {
            // Not a number is in no range.
            let inside = row >= 0.0 && row < rows as f64 && column >= 0.0 && column < columns as f64;
            if inside { (row as usize * columns + column as usize) as u32 } else { BEYOND }
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

/// Images, and the places at which they are read.
struct Call<'a, E> {
    /// The places of all images: of each its rows, then its columns.
    places: &'a [E],
    /// Places of an image.
    count: usize,
    rows: usize,
    columns: usize,
}

impl<E: Pixel> Call<'_, E> {
    fn plane(&self) -> usize {
        self.rows * self.columns
    }

    /// The pixels around some places of one image.
    #[inline(always)]
    fn corners(&self, image: usize, begin: usize, end: usize) -> Vec<Corners<E::Wide>> {
        let (ys, xs) = self.places[image * 2 * self.count..(image + 1) * 2 * self.count].split_at(self.count);
        let near = |(y, x): (&E, &E)| Corners::new(y.widen().into(), x.widen().into(), self.rows, self.columns);
        ys[begin..end].iter().zip(&xs[begin..end]).map(near).collect()
    }
}

fn each<E: Pixel>(kind: Sampling, args: &Args<'_>, team: &dyn Team) {
    let [batch, channels, rows, columns] = images(kind, args.call)[..] else {
        unreachable!("images have four dimensions")
    };
    let places = args.input::<E>(args.call.inputs.len() - 1);
    let to = args.output::<E>();
    if to.is_empty() {
        return;
    }
    let call = Call { places, count: places.len() / (2 * batch), rows, columns };
    let isa = args.isa;
    let (count, plane, first, target) = (call.count, call.plane(), args.input::<E>(0), Shared(to.as_mut_ptr()));
    if kind == Sampling::Slopes {
        let x = args.input::<E>(1);
        // Each piece transposes the planes for its own places, so it must have many of them.
        let parts = (2 * count).div_ceil(plane.max(1)).clamp(1, PIECES);
        let together = count.div_ceil(parts).max(1);
        let parts = count.div_ceil(together);
        team.split(batch * parts, &|piece| {
            let (image, begin) = (piece / parts, piece % parts * together);
            let end = count.min(begin + together);
            with_features(
                isa,
                #[inline(always)]
                || {
                    let near = call.corners(image, begin, end);
                    let mut sums = vec![[E::Wide::default(); 2]; end - begin];
                    with_lanes!(channels, |LANES, channel, own| {
                        let channel = image * channels + channel;
                        let x = &x[channel * plane..(channel + own) * plane];
                        let grad = &first[channel * count..(channel + own) * count];
                        add_slopes::<E, LANES>(x, grad, begin, &near, own, &mut sums);
                    });
                    for (i, sum) in sums.iter().enumerate() {
                        for (axis, sum) in sum.iter().enumerate() {
                            // SAFETY: a piece writes the slopes of its own places.
                            unsafe { target.get().add((image * 2 + axis) * count + begin + i).write(E::round(*sum)) };
                        }
                    }
                },
            );
        });
        return;
    }
    // Channels of an image that are computed together, so that the corners are found once for all of them.
    let together = channels.next_multiple_of(MOST_LANES) * batch / PIECES / MOST_LANES * MOST_LANES;
    let together = together.clamp(MOST_LANES.min(channels), channels);
    let parts = channels.div_ceil(together);
    team.split(batch * parts, &|piece| {
        let (image, begin) = (piece / parts, piece % parts * together);
        let end = channels.min(begin + together);
        with_features(
            isa,
            #[inline(always)]
            || {
                let near = call.corners(image, 0, count);
                with_lanes!(end - begin, |LANES, channel, own| {
                    let channel = image * channels + begin + channel;
                    let (from, to) = if kind == Sampling::Sample { (plane, count) } else { (count, plane) };
                    let first = &first[channel * from..(channel + own) * from];
                    // SAFETY: the results of these channels, which are no other piece's.
                    let to = unsafe { std::slice::from_raw_parts_mut(target.get().add(channel * to), own * to) };
                    match kind {
                        // Most pixels are not read.
                        Sampling::Sample if count * 4 < plane => {
                            for (x, to) in first.chunks_exact(plane).zip(to.chunks_exact_mut(count)) {
                                to.iter_mut().zip(&near).for_each(|(to, near)| *to = E::round(sample_one(x, near)));
                            }
                        }
                        Sampling::Sample => sample::<E, LANES>(first, &near, plane, own, to),
                        _ => spread::<E, LANES>(first, &near, plane, own, to),
                    }
                });
            },
        );
    });
}

/// Samples of one channel.
#[inline(always)]
fn sample_one<E: Pixel>(x: &[E], near: &Corners<E::Wide>) -> E::Wide {
    let nothing = E::Wide::default();
    let mut sum = nothing;
    for (at, share) in near.at.into_iter().zip(near.shares()) {
        // A pixel without a share does not count, even if it is infinite.
        if at != BEYOND && share != nothing {
            sum = sum + x[at as usize].widen() * share;
        }
    }
    sum
}

/// Samples of `own` channels.
#[inline(always)]
fn sample<E: Pixel, const N: usize>(x: &[E], near: &[Corners<E::Wide>], plane: usize, own: usize, to: &mut [E]) {
    let nothing = E::Wide::default();
    let mut pixels = vec![[nothing; N]; plane];
    gather(x, plane, own, 0, &mut pixels);
    let mut sums: Lanes<E::Wide, N, TILE> = [[nothing; N]; TILE];
    for (tile, near) in near.chunks(TILE).enumerate() {
        for (sum, near) in sums.iter_mut().zip(near) {
            *sum = [nothing; N];
            for (at, share) in near.at.into_iter().zip(near.shares()) {
                // As in `sample_one`.
                if at != BEYOND && share != nothing {
                    let pixel = &pixels[at as usize];
                    for lane in 0..N {
                        sum[lane] = sum[lane] + pixel[lane] * share;
                    }
                }
            }
        }
        scatter(&sums[..near.len()], own, tile * TILE, to);
    }
}

/// What flows back through [`sample`].
#[inline(always)]
fn spread<E: Pixel, const N: usize>(grad: &[E], near: &[Corners<E::Wide>], plane: usize, own: usize, to: &mut [E]) {
    let nothing = E::Wide::default();
    let mut sums = vec![[nothing; N]; plane];
    let mut grads: Lanes<E::Wide, N, TILE> = [[nothing; N]; TILE];
    let count = near.len();
    for (tile, near) in near.chunks(TILE).enumerate() {
        gather(grad, count, own, tile * TILE, &mut grads[..near.len()]);
        for (grad, near) in grads.iter().zip(near) {
            for (at, share) in near.at.into_iter().zip(near.shares()) {
                if at != BEYOND {
                    let sum = &mut sums[at as usize];
                    for lane in 0..N {
                        sum[lane] = sum[lane] + grad[lane] * share;
                    }
                }
            }
        }
    }
    scatter(&sums, own, 0, to);
}

/// Adds to `sums` how the samples of `own` channels change with their rows and their columns, times a gradient. The places are
/// those of `grad` from `begin` on.
#[inline(always)]
fn add_slopes<E: Pixel, const N: usize>(
    x: &[E],
    grad: &[E],
    begin: usize,
    near: &[Corners<E::Wide>],
    own: usize,
    sums: &mut [[E::Wide; 2]],
) {
    let (nothing, one) = (E::Wide::default(), E::Wide::nearest(1.0));
    let (plane, count) = (x.len() / own, grad.len() / own);
    let mut pixels = vec![[nothing; N]; plane];
    gather(x, plane, own, 0, &mut pixels);
    let mut grads: Lanes<E::Wide, N, TILE> = [[nothing; N]; TILE];
    let absent = [nothing; N];
    for (tile, near) in near.chunks(TILE).enumerate() {
        gather(grad, count, own, begin + tile * TILE, &mut grads[..near.len()]);
        for ((grad, near), sum) in grads.iter().zip(near).zip(&mut sums[tile * TILE..]) {
            // A place that is infinite or no number has no pixels, and no fractions either.
            if near.at == [BEYOND; 4] {
                continue;
            }
            let [a, b, c, d] = near.at.map(|at| if at == BEYOND { &absent } else { &pixels[at as usize] });
            let (left, up) = (one - near.right, one - near.down);
            let mut slopes = [[nothing; N]; 2];
            for lane in 0..N {
                let down = (c[lane] - a[lane]) * left + (d[lane] - b[lane]) * near.right;
                let right = (b[lane] - a[lane]) * up + (d[lane] - c[lane]) * near.down;
                slopes[0][lane] = grad[lane] * down;
                slopes[1][lane] = grad[lane] * right;
            }
            for (sum, slopes) in sum.iter_mut().zip(&slopes) {
                for slope in &slopes[..own] {
                    *sum = *sum + *slope;
                }
            }
        }
    }
}
