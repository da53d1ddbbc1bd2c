//! Pooling. Half floats are computed in single precision and rounded once.
//!
//! Invariant: an image is one thread's, and each window is reduced in the order of its elements; so the bits do not depend on the team.

use crate::convolution::Stored;
use crate::pointwise::Shared;
use crate::routine::call::{Args, Body, HostKernel};
use crate::simd::{Set, Work, by_set};
use forerun_base::{BFloat16, DType, Float16, Result, Team};
use forerun_ops::Pooling;
use forerun_ops::pooling::{Pool, Span, Windows};
use forerun_plan::RoutineCall;
use std::ops::{Add, Mul};

/// Elements of a piece of work, about.
const PIECE: usize = 1 << 15;

impl HostKernel for Pooling {
    fn body(&self) -> Body {
        match self {
            Pooling::Max => |args, team| run(Pooling::Max, args, team),
            Pooling::MaxBack => |args, team| run(Pooling::MaxBack, args, team),
            Pooling::Average => |args, team| run(Pooling::Average, args, team),
            Pooling::AverageBack => |args, team| run(Pooling::AverageBack, args, team),
        }
    }

    fn scratch(&self, call: &RoutineCall, threads: usize) -> usize {
        let windows = windows(*self, call);
        let spans: usize = windows.spans.iter().map(Vec::len).sum();
        // Lists of windows, and a line of sums and of places for each thread; halves are added up in an image of their own.
        let image = windows.input.iter().product::<usize>().saturating_mul(windows.inner);
        spans.saturating_mul(48).saturating_add(image.saturating_mul(16).saturating_mul(threads))
    }
}

fn windows(kind: Pooling, call: &RoutineCall) -> Windows {
    kind.windows(&call.inputs, &call.attributes::<Pool>()).expect("inference accepted the call")
}

fn run(kind: Pooling, args: &Args<'_>, team: &dyn Team) -> Result<()> {
    match args.dtype(0) {
        DType::F32 => each::<f32>(kind, args, team),
        DType::F64 => each::<f64>(kind, args, team),
        DType::F16 => each::<Float16>(kind, args, team),
        DType::BF16 => each::<BFloat16>(kind, args, team),
        dtype => unreachable!("inference refuses {dtype}"),
    }
    Ok(())
}

/// An element of an image.
trait Pixel: Stored<Wide: PartialOrd + Mul<Output = Self::Wide>> {
    /// One over a count.
    fn inverse(count: usize) -> Self::Wide;
}

macro_rules! pixels {
    ($($type:ty)*) => { $(impl Pixel for $type {
        #[inline(always)]
        fn inverse(count: usize) -> Self::Wide { 1.0 / count as Self::Wide }
    })* };
}

pixels!(f32 f64 Float16 BFloat16);

fn each<E: Pixel>(kind: Pooling, args: &Args<'_>, team: &dyn Team) {
    let windows = windows(kind, args.call);
    let pool = args.call.attributes::<Pool>();
    let (input, output) =
        (windows.input.iter().product::<usize>(), windows.spans.iter().map(Vec::len).product::<usize>());
    let (large, small) = (input * windows.inner, output * windows.inner);
    let first = args.input::<E>(0);
    let keys = if args.call.inputs.len() > 1 { args.input::<E>(1) } else { first };
    let to = args.output::<E>();
    if to.is_empty() {
        return;
    }
    let (from_size, to_size) = match kind {
        Pooling::Max | Pooling::Average => (large, small),
        Pooling::MaxBack | Pooling::AverageBack => (small, large),
    };
    let together = (PIECE / large.max(1)).max(1);
    let target = Shared(to.as_mut_ptr());
    let (windows, divides, isa) = (&windows, pool.divisor > 0, args.isa);
    team.split(windows.outer.div_ceil(together), &|piece| {
        for image in piece * together..windows.outer.min((piece + 1) * together) {
            // SAFETY: an image of the result, which is no other piece's.
            let to = unsafe { std::slice::from_raw_parts_mut(target.get().add(image * to_size), to_size) };
            let from = &first[image * from_size..(image + 1) * from_size];
            let keys = if kind == Pooling::Max || kind == Pooling::MaxBack {
                &keys[image * large..(image + 1) * large]
            } else {
                from
            };
            let work = Image { kind, windows, from, keys, to, divides };
            by_set!(isa, set => set.vectorize(work));
        }
    });
}

/// One image: all of its channels if they are last, else one.
struct Image<'a, E> {
    kind: Pooling,
    windows: &'a Windows,
    from: &'a [E],
    keys: &'a [E],
    to: &'a mut [E],
    divides: bool,
}

impl<E: Pixel> Work for Image<'_, E> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        match (self.kind, self.windows.inner) {
            (Pooling::Max, 1) if std::ptr::eq(self.from, self.keys) => self.max_rows(),
            (Pooling::Max, 1) => self.max::<1>(),
            (Pooling::Max, _) => self.max::<0>(),
            (Pooling::MaxBack, 1) => self.max_back::<1>(),
            (Pooling::MaxBack, _) => self.max_back::<0>(),
            (Pooling::Average, 1) => self.average_rows(),
            (Pooling::Average, _) => self.average(),
            (Pooling::AverageBack, 1) => self.average_back_rows(),
            (Pooling::AverageBack, _) => self.average_back(),
        }
    }
}

/// A window in all three axes.
type Box3 = [Span; 3];

impl<E: Pixel> Image<'_, E> {
    /// Channels that lie together; known when this is compiled if it is one.
    #[inline(always)]
    fn inner<const ONE: usize>(&self) -> usize {
        if ONE == 1 { 1 } else { self.windows.inner }
    }

    /// The element that a window of one channel has its largest key at.
    #[inline(always)]
    fn largest<const ONE: usize>(&self, [d, h, w]: Box3, channel: usize) -> usize {
        let ([_, height, width], inner) = (self.windows.input, self.inner::<ONE>());
        let place = |d: usize, h: usize, w: usize| ((d * height + h) * width + w) * inner + channel;
        let mut best = place(d.begin, h.begin, w.begin);
        let mut most = self.keys[best].widen();
        for d in d.begin..d.end {
            for h in h.begin..h.end {
                let first = place(d, h, w.begin);
                let row = &self.keys[first..place(d, h, w.end - 1) + 1];
                for (i, key) in row.iter().step_by(inner).enumerate() {
                    let key = key.widen();
                    if is_larger(key, most) {
                        (best, most) = (first + i * inner, key);
                    }
                }
            }
        }
        best
    }

    #[inline(always)]
    fn max<const ONE: usize>(self) {
        let inner = self.inner::<ONE>();
        let mut made = 0;
        for d in &self.windows.spans[0] {
            for h in &self.windows.spans[1] {
                for w in &self.windows.spans[2] {
                    for channel in 0..inner {
                        self.to[made] = self.from[self.largest::<ONE>([*d, *h, *w], channel)];
                        made += 1;
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn max_back<const ONE: usize>(self) {
        let inner = self.inner::<ONE>();
        let mut sums = Sums::new(self.to.len());
        let mut from = 0;
        for d in &self.windows.spans[0] {
            for h in &self.windows.spans[1] {
                for w in &self.windows.spans[2] {
                    for channel in 0..inner {
                        let at = self.largest::<ONE>([*d, *h, *w], channel);
                        sums.0[at] = sums.0[at] + self.from[from].widen();
                        from += 1;
                    }
                }
            }
        }
        sums.write(self.to);
    }

    /// What a window is multiplied by.
    #[inline(always)]
    fn share(&self, [d, h, w]: Box3) -> E::Wide {
        E::inverse(if self.divides { d.count * h.count * w.count } else { 1 })
    }

    #[inline(always)]
    fn average(self) {
        let ([_, height, width], inner) = (self.windows.input, self.windows.inner);
        let mut line = vec![E::Wide::default(); inner];
        let mut made = 0;
        for d in &self.windows.spans[0] {
            for h in &self.windows.spans[1] {
                for w in &self.windows.spans[2] {
                    line.fill(E::Wide::default());
                    for d in d.begin..d.end {
                        for h in h.begin..h.end {
                            for w in w.begin..w.end {
                                let at = ((d * height + h) * width + w) * inner;
                                for (sum, x) in line.iter_mut().zip(&self.from[at..at + inner]) {
                                    *sum = *sum + x.widen();
                                }
                            }
                        }
                    }
                    let share = self.share([*d, *h, *w]);
                    for (to, sum) in self.to[made..made + inner].iter_mut().zip(&line) {
                        *to = E::round(*sum * share);
                    }
                    made += inner;
                }
            }
        }
    }

    #[inline(always)]
    fn average_back(self) {
        let ([_, height, width], inner) = (self.windows.input, self.windows.inner);
        let mut sums = Sums::new(self.to.len());
        let mut from = 0;
        for d in &self.windows.spans[0] {
            for h in &self.windows.spans[1] {
                for w in &self.windows.spans[2] {
                    let share = self.share([*d, *h, *w]);
                    let grad = &self.from[from..from + inner];
                    for d in d.begin..d.end {
                        for h in h.begin..h.end {
                            for w in w.begin..w.end {
                                let at = ((d * height + h) * width + w) * inner;
                                for (sum, grad) in sums.0[at..at + inner].iter_mut().zip(grad) {
                                    *sum = *sum + grad.widen() * share;
                                }
                            }
                        }
                    }
                    from += inner;
                }
            }
        }
        sums.write(self.to);
    }
}

impl<E: Pixel> Image<'_, E> {
    /// Rows that a window covers, one after another.
    #[inline(always)]
    fn rows(&self, d: Span, h: Span) -> impl Iterator<Item = usize> + use<E> {
        let [_, height, width] = self.windows.input;
        (d.begin..d.end).flat_map(move |d| (h.begin..h.end).map(move |h| (d * height + h) * width))
    }

    /// The maximum of each window of adjacent pixels: of columns first, so that rows are read in vectors.
    #[inline(always)]
    fn max_rows(self) {
        let width = self.windows.input[2];
        let mut line = vec![E::Wide::default(); width];
        let mut made = 0;
        for d in &self.windows.spans[0] {
            for h in &self.windows.spans[1] {
                for (i, first) in self.rows(*d, *h).enumerate() {
                    for (most, x) in line.iter_mut().zip(&self.from[first..first + width]) {
                        let x = x.widen();
                        *most = if i == 0 || is_larger(x, *most) { x } else { *most };
                    }
                }
                for w in &self.windows.spans[2] {
                    let window = &line[w.begin..w.end];
                    let larger = |most: E::Wide, x: &E::Wide| if is_larger(*x, most) { *x } else { most };
                    self.to[made] = E::round(window[1..].iter().fold(window[0], larger));
                    made += 1;
                }
            }
        }
    }

    /// The same for sums.
    #[inline(always)]
    fn average_rows(self) {
        let width = self.windows.input[2];
        let mut line = vec![E::Wide::default(); width];
        let mut made = 0;
        for d in &self.windows.spans[0] {
            for h in &self.windows.spans[1] {
                line.fill(E::Wide::default());
                for first in self.rows(*d, *h) {
                    for (sum, x) in line.iter_mut().zip(&self.from[first..first + width]) {
                        *sum = *sum + x.widen();
                    }
                }
                for w in &self.windows.spans[2] {
                    let sum = line[w.begin..w.end].iter().fold(E::Wide::default(), |sum, x| sum + *x);
                    self.to[made] = E::round(sum * self.share([*d, *h, *w]));
                    made += 1;
                }
            }
        }
    }

    /// What flows back to adjacent pixels: a row of windows is spread once, and added to every row it covers.
    #[inline(always)]
    fn average_back_rows(self) {
        let width = self.windows.input[2];
        let mut sums = Sums::new(self.to.len());
        let mut line = vec![E::Wide::default(); width];
        let mut from = self.from.iter();
        for d in &self.windows.spans[0] {
            for h in &self.windows.spans[1] {
                line.fill(E::Wide::default());
                for (w, grad) in self.windows.spans[2].iter().zip(&mut from) {
                    let grad = grad.widen() * self.share([*d, *h, *w]);
                    line[w.begin..w.end].iter_mut().for_each(|sum| *sum = *sum + grad);
                }
                for first in self.rows(*d, *h) {
                    for (sum, grad) in sums.0[first..first + width].iter_mut().zip(&line) {
                        *sum = *sum + *grad;
                    }
                }
            }
        }
        sums.write(self.to);
    }
}

/// Whether a key is larger than the largest before it; what is no number is larger than all that are.
#[inline(always)]
#[expect(clippy::eq_op, reason = "NaN differs from itself")]
fn is_larger<T: PartialOrd>(key: T, most: T) -> bool {
    key > most || (key != key && most == most)
}

/// Sums of an image, rounded once when all are there.
struct Sums<T>(Vec<T>);

impl<T: Copy + Default + Add<Output = T>> Sums<T> {
    fn new(count: usize) -> Sums<T> {
        Sums(vec![T::default(); count])
    }

    #[inline(always)]
    fn write<E: Stored<Wide = T>>(self, to: &mut [E]) {
        to.iter_mut().zip(self.0).for_each(|(to, sum)| *to = E::round(sum));
    }
}
