//! The ops of the catalogue: pointwise rows, structured ops and composites, one row each.

use crate::{Attribute, Point, PythonFunction, Routine, structured};

/// The operation of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum ReduceKind {
    /// Sum, 0 when empty.
    Sum,
    /// Product, 1 when empty.
    Prod,
    /// Largest; NaN if any element is NaN.
    Max,
    /// Smallest; NaN if any element is NaN.
    Min,
    /// Index of the first largest element (or first NaN), as int64.
    ArgMax,
    /// Index of the first smallest element (or first NaN), as int64.
    ArgMin,
    /// Largest, ignoring NaN; NaN if all elements are NaN.
    NanMax,
    /// Smallest, ignoring NaN; NaN if all elements are NaN.
    NanMin,
}

/// The values of a fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum FillKind {
    /// Every element is immediate 0.
    Full,
    /// `start + i * step`, computed in double or int64 and rounded once. Immediates: start and step, as float64 bits
    /// for float dtypes and int64 bits for others.
    Arange,
    /// 1 on the k-th diagonal of the last two dimensions, else 0. Immediate 0: k as int64 bits.
    Eye,
    /// Standard normal numbers. Immediates: the key and the first counter block.
    Normal,
    /// Uniform numbers in [0, 1). Immediates: the key and the first counter block.
    Uniform,
}

/// How an index outside of an axis is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Beyond {
    /// An error. Negative indices count from the end.
    Raise,
    /// Clamped to the nearest end; negative indices become 0.
    Clip,
    /// Modulo the extent.
    Wrap,
    /// An error, for negative indices as well. Used for class numbers.
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

    /// The position of an index on an axis of this extent, which must not be 0; `None` if the index is an error.
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

    /// Whether an index can be an error.
    pub fn may_fail(self) -> bool {
        matches!(self, Beyond::Raise | Beyond::Refuse)
    }
}

/// An op that a record can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Tier 1: element by element.
    Point(Point),
    /// Another layout over the same elements; never copies.
    View,
    /// A reduction over axes.
    Reduce(ReduceKind),
    /// A matrix product.
    Matmul,
    /// Concatenation.
    Concat,
    /// A copy of a base with a region overwritten.
    Update,
    /// Rows along an axis, selected by an index array.
    Take,
    /// A base with updates added to the rows that an index array selects.
    ScatterAdd,
    /// An array computed from parameters alone.
    Fill(FillKind),
    /// A function over dense arrays.
    Routine(Routine),
    /// A copy of the elements on another device.
    Transfer,
}

/// How an op is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// One row with a body over single elements.
    Pointwise,
    /// An op with its own inference and kernels.
    Structured,
    /// A function over other ops.
    Composite,
}

/// One row of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct OpRow {
    /// The name in frontends and messages.
    pub name: &'static str,
    /// The names of its array inputs.
    pub inputs: &'static [&'static str],
    /// Whether the only input stands for any number of arrays.
    pub variadic: bool,
    /// The other arguments.
    pub attributes: &'static [Attribute],
    /// How the op is declared.
    pub tier: Tier,
    /// Whether the op cannot fail after submission. Such an op may be dropped if nobody can read its result.
    pub infallible: bool,
    /// One sentence for the reference.
    pub doc: &'static str,
    /// The generated Python function, if there is one.
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
    /// The name in frontends and messages.
    pub fn name(self) -> &'static str {
        match self {
            Op::Point(p) => p.row().name,
            _ => structured::row(self).map_or_else(|| unreachable!("{self:?} has no row"), |row| row.name),
        }
    }

    /// Whether the op cannot fail after submission, so that it may be dropped if nobody can read its result.
    pub fn infallible(self) -> bool {
        structured::row(self).is_none_or(|row| row.infallible)
    }

    /// Whether each element of the result depends only on the corresponding elements of the operands.
    pub fn is_pointwise(self) -> bool {
        matches!(self, Op::Point(_) | Op::Fill(FillKind::Full))
    }

    /// A unique 16-bit code, for records and keys.
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
