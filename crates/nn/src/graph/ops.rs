//! The ops that graph files may name.
//!
//! Pointwise ops, reductions, products and the other structured ops are all allowed, except views and transfers, which
//! files express otherwise. A routine is allowed if its inference rejects every combination of attributes and shapes
//! that its kernels cannot handle: the attributes of a file are arbitrary integers.

use forerun_ops::{FillKind, Op, Point, Routine, STRUCTURED};

/// Routines that files may contain. Those that are missing are gradients, read values to determine their shapes, or
/// trust positions that their callers computed.
const ROUTINES: &[&str] = &[
    "add_along_axis",
    "among",
    "argcummax",
    "argcummin",
    "argpartition",
    "argsort",
    "argtop",
    "assign_anchors",
    "attention",
    "average_pool",
    "batch_moments",
    "batch_norm_apply",
    "bilinear_sample",
    "bipartite_match",
    "cholesky",
    "col2im",
    "constraint_check",
    "convolution",
    "convolution_transpose",
    "convolve",
    "cumprod",
    "cumsum",
    "det",
    "digitize",
    "eigh",
    "eigvalsh",
    "fft",
    "im2col",
    "interp",
    "inv",
    "irfft",
    "layer_norm_rows",
    "linear_scan",
    "log_softmax_rows",
    "max_pool",
    "partition",
    "put_along_axis",
    "qr",
    "quantile",
    "random_bits",
    "recurrent_scan",
    "rfft",
    "roi_align",
    "roi_pool",
    "searchsorted",
    "slogdet",
    "softmax_rows",
    "solve",
    "solve_triangular",
    "sort",
    "suppress_boxes",
    "svd",
    "svdvals",
    "take_along_axis",
];

/// Whether files may contain a routine.
pub(crate) fn allows(routine: Routine) -> bool {
    ROUTINES.binary_search(&routine.name()).is_ok()
}

/// The op with this name, if files may contain it.
pub(crate) fn named(name: &str) -> Option<Op> {
    let structured = || STRUCTURED.iter().find(|(_, row)| row.name == name).map(|(op, _)| *op);
    let routine = || Routine::from_name(name).filter(|routine| allows(*routine)).map(Op::Routine);
    Point::from_name(name).map(Op::Point).or_else(structured).or_else(routine).filter(|op| match op {
        Op::View | Op::Transfer => false,
        Op::Fill(FillKind::Full | FillKind::Arange | FillKind::Eye | FillKind::Normal | FillKind::Uniform) => true,
        Op::Point(_) | Op::Reduce(_) | Op::Matmul | Op::Concat | Op::Update => true,
        Op::Take | Op::ScatterAdd | Op::Routine(_) => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_names_routines() {
        assert!(ROUTINES.is_sorted());
        for name in ROUTINES {
            assert!(Routine::from_name(name).is_some(), "{name}");
            assert!(named(name).is_some(), "{name}");
        }
        for name in ["view", "transfer", "put", "nonzero", "softmax", "eval", ""] {
            assert!(named(name).is_none(), "{name}");
        }
    }
}
