//! Inner products of two dense vectors. They are bound by memory bandwidth, so long ones are split.
//!
//! Invariant: products are added in blocks of fixed length at fixed positions, and the blocks in a binary tree by their
//! index, as in reductions. The bits depend only on the length.

use crate::partition;
use crate::pointwise::Shared;
use crate::reduce::{CHUNKS, Cascade, Element, PIECE, Partials, Sum, WIDTH, blocks_per_chunk, tree, tree_of};
use crate::simd::{Isa, Lanes, Memory, Set, Work, by_set};
use forerun_base::{DType, Team};
use forerun_ops::NumFloat;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Elements per block.
const BLOCK: usize = 2048;

/// Computes the inner product of `k` elements each of `a` and `b` into `to`: `(k, a, b, to, team)`, `k` at least 1. To call it, `k` elements
/// must be readable at `a` and `b`, and one writable at `to`.
pub(super) type Inner = unsafe fn(usize, *const u8, *const u8, *mut u8, &dyn Team);

/// The routine for a dtype; `None` if it is not a float with its own arithmetic.
pub(super) fn find(isa: Isa, dtype: DType) -> Option<Inner> {
    fn of_set<S: Set<F32: Memory<Elem = f32>, F64: Memory<Elem = f64>>>(_: S, dtype: DType) -> Option<Inner> {
        match dtype {
            DType::F32 => Some(run::<S, S::F32>),
            DType::F64 => Some(run::<S, S::F64>),
            _ => None,
        }
    }
    by_set!(isa, set => of_set(set, dtype))
}

/// # Safety
/// As for [`Inner`]; the CPU must support the set.
unsafe fn run<S: Set, V: Memory<Elem: Element> + NumFloat>(
    k: usize,
    a: *const u8,
    b: *const u8,
    to: *mut u8,
    team: &dyn Team,
) {
    let (a, b, to) = (a.cast::<V::Elem>(), b.cast::<V::Elem>(), to.cast::<V::Elem>());
    // SAFETY: the caller promises the set's features.
    let set = unsafe { S::assume() };
    if k < 2 * PIECE || team.width() == 1 {
        // SAFETY: the caller promises the elements.
        unsafe { to.write(set.vectorize(Whole::<V>(Run { a, b, count: k, kind: PhantomData }))) };
        return;
    }
    let blocks = k.div_ceil(BLOCK);
    let per_chunk = blocks_per_chunk(blocks, PIECE / BLOCK);
    let chunks = blocks.div_ceil(per_chunk);
    let mut space = [const { MaybeUninit::<[V::Elem; WIDTH]>::uninit() }; CHUNKS];
    let partials = Partials::new(space.as_mut_ptr().cast::<[V::Elem; WIDTH]>());
    let vectors = Shared((a, b));
    partition::split(team, chunks, &|chunk| {
        let from = chunk * per_chunk * BLOCK;
        let count = (per_chunk * BLOCK).min(k - from);
        let (a, b) = vectors.get();
        // SAFETY: the elements of one chunk; each chunk has its own partial result.
        unsafe {
            let run = Run::<V> { a: a.add(from), b: b.add(from), count, kind: PhantomData };
            partials.at(chunk).write(set.vectorize(run));
        }
    });
    let mut cascade = Cascade::<V::Elem, WIDTH>::new(WIDTH);
    let mut lanes = [V::Elem::ZERO; WIDTH];
    for chunk in 0..chunks {
        // SAFETY: every chunk was written.
        let mut part = unsafe { partials.at(chunk).read() };
        // Using the scalar type as a one-lane vector avoids the vector features here.
        // SAFETY: every processor has these vectors.
        unsafe { cascade.push::<Lanes<V::Elem, 1>, Sum>(&mut part, WIDTH, per_chunk.trailing_zeros() as usize) };
    }
    // SAFETY: as above.
    unsafe { cascade.finish::<Lanes<V::Elem, 1>, Sum>(&mut lanes, WIDTH) };
    // SAFETY: the caller guarantees a result.
    unsafe { to.write(tree::<V::Elem, Sum>(lanes)) };
}

/// A range of both vectors that starts at a block; its products are added in 64 lanes.
struct Run<V: Memory> {
    a: *const V::Elem,
    b: *const V::Elem,
    count: usize,
    kind: PhantomData<V>,
}

/// The same, reduced to one sum.
struct Whole<V: Memory>(Run<V>);

impl<V: Memory<Elem: Element> + NumFloat> Work for Whole<V> {
    type Out = V::Elem;
    #[inline(always)]
    unsafe fn run(self) -> V::Elem {
        // SAFETY: the caller promises the features.
        unsafe { tree_of::<V, Sum>(&self.0.run()) }
    }
}

impl<V: Memory<Elem: Element> + NumFloat> Work for Run<V> {
    type Out = [V::Elem; WIDTH];
    #[inline(always)]
    unsafe fn run(self) -> [V::Elem; WIDTH] {
        let mut cascade = Cascade::<V::Elem, WIDTH>::new(WIDTH);
        let mut lanes = [V::Elem::ZERO; WIDTH];
        for at in (0..self.count).step_by(BLOCK) {
            // SAFETY: the elements belong to the run.
            let mut block = unsafe { self.block(at, BLOCK.min(self.count - at)) };
            if self.count <= BLOCK {
                return block;
            }
            // SAFETY: the caller promises the features.
            unsafe { cascade.push::<V, Sum>(&mut block, WIDTH, 0) };
        }
        // SAFETY: as above.
        unsafe { cascade.finish::<V, Sum>(&mut lanes, WIDTH) };
        lanes
    }
}

impl<V: Memory<Elem: Element> + NumFloat> Run<V> {
    /// The lanes of `count` elements from `at` on.
    #[inline(always)]
    unsafe fn block(&self, at: usize, count: usize) -> [V::Elem; WIDTH] {
        let mut lanes = [V::Elem::ZERO; WIDTH];
        // 64 lanes are 4 or 8 vectors.
        let mut held = [V::constant(0.0); 8];
        let held = &mut held[..WIDTH / V::LANES];
        // SAFETY: the caller guarantees the elements: full groups of lanes, then the tail.
        unsafe {
            let (a, b) = (self.a.add(at), self.b.add(at));
            let whole = count - count % WIDTH;
            for i in (0..whole).step_by(WIDTH) {
                for (v, sum) in held.iter_mut().enumerate() {
                    let place = i + v * V::LANES;
                    *sum = V::load(a.add(place)).mul_add(V::load(b.add(place)), *sum);
                }
            }
            let mut rest = count - whole;
            for (v, sum) in held.iter_mut().enumerate() {
                let place = whole + v * V::LANES;
                if rest >= V::LANES {
                    *sum = V::load(a.add(place)).mul_add(V::load(b.add(place)), *sum);
                    rest -= V::LANES;
                } else if rest > 0 {
                    *sum = V::load_first(a.add(place), rest).mul_add(V::load_first(b.add(place), rest), *sum);
                    rest = 0;
                }
            }
            for (v, sum) in held.iter().enumerate() {
                sum.store(lanes.as_mut_ptr().add(v * V::LANES));
            }
        }
        lanes
    }
}
