//! The inner loop: six rows by up to four vectors of columns stay in registers while a run of products is added to them.

use crate::routine::call::Element;
use crate::simd::{Memory, Work, collect};
use forerun_ops::NumFloat;
use std::marker::PhantomData;

/// Rows that are computed together: with four vectors of columns each they fill 24 registers.
pub(super) const ROWS: usize = 6;

/// A vector of floats.
pub(crate) trait Vector: NumFloat + Memory<Elem: Element> {}

impl<V: NumFloat + Memory<Elem: Element>> Vector for V {}

/// A row of what is computed: where its elements of the left operand begin, and its number.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    pub(super) from: usize,
    pub(super) row: usize,
}

/// One run of products for many rows and one block of columns.
///
/// # Safety
/// Whoever makes it promises: `x` reaches every `from + offset`, `factors` has a line of `vectors` vectors for every offset,
/// `sums` has such a line for every row, and nobody else touches those lines meanwhile.
pub(super) struct Strip<'a, V: Memory> {
    pub(super) x: *const V::Elem,
    pub(super) spots: &'a [Spot],
    pub(super) offsets: &'a [usize],
    pub(super) factors: *const V::Elem,
    pub(super) sums: *mut V::Elem,
    pub(super) vectors: usize,
    /// Whether the sums are added to, else written.
    pub(super) adds: bool,
    pub(super) kind: PhantomData<V>,
}

impl<V: Vector> Work for Strip<'_, V> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        // SAFETY: whoever made it promised the elements, and the features of the set.
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
    /// As for the strip, which has `N` vectors.
    #[inline(always)]
    unsafe fn all<const N: usize>(&self) {
        let mut rest = [V::constant(0.0); N];
        let whole = self.spots.len() - self.spots.len() % ROWS;
        let mut first = 0;
        // SAFETY: the caller's promise is that of each tile; rows that are not there repeat the last one and are stored aside.
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
    /// As for the strip; the addresses are those of rows.
    #[inline(always)]
    unsafe fn tile<const N: usize>(&self, from: [*const V::Elem; ROWS], to: [*mut V::Elem; ROWS]) {
        // SAFETY: the caller promises the elements.
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
