//! Convolutions as products whose left operand is read by a list of offsets.
//!
//! All three ops compute `made[p][f] = sum over k of x[from[p] + offset[k]] * factors[k][f]`. In a convolution `p` is a window, `k` an
//! element of it in all channels, and the factors are the weight. In a transposed convolution the windows fall into phases by
//! their remainder modulo the stride, each with its part of the kernel. In the gradient of a weight `p` is an element of the
//! kernel in one channel, `k` is a window, and the factors are what flows back. So no matrix of windows is ever written.
//!
//! Invariant: how work is cut and in which order sums are added follow from the shapes and the instruction set, not from the team.
//! Runs of about 128 products are added one after another, and the sums of runs are added in their order.

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
