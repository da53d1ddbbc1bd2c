//! A number in the user's program. It has a kind but no width: it takes the width of the array it is combined with, and
//! is stored in the record as 8 bytes.

use crate::{BFloat16, DType, Error, ErrorKind, Float16, Kind, Result};
use std::fmt;

/// A weakly typed scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer above the maximum of [`Scalar::Int`].
    Large(u64),
    /// A float.
    Float(f64),
    /// A complex number: its real and its imaginary part.
    Complex(f64, f64),
}

impl Scalar {
    /// The scalar's kind.
    pub const fn kind(self) -> Kind {
        match self {
            Scalar::Bool(_) => Kind::Bool,
            Scalar::Int(_) | Scalar::Large(_) => Kind::Int,
            Scalar::Float(_) => Kind::Float,
            Scalar::Complex(..) => Kind::Complex,
        }
    }

    /// The dtype that an array of `other` and this scalar promote to.
    pub fn promote_with(self, other: DType) -> DType {
        match (self.kind(), other.kind()) {
            (Kind::Float, Kind::Bool | Kind::Int) => DType::default_float(),
            (Kind::Int, Kind::Bool) => DType::DEFAULT_INT,
            (Kind::Complex, _) => other.to_complex(),
            _ => other,
        }
    }

    /// The dtype of an array made from this scalar alone.
    pub fn default_dtype(self) -> DType {
        match self {
            Scalar::Bool(_) => DType::Bool,
            Scalar::Int(_) => DType::DEFAULT_INT,
            Scalar::Large(_) => DType::U64,
            Scalar::Float(_) => DType::default_float(),
            Scalar::Complex(..) => DType::default_float().to_complex(),
        }
    }

    /// The element bits of this scalar in `dtype`, in the low bytes of a little-endian word. For complex128 the word is
    /// the real part, and the imaginary part is taken as zero: a caller with another one uses an array instead.
    pub fn to_bits(self, dtype: DType) -> u64 {
        let float = self.as_f64();
        // Conversion to narrower integers wraps integers and clamps floats.
        let int = |clamped: fn(f64) -> u64| match self {
            Scalar::Bool(b) => b as u64,
            Scalar::Int(i) => i as u64,
            Scalar::Large(i) => i,
            Scalar::Float(f) | Scalar::Complex(f, _) => clamped(f),
        };
        match dtype {
            DType::Bool => (float != 0.0 || self.imaginary() != 0.0) as u64,
            DType::I8 => int(|f| f as i8 as u64) as u8 as u64,
            DType::I16 => int(|f| f as i16 as u64) as u16 as u64,
            DType::I32 => int(|f| f as i32 as u64) as u32 as u64,
            DType::I64 => int(|f| f as i64 as u64),
            DType::U8 => int(|f| f as u8 as u64) as u8 as u64,
            DType::U16 => int(|f| f as u16 as u64) as u16 as u64,
            DType::U32 => int(|f| f as u32 as u64) as u32 as u64,
            DType::U64 => int(|f| f as u64),
            DType::F16 => Float16::from_f64(float).0 as u64,
            DType::BF16 => BFloat16::from_f64(float).0 as u64,
            // An integer is converted directly to single precision, not through double: one rounding.
            DType::F32 => match self {
                Scalar::Int(i) => (i as f32).to_bits() as u64,
                Scalar::Large(i) => (i as f32).to_bits() as u64,
                Scalar::Bool(_) | Scalar::Float(_) | Scalar::Complex(..) => (float as f32).to_bits() as u64,
            },
            DType::F64 | DType::C128 => float.to_bits(),
            DType::C64 => {
                let imaginary = (self.imaginary() as f32).to_bits() as u64;
                self.real().to_bits(DType::F32) | imaginary << 32
            }
        }
    }

    /// The imaginary part.
    pub const fn imaginary(self) -> f64 {
        match self {
            Scalar::Complex(_, imaginary) => imaginary,
            Scalar::Bool(_) | Scalar::Int(_) | Scalar::Large(_) | Scalar::Float(_) => 0.0,
        }
    }

    /// The real part.
    pub const fn real(self) -> Scalar {
        match self {
            Scalar::Complex(real, _) => Scalar::Float(real),
            Scalar::Bool(_) | Scalar::Int(_) | Scalar::Large(_) | Scalar::Float(_) => self,
        }
    }

    /// Whether one word holds it in `dtype`.
    pub const fn fits_word(self, dtype: DType) -> bool {
        !matches!((self, dtype), (Scalar::Complex(..), DType::C128))
    }

    /// The bytes of the element.
    pub fn to_bytes(self, dtype: DType) -> Vec<u8> {
        let mut bytes = self.to_bits(dtype).to_le_bytes()[..dtype.size().min(8)].to_vec();
        if dtype == DType::C128 {
            bytes.extend(self.imaginary().to_bits().to_le_bytes());
        }
        bytes
    }

    /// The scalar of an element's bytes.
    ///
    /// # Panics
    /// If there are fewer bytes than an element of the dtype has.
    pub fn from_bytes(bytes: &[u8], dtype: DType) -> Scalar {
        let word = |part: &[u8]| part.iter().rev().fold(0u64, |word, byte| word << 8 | *byte as u64);
        match dtype {
            DType::C128 => Scalar::Complex(f64::from_bits(word(&bytes[..8])), f64::from_bits(word(&bytes[8..16]))),
            dtype => Scalar::from_bits(word(&bytes[..dtype.size()]), dtype),
        }
    }

    /// The value as an integer, if it is one.
    pub const fn as_integer(self) -> Option<i128> {
        match self {
            Scalar::Int(i) => Some(i as i128),
            Scalar::Large(i) => Some(i as i128),
            Scalar::Bool(_) | Scalar::Float(_) | Scalar::Complex(..) => None,
        }
    }

    /// Whether the scalar is an integer outside the range of `dtype`, an integer dtype.
    pub const fn overflows(self, dtype: DType) -> bool {
        match (self.as_integer(), dtype.kind()) {
            (Some(value), Kind::Int) => {
                let (low, high) = dtype.integer_range();
                value < low || value > high
            }
            _ => false,
        }
    }

    /// As [`Scalar::to_bits`], for a number that a user writes into an array: integers must be in range.
    #[inline]
    pub fn to_bits_checked(self, dtype: DType) -> Result<u64> {
        // What stands beside an array mostly: told apart here, where it is inlined.
        match (self, dtype) {
            (Scalar::Float(f), DType::F32) => Ok((f as f32).to_bits() as u64),
            (Scalar::Int(i), DType::F32) => Ok((i as f32).to_bits() as u64),
            (Scalar::Int(i), DType::I64) => Ok(i as u64),
            _ => self.checked_bits(dtype),
        }
    }

    fn checked_bits(self, dtype: DType) -> Result<u64> {
        if self.overflows(dtype) {
            let text = format!("integer {self} is out of bounds for {dtype}");
            return Err(Error::new(ErrorKind::Overflow, text));
        }
        Ok(self.to_bits(dtype))
    }

    /// The scalar of element bits of `dtype`.
    pub fn from_bits(bits: u64, dtype: DType) -> Scalar {
        match dtype {
            DType::Bool => Scalar::Bool(bits & 0xff != 0),
            DType::I8 => Scalar::Int(bits as i8 as i64),
            DType::I16 => Scalar::Int(bits as i16 as i64),
            DType::I32 => Scalar::Int(bits as i32 as i64),
            DType::I64 => Scalar::Int(bits as i64),
            DType::U8 => Scalar::Int(bits as u8 as i64),
            DType::U16 => Scalar::Int(bits as u16 as i64),
            DType::U32 => Scalar::Int(bits as u32 as i64),
            DType::U64 => Scalar::from(bits),
            DType::F16 => Scalar::Float(Float16(bits as u16).to_f32() as f64),
            DType::BF16 => Scalar::Float(BFloat16(bits as u16).to_f32() as f64),
            DType::F32 => Scalar::Float(f32::from_bits(bits as u32) as f64),
            DType::F64 => Scalar::Float(f64::from_bits(bits)),
            DType::C64 => {
                let part = |bits: u64| f32::from_bits(bits as u32) as f64;
                Scalar::Complex(part(bits), part(bits >> 32))
            }
            DType::C128 => Scalar::Complex(f64::from_bits(bits), 0.0),
        }
    }

    /// The value as `f64`; for a complex number, its real part.
    pub fn as_f64(self) -> f64 {
        match self {
            Scalar::Bool(b) => b as u8 as f64,
            Scalar::Int(i) => i as f64,
            Scalar::Large(i) => i as f64,
            Scalar::Float(f) | Scalar::Complex(f, _) => f,
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(v) => write!(f, "{v}"),
            Scalar::Int(v) => write!(f, "{v}"),
            Scalar::Large(v) => write!(f, "{v}"),
            Scalar::Float(v) => write!(f, "{v}"),
            Scalar::Complex(re, im) => write!(f, "({re}{im:+}j)"),
        }
    }
}

impl From<bool> for Scalar {
    fn from(v: bool) -> Self {
        Scalar::Bool(v)
    }
}

impl From<i32> for Scalar {
    fn from(v: i32) -> Self {
        Scalar::Int(v as i64)
    }
}

impl From<i64> for Scalar {
    fn from(v: i64) -> Self {
        Scalar::Int(v)
    }
}

impl From<u64> for Scalar {
    fn from(v: u64) -> Self {
        i64::try_from(v).map_or(Scalar::Large(v), Scalar::Int)
    }
}

impl From<f32> for Scalar {
    fn from(v: f32) -> Self {
        Scalar::Float(v as f64)
    }
}

impl From<f64> for Scalar {
    fn from(v: f64) -> Self {
        Scalar::Float(v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_round_trip() {
        for dtype in DType::ALL {
            let s = Scalar::from_bits(Scalar::Int(1).to_bits(dtype), dtype);
            assert_eq!(s.as_f64(), 1.0, "{dtype}");
        }
        assert_eq!(Scalar::from_bits(Scalar::Int(-3).to_bits(DType::I32), DType::I32), Scalar::Int(-3));
        assert_eq!(Scalar::Float(0.5).to_bits(DType::Bool), 1);
        assert_eq!(Scalar::from_bits(u64::MAX, DType::U64), Scalar::Large(u64::MAX));
        assert_eq!(Scalar::from_bits(Scalar::Int(-3).to_bits(DType::I8), DType::I8), Scalar::Int(-3));
        assert_eq!((Scalar::Float(300.0).to_bits(DType::U8), Scalar::Float(-1.0).to_bits(DType::U8)), (255, 0));
    }

    #[test]
    fn complex_numbers_have_two_parts() {
        let z = Scalar::Complex(1.5, -2.0);
        assert_eq!((z.to_string(), z.imaginary(), z.real()), ("(1.5-2j)".to_owned(), -2.0, Scalar::Float(1.5)));
        for dtype in [DType::C64, DType::C128] {
            assert_eq!(Scalar::from_bytes(&z.to_bytes(dtype), dtype), z);
            assert_eq!(Scalar::from_bytes(&Scalar::Int(2).to_bytes(dtype), dtype), Scalar::Complex(2.0, 0.0));
        }
        assert_eq!(z.promote_with(DType::F64), DType::C128);
        assert_eq!((z.promote_with(DType::I64), z.promote_with(DType::F16)), (DType::C64, DType::C64));
        assert_eq!(Scalar::Complex(0.0, 1.0).to_bits(DType::Bool), 1);
    }

    #[test]
    fn integers_must_fit() {
        assert!(Scalar::Int(-1).overflows(DType::U8) && Scalar::Int(256).overflows(DType::U8));
        assert!(!Scalar::Int(255).overflows(DType::U8) && !Scalar::Large(u64::MAX).overflows(DType::U64));
        assert!(Scalar::Large(1 << 63).overflows(DType::I64) && !Scalar::Large(1 << 63).overflows(DType::F16));
    }

    #[test]
    fn scalars_are_weak() {
        assert_eq!(Scalar::Int(2).promote_with(DType::F32), DType::F32);
        assert_eq!(Scalar::Float(2.0).promote_with(DType::I64), DType::F32);
        assert_eq!(Scalar::Int(2).promote_with(DType::Bool), DType::I64);
        assert_eq!(Scalar::Bool(true).promote_with(DType::I32), DType::I32);
    }
}
