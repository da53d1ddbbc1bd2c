//! Products with a B that stays in the nearest caches, as the stacks of small matrices in attention are. The library's start and its packing of
//! both operands take as long as such a product.
//!
//! Invariant: an element is the sum of its products in the order of `k`, one fused multiply-add after another.

use super::dense::{Block, Matrix};
use super::packed::{Vector, store};
use crate::copy;
use crate::simd::{Baseline, Isa, Set, Work};
use forerun_base::DType;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Elements of the largest B: 64 KiB in single precision.
const MOST: usize = 1 << 14;

/// Rows and columns from which on it pays.
const LEAST: usize = 8;

/// Whether it takes a product of these extents.
pub(super) fn takes(m: usize, n: usize, k: usize) -> bool {
    m >= LEAST && n >= LEAST && k >= LEAST && n * k <= MOST
}

/// The routine for a dtype, single or double precision.
pub(super) fn find(isa: Isa, dtype: DType) -> Block {
    fn of_set<S: Set>(dtype: DType) -> Block {
        if dtype == DType::F64 { run::<S, S::F64> } else { run::<S, S::F32> }
    }
    match isa {
        Isa::Baseline => of_set::<Baseline>(dtype),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => of_set::<crate::simd::Avx2>(dtype),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => of_set::<crate::simd::Avx512>(dtype),
        #[cfg(not(target_arch = "x86_64"))]
        _ => of_set::<Baseline>(dtype),
    }
}

thread_local! {
    /// A panel of B. Kept, since panels follow each other.
    static SCRATCH: RefCell<Vec<MaybeUninit<u64>>> = const { RefCell::new(Vec::new()) };
}

unsafe fn run<S: Set, V: Vector>(m: usize, n: usize, k: usize, a: Matrix, b: Matrix, c: *mut u8, c_rows: usize) {
    let width = V::ACROSS * V::LANES;
    let words = (k * width * size_of::<V::Elem>()).div_ceil(8);
    SCRATCH.with_borrow_mut(|scratch| {
        if scratch.len() < words {
            scratch.resize(words, MaybeUninit::uninit());
        }
        let packed = scratch.as_mut_ptr().cast::<V::Elem>();
        for column in (0..n).step_by(width) {
            let left = width.min(n - column);
            // SAFETY: the caller promises the elements of the three matrices; the panel has `k * width` elements. The backend has checked the
            // instruction set.
            unsafe {
                let from = b.first.cast::<V::Elem>().offset(column as isize * b.columns);
                // Rows that lie close together are read where they are.
                let (panel, rows) = if b.columns == 1 && left == width && b.rows.unsigned_abs() <= 2 * width {
                    (from, b.rows)
                } else {
                    pack(k, left, (from, b), packed, width);
                    (packed.cast_const(), width as isize)
                };
                let to = c.cast::<V::Elem>().add(column);
                S::vectorize(Panel::<V> { m, k, columns: left, a, panel, rows, c: to, c_rows, kind: PhantomData });
            }
        }
    });
}

/// Copies `k` rows of `columns` elements of B, row by row and padded with zeros to `width`.
unsafe fn pack<T: Copy + Default + 'static>(
    k: usize,
    columns: usize,
    (from, b): (*const T, Matrix),
    to: *mut T,
    width: usize,
) {
    // SAFETY: the caller promises the elements of B and `k * width` elements of the panel.
    unsafe {
        if b.rows == 1 && b.columns != 1 {
            copy::transpose((k, columns), (from, b.columns), (to, width as isize));
        } else {
            for row in 0..k {
                let from = from.offset(row as isize * b.rows);
                for column in 0..columns {
                    to.add(row * width + column).write(from.offset(column as isize * b.columns).read());
                }
            }
        }
        for row in 0..if columns < width { k } else { 0 } {
            for column in columns..width {
                to.add(row * width + column).write(T::default());
            }
        }
    }
}

/// All rows of A times one panel of B.
struct Panel<V: Vector> {
    m: usize,
    k: usize,
    columns: usize,
    a: Matrix,
    panel: *const V::Elem,
    /// Elements from one row of the panel to the next.
    rows: isize,
    c: *mut V::Elem,
    c_rows: usize,
    kind: PhantomData<V>,
}

impl<V: Vector> Work for Panel<V> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let mut row = 0;
        while row < self.m {
            // SAFETY: whoever made it promised the elements and the features. As many rows as leave their sums in registers.
            row += unsafe {
                match (self.m - row, V::ACROSS) {
                    (8.., 2) if size_of::<V>() == 64 => self.rows::<8, 2>(row),
                    (4.., 2) => self.rows::<4, 2>(row),
                    (_, 2) => self.rows::<1, 2>(row),
                    (4.., _) => self.rows::<4, 1>(row),
                    _ => self.rows::<1, 1>(row),
                }
            };
        }
    }
}

impl<V: Vector> Panel<V> {
    /// Computes `R` rows from `first` on by `N` vectors; returns `R`.
    ///
    /// # Safety
    /// The matrices must reach them.
    #[inline(always)]
    unsafe fn rows<const R: usize, const N: usize>(&self, first: usize) -> usize {
        let mut sums = [[V::constant(0.0); N]; R];
        // SAFETY: the caller's promise is this one; a panel has whole vectors.
        unsafe {
            let a = self.a.first.cast::<V::Elem>().offset(first as isize * self.a.rows);
            for p in 0..self.k as isize {
                let mut columns = [V::constant(0.0); N];
                for (n, column) in columns.iter_mut().enumerate() {
                    *column = V::load(self.panel.offset(p * self.rows).add(n * V::LANES));
                }
                for (r, sums) in sums.iter_mut().enumerate() {
                    let factor = V::splat(a.offset(r as isize * self.a.rows + p * self.a.columns).read());
                    for (sum, column) in sums.iter_mut().zip(&columns) {
                        *sum = factor.mul_add(*column, *sum);
                    }
                }
            }
            for (r, sums) in sums.iter().enumerate() {
                for (n, sum) in sums.iter().enumerate() {
                    let left = self.columns.saturating_sub(n * V::LANES).min(V::LANES);
                    if left > 0 {
                        store::<V>(*sum, self.c.add((first + r) * self.c_rows + n * V::LANES), left);
                    }
                }
            }
        }
        R
    }
}
