//! Matrix-vector products. They are bound by reading the matrix, which is therefore read once, in memory order.
//!
//! Invariant: the order of additions depends only on `k` and the layout of the matrix, not on the row.

use super::dense::{Block, Matrix};
use crate::simd::{Isa, Memory, Set, Work, by_set, collect};
use forerun_base::DType;
use forerun_ops::{Num, NumFloat};
use std::marker::PhantomData;

/// Whether a matrix with these strides is contiguous along rows or columns.
pub(crate) fn takes((rows, columns): (isize, isize)) -> bool {
    columns == 1 || rows == 1
}

/// The routine for a result with one column: `a` is the matrix, `b` the vector.
pub(crate) fn by_column(isa: Isa, dtype: DType) -> Block {
    find::<false>(isa, dtype)
}

/// The routine for a result with one row: `b` transposed is the matrix, `a` the vector.
pub(crate) fn by_row(isa: Isa, dtype: DType) -> Block {
    find::<true>(isa, dtype)
}

fn find<const ROW: bool>(isa: Isa, dtype: DType) -> Block {
    fn of_set<S: Set, const ROW: bool>(_: S, dtype: DType) -> Block {
        if dtype == DType::F64 { run::<S, S::F64, ROW> } else { run::<S, S::F32, ROW> }
    }
    by_set!(isa, set => of_set::<_, ROW>(set, dtype))
}

/// # Safety
/// As for [`Block`]; the CPU must support the set.
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
    // SAFETY: the caller promises the set's features and the elements.
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

/// Elements of the vector that are copied to contiguous memory at a time; also the rows per strip.
const RUN: usize = 1024;

/// Rows read at a time, and accumulators per row: enough to hide the latency of multiply-adds.
const ROWS: usize = 4;
const SUMS: usize = 2;

/// Columns read at a time.
const COLUMNS: usize = 8;

impl<V: Memory<Elem: Num> + NumFloat> Work for Product<V> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        // SAFETY: the caller promises the features.
        unsafe { if self.matrix.columns == 1 { self.along_rows() } else { self.along_columns() } }
    }
}

impl<V: Memory<Elem: Num> + NumFloat> Product<V> {
    /// Copies a run of the vector to contiguous memory.
    #[inline(always)]
    fn adjacent(&self, start: usize, count: usize) -> [V::Elem; RUN] {
        let from = self.vector.cast::<V::Elem>();
        // SAFETY: elements of the vector; all-zero bits are the float 0.
        unsafe {
            let mut run = [std::mem::zeroed(); RUN];
            for (i, to) in run[..count].iter_mut().enumerate() {
                *to = from.offset((start + i) as isize * self.vector_step).read();
            }
            run
        }
    }

    /// Multiplies each row by the vector. Several rows at a time share the loads of the vector.
    ///
    /// # Safety
    /// The processor must have the features of the vector's set.
    #[inline(always)]
    unsafe fn along_rows(&self) {
        let mut start = 0;
        while start < self.k {
            let count = RUN.min(self.k - start);
            if self.vector_step == 1 {
                // SAFETY: elements of the vector, which are contiguous.
                let part = unsafe { std::slice::from_raw_parts(self.vector.cast::<V::Elem>().add(start), count) };
                self.all_rows(start, part);
            } else {
                self.all_rows(start, &self.adjacent(start, count)[..count]);
            }
            start += count;
        }
    }

    /// Multiplies all rows by the part of the vector that begins at `start`.
    #[inline(always)]
    fn all_rows(&self, start: usize, vector: &[V::Elem]) {
        let mut row = 0;
        // Loops instead of closures: a closure that is not inlined would lack the instruction set. SAFETY: rows of the
        // matrix, and as many of its columns as the vector has elements.
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

    /// Multiplies `N` rows from `row` on by a part of the vector.
    ///
    /// # Safety
    /// The rows must exist, and the part must match columns of the matrix.
    #[inline(always)]
    unsafe fn some_rows<const N: usize>(&self, row: usize, start: usize, vector: &[V::Elem]) {
        debug_assert!(row + N <= self.rows && start + vector.len() <= self.k);
        let count = vector.len();
        // SAFETY: elements of the matrix's rows: full vectors, then the tail.
        unsafe {
            let first = self.matrix.first.cast::<V::Elem>().offset(row as isize * self.matrix.rows + start as isize);
            let from: [*const V::Elem; N] = collect(|r| first.wrapping_offset(r as isize * self.matrix.rows));
            let mut sums = [[V::constant(0.0); SUMS]; N];
            let group = SUMS * V::LANES;
            let mut at = 0;
            while at + group <= count {
                // One part of a group after the other for all rows, so that the vector is loaded once.
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

    /// Adds scaled columns in order, one strip of rows at a time. Several columns at a time share one load and store of
    /// the sums.
    ///
    /// # Safety
    /// The processor must have the features of the vector's set.
    #[inline(always)]
    unsafe fn along_columns(&self) {
        for first in (0..self.rows).step_by(RUN) {
            let width = RUN.min(self.rows - first);
            // SAFETY: all-zero bits are the float 0.
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
                // SAFETY: there is one result per row.
                unsafe { self.to.add((first + i) * self.step).write(*sum) };
            }
        }
    }

    /// Adds `N` scaled columns from `l` on to the sums of a strip of rows.
    ///
    /// # Safety
    /// The columns must exist, and the strip must consist of rows of the matrix.
    #[inline(always)]
    unsafe fn some_columns<const N: usize>(&self, l: usize, first: usize, width: usize, sums: &mut [V::Elem; RUN]) {
        // SAFETY: elements of the vector and of the matrix's columns: full vectors, then the tail.
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
