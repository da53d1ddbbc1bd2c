//! Products with a matrix that is packed once and multiplied many times, as a recurrent layer does at each step.
//!
//! Invariant: an element is the sum of its products in the order of `k`, one fused multiply-add after another, whichever block of
//! rows it is computed in; so the bits do not depend on how rows are cut.

use crate::pointwise::Shared;
use crate::reduce::Element;
use crate::simd::{Memory, Set, Work};
use forerun_base::Team;
use forerun_ops::NumFloat;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::null;

/// Rows of a group at most: their sums stay in registers.
const TOGETHER: usize = 8;

/// Rows of a panel that are multiplied with all rows before the next ones are: 32 KiB in single precision.
const DEEP: usize = 256;

/// A vector of floats that sums are kept in.
pub(crate) trait Vector: NumFloat + Memory<Elem: Element + NumFloat> {
    /// Vectors of a panel: as many as leave their sums in registers.
    const ACROSS: usize = if size_of::<Self>() > 64 { 1 } else { 2 };
}

impl<V: NumFloat + Memory<Elem: Element + NumFloat>> Vector for V {}

/// A matrix `k x n`, in panels of a few vectors of columns each. The last panel is padded with zeros.
pub(crate) struct Packed<V: Vector> {
    panels: Vec<V::Elem>,
    k: usize,
    n: usize,
    kind: PhantomData<fn(V)>,
}

/// The left operand: its first element, and the elements from one row and from one column to the next.
pub(crate) type Left<T> = (*const T, usize, usize);

/// What sums start from: a matrix, a row for all rows, or both.
#[derive(Clone, Copy)]
pub(crate) struct Start<T> {
    /// The first element of the matrix, or null.
    pub(crate) from: *const T,
    /// Elements from one of its rows to the next.
    pub(crate) stride: usize,
    /// The first element of the row, or null.
    pub(crate) bias: *const T,
}

impl<V: Vector> Packed<V> {
    /// Columns of a panel.
    pub(crate) const WIDTH: usize = V::ACROSS * V::LANES;

    /// Packs `k` rows and `n` columns; element `(row, column)` lies at `row * strides.0 + column * strides.1`.
    pub(crate) fn new(from: &[V::Elem], (k, n): (usize, usize), strides: (usize, usize), team: &dyn Team) -> Packed<V> {
        let mut panels = vec![V::Elem::constant(0.0); n.div_ceil(Self::WIDTH) * Self::WIDTH * k];
        let to = Shared(panels.as_mut_ptr());
        team.split(n.div_ceil(Self::WIDTH), &|panel| {
            let (first, left) = (panel * Self::WIDTH, Self::WIDTH.min(n - panel * Self::WIDTH));
            // SAFETY: each panel has elements of its own.
            let to = unsafe { std::slice::from_raw_parts_mut(to.get().add(panel * k * Self::WIDTH), k * Self::WIDTH) };
            // Blocks of rows, so that the lines read and written stay in the cache, whichever stride is 1.
            for block in (0..k).step_by(32) {
                for column in 0..left {
                    let from = &from[(first + column) * strides.1..];
                    for row in block..k.min(block + 32) {
                        to[row * Self::WIDTH + column] = from[row * strides.0];
                    }
                }
            }
        });
        Packed { panels, k, n, kind: PhantomData }
    }

    /// Computes `rows` rows of `start + a b` into `c`; strides are in elements.
    ///
    /// # Safety
    /// The caller promises `rows x k` elements of `a`, `rows x n` of `c` and of the start, and the features of the set; `c` overlaps nothing
    /// but the start's matrix, and that only in the same elements.
    pub(crate) unsafe fn multiply<S: Set>(
        &self,
        set: S,
        rows: usize,
        a: Left<V::Elem>,
        start: Start<V::Elem>,
        c: (*mut V::Elem, usize),
    ) {
        // SAFETY: the caller's promise is this one.
        unsafe { self.multiply_part(set, rows, (0..self.k, 0..self.n), a, start, c) }
    }

    /// The same with a part of the rows and columns of the packed matrix. The columns begin with a panel: see [`Self::WIDTH`].
    ///
    /// # Safety
    /// As for [`Self::multiply`], with as many columns of `a`, of `c` and of the start as the part has rows and columns.
    pub(crate) unsafe fn multiply_part<S: Set>(
        &self,
        set: S,
        rows: usize,
        (k, n): (Range<usize>, Range<usize>),
        a: Left<V::Elem>,
        start: Start<V::Elem>,
        c: (*mut V::Elem, usize),
    ) {
        debug_assert!(n.start % Self::WIDTH == 0 && n.end <= self.n && k.end <= self.k, "a part of the matrix");
        // A part of a panel stays in the nearest cache while several groups of rows are multiplied with it.
        let deep = if rows > TOGETHER { DEEP } else { k.len().max(1) };
        let mut from = k.start;
        loop {
            let to = k.end.min(from + deep);
            let so_far = Start { from: c.0.cast_const(), stride: c.1, bias: null() };
            let start = if from == k.start { start } else { so_far };
            // SAFETY: the caller's promise covers every part; sums go on from what the part before left.
            unsafe {
                let a = (a.0.add((from - k.start) * a.2), a.1, a.2);
                set.vectorize(Rows { with: self, rows, k: from..to, n: n.clone(), a, start, c });
            }
            if to == k.end {
                return;
            }
            from = to;
        }
    }

    #[inline(always)]
    unsafe fn multiply_rows(
        &self,
        rows: usize,
        (k, n): (Range<usize>, Range<usize>),
        (a, a_stride, a_step): Left<V::Elem>,
        start: Start<V::Elem>,
        (c, c_stride): (*mut V::Elem, usize),
    ) {
        for panel in 0..n.len().div_ceil(Self::WIDTH) {
            let mut row = 0;
            while row < rows {
                let left = rows - row;
                // SAFETY: rows of the matrices, which the caller promises.
                unsafe {
                    let mut part = Part {
                        panel: self
                            .panels
                            .as_ptr()
                            .add((n.start + panel * Self::WIDTH) * self.k + k.start * Self::WIDTH),
                        k: k.len(),
                        columns: n.len() - panel * Self::WIDTH,
                        a: a.add(row * a_stride),
                        a_stride,
                        a_step,
                        start,
                        c: c.add(row * c_stride + panel * Self::WIDTH),
                        c_stride,
                    };
                    if !start.from.is_null() {
                        part.start.from = start.from.add(row * start.stride + panel * Self::WIDTH);
                    }
                    if !start.bias.is_null() {
                        part.start.bias = start.bias.add(panel * Self::WIDTH);
                    }
                    // As many rows as leave their sums in registers.
                    row += match (left, V::ACROSS) {
                        (8.., 2) if size_of::<V>() == 64 => part.run::<V, 8, 2>(),
                        (4.., 2) => part.run::<V, 4, 2>(),
                        (2.., 2) => part.run::<V, 2, 2>(),
                        (_, 2) => part.run::<V, 1, 2>(),
                        (8.., _) => part.run::<V, 8, 1>(),
                        (4.., _) => part.run::<V, 4, 1>(),
                        _ => part.run::<V, 1, 1>(),
                    };
                }
            }
        }
    }
}

/// Rows times a packed matrix.
struct Rows<'a, V: Vector> {
    with: &'a Packed<V>,
    rows: usize,
    k: Range<usize>,
    n: Range<usize>,
    a: Left<V::Elem>,
    start: Start<V::Elem>,
    c: (*mut V::Elem, usize),
}

impl<V: Vector> Work for Rows<'_, V> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        // SAFETY: whoever made it promised the elements and the features.
        unsafe { self.with.multiply_rows(self.rows, (self.k, self.n), self.a, self.start, self.c) }
    }
}

/// A few rows times one panel.
struct Part<T> {
    panel: *const T,
    k: usize,
    /// Columns that are left from the panel's first on.
    columns: usize,
    a: *const T,
    a_stride: usize,
    a_step: usize,
    start: Start<T>,
    c: *mut T,
    c_stride: usize,
}

impl<T: Copy> Part<T> {
    /// Computes `R` rows by `N` vectors; returns `R`.
    ///
    /// # Safety
    /// As for [`Packed::multiply`].
    #[inline(always)]
    unsafe fn run<V: Vector<Elem = T>, const R: usize, const N: usize>(&self) -> usize {
        // SAFETY: the caller's promise is this one.
        unsafe {
            let mut sums = [[V::constant(0.0); N]; R];
            for (n, left) in (0..N).map(|n| (n, self.left::<V>(n))).take_while(|(_, left)| *left > 0) {
                let at = n * V::LANES;
                let bias =
                    if self.start.bias.is_null() { V::constant(0.0) } else { load::<V>(self.start.bias.add(at), left) };
                for (r, sums) in sums.iter_mut().enumerate() {
                    sums[n] = match self.start.from.is_null() {
                        true => bias,
                        false => load::<V>(self.start.from.add(r * self.start.stride + at), left).add(bias),
                    };
                }
            }
            for p in 0..self.k {
                let mut columns = [V::constant(0.0); N];
                for (n, column) in columns.iter_mut().enumerate() {
                    *column = V::load(self.panel.add((p * N + n) * V::LANES));
                }
                for (r, sums) in sums.iter_mut().enumerate() {
                    let factor = V::splat(self.a.add(r * self.a_stride + p * self.a_step).read());
                    for (sum, column) in sums.iter_mut().zip(&columns) {
                        *sum = factor.mul_add(*column, *sum);
                    }
                }
            }
            for (n, left) in (0..N).map(|n| (n, self.left::<V>(n))).take_while(|(_, left)| *left > 0) {
                for (r, sums) in sums.iter().enumerate() {
                    store::<V>(sums[n], self.c.add(r * self.c_stride + n * V::LANES), left);
                }
            }
        }
        R
    }

    /// Columns of vector `n` that are left, at most a vector.
    #[inline(always)]
    fn left<V: Memory>(&self, n: usize) -> usize {
        self.columns.saturating_sub(n * V::LANES).min(V::LANES)
    }
}

/// The first `left` elements, at most a vector, and zeros after them.
///
/// # Safety
/// They must be readable.
#[inline(always)]
pub(crate) unsafe fn load<V: Memory>(from: *const V::Elem, left: usize) -> V {
    // SAFETY: the caller's promise is this one.
    unsafe { if left < V::LANES { V::load_first(from, left) } else { V::load(from) } }
}

/// Stores the first `left` elements, at most a vector.
///
/// # Safety
/// They must be writable.
#[inline(always)]
pub(crate) unsafe fn store<V: Memory>(value: V, to: *mut V::Elem, left: usize) {
    // SAFETY: the caller's promise is this one.
    unsafe { if left < V::LANES { value.store_first(to, left) } else { value.store(to) } }
}
