//! The catalogue's list: pointwise rows, structured ops and composites, one row each.

use crate::{Attribute, Point, PythonFunction, Routine, structured};

/// What a reduction computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum ReduceKind {
    /// Sum, 0 when empty.
    Sum,
    /// Product, 1 when empty.
    Prod,
    /// Largest; NaN if any is.
    Max,
    /// Smallest; NaN if any is.
    Min,
    /// Index of the first largest (or first NaN), as int64.
    ArgMax,
    /// Index of the first smallest (or first NaN), as int64.
    ArgMin,
    /// Largest of what is not NaN; NaN if all are.
    NanMax,
    /// Smallest of what is not NaN; NaN if all are.
    NanMin,
}

/// What a fill computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum FillKind {
    /// Scalar 0 everywhere.
    Full,
    /// `start + i * step`, computed in double or int64 and rounded once. Scalars: start, step, as bits of
    /// float64 for float dtypes and of int64 for the others.
    Arange,
    /// 1 on the k-th diagonal of the last two dimensions, else 0. Scalar 0: k as int64 bits.
    Eye,
    /// Standard normal numbers. Scalars: the key, the first counter block.
    Normal,
    /// Uniform numbers in [0, 1). Scalars: the key, the first counter block.
    Uniform,
}

/// What an index beyond the ends of an axis means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Beyond {
    /// A failure. Negative indices count from the end.
    Raise,
    /// The nearest end; negative indices are the first.
    Clip,
    /// Counted round and round.
    Wrap,
    /// A failure; so are negative indices. For numbers of classes.
    Refuse,
}

impl Beyond {
    /// The mode with NumPy's name.
    pub fn from_name(name: &str) -> Option<Beyond> {
        match name {
            "raise" => Some(Beyond::Raise),
            "clip" => Some(Beyond::Clip),
            "wrap" => Some(Beyond::Wrap),
            "refuse" => Some(Beyond::Refuse),
            _ => None,
        }
    }

    /// The position an index means on an axis of this extent, which is not 0; `None` if it fails.
    #[inline(always)]
    pub fn position(self, index: i64, extent: usize) -> Option<usize> {
        let n = extent as i64;
        match self {
            Beyond::Raise => {
                let at = if index < 0 { index.wrapping_add(n) } else { index };
                (0..n).contains(&at).then_some(at as usize)
            }
            Beyond::Clip => Some(index.clamp(0, n - 1) as usize),
            Beyond::Wrap => Some(index.rem_euclid(n) as usize),
            Beyond::Refuse => (0..n).contains(&index).then_some(index as usize),
        }
    }

    /// Whether an index may fail.
    pub fn may_fail(self) -> bool {
        matches!(self, Beyond::Raise | Beyond::Refuse)
    }
}

/// An op that a record can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Tier 1: element by element.
    Point(Point),
    /// Another layout of the same elements; never a copy.
    View,
    /// Fewer dimensions.
    Reduce(ReduceKind),
    /// A matrix product.
    Matmul,
    /// Arrays one after another.
    Concat,
    /// A base with a region overwritten.
    Update,
    /// Rows along an axis, named by an array of indices.
    Take,
    /// A base with updates added to the rows that indices name.
    ScatterAdd,
    /// From parameters alone.
    Fill(FillKind),
    /// A function over dense arrays.
    Routine(Routine),
    /// The same elements on another device.
    Transfer,
}

/// How an op is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// One row with a body.
    Pointwise,
    /// Inference and kernels of its own.
    Structured,
    /// A function over other ops.
    Composite,
}

/// One row of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct OpRow {
    /// The name users and messages know.
    pub name: &'static str,
    /// The names of its array inputs.
    pub inputs: &'static [&'static str],
    /// Whether the one input stands for any number of arrays.
    pub variadic: bool,
    /// What else it takes.
    pub attributes: &'static [Attribute],
    /// How it is declared.
    pub tier: Tier,
    /// Whether it may be dropped when nobody can look: it cannot fail once it was submitted.
    pub infallible: bool,
    /// One sentence for the reference.
    pub doc: &'static str,
    /// The Python function that is generated for it, if one is.
    pub python: Option<PythonFunction>,
}

impl OpRow {
    /// Number of array inputs; `None` for any number.
    pub fn arity(&self) -> Option<usize> {
        (!self.variadic).then_some(self.inputs.len())
    }

    /// The names of its arguments, arrays first.
    pub fn arguments(&self) -> String {
        let attributes = self.attributes.iter().map(|attribute| attribute.name);
        self.inputs.iter().copied().chain(attributes).collect::<Vec<_>>().join(", ")
    }
}

impl Op {
    /// The name users and messages know.
    pub fn name(self) -> &'static str {
        match self {
            Op::Point(p) => p.row().name,
            Op::View => "view",
            Op::Reduce(ReduceKind::Sum) => "sum",
            Op::Reduce(ReduceKind::Prod) => "prod",
            Op::Reduce(ReduceKind::Max) => "max",
            Op::Reduce(ReduceKind::Min) => "min",
            Op::Reduce(ReduceKind::ArgMax) => "argmax",
            Op::Reduce(ReduceKind::ArgMin) => "argmin",
            Op::Reduce(ReduceKind::NanMax) => "nanmax",
            Op::Reduce(ReduceKind::NanMin) => "nanmin",
            Op::Matmul => "matmul",
            Op::Concat => "concatenate",
            Op::Update => "update",
            Op::Take => "take",
            Op::ScatterAdd => "scatter_add",
            Op::Transfer => "transfer",
            Op::Routine(routine) => routine.name(),
            Op::Fill(FillKind::Full) => "full",
            Op::Fill(FillKind::Arange) => "arange",
            Op::Fill(FillKind::Eye) => "eye",
            Op::Fill(FillKind::Normal) => "normal",
            Op::Fill(FillKind::Uniform) => "uniform",
        }
    }

    /// Whether a result nobody can look at need not be computed: most ops fail, if at all, when they are submitted.
    pub fn infallible(self) -> bool {
        structured::row(self).is_none_or(|row| row.infallible)
    }

    /// Structural ops read elements other than the one they write; the rest is pointwise.
    pub fn is_pointwise(self) -> bool {
        matches!(self, Op::Point(_) | Op::Fill(FillKind::Full))
    }

    /// A 16-bit code, one for each op, for records and keys.
    pub fn code(self) -> u16 {
        match self {
            Op::Point(p) => p as u16,
            Op::View => 0x100,
            Op::Reduce(kind) => 0x200 + kind as u16,
            Op::Matmul => 0x300,
            Op::Concat => 0x301,
            Op::Update => 0x302,
            Op::Take => 0x303,
            Op::ScatterAdd => 0x304,
            Op::Transfer => 0x305,
            Op::Fill(kind) => 0x400 + kind as u16,
            Op::Routine(routine) => 0x500 + routine.code(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_beyond_the_ends() {
        let all = [-6, -5, -1, 0, 4, 5, i64::MIN, i64::MAX];
        let positions = |mode: Beyond| all.map(|i| mode.position(i, 5));
        assert_eq!(positions(Beyond::Raise), [None, Some(0), Some(4), Some(0), Some(4), None, None, None]);
        assert_eq!(positions(Beyond::Clip), [0, 0, 0, 0, 4, 4, 0, 4].map(Some));
        assert_eq!(positions(Beyond::Wrap), [4, 0, 4, 0, 4, 0, 2, 2].map(Some));
        assert_eq!(positions(Beyond::Refuse), [None, None, None, Some(0), Some(4), None, None, None]);
        assert_eq!(Beyond::from_name("wrap"), Some(Beyond::Wrap));
        assert_eq!(Beyond::from_name("bend"), None);
    }
}
