//! Convolutions as matrix products whose left operand is read through a list of offsets, without an im2col matrix.
//!
//! All three ops compute `result[p][f] = sum over k of x[from[p] + offset[k]] * factors[k][f]`. In a convolution `p` is
//! a window, `k` a kernel element of an input channel, and the factors are the weight. In a transposed convolution the
//! windows are grouped into phases by their remainder modulo the stride; each phase uses a part of the kernel. In the
//! gradient of a weight `p` is a kernel element of an input channel, `k` is a window, and the factors are the gradient
//! of the result.
//!
//! Invariant: the partition of the work and the order of additions depend on the shapes and the instruction set, not on
//! the number of threads. Runs of about 128 products are summed sequentially, and the sums of runs are added in order.

mod blocks;
mod few;
mod images;
mod memory;
mod phases;
mod tile;
mod weights;

use blocks::{Block, RUN, blocks, even_run, part};
pub(crate) use images::{Images, scratch as images_scratch};
pub(crate) use memory::Stored;
pub(crate) use tile::Vector;
pub(crate) use weights::{Weights, scratch as weights_scratch};
