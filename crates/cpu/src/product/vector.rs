//! Products of a matrix and a vector: bound by reading the matrix, so it is read once, in the order it lies.
//!
//! Invariant: a result is summed in an order that depends on `k` and on how the matrix lies, not on its row.

use super::dense::{Block, Matrix};
use crate::simd::{Isa, Memory, Set, Work, by_set, collect};
use forerun_base::DType;
use forerun_ops::{Num, NumFloat};
use std::marker::PhantomData;

/// Whether a matrix with these strides can be read along rows or along columns.
pub(crate) fn takes((rows, columns): (isize, isize)) -> bool {
    columns == 1 || rows == 1
}

/// The routine for a result of one column: `a` is the matrix, `b` the vector.
pub(crate) fn by_column(isa: Isa, dtype: DType) -> Block {
    find::<false>(isa, dtype)
}

/// The routine for a result of one row: `b` transposed is the matrix, `a` the vector.
pub(crate) fn by_row(isa: Isa, dtype: DType) -> Block {
    find::<true>(isa, dtype)
}

fn find<const ROW: bool>(isa: Isa, dtype: DType) -> Block {
    fn of_set<S: Set, const ROW: bool>(_: S, dtype: DType) -> Block {
        if dtype == DType::F64 { run::<S, S::F64, ROW> } else { run::<S, S::F32, ROW> }
    }
    by_set!(isa, set => of_set::<_, ROW>(set, dtype))
}

unsafe fn run<S: Set, V: Memory<Elem: Num> + NumFloat, const ROW: bool>(
    m: usize,
    n: usize,
    k: usize,
    a: Matrix,
    b: Matrix,
    c: *mut u8,
    c_rows: usize,
) {
    let (rows, matrix, vector, vector_step, step) =
        if ROW { (n, b.transposed(), a.first, a.columns, 1) } else { (m, a, b.first, b.rows, c_rows) };
    let product = Product::<V> { rows, k, matrix, vector, vector_step, to: c.cast(), step, kind: PhantomData };
    // SAFETY: the caller promises the elements; `find` gives this out for a processor with the set.
    unsafe { S::assume() }.vectorize(product)
}

struct Product<V: Memory> {
    rows: usize,
    k: usize,
    matrix: Matrix,
    vector: *const u8,
    vector_step: isize,
    to: *mut V::Elem,
    step: usize,
    kind: PhantomData<V>,
}

/// Elements of the vector that are made adjacent at a time, and rows of a strip.
const RUN: usize = 1024;

/// Rows that are read at a time, and the accumulators of each: their products hide each other's latency.
const ROWS: usize = 4;
const SUMS: usize = 2;

/// Columns that are read at a time.
const COLUMNS: usize = 8;

impl<V: Memory<Elem: Num> + NumFloat> Work for Product<V> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        if self.matrix.columns == 1 { self.along_rows() } else { self.along_columns() }
    }
}

impl<V: Memory<Elem: Num> + NumFloat> Product<V> {
    /// A run of the vector without gaps.
    #[inline(always)]
    fn adjacent(&self, start: usize, count: usize) -> [V::Elem; RUN] {
        let from = self.vector.cast::<V::Elem>();
        // SAFETY: elements of the vector, and all-zero bits are the float zero.
        unsafe {
            let mut run = [std::mem::zeroed(); RUN];
            for (i, to) in run[..count].iter_mut().enumerate() {
                *to = from.offset((start + i) as isize * self.vector_step).read();
            }
            run
        }
    }

    /// Each row times the vector. Several rows at a time share what is read of the vector.
    #[inline(always)]
    fn along_rows(&self) {
        let mut start = 0;
        while start < self.k {
            let count = RUN.min(self.k - start);
            if self.vector_step == 1 {
                // SAFETY: elements of the vector, which lie side by side.
                let part = unsafe { std::slice::from_raw_parts(self.vector.cast::<V::Elem>().add(start), count) };
                self.all_rows(start, part);
            } else {
                self.all_rows(start, &self.adjacent(start, count)[..count]);
            }
            start += count;
        }
    }

    /// All rows times a part of the vector, which begins at `start`.
    #[inline(always)]
    fn all_rows(&self, start: usize, vector: &[V::Elem]) {
        let mut row = 0;
        // Loops, not closures: one that is not inlined would lack the instruction set.
        // SAFETY: rows of the matrix, and as many of its columns as the vector has elements.
        unsafe {
            while row + ROWS <= self.rows {
                self.some_rows::<ROWS>(row, start, vector);
                row += ROWS;
            }
            while row < self.rows {
                self.some_rows::<1>(row, start, vector);
                row += 1;
            }
        }
    }

    /// `N` rows from `row` on times a part of the vector.
    ///
    /// # Safety
    /// They must be rows of the matrix, and the part one of its columns.
    #[inline(always)]
    unsafe fn some_rows<const N: usize>(&self, row: usize, start: usize, vector: &[V::Elem]) {
        debug_assert!(row + N <= self.rows && start + vector.len() <= self.k);
        let count = vector.len();
        // SAFETY: elements of the matrix's rows, whole vectors and then the rest.
        unsafe {
            let first = self.matrix.first.cast::<V::Elem>().offset(row as isize * self.matrix.rows + start as isize);
            let from: [*const V::Elem; N] = collect(|r| first.wrapping_offset(r as isize * self.matrix.rows));
            let mut sums = [[V::constant(0.0); SUMS]; N];
            let group = SUMS * V::LANES;
            let mut at = 0;
            while at + group <= count {
                // The parts of a group one after the other, for all rows: the vector is loaded once.
                #[allow(clippy::needless_range_loop, reason = "the index names a part of every row")]
                for j in 0..SUMS {
                    let i = at + j * V::LANES;
                    let with = V::load(vector.as_ptr().add(i));
                    for r in 0..N {
                        sums[r][j] = V::load(from[r].add(i)).mul_add(with, sums[r][j]);
                    }
                }
                at += group;
            }
            while at + V::LANES <= count {
                let with = V::load(vector.as_ptr().add(at));
                for r in 0..N {
                    sums[r][0] = V::load(from[r].add(at)).mul_add(with, sums[r][0]);
                }
                at += V::LANES;
            }
            if at < count {
                let with = V::load_first(vector.as_ptr().add(at), count - at);
                for r in 0..N {
                    sums[r][1] = V::load_first(from[r].add(at), count - at).mul_add(with, sums[r][1]);
                }
            }
            for (r, sums) in sums.iter().enumerate() {
                let sum = sums[0].add(sums[1]);
                let mut lanes = [vector[0]; 16];
                sum.store(lanes.as_mut_ptr());
                let mut half = V::LANES / 2;
                while half > 0 {
                    for i in 0..half {
                        lanes[i] = lanes[i].add(lanes[i + half]);
                    }
                    half /= 2;
                }
                let to = self.to.add((row + r) * self.step);
                to.write(if start == 0 { lanes[0] } else { to.read().add(lanes[0]) });
            }
        }
    }

    /// Columns scaled and added up in their order, a strip of rows at a time. Several columns at a time: a sum is read and
    /// written once for all of them.
    #[inline(always)]
    fn along_columns(&self) {
        for first in (0..self.rows).step_by(RUN) {
            let width = RUN.min(self.rows - first);
            // SAFETY: all-zero bits are the float zero.
            let mut sums: [V::Elem; RUN] = unsafe { [std::mem::zeroed(); RUN] };
            let mut l = 0;
            // SAFETY: columns of the matrix, and rows of the strip.
            unsafe {
                while l + COLUMNS <= self.k {
                    self.some_columns::<COLUMNS>(l, first, width, &mut sums);
                    l += COLUMNS;
                }
                while l < self.k {
                    self.some_columns::<1>(l, first, width, &mut sums);
                    l += 1;
                }
            }
            for (i, sum) in sums[..width].iter().enumerate() {
                // SAFETY: a result for each row.
                unsafe { self.to.add((first + i) * self.step).write(*sum) };
            }
        }
    }

    /// Adds `N` columns from `l` on, scaled, to the sums of a strip of rows.
    ///
    /// # Safety
    /// They must be columns of the matrix, and the strip some of its rows.
    #[inline(always)]
    unsafe fn some_columns<const N: usize>(&self, l: usize, first: usize, width: usize, sums: &mut [V::Elem; RUN]) {
        // SAFETY: elements of the vector, and elements of the matrix's columns, whole vectors and then the rest.
        unsafe {
            let vector = self.vector.cast::<V::Elem>();
            let factors: [V; N] = collect(|c| V::splat(vector.offset((l + c) as isize * self.vector_step).read()));
            let from = self.matrix.first.cast::<V::Elem>().wrapping_add(first);
            let columns: [*const V::Elem; N] =
                collect(|c| from.wrapping_offset((l + c) as isize * self.matrix.columns));
            let mut at = 0;
            while at + V::LANES <= width {
                let place = sums.as_mut_ptr().add(at);
                let mut sum = V::load(place);
                for c in 0..N {
                    sum = V::load(columns[c].add(at)).mul_add(factors[c], sum);
                }
                sum.store(place);
                at += V::LANES;
            }
            if at < width {
                let place = sums.as_mut_ptr().add(at);
                let mut sum = V::load(place);
                for c in 0..N {
                    sum = V::load_first(columns[c].add(at), width - at).mul_add(factors[c], sum);
                }
                sum.store(place);
            }
        }
    }
}
