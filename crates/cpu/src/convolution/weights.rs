//! The gradient of a convolution for its weight: sums over all windows.

use super::memory::{self, Buffer, Pad, Planes, Stored};
use super::phases::Phases;
use super::tile::{Spot, Strip};
use super::{RUN, Vector, blocks, even_run, part};
use crate::pointwise::Shared;
use crate::simd::Set;
use forerun_base::Team;
use forerun_ops::convolution::Geometry;
use std::marker::PhantomData;

/// The approximate number of tasks.
const PIECES: usize = 8;
/// The minimum number of multiply-adds of a task.
const PIECE: usize = 1 << 22;
/// The minimum number of windows of a part of the batch.
const FEW: usize = 128;

/// The gradient of a weight.
pub(crate) struct Weights<'a, E> {
    geometry: Geometry,
    grad: &'a [E],
    x: &'a [E],
    phases: Phases,
}

/// The number of parts of the batch whose sums are added at the end. It depends only on the geometry.
fn batch_parts(g: &Geometry, blocks: usize) -> usize {
    let pixels: usize = g.output.iter().product();
    let wanted = (g.work() / PIECE).clamp(1, PIECES).div_ceil(blocks * g.groups);
    wanted.min(g.batch * pixels / FEW).clamp(1, g.batch.max(1))
}

/// An upper bound on the bytes that a call allocates.
pub(crate) fn scratch(g: &Geometry, threads: usize) -> usize {
    let all = |parts: &[usize]| parts.iter().copied().fold(8, usize::saturating_mul);
    let plane = Phases::forward(g).padded.plane();
    let taps: usize = g.kernel.iter().product();
    let images = all(&[g.batch, g.groups, g.channels, plane]);
    let pixels: usize = g.output.iter().product();
    let sums = all(&[batch_parts(g, 1), g.groups, g.channels, taps, g.filters.next_multiple_of(64)]);
    let own = all(&[RUN * 2, 64]).saturating_add(all(&[g.channels, taps, 2]));
    let lists = all(&[pixels, g.batch.saturating_add(4)]);
    images.saturating_mul(2).saturating_add(sums).saturating_add(lists).saturating_add(own.saturating_mul(threads))
}

impl<'a, E: Stored> Weights<'a, E> {
    pub(crate) fn new(geometry: Geometry, grad: &'a [E], x: &'a [E]) -> Weights<'a, E> {
        Weights { geometry, grad, x, phases: Phases::forward(&geometry) }
    }

    /// Computes the gradient into `to`.
    pub(crate) fn run<S: Set, V: Vector<Elem = E::Wide>, const WIDEST: usize>(
        &self,
        set: S,
        to: &mut [E],
        team: &dyn Team,
    ) {
        let g = &self.geometry;
        let blocks = blocks(g.filters, V::LANES, WIDEST);
        let parts = batch_parts(g, blocks.len());
        let (padded, phase) = (&self.phases.padded, &self.phases.all[0]);
        let (plane, pixels) = (padded.plane(), phase.spots.len());
        let in_pixels: usize = padded.input.iter().product();
        let all_channels = g.channels * g.groups;
        let (pixel, channel) = if g.channels_last { (all_channels, 1) } else { (1, in_pixels) };
        let of = Planes { all: self.x, pixel, channel, image: all_channels * in_pixels };
        let plain = padded.is_plain() && pixel == 1 && memory::is_wide::<E>();
        let shared_images = !plain && blocks.len() > 1;
        let image_size = g.channels * plane;
        let mut buffer = Buffer::take::<E::Wide>(if shared_images { g.batch * g.groups * image_size } else { 0 });
        let images = Shared(buffer.first::<E::Wide>());
        let pad = |image: usize, group: usize, to: *mut E::Wide| {
            let from = of.all.as_ptr().wrapping_add(image * of.image + group * g.channels * of.channel);
            let pad = Pad::<E, V> { from, of, channels: g.channels, padded, to, kind: PhantomData };
            set.vectorize(pad);
        };
        if shared_images {
            team.split(g.batch * g.groups, &|i| {
                pad(i / g.groups, i % g.groups, images.get().wrapping_add(i * image_size));
            });
        }
        // One row for each kernel element of each channel, in the order of the weight.
        let taps = phase.taps.len();
        let depth = g.channels * taps;
        let spots: Vec<Spot> = (0..depth)
            .map(|row| {
                let (c, tap) =
                    if g.channels_last { (row % g.channels, row / g.channels) } else { (row / taps, row % taps) };
                Spot { from: c * plane + phase.taps[tap].0, row }
            })
            .collect();
        let columns: usize = blocks.iter().map(|block| block.vectors * V::LANES).sum();
        let part_size = depth * columns;
        let mut sums = Buffer::take::<E::Wide>(parts * g.groups * part_size);
        let sums = Shared(sums.first::<E::Wide>());
        let target = Shared(to.as_mut_ptr());
        team.split(g.groups * blocks.len() * parts, &|i| {
            let (i, number) = (i / parts, i % parts);
            let (group, block) = (i / blocks.len(), blocks[i % blocks.len()]);
            let batch = part(g.batch, parts, number);
            let wide = block.vectors * V::LANES;
            let sums = sums.get().wrapping_add((number * g.groups + group) * part_size + block.first * depth);
            let mut own = Buffer::take::<E::Wide>(if plain || shared_images { 0 } else { batch.len() * image_size });
            let (x, step) = if plain {
                let first = of.all.as_ptr().cast::<E::Wide>().wrapping_add(group * image_size + batch.start * of.image);
                (first, of.image)
            } else if shared_images {
                let first = images.get().cast_const().wrapping_add((batch.start * g.groups + group) * image_size);
                (first, g.groups * image_size)
            } else {
                let first = own.first::<E::Wide>();
                for (i, image) in batch.clone().enumerate() {
                    pad(image, group, first.wrapping_add(i * image_size));
                }
                (first.cast_const(), image_size)
            };
            let total = batch.len() * pixels;
            let run = even_run(total, RUN);
            let mut factors = Buffer::take::<E::Wide>(run * wide);
            let factors = factors.first::<E::Wide>();
            let mut offsets = Vec::with_capacity(run);
            for first in (0..total).step_by(run) {
                let last = total.min(first + run);
                offsets.clear();
                let mut at = first;
                while at < last {
                    let (image, place) = (at / pixels, at % pixels);
                    let count = (pixels - place).min(last - at);
                    offsets.extend(phase.spots[place..place + count].iter().map(|spot| image * step + spot.from));
                    // SAFETY: the pixels lie within one image, and the buffer has a row of factors for each.
                    unsafe {
                        let to = factors.add((at - first) * wide);
                        self.factors(
                            batch.start + image,
                            place,
                            count,
                            group * g.filters + block.first,
                            block.count,
                            to,
                            wide,
                        );
                    }
                    at += count;
                }
                let strip = Strip::<V> {
                    x,
                    spots: &spots,
                    offsets: &offsets,
                    factors,
                    sums,
                    vectors: block.vectors,
                    adds: first > 0,
                    kind: PhantomData,
                };
                set.vectorize(strip);
            }
            if parts == 1 {
                self.write(group, block.first, block.count, (sums, wide), target.get());
            }
        });
        if parts > 1 {
            team.split(g.groups * blocks.len(), &|i| {
                let (group, block) = (i / blocks.len(), blocks[i % blocks.len()]);
                let wide = block.vectors * V::LANES;
                let of_part = |number: usize| {
                    sums.get().wrapping_add((number * g.groups + group) * part_size + block.first * depth)
                };
                // SAFETY: only this task accesses the rows of this block now.
                let total = unsafe { std::slice::from_raw_parts_mut(of_part(0), depth * wide) };
                for number in 1..parts {
                    // SAFETY: as above; the parts do not overlap.
                    let other = unsafe { std::slice::from_raw_parts(of_part(number), depth * wide) };
                    total.iter_mut().zip(other).for_each(|(total, other)| *total = *total + *other);
                }
                self.write(group, block.first, block.count, (of_part(0), wide), target.get());
            });
        }
    }

    /// Packs the gradient of the result: writes a row of factors for each of some pixels of an image.
    ///
    /// # Safety
    /// The pixels and channels must lie within the gradient, and `to` must have room for the rows.
    #[expect(clippy::too_many_arguments, reason = "a range of pixels, a range of channels, and a target")]
    unsafe fn factors(
        &self,
        image: usize,
        place: usize,
        count: usize,
        channel: usize,
        channels: usize,
        to: *mut E::Wide,
        wide: usize,
    ) {
        let g = &self.geometry;
        let pixels: usize = g.output.iter().product();
        let filters = g.filters * g.groups;
        let from = self.grad.as_ptr().wrapping_add(image * filters * pixels);
        // SAFETY: as the caller guarantees.
        unsafe {
            if g.channels_last {
                memory::rows_in((count, channels), (from.add(place * filters + channel), filters), (to, wide));
            } else {
                memory::transpose_in((count, channels), (from.add(channel * pixels + place), pixels), (to, wide));
            }
        }
    }

    /// Writes the sums of a range of filters to the result.
    fn write(&self, group: usize, first: usize, count: usize, (sums, wide): (*mut E::Wide, usize), to: *mut E) {
        let g = &self.geometry;
        let depth = g.channels * g.kernel.iter().product::<usize>();
        // SAFETY: the rows lie within the sums, and no other task writes these filters.
        unsafe {
            let to = to.add((group * g.filters + first) * depth);
            memory::transpose_out((depth, count), (sums.cast_const(), wide), (to, depth));
        }
    }
}
