//! Tiers 2 and 3 of the catalogue: the rows of structured ops and of composites.

use crate::op::{FillKind, Op, OpRow, ReduceKind, Tier};

const fn structured(name: &'static str, arity: Option<u8>, doc: &'static str) -> OpRow {
    OpRow { name, tier: Tier::Structured, arity, infallible: true, doc }
}

/// A structured op that looks at its data before it can say whether it fails.
const fn fallible(name: &'static str, arity: Option<u8>, doc: &'static str) -> OpRow {
    OpRow { name, tier: Tier::Structured, arity, infallible: false, doc }
}

const fn composite(name: &'static str, arity: Option<u8>, doc: &'static str) -> OpRow {
    OpRow { name, tier: Tier::Composite, arity, infallible: true, doc }
}

/// Structured ops, with the op each row stands for.
pub static STRUCTURED: &[(Op, OpRow)] = &[
    (Op::View, structured("view", Some(1), "another layout of the same elements")),
    (Op::Reduce(ReduceKind::Sum), structured("sum", Some(1), "sum over axes")),
    (Op::Reduce(ReduceKind::Prod), structured("prod", Some(1), "product over axes")),
    (Op::Reduce(ReduceKind::Max), structured("max", Some(1), "largest over axes; NaN if any is")),
    (Op::Reduce(ReduceKind::Min), structured("min", Some(1), "smallest over axes; NaN if any is")),
    (Op::Reduce(ReduceKind::ArgMax), structured("argmax", Some(1), "index of the first largest along an axis")),
    (Op::Reduce(ReduceKind::ArgMin), structured("argmin", Some(1), "index of the first smallest along an axis")),
    (Op::Matmul, structured("matmul", Some(2), "matrix product, stacked over leading dimensions")),
    (Op::Concat, structured("concatenate", None, "arrays one after another along an axis")),
    (Op::Update, structured("update", Some(2), "an array with a region overwritten")),
    (Op::Take, fallible("take", Some(2), "rows along an axis, named by an array of indices")),
    (Op::ScatterAdd, fallible("scatter_add", Some(3), "an array with updates added to the rows that indices name")),
    (Op::Fill(FillKind::Full), structured("full", Some(0), "one value everywhere")),
    (Op::Fill(FillKind::Arange), structured("arange", Some(0), "evenly spaced values")),
    (Op::Fill(FillKind::Eye), structured("eye", Some(0), "ones on a diagonal")),
    (Op::Fill(FillKind::Normal), structured("normal", Some(0), "random numbers, normally distributed")),
    (Op::Fill(FillKind::Uniform), structured("uniform", Some(0), "random numbers, uniformly distributed")),
];

/// Composites: functions over other ops.
pub static COMPOSITE: &[OpRow] = &[
    composite("mean", Some(1), "sum over axes, divided by the number of elements"),
    composite("dot", Some(2), "NumPy's dot: inner product, matrix product or scaling, by the dimensions"),
    composite("var", Some(1), "mean square of what is off the mean, over axes"),
    composite("std", Some(1), "square root of the variance over axes"),
    composite("clip", Some(3), "nothing below the second or above the third"),
    composite("softmax", Some(1), "exponentials along an axis, divided by their sum"),
    composite("log_softmax", Some(1), "logarithm of the softmax along an axis"),
    composite("layer_norm", Some(3), "mean 0 and variance 1 along an axis, then scaled and shifted"),
    composite("batch_norm", Some(5), "mean 0 and variance 1 in every channel, then scaled and shifted"),
    composite("activation", Some(1), "relu, sigmoid, tanh, softrelu, softsign, silu, gelu, leaky, elu or selu"),
    composite("dropout", Some(1), "elements set to zero at random, the rest scaled up"),
    composite("fully_connected", Some(3), "product with a transposed weight, plus a bias"),
    composite("one_hot", Some(1), "one value at the index an element names, another elsewhere"),
    composite("pick", Some(2), "elements that indices name along an axis"),
    composite("embedding", Some(2), "rows of a table, named by indices"),
];

/// The row of a structured op.
pub(crate) fn row(op: Op) -> Option<&'static OpRow> {
    STRUCTURED.iter().find(|(o, _)| *o == op).map(|(_, row)| row)
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
