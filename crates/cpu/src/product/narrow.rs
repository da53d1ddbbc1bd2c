//! Products of half floats: panels of both matrices are widened to single precision and multiplied, and the result is
//! rounded once.
//!
//! Invariant: the contracted dimension is never split, so only complete sums are rounded.

use super::dense::{Matrix, library};
use forerun_base::{BFloat16, Float16};
use std::cell::RefCell;

/// A half float.
pub(super) trait Narrow: Copy + 'static {
    fn widen(self) -> f32;
    fn round(value: f32) -> Self;
}

impl Narrow for Float16 {
    fn widen(self) -> f32 {
        self.to_f32()
    }
    fn round(value: f32) -> Self {
        Float16::from_f32(value)
    }
}

impl Narrow for BFloat16 {
    fn widen(self) -> f32 {
        self.to_f32()
    }
    fn round(value: f32) -> Self {
        BFloat16::from_f32(value)
    }
}

/// The approximate number of elements per panel.
const PANEL: usize = 256 * 1024;

thread_local! {
    /// A panel of A, one of B, and their product. The buffers are reused.
    static SCRATCH: RefCell<[Vec<f32>; 3]> = const { RefCell::new([Vec::new(), Vec::new(), Vec::new()]) };
}

/// Copies `rows` rows and `columns` columns of a matrix, widened, in row-major order.
///
/// # Safety
/// The matrix must have these elements.
unsafe fn widen<H: Narrow>(from: Matrix, rows: usize, columns: usize, to: &mut Vec<f32>) {
    to.clear();
    for row in 0..rows as isize {
        let first = from.first.cast::<H>().wrapping_offset(row * from.rows);
        // SAFETY: elements of the matrix, which the caller guarantees.
        to.extend((0..columns as isize).map(|column| unsafe { first.offset(column * from.columns).read() }.widen()));
    }
}

/// Computes a block of a product: `c = a * b`.
///
/// # Safety
/// As for [`super::dense::Block`].
pub(super) unsafe fn block<H: Narrow>(m: usize, n: usize, k: usize, a: Matrix, b: Matrix, c: *mut u8, c_rows: usize) {
    let (height, width) = ((PANEL / k).clamp(1, m.max(1)), (PANEL / k).clamp(1, n.max(1)));
    SCRATCH.with_borrow_mut(|[left, right, made]| {
        for column in (0..n).step_by(width) {
            let width = width.min(n - column);
            let first = b.first.cast::<H>().wrapping_offset(column as isize * b.columns);
            // SAFETY: columns of B, which the caller guarantees.
            unsafe { widen::<H>(Matrix { first: first.cast(), ..b }, k, width, right) };
            for row in (0..m).step_by(height) {
                let height = height.min(m - row);
                let first = a.first.cast::<H>().wrapping_offset(row as isize * a.rows);
                made.resize(height * width, 0.0);
                // SAFETY: rows of A and elements of C, which the caller guarantees; the panels are dense.
                unsafe {
                    widen::<H>(Matrix { first: first.cast(), ..a }, height, k, left);
                    let dense =
                        |panel: &[f32], columns: usize| Matrix::new(panel.as_ptr().cast(), (columns as isize, 1));
                    let to = made.as_mut_ptr().cast();
                    library::<f32>(height, width, k, dense(left, k), dense(right, width), to, width);
                    for (i, line) in made.chunks_exact(width).take(height).enumerate() {
                        let to = c.cast::<H>().add((row + i) * c_rows + column);
                        line.iter().enumerate().for_each(|(j, &value)| to.add(j).write(H::round(value)));
                    }
                }
            }
        }
    });
}
