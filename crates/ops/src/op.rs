//! The catalogue's list: pointwise rows, structured ops and composites, one row each.

use crate::{Point, structured};

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
    /// From parameters alone.
    Fill(FillKind),
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
    /// How it is declared.
    pub tier: Tier,
    /// Number of array inputs; `None` for any number.
    pub arity: Option<u8>,
    /// Whether it may be dropped when nobody can look: it cannot fail once it was submitted.
    pub infallible: bool,
    /// One sentence for the reference.
    pub doc: &'static str,
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
            Op::Matmul => "matmul",
            Op::Concat => "concatenate",
            Op::Update => "update",
            Op::Fill(FillKind::Full) => "full",
            Op::Fill(FillKind::Arange) => "arange",
            Op::Fill(FillKind::Eye) => "eye",
            Op::Fill(FillKind::Normal) => "normal",
            Op::Fill(FillKind::Uniform) => "uniform",
        }
    }

    /// Whether a result nobody can look at need not be computed. All ops so far fail, if at all, when they
    /// are submitted.
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
            Op::Fill(kind) => 0x400 + kind as u16,
        }
    }
}
