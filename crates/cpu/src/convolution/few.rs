//! Convolutions with few output channels per group, such as depthwise ones. Vectors hold adjacent pixels of a row, not
//! channels.
//!
//! The sums of up to six channels by several vectors of pixels stay in registers. Each sum adds the products of a run in
//! the same order as the tiles of the other layout, so both give the same bits.

use super::images::Images;
use super::memory::{self, Buffer, Stored};
use super::phases::Phase;
use super::tile::Spot;
use super::{Block, RUN, Vector, even_run};
use crate::pointwise::Shared;
use crate::simd::{Set, Work, collect};
use forerun_base::Team;
use std::marker::PhantomData;

/// The approximate number of multiply-adds of a task.
const PIECE: usize = 1 << 20;
/// The number of channels that a tile has at most.
const CHANNELS: usize = 6;

/// A vector of adjacent windows: the offset of the first in the data, the pixel that it computes, and their number.
struct Pixels {
    from: usize,
    row: usize,
    count: usize,
}

/// Divides windows into vectors: those of a vector are adjacent in the data, and their pixels are `step` apart.
fn vectors(spots: &[Spot], step: usize, lanes: usize) -> Vec<Pixels> {
    let mut all: Vec<Pixels> = Vec::with_capacity(spots.len().div_ceil(lanes));
    for spot in spots {
        match all.last_mut() {
            Some(last)
                if last.count < lanes
                    && spot.from == last.from + last.count
                    && spot.row == last.row + last.count * step =>
            {
                last.count += 1;
            }
            _ => all.push(Pixels { from: spot.from, row: spot.row, count: 1 }),
        }
    }
    all
}

/// One run of products, for all windows of a phase and all output channels of a group.
///
/// # Safety
/// The constructor guarantees that `x` is readable for a whole vector at every window and offset, that `factors` has a
/// row of `channels` factors for every offset, and that `sums` has `pixels` elements for every channel.
struct Rows<'a, T, V> {
    x: *const T,
    vectors: &'a [Pixels],
    /// The distance of adjacent windows in the result.
    step: usize,
    offsets: &'a [usize],
    factors: *const T,
    channels: usize,
    sums: *mut T,
    pixels: usize,
    /// Whether to add to the sums instead of overwriting them.
    adds: bool,
    kind: PhantomData<V>,
}

impl<V: Vector> Work for Rows<'_, V::Elem, V> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        let together = even_run(self.channels, CHANNELS);
        for first in (0..self.channels).step_by(together) {
            // At most twelve sums: with their operands they fit sixteen registers.
            // SAFETY: the constructor guarantees the elements, and the caller the processor features.
            unsafe {
                match together.min(self.channels - first) {
                    1 => self.all::<1, 8>(first),
                    2 => self.all::<2, 6>(first),
                    3 => self.all::<3, 4>(first),
                    4 => self.all::<4, 3>(first),
                    5 => self.all::<5, 2>(first),
                    _ => self.all::<CHANNELS, 2>(first),
                }
            }
        }
    }
}

impl<V: Vector> Rows<'_, V::Elem, V> {
    /// Computes `C` channels, in tiles of `N` vectors.
    ///
    /// # Safety
    /// As for [`Rows`], which has the channels from `first` on.
    #[inline(always)]
    unsafe fn all<const C: usize, const N: usize>(&self, first: usize) {
        for vectors in self.vectors.chunks(N) {
            // A tile with fewer vectors computes the last one several times, and stores it once.
            let last = vectors.len() - 1;
            // SAFETY: the constructor guarantees the elements.
            unsafe {
                let x: [*const V::Elem; N] = collect(|v| self.x.add(vectors[v.min(last)].from));
                let sums = self.tile::<C, N>(x, self.factors.add(first));
                for (c, sums) in sums.iter().enumerate() {
                    let to = self.sums.add((first + c) * self.pixels);
                    for (vector, sum) in vectors.iter().zip(sums) {
                        self.store(*sum, to.add(vector.row), vector.count);
                    }
                }
            }
        }
    }

    /// # Safety
    /// As for [`Rows`]; the pointers are those of `N` vectors, and `factors` is the first factor of `C` channels.
    #[inline(always)]
    unsafe fn tile<const C: usize, const N: usize>(
        &self,
        x: [*const V::Elem; N],
        mut factors: *const V::Elem,
    ) -> [[V; N]; C] {
        let mut sums = [[V::constant(0.0); N]; C];
        for offset in self.offsets {
            // SAFETY: the caller guarantees the elements.
            unsafe {
                let held: [V; N] = collect(|v| V::load(x[v].add(*offset)));
                for (c, sums) in sums.iter_mut().enumerate() {
                    let with = V::splat(*factors.add(c));
                    for (sum, value) in sums.iter_mut().zip(&held) {
                        *sum = value.mul_add(with, *sum);
                    }
                }
            }
            factors = factors.wrapping_add(self.channels);
        }
        sums
    }

    /// Stores `count` sums, or adds them to those in memory.
    ///
    /// # Safety
    /// The pixels must be writable.
    #[inline(always)]
    unsafe fn store(&self, sum: V, to: *mut V::Elem, count: usize) {
        // SAFETY: as the caller guarantees.
        unsafe {
            if self.step == 1 && count == V::LANES {
                let sum = if self.adds { V::load(to).add(sum) } else { sum };
                sum.store(to);
            } else if self.step == 1 {
                let sum = if self.adds { V::load_first(to, count).add(sum) } else { sum };
                sum.store_first(to, count);
            } else {
                let mut lanes = [V::Elem::default(); 32];
                let mut before = lanes;
                if self.adds {
                    (0..count).for_each(|i| before[i] = *to.add(i * self.step));
                }
                V::load(before.as_ptr()).add(sum).store(lanes.as_mut_ptr());
                (0..count).for_each(|i| to.add(i * self.step).write(lanes[i]));
            }
        }
    }
}

/// A phase with its windows as vectors.
struct Lines<'a> {
    phase: &'a Phase,
    vectors: Vec<Pixels>,
    /// The offsets of a run of channels, and their number.
    offsets: Vec<usize>,
    run: usize,
    /// The position of its factors in the packed weight of a group.
    factors: usize,
}

impl<E: Stored> Images<'_, E> {
    /// Whether vectors of pixels need fewer instructions than vectors of channels.
    pub(super) fn has_few_channels(&self, lanes: usize) -> bool {
        let (g, made) = (&self.geometry, self.channels().1);
        if made * 4 <= lanes {
            return self.transposed || g.stride[2] == 1;
        }
        if made >= lanes || g.stride[2] != 1 {
            return false;
        }
        let pixel_vectors: usize = self.phases.all.iter().map(|phase| vectors(&phase.spots, 1, lanes).len()).sum();
        pixel_vectors * made * 5 <= self.pixels() * 4
    }

    /// Computes a convolution with few output channels into `to`.
    pub(super) fn run_few<S: Set, V: Vector<Elem = E::Wide>>(&self, set: S, to: &mut [E], team: &dyn Team) {
        let g = &self.geometry;
        let (channels, made) = self.channels();
        let (pixels, plane) = (self.pixels(), self.phases.padded.plane());
        let step = if self.transposed { g.stride[2] } else { 1 };
        let mut depth = 0;
        let lines: Vec<Lines<'_>> = (self.phases.all.iter())
            .map(|phase| {
                let run = even_run(channels, RUN / phase.taps.len().max(1));
                let offsets = (0..run).flat_map(|c| phase.taps.iter().map(move |tap| c * plane + tap.0)).collect();
                let factors = depth * made;
                depth += channels * phase.taps.len();
                Lines { phase, vectors: vectors(&phase.spots, step, V::LANES), offsets, run, factors }
            })
            .collect();
        let block = Block { first: 0, count: made, vectors: 1 };
        let mut packed = Buffer::take::<E::Wide>(g.groups * depth * made);
        let packed = Shared(packed.first::<E::Wide>());
        for group in 0..g.groups {
            for line in &lines {
                let to = packed.get().wrapping_add(group * depth * made + line.factors);
                // SAFETY: the buffer holds a row of factors for each kernel element of each channel.
                unsafe { self.pack(line.phase, group, block, 0..channels, to, made) };
            }
        }
        let total = g.batch * g.groups;
        let together = (PIECE / (g.work() / total).max(1)).clamp(1, total);
        // Sums of the result's type and layout need no buffer.
        let direct = memory::is_wide::<E>() && !g.channels_last;
        let target = Shared(to.as_mut_ptr());
        team.split(total.div_ceil(together), &|piece| {
            // A partial vector reads up to a vector beyond the last pixel.
            let beyond = 2 * V::LANES;
            let mut x = Buffer::take::<E::Wide>(channels * plane + beyond);
            let mut own = Buffer::take::<E::Wide>(if direct { 0 } else { made * pixels });
            let (x, own) = (x.first::<E::Wide>(), own.first::<E::Wide>());
            for i in piece * together..total.min((piece + 1) * together) {
                let (image, group) = (i / g.groups, i % g.groups);
                // SAFETY: the buffer holds the planes of the group and the padding after them; zero bytes are the float
                // 0.
                unsafe {
                    self.pad::<S, V>(set, image, group, x);
                    x.add(channels * plane).write_bytes(0, beyond);
                }
                let (all, channel) = (made * g.groups, group * made);
                let sums = if direct {
                    target.get().wrapping_add((image * all + channel) * pixels).cast::<E::Wide>()
                } else {
                    own
                };
                for line in &lines {
                    let (factors, taps) = (group * depth * made + line.factors, line.phase.taps.len());
                    for first in (0..channels).step_by(line.run) {
                        let count = line.run.min(channels - first);
                        let rows = Rows::<E::Wide, V> {
                            x: x.cast_const().wrapping_add(first * plane),
                            vectors: &line.vectors,
                            step,
                            offsets: &line.offsets[..count * taps],
                            factors: packed.get().cast_const().wrapping_add(factors + first * taps * made),
                            channels: made,
                            sums,
                            pixels,
                            adds: first > 0,
                            kind: PhantomData,
                        };
                        set.vectorize(rows);
                    }
                }
                for f in 0..if direct { 0 } else { made } {
                    for pixel in 0..pixels {
                        let place =
                            if g.channels_last { pixel * all + channel + f } else { (channel + f) * pixels + pixel };
                        // SAFETY: no other task writes this pixel.
                        unsafe {
                            let sum = sums.add(f * pixels + pixel).read();
                            target.get().add(image * all * pixels + place).write(E::round(sum));
                        }
                    }
                }
            }
        });
    }
}
