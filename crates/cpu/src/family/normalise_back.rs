//! Gradients of softmax and log-softmax, row by row.
//!
//! Invariant: a row is one thread's, and is folded in 64 virtual lanes as in the family `Normalise`.

use crate::pointwise::Shared;
use crate::product::{Vector, load, store};
use crate::reduce::{Fold, Sum, WIDTH, tree_of};
use crate::routine::call::{Args, Body, Element, HostKernel, line_scratch};
use crate::simd::{Set, Work, by_set};
use forerun_base::{DType, Result, Team};
use forerun_ops::{Body as Apply, NormaliseBack, bodies};
use forerun_plan::RoutineCall;
use std::marker::PhantomData;

/// Elements a piece of work holds at least.
const PIECE: usize = 1 << 15;

impl HostKernel for NormaliseBack {
    fn body(&self) -> Body {
        match self {
            NormaliseBack::Softmax => |args, team| dispatch::<false>(args, team),
            NormaliseBack::LogSoftmax => |args, team| dispatch::<true>(args, team),
        }
    }

    fn scratch(&self, call: &RoutineCall, threads: usize) -> usize {
        line_scratch(call, 0, threads)
    }
}

fn dispatch<const LOG: bool>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    fn of_set<S: Set, const LOG: bool>(set: S, args: &Args<'_>, team: &dyn Team) {
        match args.dtype(0) {
            DType::F32 => all_rows::<S::F32, LOG>(set, args, team),
            DType::F64 => all_rows::<S::F64, LOG>(set, args, team),
            dtype => unreachable!("inference refuses {dtype}"),
        }
    }
    by_set!(args.isa, set => of_set::<_, LOG>(set, args, team));
    Ok(())
}

fn all_rows<V: Vector<Elem: Element>, const LOG: bool>(set: impl Set, args: &Args<'_>, team: &dyn Team) {
    let (y, grad, to) = (args.input::<V::Elem>(0), args.input::<V::Elem>(1), args.output::<V::Elem>());
    let count = *args.call.inputs[0].1.last().expect("inference wants rows");
    let (rows, per_piece) = (y.len() / count, (PIECE / count).max(1));
    let to = Shared(to.as_mut_ptr());
    team.split(rows.div_ceil(per_piece), &|piece| {
        let first = piece * per_piece;
        let (rows, at) = (per_piece.min(rows - first), first * count);
        let (y, grad) = (y[at..at + rows * count].as_ptr(), grad[at..at + rows * count].as_ptr());
        // SAFETY: rows of the inputs and of the result, which has the same shape; nobody else writes these. The backend has
        // checked the instruction set.
        unsafe { set.vectorize(Rows::<V, LOG> { y, grad, to: to.get().add(at), count, rows, kind: PhantomData }) };
    });
}

struct Rows<V: Vector, const LOG: bool> {
    y: *const V::Elem,
    grad: *const V::Elem,
    to: *mut V::Elem,
    count: usize,
    rows: usize,
    kind: PhantomData<V>,
}

impl<V: Vector, const LOG: bool> Work for Rows<V, LOG> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        for row in 0..self.rows {
            // SAFETY: whoever made it promised so many rows and the features.
            unsafe {
                let at = row * self.count;
                let (y, grad, to) = (self.y.add(at), self.grad.add(at), self.to.add(at));
                let sum = V::splat(match V::LANES {
                    16 => sum::<V, LOG, 4>(y, grad, self.count),
                    _ => sum::<V, LOG, 8>(y, grad, self.count),
                });
                for at in (0..self.count).step_by(V::LANES) {
                    let left = (self.count - at).min(V::LANES);
                    let (y, grad) = (load::<V>(y.add(at), left), load::<V>(grad.add(at), left));
                    let made = if LOG {
                        grad.sub(<bodies::Exp as Apply<(V,)>>::apply((y,)).mul(sum))
                    } else {
                        y.mul(grad.sub(sum))
                    };
                    store(made, to.add(at), left);
                }
            }
        }
    }
}

/// The sum of a row of gradients; for a softmax, each times its result. `N` vectors make the virtual lanes.
///
/// # Safety
/// `count` elements must be readable.
#[inline(always)]
unsafe fn sum<V: Vector, const LOG: bool, const N: usize>(
    y: *const V::Elem,
    grad: *const V::Elem,
    count: usize,
) -> V::Elem {
    let mut held = [V::constant(0.0); N];
    // SAFETY: vectors of the row, then what is left of it and zeros, which leave a sum as it is.
    unsafe {
        for first in (0..count).step_by(WIDTH) {
            for (n, held) in held.iter_mut().enumerate() {
                let at = first + n * V::LANES;
                if at >= count {
                    break;
                }
                let left = (count - at).min(V::LANES);
                let grad = load::<V>(grad.add(at), left);
                *held = Sum::fold(*held, if LOG { grad } else { grad.mul(load::<V>(y.add(at), left)) });
            }
        }
        let mut lanes = [V::Elem::default(); WIDTH];
        for (n, held) in held.iter().enumerate() {
            held.store(lanes.as_mut_ptr().add(n * V::LANES));
        }
        tree_of::<V, Sum>(&lanes)
    }
}
