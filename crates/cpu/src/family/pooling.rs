//! Pooling. Half floats are computed in single precision and rounded once.
//!
//! Invariant: one thread computes an image, and reduces each window in the order of its elements. The bits therefore do
//! not depend on the number of threads.

use crate::convolution::Stored;
use crate::pointwise::Shared;
use crate::routine::call::{Args, Body, HostKernel};
use crate::simd::{Set, Work, by_set};
use forerun_base::{BFloat16, DType, Float16, Result, Team};
use forerun_ops::Pooling;
use forerun_ops::pooling::{Pool, Span, Windows};
use forerun_plan::RoutineCall;
use std::ops::{Add, Mul};

/// The approximate number of elements of a task.
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
        // Lists of windows, and for each thread a row of sums and of positions. Half floats are summed in a separate
        // image.
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
    /// The reciprocal of a count.
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
        let images = piece * together..windows.outer.min((piece + 1) * together);
        // SAFETY: no other task writes these images of the result.
        let to =
            unsafe { std::slice::from_raw_parts_mut(target.get().add(images.start * to_size), images.len() * to_size) };
        let from = &first[images.start * from_size..images.end * from_size];
        let keys = match kind {
            Pooling::Max | Pooling::MaxBack => &keys[images.start * large..images.end * large],
            Pooling::Average | Pooling::AverageBack => from,
        };
        let work = Images { kind, windows, from, keys, to, images: images.len(), divides };
        by_set!(isa, set => set.vectorize(work));
    });
}

/// The images of a task.
struct Images<'a, E> {
    kind: Pooling,
    windows: &'a Windows,
    from: &'a [E],
    keys: &'a [E],
    to: &'a mut [E],
    images: usize,
    divides: bool,
}

impl<E: Pixel> Work for Images<'_, E> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        let (kind, windows) = (self.kind, self.windows);
        let (from, keys, to) =
            (self.from.len() / self.images, self.keys.len() / self.images, self.to.len() / self.images);
        let mut shares = Shares { divides: self.divides, rows: 0, each: Vec::new() };
        let is_max_of_itself = std::ptr::eq(self.from, self.keys);
        for (i, to) in self.to.chunks_exact_mut(to).enumerate() {
            let (from, keys) = (&self.from[i * from..(i + 1) * from], &self.keys[i * keys..(i + 1) * keys]);
            let image = Image { windows, from, keys, to };
            match (kind, windows.inner) {
                (Pooling::Max, 1) if is_max_of_itself => image.max_rows(),
                (Pooling::Max, 1) => image.max::<1>(),
                (Pooling::Max, _) => image.max::<0>(),
                (Pooling::MaxBack, 1) => image.max_back::<1>(),
                (Pooling::MaxBack, _) => image.max_back::<0>(),
                (Pooling::Average, 1) => image.average_rows(&mut shares),
                (Pooling::Average, _) => image.average(&mut shares),
                (Pooling::AverageBack, 1) => image.average_back_rows(&mut shares),
                (Pooling::AverageBack, _) => image.average_back(&mut shares),
            }
        }
    }
}

/// One image: with all of its channels if they are the last axis, otherwise one channel.
struct Image<'a, E> {
    windows: &'a Windows,
    from: &'a [E],
    keys: &'a [E],
    to: &'a mut [E],
}

/// The factors of the sums of a row of windows.
struct Shares<T> {
    divides: bool,
    /// The number of rows of input that the windows cover; 0 before the first row of windows.
    rows: usize,
    each: Vec<T>,
}

impl<T: Copy> Shares<T> {
    /// The factors for windows that cover these spans of the other axes.
    #[inline(always)]
    fn of<E: Pixel<Wide = T>>(&mut self, d: Span, h: Span, row: &[Span]) -> &[T] {
        let rows = d.count * h.count;
        if rows != self.rows {
            self.rows = rows;
            self.each.clear();
            self.each.extend(row.iter().map(|w| E::inverse(if self.divides { rows * w.count } else { 1 })));
        }
        &self.each
    }
}

/// A window in all three axes.
type Box3 = [Span; 3];

impl<E: Pixel> Image<'_, E> {
    /// The number of adjacent channels; a constant if it is one.
    #[inline(always)]
    fn inner<const ONE: usize>(&self) -> usize {
        if ONE == 1 { 1 } else { self.windows.inner }
    }

    /// The position of the largest key of a window in one channel.
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

    #[inline(always)]
    fn average(self, shares: &mut Shares<E::Wide>) {
        let ([_, height, width], inner) = (self.windows.input, self.windows.inner);
        let mut line = vec![E::Wide::default(); inner];
        let mut made = 0;
        for d in &self.windows.spans[0] {
            for h in &self.windows.spans[1] {
                let shares = shares.of::<E>(*d, *h, &self.windows.spans[2]);
                for (w, share) in self.windows.spans[2].iter().zip(shares) {
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
                    for (to, sum) in self.to[made..made + inner].iter_mut().zip(&line) {
                        *to = E::round(*sum * *share);
                    }
                    made += inner;
                }
            }
        }
    }

    #[inline(always)]
    fn average_back(self, shares: &mut Shares<E::Wide>) {
        let ([_, height, width], inner) = (self.windows.input, self.windows.inner);
        let mut sums = Sums::new(self.to.len());
        let mut from = 0;
        for d in &self.windows.spans[0] {
            for h in &self.windows.spans[1] {
                let shares = shares.of::<E>(*d, *h, &self.windows.spans[2]);
                for (w, share) in self.windows.spans[2].iter().zip(shares) {
                    let grad = &self.from[from..from + inner];
                    for d in d.begin..d.end {
                        for h in h.begin..h.end {
                            for w in w.begin..w.end {
                                let at = ((d * height + h) * width + w) * inner;
                                for (sum, grad) in sums.0[at..at + inner].iter_mut().zip(grad) {
                                    *sum = *sum + grad.widen() * *share;
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
    /// The offsets of the rows that a window covers.
    #[inline(always)]
    fn rows(windows: &Windows, d: Span, h: Span) -> impl Iterator<Item = usize> + use<E> {
        let [_, height, width] = windows.input;
        (d.begin..d.end).flat_map(move |d| (h.begin..h.end).map(move |h| (d * height + h) * width))
    }

    /// The maximum of each window of adjacent pixels. It reduces over rows first, so that rows are read as vectors.
    #[inline(always)]
    fn max_rows(self) {
        let width = self.windows.input[2];
        let mut line = vec![E::Wide::default(); width];
        let mut made = 0;
        for d in &self.windows.spans[0] {
            for h in &self.windows.spans[1] {
                for (i, first) in Self::rows(self.windows, *d, *h).enumerate() {
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

    /// Whether the windows of a row are adjacent pairs of pixels.
    fn has_pairs(&self) -> bool {
        self.windows.spans[2].iter().enumerate().all(|(i, w)| (w.begin, w.end) == (2 * i, 2 * i + 2))
    }

    /// The mean of each window of adjacent pixels, in the same way.
    #[inline(always)]
    fn average_rows(self, shares: &mut Shares<E::Wide>) {
        let (width, row, pairs) = (self.windows.input[2], &self.windows.spans[2], self.has_pairs());
        let mut line = vec![E::Wide::default(); width];
        let mut to = self.to.chunks_exact_mut(row.len());
        for d in &self.windows.spans[0] {
            for h in &self.windows.spans[1] {
                line.fill(E::Wide::default());
                for first in Self::rows(self.windows, *d, *h) {
                    for (sum, x) in line.iter_mut().zip(&self.from[first..first + width]) {
                        *sum = *sum + x.widen();
                    }
                }
                let to = to.next().into_iter().flatten().zip(shares.of::<E>(*d, *h, row));
                if pairs {
                    // Pairs of known size become vector instructions.
                    for ((to, share), pair) in to.zip(line.as_chunks::<2>().0) {
                        *to = E::round((E::Wide::default() + pair[0] + pair[1]) * *share);
                    }
                } else {
                    for ((to, share), w) in to.zip(row) {
                        let sum = line[w.begin..w.end].iter().fold(E::Wide::default(), |sum, x| sum + *x);
                        *to = E::round(sum * *share);
                    }
                }
            }
        }
    }

    /// The gradient of adjacent pixels: expands the gradients of a row of windows once and adds them to every row that
    /// the windows cover.
    #[inline(always)]
    fn average_back_rows(self, shares: &mut Shares<E::Wide>) {
        let (width, row, pairs) = (self.windows.input[2], &self.windows.spans[2], self.has_pairs());
        let mut sums = Sums::new(self.to.len());
        let mut line = vec![E::Wide::default(); width];
        let mut from = self.from.chunks_exact(row.len());
        for d in &self.windows.spans[0] {
            for h in &self.windows.spans[1] {
                line.fill(E::Wide::default());
                let from = from.next().into_iter().flatten().zip(shares.of::<E>(*d, *h, row));
                if pairs {
                    for ((grad, share), pair) in from.zip(line.as_chunks_mut::<2>().0) {
                        *pair = [E::Wide::default() + grad.widen() * *share; 2];
                    }
                } else {
                    for ((grad, share), w) in from.zip(row) {
                        let grad = grad.widen() * *share;
                        line[w.begin..w.end].iter_mut().for_each(|sum| *sum = *sum + grad);
                    }
                }
                for first in Self::rows(self.windows, *d, *h) {
                    for (sum, grad) in sums.0[first..first + width].iter_mut().zip(&line) {
                        *sum = *sum + *grad;
                    }
                }
            }
        }
        sums.write(self.to);
    }
}

/// Whether a key is larger than the largest one so far; NaN is larger than every number.
#[inline(always)]
#[expect(clippy::eq_op, reason = "NaN differs from itself")]
pub(crate) fn is_larger<T: PartialOrd>(key: T, most: T) -> bool {
    key > most || (key != key && most == most)
}

/// Sums of an image in the type of the computation, rounded once at the end.
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
