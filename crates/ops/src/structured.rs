//! Tiers 2 and 3 of the catalogue: the rows of structured ops and of composites.

use crate::Attribute;
use crate::AttributeKind::{self, Axis, Flag, Float, Integer, Integers, Other};
use crate::op::Tier::{Composite, Structured};
use crate::op::{FillKind, Op, OpRow, ReduceKind};

const AXES: AttributeKind = Other("axes");
const DTYPE: AttributeKind = Other("dtype");
const NAME: AttributeKind = Other("name");
const NUMBER: AttributeKind = Other("number");

/// A row: tier, name, inputs, attributes with their kinds, and what the op computes.
macro_rules! row {
    ($tier:ident $name:ident($($input:ident),*) [$($attribute:ident: $kind:expr),*] $doc:literal) => {
        OpRow {
            name: stringify!($name),
            inputs: &[$(stringify!($input)),*],
            variadic: false,
            attributes: &[$(Attribute { name: stringify!($attribute), kind: $kind }),*],
            tier: $tier,
            infallible: true,
            doc: $doc,
            python: None,
        }
    };
}

/// A reduction's row.
macro_rules! reduction {
    ($kind:ident $name:ident $doc:literal) => {
        (Op::Reduce(ReduceKind::$kind), row!(Structured $name(x) [axis: AXES, keepdims: Flag] $doc))
    };
}

/// An op that can fail at run time, depending on its data.
const fn fallible(row: OpRow) -> OpRow {
    OpRow { infallible: false, ..row }
}

/// Structured ops and their rows. Routines have their own tables.
pub static STRUCTURED: &[(Op, OpRow)] = &[
    (Op::View, row!(Structured view(x) [layout: Other("layout")] "another layout of the same elements")),
    reduction!(Sum sum "sum over axes"),
    reduction!(Prod prod "product over axes"),
    reduction!(Max max "largest over axes; NaN if any element is NaN"),
    reduction!(Min min "smallest over axes; NaN if any element is NaN"),
    reduction!(ArgMax argmax "index of the first largest element along an axis"),
    reduction!(ArgMin argmin "index of the first smallest element along an axis"),
    reduction!(NanMax nanmax "largest over axes, ignoring NaN; NaN if all are NaN"),
    reduction!(NanMin nanmin "smallest over axes, ignoring NaN; NaN if all are NaN"),
    (Op::Matmul, row!(Structured matmul(x1, x2) [] "matrix product, batched over leading dimensions")),
    (
        Op::Concat,
        OpRow {
            variadic: true,
            ..row!(Structured concatenate(arrays) [axis: Axis] "concatenation of arrays along an axis")
        },
    ),
    (Op::Update, row!(Structured update(base, value) [region: Other("layout")] "an array with a region overwritten")),
    (
        Op::Take,
        fallible(
            row!(Structured take(x, indices) [axis: Axis, mode: NAME] "rows along an axis, selected by an index array"),
        ),
    ),
    (
        Op::ScatterAdd,
        fallible(row!(Structured scatter_add(base, indices, updates) [axis: Axis, mode: NAME]
            "an array with updates added to the rows that an index array selects")),
    ),
    (Op::Transfer, row!(Structured transfer(x) [device: Other("device")] "the same elements on another device")),
    (
        Op::Fill(FillKind::Full),
        row!(Structured full() [shape: Integers, value: NUMBER, dtype: DTYPE] "an array filled with one value"),
    ),
    (
        Op::Fill(FillKind::Arange),
        row!(Structured arange() [start: NUMBER, stop: NUMBER, step: NUMBER, dtype: DTYPE] "evenly spaced values"),
    ),
    (
        Op::Fill(FillKind::Eye),
        row!(Structured eye() [rows: Integer, columns: Integer, diagonal: Integer, dtype: DTYPE] "ones on a diagonal"),
    ),
    (
        Op::Fill(FillKind::Normal),
        row!(Structured normal() [shape: Integers, mean: Float, scale: Float, dtype: DTYPE]
            "random numbers, normally distributed"),
    ),
    (
        Op::Fill(FillKind::Uniform),
        row!(Structured uniform() [shape: Integers, low: Float, high: Float, dtype: DTYPE]
            "random numbers, uniformly distributed"),
    ),
];

/// Composites: functions over other ops.
pub static COMPOSITE: &[OpRow] = &[
    row!(Composite mean(x) [axis: AXES, keepdims: Flag] "sum over axes, divided by the number of elements"),
    row!(Composite dot(x1, x2) [] "NumPy's dot: inner product, matrix product or scaling, by the dimensions"),
    row!(Composite var(x) [axis: AXES, ddof: Float, keepdims: Flag] "variance over axes"),
    row!(Composite std(x) [axis: AXES, ddof: Float, keepdims: Flag] "square root of the variance over axes"),
    row!(Composite clip(x, low, high) [] "elements limited to the interval from low to high"),
    row!(Composite softmax(x) [axis: Axis] "exponentials along an axis, divided by their sum"),
    row!(Composite log_softmax(x) [axis: Axis] "logarithm of the softmax along an axis"),
    row!(Composite layer_norm(x, gamma, beta) [axis: Axis, eps: Float]
        "mean 0 and variance 1 along an axis, then scaled and shifted"),
    row!(Composite rms_norm(x, gamma) [axis: Axis, eps: Float]
        "divided by the root of the mean square along an axis, then scaled"),
    row!(Composite group_norm(x, gamma, beta) [groups: Integer, eps: Float]
        "mean 0 and variance 1 in every group of channels of a sample, then scaled and shifted"),
    row!(Composite instance_norm(x, gamma, beta) [axis: Axis, eps: Float]
        "mean 0 and variance 1 in every channel of a sample, then scaled and shifted"),
    row!(Composite batch_norm(x, gamma, beta, running_mean, running_var)
        [axis: Axis, eps: Float, momentum: Float, fix_gamma: Flag, training: Flag]
        "mean 0 and variance 1 in every channel, then scaled and shifted"),
    row!(Composite activation(x) [kind: NAME, slope: Float]
        "relu, sigmoid, tanh, softrelu, softsign, silu, gelu, gelu_erf, leaky, elu or selu"),
    row!(Composite prelu(x, slope) [] "x if positive, otherwise x times one slope, or the slope of its channel"),
    row!(Composite dropout(x) [p: Float, axes: AXES, training: Flag]
        "elements set to zero at random, the rest scaled up"),
    row!(Composite fully_connected(x, weight, bias) [flatten: Flag] "product with a transposed weight, plus a bias"),
    row!(Composite one_hot(indices) [depth: Integer, on: Float, off: Float, dtype: DTYPE]
        "rows with one value at the given index and another elsewhere"),
    row!(Composite pick(x, index) [axis: Axis, keepdims: Flag, mode: NAME] "one element per line along an axis, selected by an index array"),
    row!(Composite embedding(indices, weight) [] "rows of a table, selected by indices"),
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
