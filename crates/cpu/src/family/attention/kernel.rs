//! Dispatch of calls to the kernels.

use super::{backward, forward};
use crate::product::{Packed, Vector};
use crate::routine::call::{Args, Body, Element, HostKernel};
use crate::simd::{Set, by_set};
use forerun_base::{DType, Result, Solo, Team};
use forerun_ops::Attention;
use forerun_ops::attention::{AttentionExtents, Scores};
use forerun_plan::RoutineCall;

/// The number of queries of a block.
pub(super) const BLOCK: usize = 16;
/// The number of keys of a tile: a multiple of the panel width of a packed matrix.
pub(super) const TILE: usize = 256;

impl HostKernel for Attention {
    fn body(&self) -> Body {
        match self {
            Attention::Forward => |args, team| dispatch::<true>(args, team),
            Attention::Backward => |args, team| dispatch::<false>(args, team),
        }
    }

    fn scratch(&self, call: &RoutineCall, threads: usize) -> usize {
        let e = extents(call);
        let matrix = (e.keys + 64).saturating_mul(e.width + e.values + 128);
        let tiles = BLOCK * (3 * TILE + 4 * (e.width + e.values + 64));
        // The forward pass packs all keys and values; the backward pass packs those of the current matrices, twice.
        let matrices = if *self == Attention::Forward { e.stack } else { 2 * threads };
        let elements = matrix.saturating_mul(matrices).saturating_add(tiles.saturating_mul(threads));
        elements.saturating_mul(call.out.0.size())
    }
}

pub(super) fn extents(call: &RoutineCall) -> AttentionExtents {
    AttentionExtents::of(&call.inputs).expect("inference checked the extents")
}

pub(super) fn dispatch<const FORWARD: bool>(args: &Args<'_>, team: &dyn Team) -> Result<()> {
    fn of_set<S: Set, const FORWARD: bool>(set: S, args: &Args<'_>, team: &dyn Team) {
        match args.dtype(0) {
            DType::F32 => run::<S, S::F32, FORWARD>(set, args, team),
            DType::F64 => run::<S, S::F64, FORWARD>(set, args, team),
            dtype => unreachable!("inference refuses {dtype}"),
        }
    }
    by_set!(args.isa, set => of_set::<_, FORWARD>(set, args, team));
    Ok(())
}

/// The arrays of a call.
pub(super) struct Arrays<'a, T> {
    pub(super) e: AttentionExtents,
    pub(super) how: Scores,
    pub(super) q: &'a [T],
    pub(super) k: &'a [T],
    pub(super) v: &'a [T],
    pub(super) mask: &'a [T],
}

pub(super) fn run<S: Set, V: Vector<Elem: Element>, const FORWARD: bool>(set: S, args: &Args<'_>, team: &dyn Team) {
    let used = |i: usize| if args.call.inputs[i].1.size() == 0 { &[][..] } else { args.input::<V::Elem>(i) };
    let arrays = Arrays {
        e: extents(args.call),
        how: args.attributes::<Scores>(),
        q: used(0),
        k: used(1),
        v: used(2),
        mask: used(3),
    };
    match FORWARD {
        true => forward::run::<S, V>(set, &arrays, args.output::<V::Elem>(), team),
        false => backward::run::<S, V>(set, &arrays, [used(4), used(5), used(6)], args.output::<V::Elem>(), team),
    }
}

impl<T: Copy + Default> Arrays<'_, T> {
    /// Matrix `m` of the stack, `rows` by `columns`.
    pub(super) fn matrix(all: &[T], m: usize, rows: usize, columns: usize) -> &[T] {
        &all[m * rows * columns..(m + 1) * rows * columns]
    }

    /// Packs the transposed keys of a matrix.
    pub(super) fn keys<V: Vector<Elem = T>>(&self, m: usize) -> Packed<V> {
        let (keys, width) = (self.e.keys, self.e.width);
        Packed::new(Self::matrix(self.k, m, keys, width), (width, keys), (1, width), &Solo)
    }

    /// The mask of a query from key `first` on; null without a mask.
    pub(super) fn mask(&self, m: usize, query: usize, first: usize) -> *const T {
        if self.e.masks == 0 {
            return std::ptr::null();
        }
        let mask = m * self.e.masks / self.e.stack;
        let row = mask * self.e.mask_rows + if self.e.mask_rows == 1 { 0 } else { query };
        self.mask[row * self.e.keys + first..].as_ptr()
    }

    /// The number of keys that a query sees in a tile of `tile` keys from `first` on.
    pub(super) fn seen(&self, query: usize, first: usize, tile: usize) -> usize {
        if self.how.causal { (query + 1).saturating_sub(first).min(tile) } else { tile }
    }
}
