//! Batch normalisation: sums over channels, and one pass that applies them.
//!
//! Invariant: a channel's elements are added in runs of adjacent ones, in vectors, and the sums of runs in double precision in their
//! order; so the bits do not depend on the team.

use crate::pointwise::Shared;
use crate::routine::call::{Args, Body, Element, HostKernel};
use crate::simd::{Memory, Set, Work, by_set, collect};
use forerun_base::{DType, Result, Team};
use forerun_ops::batch_norm::Apply;
use forerun_ops::{BatchNorm, Num, NumFloat, NumSigned};
use forerun_plan::RoutineCall;
use std::marker::PhantomData;

/// Elements of a piece of work, about.
const PIECE: usize = 1 << 15;
/// The longest run of elements that are added in vectors, and the rows of channels that are.
const RUN: usize = 2048;
const ROWS: usize = 64;
/// Channels that are worked on together where they are the last axis.
const TOGETHER: usize = 64;

impl HostKernel for BatchNorm {
    fn body(&self) -> Body {
        match self {
            BatchNorm::Moments => |args, team| dispatch::<Moments>(args, team),
            BatchNorm::Apply => |args, team| dispatch::<Applied>(args, team),
            BatchNorm::Sums => |args, team| dispatch::<Sums>(args, team),
        }
    }

    fn scratch(&self, call: &RoutineCall, threads: usize) -> usize {
        // A scale for each channel, and sums of some.
        call.inputs[0].1.size().min(call.out.1.size()).saturating_mul(16).saturating_add(threads * TOGETHER * 64)
    }
}

/// A vector of floats that are numbers of their own.
trait Vector: NumFloat + Memory<Elem: Float> + 'static {}

impl<V: NumFloat + Memory<Elem: Float> + 'static> Vector for V {}

/// A float.
trait Float: Element + NumFloat {
    fn wide(self) -> f64;
    fn narrow(value: f64) -> Self;
}

impl Float for f32 {
    fn wide(self) -> f64 {
        f64::from(self)
    }
    fn narrow(value: f64) -> f32 {
        value as f32
    }
}

impl Float for f64 {
    fn wide(self) -> f64 {
        self
    }
    fn narrow(value: f64) -> f64 {
        value
    }
}

/// What is done with channels.
trait Kernel {
    fn run<S: Set, V: Vector>(set: S, args: &Args<'_>, team: &dyn Team);
}

fn dispatch<K: Kernel>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    fn of_set<S: Set<F32: 'static, F64: 'static>, K: Kernel>(set: S, args: &Args<'_>, team: &dyn Team) {
        match args.dtype(0) {
            DType::F32 => K::run::<S, S::F32>(set, args, team),
            DType::F64 => K::run::<S, S::F64>(set, args, team),
            dtype => unreachable!("inference refuses {dtype}"),
        }
    }
    by_set!(args.isa, set => of_set::<_, K>(set, args, team));
    Ok(())
}

/// What is added up of elements and what flows back: no closure, which might be compiled without the set's features.
trait Term<V>: Copy {
    fn of(self, grad: V, x: V) -> V;
}

/// What flows back, or the elements themselves.
#[derive(Clone, Copy)]
struct Plain;

/// Squares of what elements are off.
#[derive(Clone, Copy)]
struct SquareOff<V>(V);

/// What flows back, times what elements are off.
#[derive(Clone, Copy)]
struct TimesOff<V>(V);

impl<V: Vector> Term<V> for Plain {
    #[inline(always)]
    fn of(self, grad: V, _: V) -> V {
        grad
    }
}

impl<V: Vector> Term<V> for SquareOff<V> {
    #[inline(always)]
    fn of(self, _: V, x: V) -> V {
        let off = x.sub(self.0);
        off.mul(off)
    }
}

impl<V: Vector> Term<V> for TimesOff<V> {
    #[inline(always)]
    fn of(self, grad: V, x: V) -> V {
        grad.mul(x.sub(self.0))
    }
}

/// Adds up the terms of adjacent elements.
///
/// # Safety
/// Both must reach `count` elements.
#[inline(always)]
unsafe fn run_sum<V: Vector>(grad: *const V::Elem, x: *const V::Elem, count: usize, term: impl Term<V>) -> f64 {
    let mut sums = [V::constant(0.0); 4];
    let mut total = 0.0;
    let mut at = 0;
    // SAFETY: whole vectors, then what is left; the lanes of a vector fit the largest one.
    unsafe {
        while at + 4 * V::LANES <= count {
            for (j, sum) in sums.iter_mut().enumerate() {
                let at = at + j * V::LANES;
                *sum = sum.add(term.of(V::load(grad.add(at)), V::load(x.add(at))));
            }
            at += 4 * V::LANES;
        }
        while at + V::LANES <= count {
            sums[0] = sums[0].add(term.of(V::load(grad.add(at)), V::load(x.add(at))));
            at += V::LANES;
        }
        let mut lanes = [V::Elem::default(); 32];
        if at < count {
            let left = count - at;
            term.of(V::load_first(grad.add(at), left), V::load_first(x.add(at), left)).store(lanes.as_mut_ptr());
            for lane in &lanes[..left] {
                total += lane.wide();
            }
        }
        sums[0].add(sums[1]).add(sums[2].add(sums[3])).store(lanes.as_mut_ptr());
        for lane in &lanes[..V::LANES] {
            total += lane.wide();
        }
    }
    total
}

/// How the elements of channels lie: rows of `channels` runs of `inner` elements.
#[derive(Clone, Copy)]
struct Lie {
    rows: usize,
    channels: usize,
    inner: usize,
}

impl Lie {
    fn of(args: &Args<'_>) -> Lie {
        let (rows, channels, inner) = args.extents(0);
        Lie { rows, channels, inner }
    }

    /// How many channels a piece has.
    fn together(&self) -> usize {
        if self.inner == 1 { TOGETHER } else { (PIECE / (self.rows * self.inner)).clamp(1, self.channels) }
    }
}

/// Two sums for each of some channels, of which the second may depend on what the first gave.
struct Channels<'a, V: Memory> {
    lie: Lie,
    first: usize,
    count: usize,
    grad: &'a [V::Elem],
    x: &'a [V::Elem],
    /// Means, or none: then the first sum gives them, and the second is of squares.
    means: Option<&'a [V::Elem]>,
    to: *mut V::Elem,
    kind: PhantomData<V>,
}

impl<V: Vector> Work for Channels<'_, V> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        // SAFETY: the caller promises the features.
        if self.lie.inner == 1 { self.columns() } else { unsafe { self.runs() } }
    }
}

impl<V: Vector> Channels<'_, V> {
    #[inline(always)]
    fn write(&self, channel: usize, first: f64, second: f64) {
        // SAFETY: two rows of so many channels, and this one is no other piece's.
        unsafe {
            self.to.add(channel).write(V::Elem::narrow(first));
            self.to.add(self.lie.channels + channel).write(V::Elem::narrow(second));
        }
    }

    /// The sum of the terms of one channel.
    ///
    /// # Safety
    /// The processor must have the features of the vector's set.
    #[inline(always)]
    unsafe fn channel(&self, channel: usize, term: impl Term<V>) -> f64 {
        let Lie { rows, channels, inner } = self.lie;
        let mut total = 0.0;
        for row in 0..rows {
            let first = (row * channels + channel) * inner;
            let mut at = 0;
            while at < inner {
                let count = RUN.min(inner - at);
                // SAFETY: elements of a channel.
                let (grad, x) = unsafe { (self.grad.as_ptr().add(first + at), self.x.as_ptr().add(first + at)) };
                // SAFETY: as above; the caller promises the features.
                total += unsafe { run_sum::<V>(grad, x, count, term) };
                at += count;
            }
        }
        total
    }

    /// # Safety
    /// As for [`Channels::channel`].
    #[inline(always)]
    unsafe fn runs(&self) {
        let count = (self.lie.rows * self.lie.inner) as f64;
        for channel in self.first..self.first + self.count {
            // SAFETY: the caller promises the features.
            let total = unsafe { self.channel(channel, Plain) };
            match self.means {
                Some(means) => {
                    // SAFETY: the caller promises the features.
                    let products = unsafe { self.channel(channel, TimesOff(V::splat(means[channel]))) };
                    self.write(channel, total, products);
                }
                None => {
                    let mean = V::Elem::narrow(total / count);
                    // SAFETY: the caller promises the features.
                    let squares = unsafe { self.channel(channel, SquareOff(V::splat(mean))) };
                    self.write(channel, mean.wide(), squares / count);
                }
            }
        }
    }

    /// The sums of the terms of channels that lie side by side.
    #[inline(always)]
    fn column_sums(&self, means: &[V::Elem; TOGETHER], which: usize) -> [f64; TOGETHER] {
        let mut totals = [0.0; TOGETHER];
        for begin in (0..self.lie.rows).step_by(ROWS) {
            let mut sums = [V::Elem::default(); TOGETHER];
            for row in begin..self.lie.rows.min(begin + ROWS) {
                let first = row * self.lie.channels + self.first;
                let (grad, x) = (&self.grad[first..first + self.count], &self.x[first..first + self.count]);
                for i in 0..self.count {
                    let off = x[i].sub(means[i]);
                    let term = match which {
                        0 => grad[i],
                        1 => off.mul(off),
                        _ => grad[i].mul(off),
                    };
                    sums[i] = sums[i].add(term);
                }
            }
            for i in 0..self.count {
                totals[i] += sums[i].wide();
            }
        }
        totals
    }

    #[inline(always)]
    fn columns(&self) {
        let rows = self.lie.rows as f64;
        let mut means = [V::Elem::default(); TOGETHER];
        let totals = self.column_sums(&means, 0);
        for i in 0..self.count {
            means[i] = self.means.map_or_else(|| V::Elem::narrow(totals[i] / rows), |means| means[self.first + i]);
        }
        let others = self.column_sums(&means, if self.means.is_some() { 2 } else { 1 });
        for i in 0..self.count {
            match self.means {
                Some(_) => self.write(self.first + i, totals[i], others[i]),
                None => self.write(self.first + i, means[i].wide(), others[i] / rows),
            }
        }
    }
}

fn all_channels<S: Set, V: Vector>(set: S, args: &Args<'_>, x: usize, moments: Option<usize>, team: &dyn Team) {
    let lie = Lie::of(args);
    let (grad, x) = (args.input::<V::Elem>(0), args.input::<V::Elem>(x));
    let means = moments.map(|i| args.input::<V::Elem>(i));
    let to = Shared(args.output::<V::Elem>().as_mut_ptr());
    let together = lie.together();
    team.split(lie.channels.div_ceil(together), &|piece| {
        let first = piece * together;
        let count = together.min(lie.channels - first);
        let channels = Channels::<V> { lie, first, count, grad, x, means, to: to.get(), kind: PhantomData };
        set.vectorize(channels);
    });
}

enum Moments {}
enum Sums {}
enum Applied {}

impl Kernel for Moments {
    fn run<S: Set, V: Vector>(set: S, args: &Args<'_>, team: &dyn Team) {
        all_channels::<S, V>(set, args, 0, None, team);
    }
}

impl Kernel for Sums {
    fn run<S: Set, V: Vector>(set: S, args: &Args<'_>, team: &dyn Team) {
        all_channels::<S, V>(set, args, 1, Some(2), team);
    }
}

impl Kernel for Applied {
    fn run<S: Set, V: Vector>(set: S, args: &Args<'_>, team: &dyn Team) {
        let lie = Lie::of(args);
        let Apply { epsilon, fix_gamma, .. } = args.attributes::<Apply>();
        let (x, beta) = (args.input::<V::Elem>(0), args.input::<V::Elem>(2));
        let (gamma, moments) = (args.input::<V::Elem>(1), args.input::<V::Elem>(3));
        let (means, variances) = moments.split_at(lie.channels);
        let scale = |channel: usize| {
            let inverse = 1.0 / (variances[channel].wide() + epsilon).sqrt();
            V::Elem::narrow(if fix_gamma { inverse } else { inverse * gamma[channel].wide() })
        };
        let scales: Vec<V::Elem> = (0..lie.channels).map(scale).collect();
        let to = Shared(args.output::<V::Elem>().as_mut_ptr());
        // Runs of one channel, or rows of all.
        let run = if lie.inner == 1 { lie.channels } else { lie.inner };
        let runs = x.len() / run;
        let together = (PIECE / run).max(1);
        team.split(runs.div_ceil(together), &|piece| {
            let which = piece * together..runs.min((piece + 1) * together);
            let work =
                Stretch::<V> { lie, which, run, x, to: to.get(), means, scales: &scales, beta, kind: PhantomData };
            set.vectorize(work);
        });
    }
}

/// Runs that are scaled and shifted.
struct Stretch<'a, V: Memory> {
    lie: Lie,
    which: std::ops::Range<usize>,
    run: usize,
    x: &'a [V::Elem],
    to: *mut V::Elem,
    means: &'a [V::Elem],
    scales: &'a [V::Elem],
    beta: &'a [V::Elem],
    kind: PhantomData<V>,
}

impl<V: Vector> Work for Stretch<'_, V> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        for number in self.which.clone() {
            let channel = if self.lie.inner == 1 { 0 } else { number % self.lie.channels };
            let splat: [V; 3] = {
                let of = [self.means[channel], self.scales[channel], self.beta[channel]];
                // SAFETY: the caller promises the features.
                collect(|i| unsafe { V::splat(of[i]) })
            };
            for at in (0..self.run).step_by(V::LANES) {
                let left = (self.run - at).min(V::LANES);
                // SAFETY: elements of a run, and of the vectors if it is a row of all channels; nobody else writes it.
                unsafe {
                    let from = self.x.as_ptr().add(number * self.run + at);
                    let load =
                        |from: *const V::Elem| if left < V::LANES { V::load_first(from, left) } else { V::load(from) };
                    let [mean, scale, beta] = match self.lie.inner {
                        1 => {
                            let of = [self.means.as_ptr(), self.scales.as_ptr(), self.beta.as_ptr()];
                            collect(|i| load(of[i].add(at)))
                        }
                        _ => splat,
                    };
                    let made = load(from).sub(mean).mul_add(scale, beta);
                    let to = self.to.add(number * self.run + at);
                    if left < V::LANES { made.store_first(to, left) } else { made.store(to) }
                }
            }
        }
    }
}
