//! Softmax, log-softmax and layer norm. A row stays in the L1 cache while it is read three times; large results use
//! non-temporal stores.
//!
//! Invariant: one thread handles each row, and folds it in 64 virtual lanes as reductions do. The bits therefore depend
//! neither on the team nor on the vector width.

use crate::nontemporal;
use crate::pointwise::Shared;
use crate::reduce::{Element, Fold, Largest, Sum, WIDTH, tree_of};
use crate::routine::call::{Args, Body, Element as Typed, HostKernel, line_scratch};
use crate::simd::{Memory, Set, Work, by_set};
use forerun_base::{DType, Result, Team};
use forerun_ops::normalise as attributes;
use forerun_ops::{Body as Apply, Normalise, Num, NumFloat, Routine, bodies};
use forerun_plan::RoutineCall;
use std::marker::PhantomData;

/// The minimum number of elements per piece.
const PIECE: usize = 1 << 15;

impl HostKernel for Normalise {
    fn body(&self) -> Body {
        match self {
            Normalise::Softmax => |args, team| dispatch::<Softmax>(args, team),
            Normalise::LogSoftmax => |args, team| dispatch::<LogSoftmax>(args, team),
            Normalise::Layer => |args, team| dispatch::<Layer>(args, team),
        }
    }

    fn scratch(&self, call: &RoutineCall, threads: usize) -> usize {
        line_scratch(call, call.inputs[0].1.last().copied().unwrap_or(0), threads)
    }
}

/// The computation for one row.
trait Kernel: 'static {
    /// # Safety
    /// The row's addresses must be valid for `row.count` elements, and the CPU must support the set.
    unsafe fn row<V: Vector>(row: &Row<'_, V::Elem>);
}

/// A vector of floats.
trait Vector: NumFloat + Memory<Elem: Element + NumFloat + Typed> {}

impl<V: NumFloat + Memory<Elem: Element + NumFloat + Typed>> Vector for V {}

/// A row, its output, and the parameters shared by all rows.
struct Row<'a, T> {
    from: *const T,
    to: *mut T,
    count: usize,
    gamma: &'a [T],
    beta: &'a [T],
    epsilon: f64,
}

fn dispatch<K: Kernel>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    fn of_set<S: Set, K: Kernel>(set: S, args: &Args<'_>, team: &dyn Team) {
        match args.dtype(0) {
            DType::F32 => all_rows::<S::F32, K>(set, args, team),
            DType::F64 => all_rows::<S::F64, K>(set, args, team),
            dtype => unreachable!("inference rejects {dtype}"),
        }
    }
    by_set!(args.isa, set => of_set::<_, K>(set, args, team));
    Ok(())
}

/// A buffer of 64 bytes, aligned for non-temporal stores.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line {
    _bytes: [u8; 64],
}

fn all_rows<V: Vector, K: Kernel>(set: impl Set, args: &Args<'_>, team: &dyn Team) {
    let (from, to) = (args.input::<V::Elem>(0), args.output::<V::Elem>());
    let count = *args.call.inputs[0].1.last().expect("inference requires a last axis");
    let vector = |i: usize| if args.call.inputs.len() > i { args.input::<V::Elem>(i) } else { &[] };
    let (gamma, beta) = (vector(1), vector(2));
    let epsilon = match args.call.routine {
        Routine::Normalise(Normalise::Layer) => args.attributes::<attributes::Layer>().epsilon,
        _ => 0.0,
    };
    let rows = from.len() / count;
    let bytes = count * size_of::<V::Elem>();
    let past =
        (size_of_val(to) >= nontemporal::WORTH && bytes.is_multiple_of(64) && to.as_ptr().addr().is_multiple_of(64))
            .then(|| nontemporal::find(args.isa))
            .flatten();
    let target = Shared(to.as_mut_ptr());
    let per_piece = (PIECE / count).max(1);
    team.split(rows.div_ceil(per_piece), &|piece| {
        let mut held = vec![Line { _bytes: [0; 64] }; if past.is_some() { bytes / 64 } else { 0 }];
        for row in piece * per_piece..rows.min((piece + 1) * per_piece) {
            // SAFETY: rows of the input and of the result, which has the same shape; nobody else writes this one.
            unsafe {
                let to = target.get().add(row * count);
                let near = if past.is_some() { held.as_mut_ptr().cast() } else { to };
                let row = Row { from: from.as_ptr().add(row * count), to: near, count, gamma, beta, epsilon };
                set.vectorize(One::<V, K> { row, kind: PhantomData });
                if let Some(past) = past {
                    past(near.cast(), to.cast(), bytes);
                }
            }
        }
        if past.is_some() {
            nontemporal::fence();
        }
    });
}

struct One<'a, V: Vector, K> {
    row: Row<'a, V::Elem>,
    kind: PhantomData<(V, K)>,
}

impl<V: Vector, K: Kernel> Work for One<'_, V, K> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        // SAFETY: guaranteed by the creator of the job.
        unsafe { K::row::<V>(&self.row) }
    }
}

/// A function of elements, applied in a pass. It is not a closure, because a closure that is not inlined is compiled
/// without the set's features.
trait Step<V> {
    fn apply(&self, x: V) -> V;
}

/// The identity.
struct Same;

/// `exp(x - max)`.
struct ExpLess<V>(V);

/// `(x - mean)^2`.
struct SquareOff<V>(V);

impl<V> Step<V> for Same {
    #[inline(always)]
    fn apply(&self, x: V) -> V {
        x
    }
}

impl<V: Vector> Step<V> for ExpLess<V> {
    #[inline(always)]
    fn apply(&self, x: V) -> V {
        <bodies::Exp as Apply<(V,)>>::apply((x.sub(self.0),))
    }
}

impl<V: Vector> Step<V> for SquareOff<V> {
    #[inline(always)]
    fn apply(&self, x: V) -> V {
        let off = x.sub(self.0);
        off.mul(off)
    }
}

/// Folds the results of a step over a row, and stores them if `STORES`.
///
/// # Safety
/// `count` elements must be readable at `from`, and writable at `to` if `STORES`.
#[inline(always)]
unsafe fn pass<V: Vector, F: Fold, const STORES: bool>(
    from: *const V::Elem,
    to: *mut V::Elem,
    count: usize,
    step: &impl Step<V>,
) -> V::Elem {
    // SAFETY: the caller's promise is this one. The lanes are held in as many vectors as they take, so that these stay in registers.
    unsafe {
        match V::LANES {
            16 => pass_in::<V, F, STORES, 4>(from, to, count, step),
            _ => pass_in::<V, F, STORES, 8>(from, to, count, step),
        }
    }
}

/// The same with the lanes in `N` vectors.
///
/// # Safety
/// As for [`pass`].
#[inline(always)]
unsafe fn pass_in<V: Vector, F: Fold, const STORES: bool, const N: usize>(
    from: *const V::Elem,
    to: *mut V::Elem,
    count: usize,
    step: &impl Step<V>,
) -> V::Elem {
    // SAFETY: the caller promises the set's features.
    let mut held = [unsafe { V::splat(F::start()) }; N];
    let whole = count - count % WIDTH;
    // SAFETY: full groups of lanes, then the tail from a local buffer.
    unsafe {
        for i in (0..whole).step_by(WIDTH) {
            for (v, held) in held.iter_mut().enumerate() {
                let at = i + v * V::LANES;
                let made = step.apply(V::load(from.add(at)));
                if STORES {
                    made.store(to.add(at));
                }
                *held = F::fold(*held, made);
            }
        }
        let rest = count - whole;
        for (v, held) in held.iter_mut().enumerate() {
            let at = v * V::LANES;
            if at >= rest {
                break;
            }
            let left = (rest - at).min(V::LANES);
            let x =
                if left < V::LANES { V::load_first(from.add(whole + at), left) } else { V::load(from.add(whole + at)) };
            let mut made = [F::start::<V::Elem>(); WIDTH];
            let x = step.apply(x);
            if left < V::LANES {
                x.store_first(made.as_mut_ptr(), left);
            } else {
                x.store(made.as_mut_ptr());
            }
            if STORES {
                std::ptr::copy_nonoverlapping(made.as_ptr(), to.add(whole + at), left);
            }
            *held = F::fold(*held, V::load(made.as_ptr()));
        }
        let mut lanes = [F::start::<V::Elem>(); WIDTH];
        for (v, held) in held.iter().enumerate() {
            held.store(lanes.as_mut_ptr().add(v * V::LANES));
        }
        tree_of::<V, F>(&lanes)
    }
}

/// Stores `f` of every element; `f` also gets the index of the first element of a vector.
///
/// # Safety
/// `count` elements must be readable at `from` and writable at `to`; `f` gets vectors that may extend beyond them.
#[inline(always)]
unsafe fn store_all<V: Vector>(from: *const V::Elem, to: *mut V::Elem, count: usize, f: impl Fn(V, usize, usize) -> V) {
    for at in (0..count).step_by(V::LANES) {
        let left = (count - at).min(V::LANES);
        // SAFETY: full vectors, then the tail.
        unsafe {
            if left < V::LANES {
                f(V::load_first(from.add(at), left), at, left).store_first(to.add(at), left);
            } else {
                f(V::load(from.add(at)), at, left).store(to.add(at));
            }
        }
    }
}

/// # Safety
/// As for [`store_all`].
#[inline(always)]
unsafe fn part<V: Vector>(all: &[V::Elem], at: usize, left: usize) -> V {
    // SAFETY: the caller upholds the same contract.
    unsafe { if left < V::LANES { V::load_first(all.as_ptr().add(at), left) } else { V::load(all.as_ptr().add(at)) } }
}

enum Softmax {}
enum LogSoftmax {}
enum Layer {}

impl Kernel for Softmax {
    #[inline(always)]
    unsafe fn row<V: Vector>(row: &Row<'_, V::Elem>) {
        // SAFETY: the caller upholds the contract of every pass.
        unsafe {
            let most = V::splat(pass::<V, Largest, false>(row.from, row.to, row.count, &Same));
            let sum = pass::<V, Sum, true>(row.from, row.to, row.count, &ExpLess(most));
            let by = V::splat(V::Elem::constant(1.0).div(sum));
            store_all::<V>(row.to, row.to, row.count, |x, _, _| x.mul(by));
        }
    }
}

impl Kernel for LogSoftmax {
    #[inline(always)]
    unsafe fn row<V: Vector>(row: &Row<'_, V::Elem>) {
        // SAFETY: the caller upholds the contract of every pass.
        unsafe {
            let most = V::splat(pass::<V, Largest, false>(row.from, row.to, row.count, &Same));
            let sum = V::splat(pass::<V, Sum, false>(row.from, row.to, row.count, &ExpLess(most)));
            let log = <bodies::Log as Apply<(V,)>>::apply((sum,));
            store_all::<V>(row.from, row.to, row.count, |x, _, _| x.sub(most).sub(log));
        }
    }
}

impl Kernel for Layer {
    #[inline(always)]
    unsafe fn row<V: Vector>(row: &Row<'_, V::Elem>) {
        let count = V::Elem::constant(row.count as f64);
        // SAFETY: the caller upholds the contract of every pass; `gamma` and `beta` have one element per element of the
        // row.
        unsafe {
            let mean = V::splat(pass::<V, Sum, false>(row.from, row.to, row.count, &Same).div(count));
            let variance = pass::<V, Sum, false>(row.from, row.to, row.count, &SquareOff(mean)).div(count);
            let deviation = variance.add(V::Elem::constant(row.epsilon)).sqrt();
            let by = V::splat(V::Elem::constant(1.0).div(deviation));
            store_all::<V>(row.from, row.to, row.count, |x, at, left| {
                x.sub(mean).mul(by).mul(part::<V>(row.gamma, at, left)).add(part::<V>(row.beta, at, left))
            });
        }
    }
}
