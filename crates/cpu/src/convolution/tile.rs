//! The inner loop: sums of six rows by up to four vectors of columns stay in registers while a run of products is
//! added.

use crate::routine::call::Element;
use crate::simd::{Memory, Work, collect};
use forerun_ops::NumFloat;
use std::marker::PhantomData;

/// The number of rows of a tile: with four vectors of columns each, the sums take 24 registers.
pub(super) const ROWS: usize = 6;

/// A vector of floats.
pub(crate) trait Vector: NumFloat + Memory<Elem: Element> {}

impl<V: NumFloat + Memory<Elem: Element>> Vector for V {}

/// A row of the result: the offset of its elements in the left operand, and its index.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    pub(super) from: usize,
    pub(super) row: usize,
}

/// One run of products for many rows and one block of columns.
///
/// # Safety
/// The constructor guarantees that `x` is readable at every `from + offset`, that `factors` has a row of `vectors`
/// vectors for every offset, that `sums` has such a row for every row of the result, and that nothing else accesses
/// those rows meanwhile.
pub(super) struct Strip<'a, V: Memory> {
    pub(super) x: *const V::Elem,
    pub(super) spots: &'a [Spot],
    pub(super) offsets: &'a [usize],
    pub(super) factors: *const V::Elem,
    pub(super) sums: *mut V::Elem,
    pub(super) vectors: usize,
    /// Whether to add to the sums instead of overwriting them.
    pub(super) adds: bool,
    pub(super) kind: PhantomData<V>,
}

impl<V: Vector> Work for Strip<'_, V> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        // SAFETY: the constructor guarantees the elements, and the caller the processor features.
        unsafe {
            match self.vectors {
                1 => self.all::<1>(),
                2 => self.all::<2>(),
                3 => self.all::<3>(),
                _ => self.all::<4>(),
            }
        }
    }
}

impl<V: Vector> Strip<'_, V> {
    /// # Safety
    /// As for [`Strip`], which has `N` vectors.
    #[inline(always)]
    unsafe fn all<const N: usize>(&self) {
        let mut rest = [V::constant(0.0); N];
        let whole = self.spots.len() - self.spots.len() % ROWS;
        let mut first = 0;
        // SAFETY: the caller guarantees the elements of every tile. Missing rows of the last tile read the last row
        // again and are stored to a local array.
        unsafe {
            while first < whole {
                let spots = self.spots.as_ptr().add(first);
                let from: [*const V::Elem; ROWS] = collect(|r| self.x.add((*spots.add(r)).from));
                let to: [*mut V::Elem; ROWS] = collect(|r| self.sums.add((*spots.add(r)).row * N * V::LANES));
                self.tile::<N>(from, to);
                first += ROWS;
            }
            let left = self.spots.len() - whole;
            if left > 0 {
                let spots = self.spots.as_ptr().add(whole);
                let from: [*const V::Elem; ROWS] = collect(|r| self.x.add((*spots.add(r.min(left - 1))).from));
                let aside = rest.as_mut_ptr().cast::<V::Elem>();
                let to: [*mut V::Elem; ROWS] =
                    collect(|r| if r < left { self.sums.add((*spots.add(r)).row * N * V::LANES) } else { aside });
                self.tile::<N>(from, to);
            }
        }
    }

    /// # Safety
    /// As for [`Strip`]; the pointers are those of its rows.
    #[inline(always)]
    unsafe fn tile<const N: usize>(&self, from: [*const V::Elem; ROWS], to: [*mut V::Elem; ROWS]) {
        // SAFETY: the caller guarantees the elements.
        unsafe {
            let mut sums = [[V::constant(0.0); N]; ROWS];
            let mut factors = self.factors;
            for offset in self.offsets {
                let with: [V; N] = collect(|v| V::load(factors.add(v * V::LANES)));
                for r in 0..ROWS {
                    let x = V::splat(*from[r].add(*offset));
                    for v in 0..N {
                        sums[r][v] = x.mul_add(with[v], sums[r][v]);
                    }
                }
                factors = factors.add(N * V::LANES);
            }
            for r in 0..ROWS {
                for (v, sum) in sums[r].iter().enumerate() {
                    let to = to[r].add(v * V::LANES);
                    let sum = if self.adds { V::load(to).add(*sum) } else { *sum };
                    sum.store(to);
                }
            }
        }
    }
}
