//! The kernel of a matrix product, fused with the pointwise program that follows it (its tail).
//!
//! Invariant: that of the parent module.

use super::dense;
use super::grid::Grid;
use super::inner::{self, Inner};
use crate::fill;
use crate::partition;
use crate::pointwise::{Shared, run_range};
use crate::target::Target;
use crate::tile::Tiles;
use forerun_base::{DType, Layout, Solo, Team};
use forerun_plan::{Executable, Io, Product, Program};
use std::ops::Range;

/// A compiled product.
pub(crate) struct Multiply {
    dtype: DType,
    m: usize,
    n: usize,
    k: usize,
    batch: Vec<(usize, isize, isize)>,
    matrices: usize,
    /// Row and column strides of A and B, in elements.
    a: (isize, isize),
    b: (isize, isize),
    grid: Grid,
    multiply: dense::Block,
    /// Set for the product of two dense vectors.
    inner: Option<Inner>,
    tail: Option<Tail>,
}

struct Tail {
    tiles: Tiles,
    inputs: usize,
}

/// The approximate number of multiply-adds that one thread takes at a time.
const TOGETHER: usize = 1 << 16;

/// Tails with up to this many inputs need no allocation.
const TAIL_INPUTS: usize = 32;

impl Multiply {
    pub(crate) fn new(target: Target, product: &Product) -> Multiply {
        let rank = product.batch.rank();
        let strides = |layout: &Layout| (layout.strides()[rank], layout.strides()[rank + 1]);
        let batch = (0..rank).map(|d| (product.batch[d], product.a.strides()[d], product.b.strides()[d])).collect();
        let (m, n, k) = (product.m, product.n, product.k);
        let (a, b) = (strides(&product.a), strides(&product.b));
        Multiply {
            dtype: product.dtype,
            m,
            n,
            k,
            batch,
            matrices: product.batch.size(),
            a,
            b,
            grid: Grid::new((m, n, k), product.batch.size(), a.0 == 1 && a.1 != 1),
            multiply: dense::find(target.isa, product.dtype, dense::Extents { m, n, k, a, b }),
            inner: (m == 1 && n == 1 && (k <= 1 || (a.1, b.0) == (1, 1)))
                .then(|| inner::find(target.isa, product.dtype))
                .flatten(),
            tail: product.tail.as_ref().map(|program: &Program| Tail {
                tiles: Tiles::new(target, program, None),
                inputs: program.inputs.len(),
            }),
        }
    }

    /// The offsets of matrix `index` of the batch in A and B.
    fn offsets(&self, index: usize) -> (isize, isize) {
        let (mut left, mut a, mut b) = (index, 0, 0);
        for &(extent, a_stride, b_stride) in self.batch.iter().rev() {
            let i = (left % extent) as isize;
            left /= extent;
            a += i * a_stride;
            b += i * b_stride;
        }
        (a, b)
    }

    /// Computes one block of one matrix; the team may help with an inner product.
    unsafe fn block(&self, io: Io<'_>, matrix: usize, rows: Range<usize>, columns: Range<usize>, team: &dyn Team) {
        let size = self.dtype.size();
        let (a, b) = self.offsets(matrix);
        // SAFETY: a block of the matrices that the caller guarantees.
        unsafe {
            let a = io.inputs[0].offset((a + rows.start as isize * self.a.0) * size as isize);
            let b = io.inputs[1].offset((b + columns.start as isize * self.b.1) * size as isize);
            let first = (matrix * self.m + rows.start) * self.n + columns.start;
            let c = io.outputs[0].add(first * size);
            if let Some(inner) = self.inner {
                return inner(self.k, a, b, c, team);
            }
            let (a, b) = (dense::Matrix::new(a, self.a), dense::Matrix::new(b, self.b));
            (self.multiply)(rows.len(), columns.len(), self.k, a, b, c, self.n);
        }
    }
}

impl Tail {
    /// Runs the tail over a block of a matrix while it is cached.
    unsafe fn run(&self, io: Io<'_>, matrix: usize, (m, n): (usize, usize), rows: Range<usize>, columns: Range<usize>) {
        // SAFETY: elements of the result, which the caller guarantees.
        unsafe {
            if columns.len() == n {
                let first = matrix * m;
                return self.tiles.run(io, (first + rows.start) * n, (first + rows.end) * n);
            }
            self.tiles.with_machine(io, |machine| {
                for row in rows {
                    let row = (matrix * m + row) * n;
                    let mut at = columns.start;
                    while at < columns.end {
                        let count = self.tiles.tile.min(columns.end - at);
                        machine.tile(row + at, count);
                        at += count;
                    }
                }
            });
        }
    }
}

impl Executable for Multiply {
    unsafe fn run(&self, io: Io<'_>, team: &dyn Team) {
        let size = self.matrices * self.m * self.n;
        if size == 0 {
            return;
        }
        // SAFETY: the caller's guarantee covers every block and the tail's inputs.
        unsafe {
            let mut few = [std::ptr::null(); TAIL_INPUTS];
            let many: Vec<*const u8>;
            let inputs = self.tail.as_ref().map_or(0, |tail| tail.inputs);
            let tail_inputs: &[*const u8] = if inputs <= TAIL_INPUTS {
                for (i, place) in few[..inputs].iter_mut().enumerate() {
                    *place = if i == 0 { io.outputs[0].cast_const() } else { io.inputs[i + 1] };
                }
                &few[..inputs]
            } else {
                many = std::iter::once(io.outputs[0].cast_const()).chain(io.inputs[2..].iter().copied()).collect();
                &many
            };
            let tail_io = Io { inputs: tail_inputs, outputs: io.outputs, scalars: io.scalars };
            if self.k == 0 {
                fill::full(0, self.dtype.size(), io.outputs[0], size);
                if let Some(tail) = &self.tail {
                    run_range(&tail.tiles, tail_io, 0, size, team);
                }
                return;
            }
            let pieces = self.matrices * self.grid.blocks();
            let shared = Shared((io, tail_io));
            let piece = |i: usize, team: &dyn Team| {
                let (io, tail_io) = shared.get();
                let (matrix, block) = (i / self.grid.blocks(), i % self.grid.blocks());
                let (rows, columns) = (self.grid.rows(block), self.grid.columns(block));
                self.block(io, matrix, rows.clone(), columns.clone(), team);
                if let Some(tail) = &self.tail {
                    tail.run(tail_io, matrix, (self.m, self.n), rows, columns);
                }
            };
            if pieces == 1 || team.width() == 1 || !self.grid.worth_splitting() {
                (0..pieces).for_each(|i| piece(i, team));
            } else {
                // Group small products: handing out each one would cost more than computing it.
                let together = (TOGETHER / (self.m * self.n * self.k)).clamp(1, pieces);
                partition::split(team, pieces.div_ceil(together), &|i| {
                    (i * together..pieces.min((i + 1) * together)).for_each(|i| piece(i, &Solo));
                });
            }
        }
    }
}
