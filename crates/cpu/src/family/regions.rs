//! Pooling over regions. Where bins and samples lie is computed in double precision; half floats are added up in single precision and
//! rounded once. Several channels of a mean are computed together, as the lanes of [`crate::channel_lanes`].
//!
//! Invariant: a result's elements are one thread's, and regions are added in their order; so the bits do not depend on the team.

use super::pooling::is_larger;
use super::sampling::{Pixel, Real};
use crate::channel_lanes::{MOST_LANES, gather, scatter, with_lanes};
use crate::pointwise::Shared;
use crate::routine::call::{Args, Body, HostKernel};
use crate::simd::with_features;
use forerun_base::{BFloat16, DType, Error, ErrorKind, Float16, Result, Team};
use forerun_ops::Regions;
use forerun_ops::regions::{Bins, Grid, bins};
use forerun_plan::RoutineCall;
use std::ops::Range;

impl HostKernel for Regions {
    fn body(&self) -> Body {
        match self {
            Regions::Pool => |args, team| run(Regions::Pool, args, team),
            Regions::PoolBack => |args, team| run(Regions::PoolBack, args, team),
            Regions::Align => |args, team| run(Regions::Align, args, team),
            Regions::AlignBack => |args, team| run(Regions::AlignBack, args, team),
        }
    }

    fn scratch(&self, call: &RoutineCall, threads: usize) -> usize {
        let images = match self {
            Regions::Pool | Regions::PoolBack => &call.inputs[1].1,
            Regions::Align => &call.inputs[0].1,
            Regions::AlignBack => &call.out.1,
        };
        let (list, samples) = match self {
            Regions::Pool | Regions::PoolBack => (call.attributes::<Bins>().bins, 1),
            Regions::Align | Regions::AlignBack => {
                let grid = call.attributes::<Grid>();
                (grid.bins, usize::try_from(grid.samples).unwrap_or(0).max(4))
            }
        };
        let (rows, columns) = bins(&list).expect("inference accepted the bins");
        let count = call.inputs[call.inputs.len() - 1].1[0];
        // Taps of each bin of each region, and for each thread a plane of all images, the lanes of one image, and those of the bins of a region.
        let taps =
            (rows + columns).saturating_mul(samples.saturating_mul(4)).saturating_add(8 * (images[2] + images[3]));
        let region = taps.saturating_mul(24).saturating_add((rows + columns) * 24 + 96);
        let plane = images[2].saturating_mul(images[3]);
        let lanes = plane.saturating_add(rows * columns).saturating_mul(8 * MOST_LANES);
        let plane = images[0].saturating_mul(plane).saturating_mul(8).saturating_add(lanes);
        count.saturating_mul(region).saturating_add(plane.saturating_mul(threads))
    }
}

fn run(kind: Regions, args: &Args<'_>, team: &dyn Team) -> Result<()> {
    match args.dtype(0) {
        DType::F32 => each::<f32>(kind, args, team),
        DType::F64 => each::<f64>(kind, args, team),
        DType::F16 => each::<Float16>(kind, args, team),
        DType::BF16 => each::<BFloat16>(kind, args, team),
        dtype => unreachable!("inference refuses {dtype}"),
    }
}

/// A region: its image, unless it has none, and what its bins read along each axis.
struct Region<T> {
    image: Option<usize>,
    rows: Vec<T>,
    columns: Vec<T>,
}

/// The regions of a call; `taps` gives the bins along one axis from the ends of a box and the extent of the axis.
fn regions<E: Pixel, T>(
    args: &Args<'_>,
    [images, height, width]: [usize; 3],
    taps: impl Fn(f64, f64, usize, bool) -> Vec<T>,
) -> Result<Vec<Region<T>>> {
    let last = args.call.inputs.len() - 1;
    let fail = |text: String| Err(Error::new(ErrorKind::Value, text).in_op(args.call.routine.name()));
    let numbers = args.input::<i64>(last - 1);
    let mut all = Vec::with_capacity(numbers.len());
    for (n, (number, corners)) in numbers.iter().zip(args.input::<E>(last).chunks_exact(4)).enumerate() {
        if *number >= images as i64 {
            return fail(format!("image {number} of region {n} does not exist: there are {images}"));
        }
        let Ok(image) = usize::try_from(*number) else {
            all.push(Region { image: None, rows: Vec::new(), columns: Vec::new() });
            continue;
        };
        let corner = |i: usize| -> f64 { corners[i].widen().into() };
        let [left, top, right, bottom] = [0, 1, 2, 3].map(corner);
        if ![left, top, right, bottom].iter().all(|end| end.is_finite()) {
            return fail(format!("the box of region {n} is not finite: {left}, {top}, {right}, {bottom}"));
        }
        let (rows, columns) = (taps(top, bottom, height, true), taps(left, right, width, false));
        all.push(Region { image: Some(image), rows, columns });
    }
    Ok(all)
}

/// The elements of each bin along an axis, for maxima. Bins touch or share an element.
fn spans(begin: f64, end: f64, extent: usize, bins: usize, scale: f64) -> Vec<Range<usize>> {
    let (first, last) = ((begin * scale).round(), (end * scale).round());
    let size = (last - first + 1.0).max(1.0) / bins as f64;
    let within = |place: f64| (place + first).clamp(0.0, extent as f64) as usize;
    (0..bins).map(|i| within((i as f64 * size).floor())..within(((i + 1) as f64 * size).ceil())).collect()
}

/// Places that a bin reads along an axis, with their shares.
type Taps = Vec<(usize, f64)>;

/// Adds the share of a place; places come in ascending order, except that the last two may repeat.
fn add_tap(taps: &mut Taps, place: usize, share: f64) {
    match taps.iter_mut().rev().take(2).find(|(known, _)| *known == place) {
        Some((_, sum)) => *sum += share,
        None => taps.push((place, share)),
    }
}

/// The samples of each bin along an axis. The mean over a grid of bilinear samples is the product of both axes.
fn taps(begin: f64, end: f64, extent: usize, bins: usize, grid: &Grid) -> Vec<Taps> {
    let shift = if grid.aligned { 0.5 } else { 0.0 };
    let (first, last) = (begin * grid.scale - shift, end * grid.scale - shift);
    // A box without extent covers a pixel, unless pixels are areas.
    let size = if grid.aligned { last - first } else { (last - first).max(1.0) } / bins as f64;
    let samples = if grid.samples > 0 { grid.samples as f64 } else { size.ceil() };
    let (step, share) = (size / samples, 1.0 / samples);
    let bin = |i: usize| {
        let start = first + i as f64 * size;
        let mut taps = Taps::new();
        // Samples beyond the image are zero; huge boxes have many.
        let nth = |place: f64| (place - start) / step;
        let range = match step > 0.0 {
            true => ((nth(-1.0) - 1.0).floor().max(0.0), (nth(extent as f64) + 1.0).ceil().min(samples)),
            false => (0.0, samples),
        };
        let mut n = range.0;
        while n < range.1 {
            let place = start + (n + 0.5) * step;
            if (-1.0..=extent as f64).contains(&place) && extent > 0 {
                let place = place.clamp(0.0, (extent - 1) as f64);
                let low = place as usize;
                let part = place - low as f64;
                add_tap(&mut taps, low, (1.0 - part) * share);
                if part > 0.0 {
                    add_tap(&mut taps, low + 1, part * share);
                }
            }
            n += 1.0;
        }
        taps
    };
    (0..bins).map(bin).collect()
}

fn each<E: Pixel>(kind: Regions, args: &Args<'_>, team: &dyn Team) -> Result<()> {
    // Without channels there are no elements, however many bins there are: regions are only checked.
    let is_empty = args.call.out.1.size() == 0;
    match kind {
        Regions::Pool | Regions::PoolBack => {
            let Bins { bins: list, scale } = args.attributes();
            let (rows, columns) = bins(&list).expect("inference accepted the bins");
            let images = &args.call.inputs[1].1;
            let bin = |begin: f64, end: f64, extent: usize, down: bool| match is_empty {
                true => Vec::new(),
                false => spans(begin, end, extent, if down { rows } else { columns }, scale),
            };
            let all = regions::<E, _>(args, [images[0], images[2], images[3]], bin)?;
            pool::<E>(kind, args, team, &all, (rows, columns));
        }
        Regions::Align | Regions::AlignBack => {
            let grid: Grid = args.attributes();
            let (rows, columns) = bins(&grid.bins).expect("inference accepted the bins");
            let images = if kind == Regions::Align { &args.call.inputs[0].1 } else { &args.call.out.1 };
            let bin = |begin: f64, end: f64, extent: usize, down: bool| match is_empty {
                true => Vec::new(),
                false => taps(begin, end, extent, if down { rows } else { columns }, &grid),
            };
            let all = regions::<E, _>(args, [images[0], images[2], images[3]], bin)?;
            align::<E>(kind, args, team, &all, (rows, columns), grid.own_channels);
        }
    }
    Ok(())
}

/// Calls with each bin of a region that is not empty, and the place of its first largest key.
fn largest<E: Pixel>(region: &Region<Range<usize>>, keys: &[E], width: usize, mut tell: impl FnMut(usize, usize)) {
    for (i, rows) in region.rows.iter().enumerate() {
        for (j, columns) in region.columns.iter().enumerate() {
            let mut places = rows.clone().flat_map(|row| columns.clone().map(move |column| row * width + column));
            let Some(mut best) = places.next() else { continue };
            for place in places {
                if is_larger(keys[place].widen(), keys[best].widen()) {
                    best = place;
                }
            }
            tell(i * region.columns.len() + j, best);
        }
    }
}

fn pool<E: Pixel>(
    kind: Regions,
    args: &Args<'_>,
    team: &dyn Team,
    all: &[Region<Range<usize>>],
    (rows, columns): (usize, usize),
) {
    let images = &args.call.inputs[1].1;
    let (channels, width, plane) = (images[1], images[3], images[2] * images[3]);
    let (first, keys, to) = (args.input::<E>(0), args.input::<E>(1), args.output::<E>());
    if to.is_empty() {
        return;
    }
    let (target, own) = (Shared(to.as_mut_ptr()), rows * columns);
    if kind == Regions::Pool {
        team.split(all.len(), &|n| {
            let size = channels * own;
            // SAFETY: the bins of a region, which are no other piece's.
            let to = unsafe { std::slice::from_raw_parts_mut(target.get().add(n * size), size) };
            to.fill(E::default());
            let Some(image) = all[n].image else { return };
            for (channel, to) in to.chunks_exact_mut(own).enumerate() {
                let at = (image * channels + channel) * plane..(image * channels + channel + 1) * plane;
                let (x, keys) = (&first[at.clone()], &keys[at]);
                largest(&all[n], keys, width, |bin, place| to[bin] = x[place]);
            }
        });
        return;
    }
    team.split(channels, &|channel| {
        let mut sums = vec![E::Wide::default(); images[0] * plane];
        for (n, region) in all.iter().enumerate() {
            let Some(image) = region.image else { continue };
            let keys = &keys[(image * channels + channel) * plane..][..plane];
            let grad = &first[(n * channels + channel) * own..][..own];
            let sums = &mut sums[image * plane..(image + 1) * plane];
            largest(region, keys, width, |bin, place| sums[place] = sums[place] + grad[bin].widen());
        }
        write(&target, &sums, channel, channels, plane);
    });
}

/// Writes the planes of one channel of all images.
fn write<E: Pixel>(target: &Shared<*mut E>, sums: &[E::Wide], channel: usize, channels: usize, plane: usize) {
    for (image, sums) in sums.chunks_exact(plane).enumerate() {
        // SAFETY: the plane of a channel, which is no other piece's.
        let to =
            unsafe { std::slice::from_raw_parts_mut(target.get().add((image * channels + channel) * plane), plane) };
        to.iter_mut().zip(sums).for_each(|(to, sum)| *to = E::round(*sum));
    }
}

fn align<E: Pixel>(
    kind: Regions,
    args: &Args<'_>,
    team: &dyn Team,
    all: &[Region<Taps>],
    (rows, columns): (usize, usize),
    own_channels: bool,
) {
    let images = if kind == Regions::Align { &args.call.inputs[0].1 } else { &args.call.out.1 };
    let (channels, width, plane) = (images[1], images[3], images[2] * images[3]);
    let (first, to) = (args.input::<E>(0), args.output::<E>());
    if to.is_empty() {
        return;
    }
    let (target, own) = (Shared(to.as_mut_ptr()), rows * columns);
    if own_channels {
        align_own(kind, images, first, &target, team, all, columns, own);
        return;
    }
    // Channels of a piece: few, so that there are many pieces, but enough to fill vectors.
    let isa = args.isa;
    let together = if channels >= 4 * MOST_LANES { MOST_LANES } else { MOST_LANES / 2 };
    team.split(channels.div_ceil(together), &|piece| {
        let begin = piece * together;
        let count = together.min(channels - begin);
        with_features(
            isa,
            #[inline(always)]
            || {
                with_lanes!(count, |LANES, channel, count| {
                    let channels =
                        Channels { all: channels, first: begin + channel, count, images: images[0], plane, width };
                    if kind == Regions::Align {
                        channels.align::<E, LANES>(first, &target, all, own);
                    } else {
                        channels.align_back::<E, LANES>(first, &target, all, own);
                    }
                });
            },
        );
    });
}

/// The regions of an image: the image, the number of the region, the region, and whether it is the image's first.
#[inline(always)]
fn of_image<T>(
    all: &[Region<T>],
    image: Option<usize>,
) -> impl Iterator<Item = (Option<usize>, usize, &Region<T>, bool)> {
    let mut is_first = true;
    all.iter()
        .enumerate()
        .filter(move |(_, region)| region.image == image)
        .map(move |(n, region)| (image, n, region, std::mem::take(&mut is_first)))
}

/// A few channels of images that are computed together.
struct Channels {
    /// The channels of an image.
    all: usize,
    first: usize,
    count: usize,
    images: usize,
    /// Pixels of an image, and of a row.
    plane: usize,
    width: usize,
}

impl Channels {
    #[inline(always)]
    fn align<E: Pixel, const N: usize>(&self, x: &[E], target: &Shared<*mut E>, all: &[Region<Taps>], own: usize) {
        let nothing = E::Wide::default();
        let mut pixels = vec![[nothing; N]; self.plane];
        let mut means = vec![[nothing; N]; own];
        // Region by region of one image after the other, and first those without an image.
        let images = std::iter::once(None).chain((0..self.images).map(Some));
        for (image, n, region, is_first) in images.flat_map(|image| of_image(all, image)) {
            // SAFETY: the bins of a region in these channels, which are no other piece's.
            let to = unsafe {
                std::slice::from_raw_parts_mut(target.get().add((n * self.all + self.first) * own), self.count * own)
            };
            let Some(image) = image else {
                to.fill(E::default());
                continue;
            };
            if is_first {
                let x = &x[(image * self.all + self.first) * self.plane..][..self.count * self.plane];
                gather(x, self.plane, self.count, 0, &mut pixels);
            }
            let mut bins = means.iter_mut();
            for rows in &region.rows {
                for (columns, mean) in region.columns.iter().zip(&mut bins) {
                    *mean = [nothing; N];
                    for (row, down) in rows {
                        let (line, down) = (&pixels[row * self.width..][..self.width], E::Wide::nearest(*down));
                        let mut sum = [nothing; N];
                        for (column, right) in columns {
                            let (pixel, right) = (&line[*column], E::Wide::nearest(*right));
                            for lane in 0..N {
                                sum[lane] = sum[lane] + pixel[lane] * right;
                            }
                        }
                        for lane in 0..N {
                            mean[lane] = mean[lane] + sum[lane] * down;
                        }
                    }
                }
            }
            scatter(&means, self.count, 0, to);
        }
    }

    #[inline(always)]
    fn align_back<E: Pixel, const N: usize>(
        &self,
        grad: &[E],
        target: &Shared<*mut E>,
        all: &[Region<Taps>],
        own: usize,
    ) {
        let nothing = E::Wide::default();
        let mut sums = vec![[nothing; N]; self.plane];
        let mut grads = vec![[nothing; N]; own];
        for image in 0..self.images {
            sums.fill([nothing; N]);
            for (_, n, region, _) in of_image(all, Some(image)) {
                gather(&grad[(n * self.all + self.first) * own..][..self.count * own], own, self.count, 0, &mut grads);
                let mut bins = grads.iter();
                for rows in &region.rows {
                    for (columns, grad) in region.columns.iter().zip(&mut bins) {
                        for (row, down) in rows {
                            let (line, down) = (&mut sums[row * self.width..][..self.width], E::Wide::nearest(*down));
                            for (column, right) in columns {
                                let (sum, right) = (&mut line[*column], E::Wide::nearest(*right));
                                for lane in 0..N {
                                    sum[lane] = sum[lane] + grad[lane] * down * right;
                                }
                            }
                        }
                    }
                }
            }
            // SAFETY: the planes of these channels, which are no other piece's.
            let to = unsafe {
                let first = target.get().add((image * self.all + self.first) * self.plane);
                std::slice::from_raw_parts_mut(first, self.count * self.plane)
            };
            scatter(&sums, self.count, 0, to);
        }
    }
}

/// [`align`] if each bin has channels of its own.
#[expect(clippy::too_many_arguments, reason = "the parts of a call")]
fn align_own<E: Pixel>(
    kind: Regions,
    images: &[usize],
    first: &[E],
    target: &Shared<*mut E>,
    team: &dyn Team,
    all: &[Region<Taps>],
    columns: usize,
    own: usize,
) {
    let (channels, width, plane) = (images[1], images[3], images[2] * images[3]);
    let made = channels / own;
    if kind == Regions::Align {
        team.split(all.len(), &|n| {
            let (region, size) = (&all[n], made * own);
            // SAFETY: the bins of a region, which are no other piece's.
            let to = unsafe { std::slice::from_raw_parts_mut(target.get().add(n * size), size) };
            to.fill(E::default());
            let Some(image) = region.image else { return };
            for (channel, to) in to.iter_mut().enumerate() {
                let (x, bin) = (&first[(image * channels + channel) * plane..][..plane], channel % own);
                let mut sum = E::Wide::default();
                for (row, down) in &region.rows[bin / columns] {
                    let mut line = E::Wide::default();
                    for (column, right) in &region.columns[bin % columns] {
                        line = line + x[row * width + column].widen() * E::Wide::nearest(*right);
                    }
                    sum = sum + line * E::Wide::nearest(*down);
                }
                *to = E::round(sum);
            }
        });
        return;
    }
    team.split(channels, &|channel| {
        let mut sums = vec![E::Wide::default(); images[0] * plane];
        for (n, region) in all.iter().enumerate() {
            let Some(image) = region.image else { continue };
            let sums = &mut sums[image * plane..(image + 1) * plane];
            let bin = channel % own;
            let grad = first[n * channels + channel].widen();
            for (row, down) in &region.rows[bin / columns] {
                let line = grad * E::Wide::nearest(*down);
                for (column, right) in &region.columns[bin % columns] {
                    let sum = &mut sums[row * width + column];
                    *sum = *sum + line * E::Wide::nearest(*right);
                }
            }
        }
        write(target, &sums, channel, channels, plane);
    });
}
