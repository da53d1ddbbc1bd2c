//! Convolutions and transposed convolutions of images.

use super::memory::{self, Buffer, Pad, Planes, Stored};
use super::phases::{Phase, Phases};
use super::tile::{Spot, Strip};
use super::{Block, RUN, Vector, blocks, even_run, part};
use crate::pointwise::Shared;
use crate::simd::Set;
use forerun_base::Team;
use forerun_ops::convolution::Geometry;
use std::marker::PhantomData;
use std::ops::Range;

/// The approximate number of multiply-adds of a task, and the maximum number of tasks.
const PIECE: usize = 1 << 22;
const PIECES: usize = 16;
/// The minimum and maximum number of pixels of a task: with fewer, tasks would read the weight too often; the sums of
/// more would not fit the cache.
const FEW: usize = 96;
const MANY: usize = 768;
/// Padding between images, in elements, so that equal positions of them do not map to one set of the level-1 cache.
const SKEW: usize = 80;
/// The number of channels of a weight that are packed while the next ones are prefetched.
const TOGETHER: usize = 16;

/// A convolution of images, or a transposed convolution.
pub(crate) struct Images<'a, E> {
    pub(super) geometry: Geometry,
    pub(super) transposed: bool,
    x: &'a [E],
    weight: &'a [E],
    pub(super) phases: Phases,
}

/// The partition of the work into tasks. It depends only on the geometry.
struct Cut {
    images: usize,
    ranges: usize,
    block_groups: usize,
}

impl Cut {
    fn new(g: &Geometry, pixels: usize, blocks: usize) -> Cut {
        let wanted = (g.work() / PIECE).clamp(1, PIECES);
        let ranges = pixels.div_ceil(MANY).max(1);
        let images = if ranges > 1 { g.batch } else { (g.batch * pixels / FEW).clamp(1, g.batch) };
        let images = images.min(wanted.div_ceil(ranges).max(g.batch * pixels / MANY).clamp(1, images));
        // With few pixels and many channels the weight is the largest operand, so each task reads a part of it.
        let images = if blocks >= 4 && g.batch * pixels <= MANY { 1 } else { images };
        let block_groups = wanted.div_ceil(images * ranges * g.groups).clamp(1, blocks);
        Cut { images, ranges, block_groups }
    }
}

/// The number of columns of all blocks of a group, including padding.
fn columns(blocks: &[Block], lanes: usize) -> usize {
    blocks.iter().map(|block| block.vectors * lanes).sum()
}

/// An upper bound on the bytes that a call allocates.
pub(crate) fn scratch(g: &Geometry, transposed: bool, threads: usize) -> usize {
    let phases = if transposed { Phases::transposed(g) } else { Phases::forward(g) };
    let (from, to) = if transposed { (g.filters, g.channels) } else { (g.channels, g.filters) };
    let taps: usize = g.kernel.iter().product();
    let all = |parts: &[usize]| parts.iter().copied().fold(8, usize::saturating_mul);
    let images = all(&[g.batch, g.groups, from.saturating_mul(phases.padded.plane()).saturating_add(SKEW)]);
    let weight = all(&[g.groups, from, taps, to.next_multiple_of(64)]);
    let spots: usize = phases.all.iter().map(|phase| phase.spots.len() + phase.taps.len()).sum();
    // Images and weight exist once; sums, lists and factors once per thread.
    let sums = all(&[MANY * 2, 64]).saturating_add(all(&[RUN.max(taps), 64]));
    let own = sums.saturating_add(all(&[g.batch.min(MANY), spots, 2]).min(all(&[MANY * 2, 4])));
    // Convolutions with few output channels keep the sums of an image where the result cannot hold them.
    let pixels: usize = if transposed { g.input } else { g.output }.iter().product();
    let own = own.saturating_add(all(&[to.min(16), pixels]));
    images
        .saturating_mul(2)
        .saturating_add(weight)
        .saturating_add(own.saturating_mul(threads))
        .saturating_add(all(&[spots, 4]))
}

impl<'a, E: Stored> Images<'a, E> {
    pub(crate) fn new(geometry: Geometry, transposed: bool, x: &'a [E], weight: &'a [E]) -> Images<'a, E> {
        let phases = if transposed { Phases::transposed(&geometry) } else { Phases::forward(&geometry) };
        Images { geometry, transposed, x, weight, phases }
    }

    /// The number of input and output channels of a group.
    pub(super) fn channels(&self) -> (usize, usize) {
        let g = &self.geometry;
        if self.transposed { (g.filters, g.channels) } else { (g.channels, g.filters) }
    }

    /// The number of pixels of an output image.
    pub(super) fn pixels(&self) -> usize {
        let g = &self.geometry;
        if self.transposed { g.input } else { g.output }.iter().product()
    }

    /// The offset of the group in the weight, and the strides of the weight by output channel, input channel and kernel
    /// element.
    fn weight_steps(&self, group: usize) -> (usize, usize, usize, usize) {
        let g = &self.geometry;
        let taps: usize = g.kernel.iter().product();
        let (tap, channel) = if g.channels_last { (g.channels, 1) } else { (1, taps) };
        let filter = g.channels * taps;
        let first = group * g.filters * filter;
        if self.transposed { (first, channel, filter, tap) } else { (first, filter, channel, tap) }
    }

    /// The input images.
    fn planes(&self) -> Planes<'a, E> {
        let g = &self.geometry;
        let pixels: usize = self.phases.padded.input.iter().product();
        let channels = self.channels().0 * g.groups;
        let (pixel, channel) = if g.channels_last { (channels, 1) } else { (1, pixels) };
        Planes { all: self.x, pixel, channel, image: channels * pixels }
    }

    /// Computes the convolution into `to`.
    pub(crate) fn run<S: Set, V: Vector<Elem = E::Wide>, const WIDEST: usize>(
        &self,
        set: S,
        to: &mut [E],
        team: &dyn Team,
    ) {
        let g = &self.geometry;
        let (from_channels, to_channels) = self.channels();
        if self.has_few_channels(V::LANES) {
            return self.run_few::<S, V>(set, to, team);
        }
        let (pixels, plane) = (self.pixels(), self.phases.padded.plane());
        let blocks = blocks(to_channels, V::LANES, WIDEST);
        let cut = Cut::new(g, pixels, blocks.len());
        let of = self.planes();
        // Images that several tasks read are padded first, and a weight that several tasks read is packed first.
        let plain = self.phases.padded.is_plain() && of.pixel == 1 && memory::is_wide::<E>();
        let shared_images = !plain && (cut.block_groups > 1 || cut.ranges > 1);
        let shared_weight = cut.images * cut.ranges > 1;
        let image_size = from_channels * plane + SKEW;
        let mut padded = Buffer::take::<E::Wide>(if shared_images { g.batch * g.groups * image_size } else { 0 });
        let padded = Shared(padded.first::<E::Wide>());
        if shared_images {
            team.split(g.batch * g.groups, &|i| {
                let (image, group) = (i / g.groups, i % g.groups);
                // SAFETY: the target has planes for the channels of this group and image, which no other task writes.
                unsafe {
                    self.pad::<S, V>(set, image, group, padded.get().add(i * image_size));
                }
            });
        }
        let taps: usize = g.kernel.iter().product();
        let depth = from_channels * taps;
        let columns = columns(&blocks, V::LANES);
        let mut packed = Buffer::take::<E::Wide>(if shared_weight { g.groups * depth * columns } else { 0 });
        let packed = Shared(packed.first::<E::Wide>());
        if shared_weight {
            let parts = even_parts(from_channels);
            team.split(g.groups * blocks.len() * parts, &|i| {
                let (i, which) = (i / parts, part(from_channels, parts, i % parts));
                let (group, block) = (i / blocks.len(), blocks[i % blocks.len()]);
                let mut to = packed.get().wrapping_add(group * depth * columns + block.first * depth);
                for phase in &self.phases.all {
                    let wide = block.vectors * V::LANES;
                    for first in which.clone().step_by(TOGETHER) {
                        let last = which.end.min(first + TOGETHER);
                        self.fetch(group, block, last..which.end.min(last + TOGETHER));
                        // SAFETY: the target has rows for this block and these channels, which no other task writes.
                        unsafe {
                            let to = to.add(first * phase.taps.len() * wide);
                            self.pack(phase, group, block, first..last, to, wide);
                        }
                    }
                    to = to.wrapping_add(from_channels * phase.taps.len() * wide);
                }
            });
        }
        let target = Shared(to.as_mut_ptr());
        let pieces = g.groups * cut.images * cut.ranges * cut.block_groups;
        team.split(pieces, &|i| {
            let (i, block_group) = (i / cut.block_groups, i % cut.block_groups);
            let (i, range) = (i / cut.ranges, i % cut.ranges);
            let (group, images) = (i / cut.images, part(g.batch, cut.images, i % cut.images));
            let range = part(pixels, cut.ranges, range);
            let count = images.len();
            if count == 0 || range.is_empty() {
                return;
            }
            let mut own = Buffer::take::<E::Wide>(if plain || shared_images { 0 } else { count * image_size });
            let (x, image_step) = if plain {
                let first = of
                    .all
                    .as_ptr()
                    .cast::<E::Wide>()
                    .wrapping_add(group * from_channels * plane + images.start * of.image);
                (first, of.image)
            } else if shared_images {
                let first = padded.get().cast_const().wrapping_add((images.start * g.groups + group) * image_size);
                (first, g.groups * image_size)
            } else {
                let first = own.first::<E::Wide>();
                for (i, image) in images.clone().enumerate() {
                    // SAFETY: the target has planes for the channels of this group and image.
                    unsafe { self.pad::<S, V>(set, image, group, first.add(i * image_size)) };
                }
                (first.cast_const(), image_size)
            };
            let piece = Piece { images: count, range: range.clone(), x, image_step, group };
            let which = part(blocks.len(), cut.block_groups, block_group);
            let weight = shared_weight.then(|| packed.get().cast_const().wrapping_add(group * depth * columns));
            let soon = |block: Block| {
                // Prefetch the destination of the sums.
                let first = target.get().cast_const().wrapping_add(images.start * to_channels * g.groups * pixels);
                let channel = group * to_channels + block.first;
                for image in 0..if g.channels_last { 0 } else { count } {
                    let first = first.wrapping_add((image * to_channels * g.groups + channel) * pixels + range.start);
                    memory::prefetch(first, block.count, pixels, range.len());
                }
            };
            self.piece::<S, V>(set, &piece, &blocks[which], weight, soon, |block, sums| {
                let wide = block.vectors * V::LANES;
                let channels = to_channels * g.groups;
                let channel = group * to_channels + block.first;
                for (i, image) in images.clone().enumerate() {
                    // SAFETY: no other task writes these pixels of these channels.
                    unsafe {
                        let from = sums.add(i * range.len() * wide);
                        let to = target.get().add(image * channels * pixels);
                        let shape = (range.len(), block.count);
                        if g.channels_last {
                            let to = to.add(range.start * channels + channel);
                            memory::rows_out(shape, (from, wide), (to, channels));
                        } else {
                            let to = to.add(channel * pixels + range.start);
                            memory::transpose_out(shape, (from, wide), (to, pixels));
                        }
                    }
                }
            });
        });
    }

    /// Copies the channels of a group of one image to zero-padded planes.
    ///
    /// # Safety
    /// The target must have room for a plane per channel.
    pub(super) unsafe fn pad<S: Set, V: Vector<Elem = E::Wide>>(
        &self,
        set: S,
        image: usize,
        group: usize,
        to: *mut E::Wide,
    ) {
        let (of, channels) = (self.planes(), self.channels().0);
        let from = of.all.as_ptr().wrapping_add(image * of.image + group * channels * of.channel);
        let padded = &self.phases.padded;
        set.vectorize(Pad::<E, V> { from, of, channels, padded, to, kind: PhantomData });
    }

    /// Computes the sums of a task for each of the blocks and passes them to `done`.
    fn piece<S: Set, V: Vector<Elem = E::Wide>>(
        &self,
        set: S,
        piece: &Piece<E::Wide>,
        blocks: &[Block],
        packed: Option<*const E::Wide>,
        soon: impl Fn(Block),
        done: impl Fn(Block, *const E::Wide),
    ) {
        let channels = self.channels().0;
        let (plane, taps) = (self.phases.padded.plane(), self.geometry.kernel.iter().product::<usize>());
        let rows = piece.images * piece.range.len();
        let phases: Vec<(Vec<Spot>, Vec<usize>, usize)> = (self.phases.all.iter())
            .map(|phase| {
                let run = even_run(channels, RUN / phase.taps.len().max(1));
                let offsets = (0..run).flat_map(|c| phase.taps.iter().map(move |tap| c * plane + tap.0)).collect();
                (piece.spots(phase), offsets, run)
            })
            .collect();
        let widest = blocks.iter().map(|block| block.vectors * V::LANES).max().unwrap_or(0);
        let deepest = phases.iter().map(|phase| phase.1.len()).max().unwrap_or(0);
        let mut sums = Buffer::take::<E::Wide>(rows * widest);
        let sums = sums.first::<E::Wide>();
        let mut own = Buffer::take::<E::Wide>(if packed.is_none() { deepest * widest } else { 0 });
        let own = own.first::<E::Wide>();
        for block in blocks {
            let wide = block.vectors * V::LANES;
            let mut weight = packed.map(|packed| packed.wrapping_add(block.first * channels * taps));
            soon(*block);
            for (phase, (spots, offsets, run)) in self.phases.all.iter().zip(&phases) {
                if phase.taps.is_empty() {
                    for spot in spots {
                        // SAFETY: it is a row of the sums; zero bytes are the float 0.
                        unsafe { sums.add(spot.row * wide).write_bytes(0, wide) };
                    }
                    continue;
                }
                for first in (0..channels).step_by(*run) {
                    let count = (*run).min(channels - first);
                    let offsets = &offsets[..count * phase.taps.len()];
                    let factors = match &mut weight {
                        Some(weight) => {
                            let factors = *weight;
                            *weight = weight.wrapping_add(offsets.len() * wide);
                            factors
                        }
                        None => {
                            // SAFETY: the buffer has room for the rows of a run.
                            unsafe { self.pack(phase, piece.group, *block, first..first + count, own, wide) };
                            let next = first + count;
                            self.fetch(piece.group, *block, next..channels.min(next + run));
                            own.cast_const()
                        }
                    };
                    let strip = Strip::<V> {
                        x: piece.x.wrapping_add(first * plane),
                        spots,
                        offsets,
                        factors,
                        sums,
                        vectors: block.vectors,
                        adds: first > 0,
                        kind: PhantomData,
                    };
                    set.vectorize(strip);
                }
            }
            done(*block, sums);
        }
    }

    /// Prefetches the weight of some channels.
    fn fetch(&self, group: usize, block: Block, channels: Range<usize>) {
        let (first, made, read, tap) = self.weight_steps(group);
        let taps: usize = self.geometry.kernel.iter().product();
        let from = self.weight.as_ptr().wrapping_add(first + block.first * made + channels.start * read);
        match () {
            // The elements of a channel are adjacent within each filter, or those of a filter within each channel.
            _ if tap == 1 && read == taps => memory::prefetch(from, block.count, made, channels.len() * read),
            _ if tap == 1 && made == taps => memory::prefetch(from, channels.len(), read, block.count * made),
            _ => {}
        }
    }

    /// Packs the weight: writes a row of factors for each kernel element of a phase in each of some channels.
    ///
    /// # Safety
    /// The target must have room for a row of `wide` elements for each.
    pub(super) unsafe fn pack(
        &self,
        phase: &Phase,
        group: usize,
        block: Block,
        channels: Range<usize>,
        to: *mut E::Wide,
        wide: usize,
    ) {
        let (first, made, read, tap) = self.weight_steps(group);
        let taps = phase.taps.len();
        let from = self.weight.as_ptr().wrapping_add(first + block.first * made);
        let in_order = phase.taps.iter().enumerate().all(|(i, tap)| tap.1 == i);
        // SAFETY: the indices lie within the weight, and the caller guarantees the rows.
        unsafe {
            if in_order && tap == 1 && read == taps {
                let from = from.add(channels.start * read);
                return memory::transpose_in((channels.len() * taps, block.count), (from, made), (to, wide));
            }
            for (i, channel) in channels.enumerate() {
                for (j, (_, number)) in phase.taps.iter().enumerate() {
                    let (from, to) = (from.add(channel * read + number * tap), to.add((i * taps + j) * wide));
                    for f in 0..block.count {
                        to.add(f).write(from.add(f * made).read().widen());
                    }
                    to.add(block.count).write_bytes(0, wide - block.count);
                }
            }
        }
    }
}

/// The number of tasks that pack the channels of a block.
fn even_parts(channels: usize) -> usize {
    channels.div_ceil(64).min(8)
}

/// The input of a task: some images of one group, and a range of their pixels.
struct Piece<T> {
    images: usize,
    range: Range<usize>,
    /// The first channel of the first image.
    x: *const T,
    image_step: usize,
    group: usize,
}

impl<T> Piece<T> {
    /// The windows of a phase within the range, in all images.
    fn spots(&self, phase: &Phase) -> Vec<Spot> {
        let first = phase.spots.partition_point(|spot| spot.row < self.range.start);
        let last = phase.spots.partition_point(|spot| spot.row < self.range.end);
        let mut all = Vec::with_capacity((last - first) * self.images);
        for image in 0..self.images {
            let base = image * self.range.len();
            all.extend(phase.spots[first..last].iter().map(|spot| Spot {
                from: spot.from + image * self.image_step,
                row: spot.row - self.range.start + base,
            }));
        }
        all
    }
}
