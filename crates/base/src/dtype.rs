//! Element types and how they promote.

use std::fmt;

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum DType {
    /// One byte, 0 or 1.
    Bool = 0,
    /// 32-bit signed integer.
    I32 = 1,
    /// 64-bit signed integer.
    I64 = 2,
    /// IEEE single precision: the default float of every namespace.
    F32 = 3,
    /// IEEE double precision.
    F64 = 4,
}

/// The family a dtype belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Truth values.
    Bool,
    /// Signed integers.
    Int,
    /// Floating point.
    Float,
}

impl DType {
    /// Every dtype, in promotion order.
    pub const ALL: [DType; 5] = [DType::Bool, DType::I32, DType::I64, DType::F32, DType::F64];

    /// The float that integers and truth values become where an op needs one.
    pub const DEFAULT_FLOAT: DType = DType::F32;

    /// The integer that truth values become where an op needs one.
    pub const DEFAULT_INT: DType = DType::I64;

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            DType::Bool => 1,
            DType::I32 | DType::F32 => 4,
            DType::I64 | DType::F64 => 8,
        }
    }

    /// The family.
    pub const fn kind(self) -> Kind {
        match self {
            DType::Bool => Kind::Bool,
            DType::I32 | DType::I64 => Kind::Int,
            DType::F32 | DType::F64 => Kind::Float,
        }
    }

    /// NumPy's name.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::I32 => "int32",
            DType::I64 => "int64",
            DType::F32 => "float32",
            DType::F64 => "float64",
        }
    }

    /// The dtype with this NumPy name.
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|d| d.name() == name)
    }

    /// The dtype both promote to. Within a kind the wider wins; a float wins over integers and keeps
    /// its width, so that integer labels do not turn single-precision programs into double ones.
    pub const fn promote(self, other: DType) -> DType {
        if (self as u8) > (other as u8) { self } else { other }
    }

    /// What a float-only op computes in: floats as they are, everything else in the default float.
    pub const fn to_float(self) -> DType {
        match self.kind() {
            Kind::Float => self,
            Kind::Bool | Kind::Int => DType::DEFAULT_FLOAT,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
