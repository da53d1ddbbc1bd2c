//! The product of one block on one thread. Only this module knows which library multiplies.

use super::{narrow, vector};
use crate::copy;
use crate::scratch::Scratch;
use crate::simd::Isa;
use forerun_base::{BFloat16, DType, Float16};
use std::cell::RefCell;
use std::mem::MaybeUninit;

/// A matrix in memory: first element, row and column strides in elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix {
    pub(crate) first: *const u8,
    pub(crate) rows: isize,
    pub(crate) columns: isize,
}

impl Matrix {
    pub(crate) fn new(first: *const u8, (rows, columns): (isize, isize)) -> Matrix {
        Matrix { first, rows, columns }
    }

    /// The transposed matrix.
    pub(crate) fn transposed(self) -> Matrix {
        Matrix { first: self.first, rows: self.columns, columns: self.rows }
    }
}

/// The properties of a product known at compile time.
#[derive(Clone, Copy)]
pub(crate) struct Extents {
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) a: (isize, isize),
    pub(crate) b: (isize, isize),
}

/// Computes `c = a * b` for a block: `(m, n, k, a, b, c, row stride of c)`, `k` at least 1.
pub(crate) type Block = unsafe fn(usize, usize, usize, Matrix, Matrix, *mut u8, usize);

/// The routine for a dtype and a shape.
pub(crate) fn find(isa: Isa, dtype: DType, e: Extents) -> Block {
    match dtype {
        // A matrix-vector product is bound by reading the matrix.
        DType::F32 | DType::F64 if e.n == 1 && vector::takes(e.a) => vector::by_column(isa, dtype),
        DType::F32 | DType::F64 if e.m == 1 && vector::takes((e.b.1, e.b.0)) => vector::by_row(isa, dtype),
        DType::F32 if e.m * e.n * e.k <= TINY && e.b.1 == 1 && e.n == 4 => strip::<f32, 4>,
        DType::F32 if e.m * e.n * e.k <= TINY && e.b.1 == 1 && e.n == 8 => strip::<f32, 8>,
        DType::F64 if e.m * e.n * e.k <= TINY && e.b.1 == 1 && e.n == 4 => strip::<f64, 4>,
        DType::F32 if e.m * e.n * e.k <= TINY && e.b.1 == 1 && e.n == 2 => strip::<f32, 2>,
        DType::F32 if e.m * e.n * e.k <= TINY && e.b.1 == 1 && e.n == 3 => strip::<f32, 3>,
        DType::F32 if e.m * e.n * e.k <= TINY => plain::<f32>,
        DType::F64 if e.m * e.n * e.k <= TINY => plain::<f64>,
        // The library reads such an A column by column, one cache line or page after another.
        DType::F32 if is_worth_transposing_a(e) => transposed_a::<f32>,
        DType::F64 if is_worth_transposing_a(e) => transposed_a::<f64>,
        // The library packs such a B element by element, which makes the whole product 1.3 times slower.
        DType::F32 if e.b.0 == 1 && e.b.1 != 1 && e.m >= WORTH_TRANSPOSING => transposed::<f32>,
        DType::F64 if e.b.0 == 1 && e.b.1 != 1 && e.m >= WORTH_TRANSPOSING => transposed::<f64>,
        DType::F32 => library::<f32>,
        DType::F64 => library::<f64>,
        // Wrapping arithmetic is the same with and without a sign.
        DType::I8 | DType::U8 => plain::<i8>,
        DType::I16 | DType::U16 => plain::<i16>,
        DType::I32 | DType::U32 => plain::<i32>,
        DType::I64 | DType::U64 => plain::<i64>,
        DType::Bool => plain::<bool>,
        DType::C64 | DType::C128 => unreachable!("complex matrices are multiplied by their parts"),
        DType::F16 => narrow::block::<Float16>,
        DType::BF16 => narrow::block::<BFloat16>,
    }
}

/// Below this many multiply-adds, the library's overhead exceeds the work.
const TINY: usize = 256;

pub(super) unsafe fn library<T: Copy + Default + From<u8> + 'static>(
    m: usize,
    n: usize,
    k: usize,
    a: Matrix,
    b: Matrix,
    c: *mut u8,
    c_rows: usize,
) {
    // SAFETY: the caller guarantees the elements of the three matrices.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c.cast::<T>(),
            1,
            c_rows as isize,
            false,
            a.first.cast::<T>(),
            a.columns,
            a.rows,
            b.first.cast::<T>(),
            b.columns,
            b.rows,
            T::default(),
            T::from(1),
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// The minimum number of result rows for which copying B pays off.
const WORTH_TRANSPOSING: usize = 64;

/// Elements of B copied at a time.
const PANEL: usize = 2 << 20;

/// Elements of A copied at a time. The library packs B again for each panel of A, so a panel should have many rows.
const PANEL_A: usize = 1 << 20;

/// Bytes of a panel that a thread keeps until the next one.
const SMALL_PANEL: usize = 256 << 10;

thread_local! {
    /// The buffers for small panels of A and B.
    static PANELS: [RefCell<Vec<MaybeUninit<u64>>>; 2] = const { [const { RefCell::new(Vec::new()) }; 2] };
}

/// Calls `work` with a buffer of `elements` elements.
fn with_panel<T>(which: usize, elements: usize, work: impl FnOnce(*mut T)) {
    let bytes = elements * size_of::<T>();
    if bytes > SMALL_PANEL {
        let panel = Scratch::new(bytes);
        return work(panel.first());
    }
    PANELS.with(|panels| {
        let mut panel = panels[which].borrow_mut();
        if panel.len() * 8 < bytes {
            panel.resize(bytes.div_ceil(8), MaybeUninit::uninit());
        }
        work(panel.as_mut_ptr().cast());
    });
}

/// Whether A has contiguous columns, and is read often enough that copying it pays off.
fn is_worth_transposing_a(e: Extents) -> bool {
    e.a.0 == 1 && e.a.1 != 1 && e.n >= WORTH_TRANSPOSING && e.k >= WORTH_TRANSPOSING
}

/// Like [`library`], for an A with contiguous columns: copies panels of it to row-major order first.
unsafe fn transposed_a<T: Copy + Default + From<u8> + 'static>(
    m: usize,
    n: usize,
    k: usize,
    a: Matrix,
    b: Matrix,
    c: *mut u8,
    c_rows: usize,
) {
    let product = if b.rows == 1 && b.columns != 1 && m >= WORTH_TRANSPOSING { transposed::<T> } else { library::<T> };
    // Rows that are a power of two apart would share cache sets.
    let apart = k + 16;
    let height = (PANEL_A / apart).clamp(32.min(m), m).next_multiple_of(16);
    with_panel::<T>(0, apart * height, |panel| {
        for row in (0..m).step_by(height) {
            let height = height.min(m - row);
            // SAFETY: the caller guarantees the elements of the three matrices, and the panel has `apart * height` elements.
            unsafe {
                let from = a.first.cast::<T>().add(row);
                copy::transpose((height, k), (from, a.columns), (panel, apart as isize));
                let rows = Matrix { first: panel.cast(), rows: apart as isize, columns: 1 };
                product(height, n, k, rows, b, c.cast::<T>().add(row * c_rows).cast(), c_rows);
            }
        }
    });
}

/// Like [`library`], for a B with contiguous columns: copies panels of it to row-major order first.
unsafe fn transposed<T: Copy + Default + From<u8> + 'static>(
    m: usize,
    n: usize,
    k: usize,
    a: Matrix,
    b: Matrix,
    c: *mut u8,
    c_rows: usize,
) {
    let width = (PANEL / k).clamp(32.min(n), n);
    with_panel::<T>(1, k * width, |panel| {
        for column in (0..n).step_by(width) {
            let width = width.min(n - column);
            // SAFETY: the caller guarantees the elements of the three matrices, and the panel has `k * width` elements.
            unsafe {
                let from = b.first.cast::<T>().offset(column as isize * b.columns);
                copy::transpose((k, width), (from, b.columns), (panel, width as isize));
                let rows = Matrix { first: panel.cast(), rows: width as isize, columns: 1 };
                library::<T>(m, width, k, a, rows, c.cast::<T>().add(column).cast(), c_rows);
            }
        }
    });
}

/// Like [`plain`], for rows of B and C with `N` contiguous elements: the sums of a row stay in registers. The order of
/// additions is the same, so the bits are too.
unsafe fn strip<T: forerun_ops::Num + 'static, const N: usize>(
    m: usize,
    _: usize,
    k: usize,
    a: Matrix,
    b: Matrix,
    c: *mut u8,
    c_rows: usize,
) {
    let (from_a, from_b, c) = (a.first.cast::<T>(), b.first.cast::<T>(), c.cast::<T>());
    // SAFETY: the caller guarantees the elements of the three matrices, and B and C have `N` columns.
    unsafe {
        for row in 0..m {
            let from_a = from_a.offset(row as isize * a.rows);
            let factor = |l: usize| from_a.offset(l as isize * a.columns).read();
            let with = |l: usize| from_b.offset(l as isize * b.rows).cast::<[T; N]>().read();
            let mut sums = with(0).map(|x| factor(0).mul(x));
            for l in 1..k {
                let (factor, with) = (factor(l), with(l));
                sums = std::array::from_fn(|j| sums[j].add(factor.mul(with[j])));
            }
            c.add(row * c_rows).cast::<[T; N]>().write(sums);
        }
    }
}

/// For integers and tiny float products: row by row with `k` in order, so that the inner loop runs along rows of B and
/// C.
unsafe fn plain<T: forerun_ops::Num + 'static>(
    m: usize,
    n: usize,
    k: usize,
    a: Matrix,
    b: Matrix,
    c: *mut u8,
    c_rows: usize,
) {
    /// Columns at a time: their sums stay in the L1 cache.
    const STRIP: usize = 512;
    let (from_a, from_b, c) = (a.first.cast::<T>(), b.first.cast::<T>(), c.cast::<T>());
    // SAFETY: the caller guarantees the elements of the three matrices.
    unsafe {
        for column in (0..n).step_by(STRIP) {
            let width = STRIP.min(n - column);
            for row in 0..m {
                let to = c.add(row * c_rows + column);
                for l in 0..k {
                    let factor = from_a.offset(row as isize * a.rows + l as isize * a.columns).read();
                    let with = from_b.offset(l as isize * b.rows + column as isize * b.columns);
                    for j in 0..width {
                        let product = factor.mul(with.offset(j as isize * b.columns).read());
                        let sum = if l == 0 { product } else { to.add(j).read().add(product) };
                        to.add(j).write(sum);
                    }
                }
            }
        }
    }
}
