//! Tiers 2 and 3 of the catalogue: the rows of structured ops and of composites.

use crate::op::{FillKind, Op, OpRow, ReduceKind, Tier};

const fn structured(name: &'static str, arguments: &'static str, arity: Option<u8>, doc: &'static str) -> OpRow {
    OpRow { name, arguments, tier: Tier::Structured, arity, infallible: true, doc }
}

/// A structured op that can fail at run time, depending on its data.
const fn fallible(name: &'static str, arguments: &'static str, arity: Option<u8>, doc: &'static str) -> OpRow {
    OpRow { name, arguments, tier: Tier::Structured, arity, infallible: false, doc }
}

const fn composite(name: &'static str, arguments: &'static str, arity: Option<u8>, doc: &'static str) -> OpRow {
    OpRow { name, arguments, tier: Tier::Composite, arity, infallible: true, doc }
}

/// Structured ops and their rows. Routines have their own tables.
pub static STRUCTURED: &[(Op, OpRow)] = &[
    (Op::View, structured("view", "x, layout", Some(1), "another layout of the same elements")),
    (Op::Reduce(ReduceKind::Sum), structured("sum", "x, axis, keepdims", Some(1), "sum over axes")),
    (Op::Reduce(ReduceKind::Prod), structured("prod", "x, axis, keepdims", Some(1), "product over axes")),
    (
        Op::Reduce(ReduceKind::Max),
        structured("max", "x, axis, keepdims", Some(1), "largest over axes; NaN if any element is NaN"),
    ),
    (
        Op::Reduce(ReduceKind::Min),
        structured("min", "x, axis, keepdims", Some(1), "smallest over axes; NaN if any element is NaN"),
    ),
    (
        Op::Reduce(ReduceKind::ArgMax),
        structured("argmax", "x, axis, keepdims", Some(1), "index of the first largest element along an axis"),
    ),
    (
        Op::Reduce(ReduceKind::ArgMin),
        structured("argmin", "x, axis, keepdims", Some(1), "index of the first smallest element along an axis"),
    ),
    (
        Op::Reduce(ReduceKind::NanMax),
        structured("nanmax", "x, axis, keepdims", Some(1), "largest over axes, ignoring NaN; NaN if all are NaN"),
    ),
    (
        Op::Reduce(ReduceKind::NanMin),
        structured("nanmin", "x, axis, keepdims", Some(1), "smallest over axes, ignoring NaN; NaN if all are NaN"),
    ),
    (Op::Matmul, structured("matmul", "x1, x2", Some(2), "matrix product, batched over leading dimensions")),
    (Op::Concat, structured("concatenate", "arrays, axis", None, "concatenation of arrays along an axis")),
    (Op::Update, structured("update", "base, value, region", Some(2), "an array with a region overwritten")),
    (Op::Take, fallible("take", "x, indices, axis, mode", Some(2), "rows along an axis, selected by an index array")),
    (
        Op::ScatterAdd,
        fallible(
            "scatter_add",
            "base, indices, updates, axis, mode",
            Some(3),
            "an array with updates added to the rows that an index array selects",
        ),
    ),
    (Op::Transfer, structured("transfer", "x, device", Some(1), "the same elements on another device")),
    (Op::Fill(FillKind::Full), structured("full", "shape, value, dtype", Some(0), "an array filled with one value")),
    (Op::Fill(FillKind::Arange), structured("arange", "start, stop, step, dtype", Some(0), "evenly spaced values")),
    (Op::Fill(FillKind::Eye), structured("eye", "rows, columns, diagonal, dtype", Some(0), "ones on a diagonal")),
    (
        Op::Fill(FillKind::Normal),
        structured("normal", "shape, mean, scale, dtype", Some(0), "random numbers, normally distributed"),
    ),
    (
        Op::Fill(FillKind::Uniform),
        structured("uniform", "shape, low, high, dtype", Some(0), "random numbers, uniformly distributed"),
    ),
];

/// Composites: functions over other ops.
pub static COMPOSITE: &[OpRow] = &[
    composite("mean", "x, axis, keepdims", Some(1), "sum over axes, divided by the number of elements"),
    composite("dot", "x1, x2", Some(2), "NumPy's dot: inner product, matrix product or scaling, by the dimensions"),
    composite("var", "x, axis, ddof, keepdims", Some(1), "variance over axes"),
    composite("std", "x, axis, ddof, keepdims", Some(1), "square root of the variance over axes"),
    composite("clip", "x, low, high", Some(3), "elements limited to the interval from low to high"),
    composite("softmax", "x, axis", Some(1), "exponentials along an axis, divided by their sum"),
    composite("log_softmax", "x, axis", Some(1), "logarithm of the softmax along an axis"),
    composite(
        "layer_norm",
        "x, gamma, beta, axis, eps",
        Some(3),
        "mean 0 and variance 1 along an axis, then scaled and shifted",
    ),
    composite(
        "batch_norm",
        "x, gamma, beta, running_mean, running_var, axis, eps, momentum, fix_gamma, training",
        Some(5),
        "mean 0 and variance 1 in every channel, then scaled and shifted",
    ),
    composite(
        "activation",
        "x, kind, slope",
        Some(1),
        "relu, sigmoid, tanh, softrelu, softsign, silu, gelu, gelu_erf, leaky, elu or selu",
    ),
    composite("dropout", "x, p, axes, training", Some(1), "elements set to zero at random, the rest scaled up"),
    composite("fully_connected", "x, weight, bias, flatten", Some(3), "product with a transposed weight, plus a bias"),
    composite(
        "one_hot",
        "indices, depth, on, off, dtype",
        Some(1),
        "rows with one value at the given index and another elsewhere",
    ),
    composite(
        "pick",
        "x, index, axis, keepdims, mode",
        Some(2),
        "one element per line along an axis, selected by an index array",
    ),
    composite("embedding", "indices, weight", Some(2), "rows of a table, selected by indices"),
];

/// The row of a structured op.
pub(crate) fn row(op: Op) -> Option<&'static OpRow> {
    match op {
        Op::Routine(routine) => Some(routine.row()),
        _ => STRUCTURED.iter().find(|(o, _)| *o == op).map(|(_, row)| row),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_ops_agree() {
        for (op, row) in STRUCTURED {
            assert_eq!(op.name(), row.name);
        }
        let mut codes: Vec<u16> = STRUCTURED.iter().map(|(op, _)| op.code()).collect();
        codes.sort();
        codes.dedup();
        assert_eq!(codes.len(), STRUCTURED.len());
    }
}
