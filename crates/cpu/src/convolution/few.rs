//! Convolutions that make few channels of a group, such as depthwise ones: vectors run along rows of pixels, not along channels.

use super::images::Images;
use super::memory::{Buffer, Stored};
use super::tile::Spot;
use super::{Block, RUN, Vector, even_run};
use crate::pointwise::Shared;
use crate::simd::{Set, Work, collect};
use forerun_base::Team;
use std::marker::PhantomData;

/// Multiply-adds of a piece of work, about.
const PIECE: usize = 1 << 20;
/// Vectors of pixels that are computed together.
const MOST: usize = 4;

/// Windows side by side: where the first begins, the pixel it gives, and how many there are.
struct Segment {
    from: usize,
    row: usize,
    count: usize,
}

/// Windows that follow each other in the data, and whose pixels are `step` apart.
fn segments(spots: &[Spot], step: usize) -> Vec<Segment> {
    let mut all: Vec<Segment> = Vec::new();
    for spot in spots {
        match all.last_mut() {
            Some(last) if spot.from == last.from + last.count && spot.row == last.row + last.count * step => {
                last.count += 1;
            }
            _ => all.push(Segment { from: spot.from, row: spot.row, count: 1 }),
        }
    }
    all
}

/// A run of products for all windows of a phase and one channel that is made.
///
/// # Safety
/// Whoever makes it promises: `x` reaches every window and [`MOST`] vectors more, `factors` has an element for every offset, `apart`
/// from the last, and `sums` has every pixel.
struct Rows<'a, T, V> {
    x: *const T,
    segments: &'a [Segment],
    step: usize,
    offsets: &'a [usize],
    factors: *const T,
    apart: usize,
    sums: *mut T,
    adds: bool,
    kind: PhantomData<V>,
}

impl<V: Vector> Work for Rows<'_, V::Elem, V> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        for segment in self.segments {
            let mut at = 0;
            while at < segment.count {
                let count = (segment.count - at).min(MOST * V::LANES);
                let (from, row) = (segment.from + at, segment.row + at * self.step);
                // SAFETY: whoever made it promised the elements, and the features of the set.
                unsafe {
                    match count.div_ceil(V::LANES) {
                        1 => self.tile::<1>(from, row, count),
                        2 => self.tile::<2>(from, row, count),
                        3 => self.tile::<3>(from, row, count),
                        _ => self.tile::<MOST>(from, row, count),
                    }
                }
                at += count;
            }
        }
    }
}

impl<V: Vector> Rows<'_, V::Elem, V> {
    /// # Safety
    /// As for the whole; so many windows from here on fit `N` vectors.
    #[inline(always)]
    unsafe fn tile<const N: usize>(&self, from: usize, row: usize, count: usize) {
        // SAFETY: the caller promises the elements.
        unsafe {
            let x = self.x.add(from);
            let mut sums = [V::constant(0.0); N];
            let mut factor = self.factors;
            for offset in self.offsets {
                let (with, x) = (V::splat(*factor), x.add(*offset));
                let held: [V; N] = collect(|v| V::load(x.add(v * V::LANES)));
                for v in 0..N {
                    sums[v] = held[v].mul_add(with, sums[v]);
                }
                factor = factor.wrapping_add(self.apart);
            }
            for (v, sum) in sums.iter().enumerate() {
                let left = (count - v * V::LANES).min(V::LANES);
                let to = self.sums.add(row + v * V::LANES * self.step);
                if self.step == 1 && left == V::LANES {
                    let sum = if self.adds { V::load(to).add(*sum) } else { *sum };
                    sum.store(to);
                } else {
                    let mut lanes = [V::Elem::default(); 32];
                    let mut before = lanes;
                    if self.adds {
                        (0..left).for_each(|i| before[i] = *to.add(i * self.step));
                    }
                    V::load(before.as_ptr()).add(*sum).store(lanes.as_mut_ptr());
                    (0..left).for_each(|i| to.add(i * self.step).write(lanes[i]));
                }
            }
        }
    }
}

impl<E: Stored> Images<'_, E> {
    /// Computes it into `to`, for few channels that are made.
    pub(super) fn run_few<S: Set, V: Vector<Elem = E::Wide>>(&self, set: S, to: &mut [E], team: &dyn Team) {
        let g = &self.geometry;
        let (channels, made) = self.channels();
        let (pixels, plane) = (self.pixels(), self.phases.padded.plane());
        let step = if self.transposed { g.stride[2] } else { 1 };
        let block = Block { first: 0, count: made, vectors: 1 };
        // The windows of each phase, the offsets of a run of channels, and how many channels that is.
        let phases: Vec<(Vec<Segment>, Vec<usize>, usize)> = (self.phases.all.iter())
            .map(|phase| {
                let run = even_run(channels, RUN / phase.taps.len().max(1));
                let offsets = (0..run).flat_map(|c| phase.taps.iter().map(move |tap| c * plane + tap.0)).collect();
                (segments(&phase.spots, step), offsets, run)
            })
            .collect();
        let deepest = phases.iter().map(|phase| phase.1.len()).max().unwrap_or(0);
        let total = g.batch * g.groups;
        let together = (PIECE / (g.work() / total).max(1)).clamp(1, total);
        let target = Shared(to.as_mut_ptr());
        team.split(total.div_ceil(together), &|piece| {
            let beyond = (MOST + 1) * V::LANES;
            let mut x = Buffer::take::<E::Wide>(channels * plane + beyond);
            let mut sums = Buffer::take::<E::Wide>(made * pixels);
            let mut factors = Buffer::take::<E::Wide>(deepest * made);
            let (x, sums, factors) = (x.first::<E::Wide>(), sums.first::<E::Wide>(), factors.first::<E::Wide>());
            for i in piece * together..total.min((piece + 1) * together) {
                let (image, group) = (i / g.groups, i % g.groups);
                // SAFETY: planes of the group and what follows them; all-zero bits are the float zero.
                unsafe {
                    self.pad::<S, V>(set, image, group, x);
                    x.add(channels * plane).write_bytes(0, beyond);
                }
                for (phase, (segments, offsets, run)) in self.phases.all.iter().zip(&phases) {
                    for first in (0..channels).step_by(*run) {
                        let count = (*run).min(channels - first);
                        // SAFETY: a line of factors for each product of the run.
                        unsafe { self.pack(phase, group, block, first..first + count, factors, made) };
                        for f in 0..made {
                            let rows = Rows::<E::Wide, V> {
                                x: x.cast_const().wrapping_add(first * plane),
                                segments,
                                step,
                                offsets: &offsets[..count * phase.taps.len()],
                                factors: factors.cast_const().wrapping_add(f),
                                apart: made,
                                sums: sums.wrapping_add(f * pixels),
                                adds: first > 0,
                                kind: PhantomData,
                            };
                            set.vectorize(rows);
                        }
                    }
                }
                let (all, channel) = (made * g.groups, group * made);
                for f in 0..made {
                    for pixel in 0..pixels {
                        let place =
                            if g.channels_last { pixel * all + channel + f } else { (channel + f) * pixels + pixel };
                        // SAFETY: a pixel of an image that is no other piece's.
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
