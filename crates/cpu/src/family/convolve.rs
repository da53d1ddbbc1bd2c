//! Convolution of two vectors. The shorter vector provides the taps; a block of the result stays in registers while all
//! taps that reach it are applied.
//!
//! Invariant: each element adds its products in the order of the taps, in runs of [`RUN`] taps whose sums are then
//! added in order. Its bits depend only on the vectors and on its index in the full convolution. Positions where the
//! vectors do not overlap are skipped, not multiplied by zero, because 0 * infinity is NaN.

use crate::pointwise::Shared;
use crate::routine::call::{Args, Body, Element, HostKernel, Number, total_elements};
#[cfg(target_arch = "x86_64")]
use crate::simd::{Avx2, Avx512};
use crate::simd::{Baseline, Isa, Memory, Set, Work, by_set, collect};
use forerun_base::{BFloat16, Complex, DType, Float16, Team};
use forerun_ops::convolve::Window;
use forerun_ops::{Convolve, NumFloat};
use forerun_plan::RoutineCall;
use std::marker::PhantomData;

/// Taps whose products are summed before the sum is added to the total.
const RUN: usize = 256;
/// The maximum number of elements per block.
const MOST: usize = 128;
/// The approximate number of multiply-adds per piece.
const PIECE: usize = 1 << 17;

impl HostKernel for Convolve {
    fn body(&self) -> Body {
        match self {
            Convolve::Part => |args, team| {
                match args.dtype(0) {
                    DType::F32 => floats::<f32>(args, team),
                    DType::F64 => floats::<f64>(args, team),
                    DType::F16 => halves(args, team, Float16::to_f32, Float16::from_f32),
                    DType::BF16 => halves(args, team, BFloat16::to_f32, BFloat16::from_f32),
                    DType::Bool => plain::<Truth>(args, team),
                    DType::I8 | DType::U8 => plain::<u8>(args, team),
                    DType::I16 | DType::U16 => plain::<u16>(args, team),
                    DType::I32 | DType::U32 => plain::<u32>(args, team),
                    DType::I64 | DType::U64 => plain::<u64>(args, team),
                    DType::C64 => plain::<Complex<f32>>(args, team),
                    DType::C128 => plain::<Complex<f64>>(args, team),
                }
                Ok(())
            },
        }
    }

    fn scratch(&self, call: &RoutineCall, _: usize) -> usize {
        // Halves are widened.
        match call.inputs[0].0.size() {
            2 => total_elements(call).saturating_add(call.out.1.size()).saturating_mul(4),
            _ => 0,
        }
    }
}

/// The index of the first computed element in the full convolution.
fn first(args: &Args<'_>) -> i64 {
    args.attributes::<Window>().first
}

/// A truth value: the product is "and", the sum is "or".
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
struct Truth(u8);

impl Element for Truth {}

impl Number for Truth {
    const NOTHING: Truth = Truth(0);
    #[inline(always)]
    fn plus(self, other: Truth) -> Truth {
        Truth(self.0 | other.0)
    }
    #[inline(always)]
    fn times(self, other: Truth) -> Truth {
        Truth(self.0 & other.0)
    }
}

/// The multiply-add of an element type.
trait Kernel: 'static {
    type Elem: Element;
    /// The number of elements in a block of [`Kernel::taps`].
    const BLOCK: usize;
    /// `sums[i] += x[i] * tap`.
    ///
    /// # Safety
    /// The processor must have the features of the kernel's vectors.
    unsafe fn tap(sums: &mut [Self::Elem], x: &[Self::Elem], tap: Self::Elem);
    /// Applies several taps to a block of sums. The elements for each tap start one before those for the previous tap.
    ///
    /// # Safety
    /// `taps.len() - 1` elements before `x` must be readable, and a block from it on; features as for [`Kernel::tap`].
    unsafe fn taps(sums: &mut [Self::Elem; MOST], x: *const Self::Elem, taps: &[Self::Elem]);
    fn plus(a: Self::Elem, b: Self::Elem) -> Self::Elem;
}

/// Scalar code that the compiler vectorizes.
struct Plain<T>(PhantomData<T>);

impl<T: Number> Kernel for Plain<T> {
    type Elem = T;
    const BLOCK: usize = MOST;
    #[inline(always)]
    unsafe fn tap(sums: &mut [T], x: &[T], tap: T) {
        sums.iter_mut().zip(x).for_each(|(sum, x)| *sum = sum.plus(x.times(tap)));
    }
    #[inline(always)]
    unsafe fn taps(sums: &mut [T; MOST], x: *const T, taps: &[T]) {
        for (j, tap) in taps.iter().enumerate() {
            // SAFETY: the caller guarantees the elements.
            unsafe { Self::tap(sums, std::slice::from_raw_parts(x.sub(j), MOST), *tap) };
        }
    }
    #[inline(always)]
    fn plus(a: T, b: T) -> T {
        a.plus(b)
    }
}

/// `N` vectors per block.
struct Vectors<V, const N: usize>(PhantomData<V>);

impl<V: Memory<Elem: Number> + NumFloat + 'static, const N: usize> Kernel for Vectors<V, N> {
    type Elem = V::Elem;
    const BLOCK: usize = N * V::LANES;
    #[inline(always)]
    unsafe fn tap(sums: &mut [V::Elem], x: &[V::Elem], tap: V::Elem) {
        let count = sums.len().min(x.len());
        let (sums, x, whole) = (sums.as_mut_ptr(), x.as_ptr(), count - count % V::LANES);
        // SAFETY: whole vectors within both slices, then the elements that are left; the caller promises the features.
        unsafe {
            let tap = V::splat(tap);
            for i in (0..whole).step_by(V::LANES) {
                V::load(x.add(i)).mul_add(tap, V::load(sums.add(i))).store(sums.add(i));
            }
            let (rest, sums) = (count - whole, sums.add(whole));
            if rest > 0 {
                let sum = V::load_first(x.add(whole), rest).mul_add(tap, V::load_first(sums, rest));
                sum.store_first(sums, rest);
            }
        }
    }
    #[inline(always)]
    unsafe fn taps(sums: &mut [V::Elem; MOST], x: *const V::Elem, taps: &[V::Elem]) {
        // SAFETY: a block fits the sums, and the caller guarantees the elements.
        unsafe {
            let sums = sums.as_mut_ptr();
            let mut held: [V; N] = collect(|v| V::load(sums.add(v * V::LANES)));
            for (j, tap) in taps.iter().enumerate() {
                let (x, tap) = (x.sub(j), V::splat(*tap));
                for (v, sum) in held.iter_mut().enumerate() {
                    *sum = V::load(x.add(v * V::LANES)).mul_add(tap, *sum);
                }
            }
            (0..N).for_each(|v| held[v].store(sums.add(v * V::LANES)));
        }
    }
    #[inline(always)]
    fn plus(a: V::Elem, b: V::Elem) -> V::Elem {
        Number::plus(a, b)
    }
}

/// A range of the convolution, from `first` on.
struct Stretch<'a, K: Kernel> {
    long: &'a [K::Elem],
    taps: &'a [K::Elem],
    first: usize,
    to: &'a mut [K::Elem],
}

impl<K: Kernel> Work for Stretch<'_, K> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        for (i, to) in self.to.chunks_mut(K::BLOCK).enumerate() {
            // SAFETY: `stretches` makes it, with the set of the kernel's vectors.
            unsafe { block::<K>(self.long, self.taps, self.first + i * K::BLOCK, to) };
        }
    }
}

/// Applies tap `j` to the sums from `at` on that it reaches.
///
/// # Safety
/// As for [`Kernel::tap`].
#[inline(always)]
unsafe fn reached<K: Kernel>(long: &[K::Elem], taps: &[K::Elem], at: usize, sums: &mut [K::Elem], j: usize) {
    let (first, last) = (at.max(j), (at + sums.len()).min(j + long.len()));
    // SAFETY: the caller's promise is this one.
    unsafe { K::tap(&mut sums[first - at..last - at], &long[first - j..last - j], taps[j]) };
}

/// Computes the elements from `at` on, at most a block.
///
/// # Safety
/// As for [`Kernel::tap`].
#[inline(always)]
unsafe fn block<K: Kernel>(long: &[K::Elem], taps: &[K::Elem], at: usize, to: &mut [K::Elem]) {
    let (n, width) = (long.len(), to.len());
    // The taps that reach any of these elements, and those that reach all of them.
    let (begin, end) = ((at + 1).saturating_sub(n), taps.len().min(at + width));
    let (all_begin, all_end) = match width == K::BLOCK {
        true => ((at + width).saturating_sub(n), at + 1),
        false => (usize::MAX, 0),
    };
    let mut total = [K::Elem::default(); MOST];
    for run in (begin / RUN * RUN..end).step_by(RUN) {
        let (from, until) = (run.max(begin), end.min(run + RUN));
        let all_from = all_begin.clamp(from, until);
        let all_until = all_end.clamp(all_from, until);
        let mut sums = [K::Elem::default(); MOST];
        for j in from..all_from {
            // SAFETY: the caller's promise is this one.
            unsafe { reached::<K>(long, taps, at, &mut sums[..width], j) };
        }
        if all_from < all_until {
            // SAFETY: each of these taps overlaps the long vector over the whole block.
            unsafe { K::taps(&mut sums, long.as_ptr().add(at - all_from), &taps[all_from..all_until]) };
        }
        for j in all_until..until {
            // SAFETY: the caller's promise is this one.
            unsafe { reached::<K>(long, taps, at, &mut sums[..width], j) };
        }
        match run <= begin {
            true => total = sums,
            false => total.iter_mut().zip(sums).for_each(|(total, sum)| *total = K::plus(*total, sum)),
        }
    }
    to.copy_from_slice(&total[..width]);
}

/// Computes the requested elements in parallel with the features of the instruction set. Elements outside of the full
/// convolution are zero.
fn stretches<K: Kernel>(
    set: impl Set,
    x: &[K::Elem],
    y: &[K::Elem],
    (first, to): (i64, &mut [K::Elem]),
    team: &dyn Team,
) {
    let (long, taps) = if x.len() >= y.len() { (x, y) } else { (y, x) };
    let full = if taps.is_empty() { 0 } else { long.len() + taps.len() - 1 };
    let before = usize::try_from(-first).unwrap_or(0).min(to.len());
    let first = usize::try_from(first).unwrap_or(0);
    let count = full.saturating_sub(first).min(to.len() - before);
    to[..before].fill(K::Elem::default());
    to[before + count..].fill(K::Elem::default());
    let to = &mut to[before..before + count];
    let per_piece = (PIECE / taps.len().max(1)).max(1).next_multiple_of(K::BLOCK);
    let pieces = count.div_ceil(per_piece);
    let target = Shared(to.as_mut_ptr());
    let piece = |p: usize| {
        let (start, end) = (p * per_piece, count.min((p + 1) * per_piece));
        // SAFETY: pieces write elements of their own, within the output.
        let to = unsafe { std::slice::from_raw_parts_mut(target.get().add(start), end - start) };
        set.vectorize(Stretch::<K> { long, taps, first: first + start, to });
    };
    if pieces == 1 { piece(0) } else { team.split(pieces, &piece) }
}

/// A float type with vectors.
trait Float: Number {
    /// Calls [`stretches`] with the vectors of an instruction set.
    fn convolve(isa: Isa, x: &[Self], y: &[Self], to: (i64, &mut [Self]), team: &dyn Team);
}

macro_rules! floats {
    ($($type:ty, $vector:ident, $plain:literal, $avx2:literal, $avx512:literal;)*) => {
        $(impl Float for $type {
            fn convolve(isa: Isa, x: &[Self], y: &[Self], to: (i64, &mut [Self]), team: &dyn Team) {
                match isa {
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx2(set) => stretches::<Vectors<<Avx2 as Set>::$vector, $avx2>>(set, x, y, to, team),
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx512(set) => stretches::<Vectors<<Avx512 as Set>::$vector, $avx512>>(set, x, y, to, team),
                    _ => stretches::<Vectors<<Baseline as Set>::$vector, $plain>>(Baseline, x, y, to, team),
                }
            }
        })*
    };
}

// As many vectors as fit into the registers, beside a tap and an element.
floats! {
    f32, F32, 4, 8, 8;
    f64, F64, 4, 4, 8;
}

fn floats<T: Float>(args: &Args<'_>, team: &dyn Team) {
    T::convolve(args.isa, args.input(0), args.input(1), (first(args), args.output()), team);
}

/// Computes in single precision and rounds once.
fn halves<T: Element>(args: &Args<'_>, team: &dyn Team, widen: fn(T) -> f32, round: fn(f32) -> T) {
    let wide = |i: usize| -> Vec<f32> { args.input::<T>(i).iter().map(|x| widen(*x)).collect() };
    let to = args.output::<T>();
    let mut made = vec![0.0; to.len()];
    f32::convolve(args.isa, &wide(0), &wide(1), (first(args), &mut made), team);
    to.iter_mut().zip(made).for_each(|(to, value)| *to = round(value));
}

fn plain<T: Number>(args: &Args<'_>, team: &dyn Team) {
    let (x, y, to) = (args.input::<T>(0), args.input::<T>(1), (first(args), args.output::<T>()));
    by_set!(args.isa, set => stretches::<Plain<T>>(set, x, y, to, team));
}
