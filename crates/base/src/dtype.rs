//! Element types and how they promote.

use std::fmt;

/// The type of an array's elements. The order of the variants is that of the table below and has no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum DType {
    /// One byte, 0 or 1.
    Bool = 0,
    /// 8-bit signed integer.
    I8 = 1,
    /// 16-bit signed integer.
    I16 = 2,
    /// 32-bit signed integer.
    I32 = 3,
    /// 64-bit signed integer.
    I64 = 4,
    /// 8-bit unsigned integer.
    U8 = 5,
    /// 16-bit unsigned integer.
    U16 = 6,
    /// 32-bit unsigned integer.
    U32 = 7,
    /// 64-bit unsigned integer.
    U64 = 8,
    /// IEEE half precision: 5 bits of exponent, 10 of fraction.
    F16 = 9,
    /// The upper half of an IEEE single: 8 bits of exponent, 7 of fraction.
    BF16 = 10,
    /// IEEE single precision: the default float of every namespace.
    F32 = 11,
    /// IEEE double precision.
    F64 = 12,
    /// A complex number: two singles, the real part first.
    C64 = 13,
    /// A complex number: two doubles, the real part first.
    C128 = 14,
}

/// The kind of a dtype, from the narrowest to the widest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Booleans.
    Bool,
    /// Integers, signed and unsigned.
    Int,
    /// Floating point.
    Float,
    /// Complex numbers.
    Complex,
}

impl DType {
    /// Every dtype.
    pub const ALL: [DType; 15] = [
        DType::Bool,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
        DType::C64,
        DType::C128,
    ];

    /// The integer dtype that booleans are converted to where an op needs one.
    pub const DEFAULT_INT: DType = DType::I64;

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            DType::Bool | DType::I8 | DType::U8 => 1,
            DType::I16 | DType::U16 | DType::F16 | DType::BF16 => 2,
            DType::I32 | DType::U32 | DType::F32 => 4,
            DType::I64 | DType::U64 | DType::F64 | DType::C64 => 8,
            DType::C128 => 16,
        }
    }

    /// The kind.
    pub const fn kind(self) -> Kind {
        match self {
            DType::Bool => Kind::Bool,
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => Kind::Int,
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => Kind::Int,
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 => Kind::Float,
            DType::C64 | DType::C128 => Kind::Complex,
        }
    }

    /// Whether it is an unsigned integer.
    pub const fn is_unsigned(self) -> bool {
        matches!(self, DType::U8 | DType::U16 | DType::U32 | DType::U64)
    }

    /// NumPy's name.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::I8 => "int8",
            DType::I16 => "int16",
            DType::I32 => "int32",
            DType::I64 => "int64",
            DType::U8 => "uint8",
            DType::U16 => "uint16",
            DType::U32 => "uint32",
            DType::U64 => "uint64",
            DType::F16 => "float16",
            DType::BF16 => "bfloat16",
            DType::F32 => "float32",
            DType::F64 => "float64",
            DType::C64 => "complex64",
            DType::C128 => "complex128",
        }
    }

    /// The dtype with this NumPy name.
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|d| d.name() == name)
    }

    /// The dtype in which ops on this one are computed: an op casts its operands to it, and its result back. Every
    /// narrower integer is representable in it, and wraps the same way after the cast back. A half-float sum, product,
    /// quotient or root that is computed in it and rounded equals the exact result rounded once. A complex number is
    /// two numbers of its carrier, and its ops are computed on the parts.
    pub const fn carrier(self) -> DType {
        match self {
            DType::I8 | DType::I16 | DType::U8 | DType::U16 => DType::I32,
            DType::U32 => DType::I64,
            DType::F16 | DType::BF16 | DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            DType::Bool | DType::I32 | DType::I64 | DType::U64 | DType::F32 | DType::F64 => self,
        }
    }

    /// The dtype that both promote to. Among signed integers, among unsigned ones and among floats the wider wins. A
    /// signed and an unsigned integer become a signed one that holds both, or float64 if there is none; the two half
    /// floats become float32. A float wins over integers and keeps its width, so that integer labels do not turn
    /// single-precision programs into double ones. So does a complex dtype, except that float64 makes it complex128.
    pub const fn promote(self, other: DType) -> DType {
        let (small, large) = if self.kind() as u8 <= other.kind() as u8 { (self, other) } else { (other, self) };
        if small.kind() as u8 != large.kind() as u8 {
            return if matches!((small, large), (DType::F64, DType::C64)) { DType::C128 } else { large };
        }
        match large.kind() {
            Kind::Bool => large,
            Kind::Int if small.is_unsigned() == large.is_unsigned() => wider(small, large),
            Kind::Int => {
                let (signed, unsigned) = if small.is_unsigned() { (large, small) } else { (small, large) };
                let holds_both = match unsigned {
                    DType::U8 => DType::I16,
                    DType::U16 => DType::I32,
                    DType::U32 => DType::I64,
                    _ => return DType::F64,
                };
                wider(signed, holds_both)
            }
            Kind::Float if small.size() == large.size() && small as u8 != large as u8 => DType::F32,
            Kind::Float | Kind::Complex => wider(small, large),
        }
    }

    /// The complex dtype whose parts hold this dtype; for integers, the one of the default float.
    pub const fn to_complex(self) -> DType {
        match self {
            DType::F64 | DType::C128 => DType::C128,
            _ => DType::C64,
        }
    }

    /// The dtype of a mean. float32 cannot represent the mean of large integers, so integers and booleans give float64.
    pub const fn to_mean(self) -> DType {
        match self.kind() {
            Kind::Float | Kind::Complex => self,
            Kind::Bool | Kind::Int => DType::F64,
        }
    }

    /// The dtype of the real part.
    pub const fn to_real(self) -> DType {
        match self.kind() {
            Kind::Complex => self.carrier(),
            Kind::Bool | Kind::Int | Kind::Float => self,
        }
    }

    /// The dtype in which a float-only op computes: floats as they are, everything else in the default float.
    pub fn to_float(self) -> DType {
        match self.kind() {
            Kind::Float | Kind::Complex => self,
            Kind::Bool | Kind::Int => DType::default_float(),
        }
    }

    /// The smallest and largest number of an integer dtype; for others, the range of a boolean.
    pub const fn integer_range(self) -> (i128, i128) {
        match self.kind() {
            Kind::Int if self.is_unsigned() => (0, (1 << (8 * self.size())) - 1),
            Kind::Int => (-(1 << (8 * self.size() - 1)), (1 << (8 * self.size() - 1)) - 1),
            Kind::Bool | Kind::Float | Kind::Complex => (0, 1),
        }
    }
}

/// The one with more bytes.
const fn wider(a: DType, b: DType) -> DType {
    if a.size() > b.size() { a } else { b }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::DType::*;
    use super::*;

    #[test]
    fn the_table_of_promotion() {
        let table = [
            (I8, U8, I16),
            (I8, U16, I32),
            (I8, U32, I64),
            (I16, U8, I16),
            (I32, U32, I64),
            (I64, U32, I64),
            (U8, U32, U32),
            (I64, U64, F64),
            (Bool, U8, U8),
            (I64, F16, F16),
            (U64, F32, F32),
            (F16, BF16, F32),
            (F16, F64, F64),
            (BF16, F32, F32),
            (F32, C64, C64),
            (F64, C64, C128),
            (U64, C64, C64),
            (C64, C128, C128),
        ];
        for (a, b, c) in table {
            assert_eq!((a.promote(b), b.promote(a)), (c, c), "{a} {b}");
        }
        for (i, a) in DType::ALL.into_iter().enumerate() {
            assert_eq!((a as usize, a.promote(a)), (i, a));
            assert_eq!(DType::from_name(a.name()), Some(a));
        }
    }

    #[test]
    fn carriers_hold_what_they_carry() {
        for dtype in DType::ALL {
            let carrier = dtype.carrier();
            assert_eq!((carrier.carrier(), carrier.kind()), (carrier, dtype.to_real().kind()), "{dtype}");
            let ((low, high), (least, most)) = (dtype.integer_range(), carrier.integer_range());
            assert!(least <= low && high <= most);
        }
    }
}
