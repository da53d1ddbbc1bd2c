//! Convolutions as products whose left operand is read by a list of offsets.
//!
//! All three ops compute `made[p][f] = sum over k of x[from[p] + offset[k]] * factors[k][f]`. In a convolution `p` is a window, `k` an
//! element of it in all channels, and the factors are the weight. In a transposed convolution the windows fall into phases by
//! their remainder modulo the stride, each with its part of the kernel. In the gradient of a weight `p` is an element of the
//! kernel in one channel, `k` is a window, and the factors are what flows back. So no matrix of windows is ever written.
//!
//! Invariant: how work is cut and in which order sums are added follow from the shapes and the instruction set, not from the team.
//! Runs of about [`RUN`] products are added one after another, and the sums of runs are added in their order.

mod few;
mod images;
mod memory;
mod phases;
mod tile;
mod weights;

pub(crate) use images::{Images, scratch as images_scratch};
pub(crate) use memory::Stored;
pub(crate) use tile::Vector;
pub(crate) use weights::{Weights, scratch as weights_scratch};

/// Products that are added up in registers: their factors fit the nearest cache.
const RUN: usize = 128;

/// Columns of factors that are computed together, as vectors.
#[derive(Clone, Copy)]
struct Block {
    first: usize,
    count: usize,
    vectors: usize,
}

/// The blocks of so many columns, of at most `widest` vectors.
fn blocks(columns: usize, lanes: usize, widest: usize) -> Vec<Block> {
    let block = |first: usize| {
        let count = (columns - first).min(lanes * widest);
        Block { first, count, vectors: count.div_ceil(lanes) }
    };
    (0..columns).step_by(lanes * widest).map(block).collect()
}

/// Part `i` of `parts` even parts of `0 .. length`.
fn part(length: usize, parts: usize, i: usize) -> std::ops::Range<usize> {
    length * i / parts..length * (i + 1) / parts
}

/// Runs of at most `most` of `length`, as even as can be: how long the first is.
fn even_run(length: usize, most: usize) -> usize {
    length.div_ceil(length.div_ceil(most.max(1)).max(1)).max(1)
}
