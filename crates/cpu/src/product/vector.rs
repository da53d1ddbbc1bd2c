//! Products of a matrix and a vector: bound by reading the matrix, so it is read once, in the order it lies.
//!
//! Invariant: a result is summed in an order that depends on `k` and on how the matrix lies, not on its row.

use super::dense::{Block, Matrix};
use crate::simd::{Isa, Memory, Set, Work};
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

/// The routine for a result of one row: `b` turned is the matrix, `a` the vector.
pub(crate) fn by_row(isa: Isa, dtype: DType) -> Block {
    find::<true>(isa, dtype)
}

fn find<const ROW: bool>(isa: Isa, dtype: DType) -> Block {
    fn of_set<S: Set, const ROW: bool>(dtype: DType) -> Block {
        if dtype == DType::F64 { run::<S, S::F64, ROW> } else { run::<S, S::F32, ROW> }
    }
    match isa {
        Isa::Baseline => of_set::<crate::simd::Baseline, ROW>(dtype),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => of_set::<crate::simd::Avx2, ROW>(dtype),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => of_set::<crate::simd::Avx512, ROW>(dtype),
        #[cfg(not(target_arch = "x86_64"))]
        _ => of_set::<crate::simd::Baseline, ROW>(dtype),
    }
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
        if ROW { (n, b.turned(), a.first, a.columns, 1) } else { (m, a, b.first, b.rows, c_rows) };
    // SAFETY: the caller promises the elements; the backend has checked the instruction set.
    unsafe {
        S::vectorize(Product::<V> { rows, k, matrix, vector, vector_step, to: c.cast(), step, kind: PhantomData })
    }
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

/// Elements of the vector that are made adjacent at a time.
const RUN: usize = 512;

impl<V: Memory<Elem: Num> + NumFloat> Work for Product<V> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        if self.matrix.columns == 1 { self.along_rows() } else { self.along_columns() }
    }
}

impl<V: Memory<Elem: Num> + NumFloat> Product<V> {
    /// A run of the vector without gaps, padded with zeros to whole vectors.
    #[inline(always)]
    fn adjacent(&self, start: usize, count: usize) -> [V::Elem; RUN] {
        let from = self.vector.cast::<V::Elem>();
        // SAFETY: elements of the vector, and all-zero bits are the float zero.
        unsafe {
            let mut run = [std::mem::zeroed(); RUN];
            if self.vector_step == 1 {
                std::ptr::copy_nonoverlapping(from.add(start), run.as_mut_ptr(), count);
            } else {
                for (i, to) in run[..count].iter_mut().enumerate() {
                    *to = from.offset((start + i) as isize * self.vector_step).read();
                }
            }
            run
        }
    }

    /// Each row times the vector, four accumulators a row.
    #[inline(always)]
    fn along_rows(&self) {
        for start in (0..self.k).step_by(RUN) {
            let count = RUN.min(self.k - start);
            let vector = self.adjacent(start, count);
            for row in 0..self.rows {
                // SAFETY: elements of the matrix's row, whole vectors and then the rest.
                unsafe {
                    let from =
                        self.matrix.first.cast::<V::Elem>().offset(row as isize * self.matrix.rows + start as isize);
                    let mut sums = [V::constant(0.0); 4];
                    let group = 4 * V::LANES;
                    let mut at = 0;
                    while at + group <= count {
                        for (j, sum) in sums.iter_mut().enumerate() {
                            let i = at + j * V::LANES;
                            *sum = V::load(from.add(i)).mul_add(V::load(vector.as_ptr().add(i)), *sum);
                        }
                        at += group;
                    }
                    while at + V::LANES <= count {
                        sums[0] = V::load(from.add(at)).mul_add(V::load(vector.as_ptr().add(at)), sums[0]);
                        at += V::LANES;
                    }
                    if at < count {
                        let rest = V::load_first(from.add(at), count - at);
                        sums[1] = rest.mul_add(V::load_first(vector.as_ptr().add(at), count - at), sums[1]);
                    }
                    let sum = sums[0].add(sums[1]).add(sums[2].add(sums[3]));
                    let mut lanes = [vector[0]; 16];
                    sum.store(lanes.as_mut_ptr());
                    let mut half = V::LANES / 2;
                    while half > 0 {
                        for i in 0..half {
                            lanes[i] = lanes[i].add(lanes[i + half]);
                        }
                        half /= 2;
                    }
                    let to = self.to.add(row * self.step);
                    to.write(if start == 0 { lanes[0] } else { to.read().add(lanes[0]) });
                }
            }
        }
    }

    /// Columns scaled and added up, a strip of rows at a time.
    #[inline(always)]
    fn along_columns(&self) {
        let columns = self.matrix.columns;
        for first in (0..self.rows).step_by(RUN) {
            let width = RUN.min(self.rows - first);
            // SAFETY: all-zero bits are the float zero.
            let mut sums: [V::Elem; RUN] = unsafe { [std::mem::zeroed(); RUN] };
            let from = self.matrix.first.cast::<V::Elem>().wrapping_add(first);
            for l in 0..self.k {
                // SAFETY: an element of the vector, and elements of the matrix's column, whole vectors and then the rest.
                unsafe {
                    let factor = V::splat(self.vector.cast::<V::Elem>().offset(l as isize * self.vector_step).read());
                    let column = from.offset(l as isize * columns);
                    let mut at = 0;
                    while at + V::LANES <= width {
                        let sum = sums.as_mut_ptr().add(at);
                        V::load(column.add(at)).mul_add(factor, V::load(sum)).store(sum);
                        at += V::LANES;
                    }
                    if at < width {
                        let sum = sums.as_mut_ptr().add(at);
                        V::load_first(column.add(at), width - at).mul_add(factor, V::load(sum)).store(sum);
                    }
                }
            }
            for (i, sum) in sums[..width].iter().enumerate() {
                // SAFETY: a result for each row.
                unsafe { self.to.add((first + i) * self.step).write(*sum) };
            }
        }
    }
}
