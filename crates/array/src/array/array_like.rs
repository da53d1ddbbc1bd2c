//! What may stand beside an array in an operator or as an argument: arrays and numbers.

use crate::array::{Arg, Array};
use forerun_base::{BFloat16, Complex, Float16, Scalar};

/// An array, a reference to one, or a number of any Rust type. A number takes the dtype of the array it is combined with.
pub trait ArrayLike: sealed::Sealed {
    /// The argument of an op.
    fn as_arg(&self) -> Arg<'_>;
}

mod sealed {
    /// Implemented here only, so that more types can be added.
    pub trait Sealed {}
}

impl sealed::Sealed for Array {}
impl ArrayLike for Array {
    #[inline]
    fn as_arg(&self) -> Arg<'_> {
        Arg::Array(self)
    }
}

impl<T: ArrayLike> sealed::Sealed for &T {}
impl<T: ArrayLike> ArrayLike for &T {
    #[inline]
    fn as_arg(&self) -> Arg<'_> {
        (**self).as_arg()
    }
}

impl sealed::Sealed for Arg<'_> {}
impl ArrayLike for Arg<'_> {
    #[inline]
    fn as_arg(&self) -> Arg<'_> {
        *self
    }
}

macro_rules! numbers {
    ($($number:ty => |$n:ident| $scalar:expr;)*) => {$(
        impl sealed::Sealed for $number {}
        impl ArrayLike for $number {
            #[inline]
            fn as_arg(&self) -> Arg<'_> {
                let $n = *self;
                Arg::Scalar($scalar)
            }
        }
    )*};
}

numbers! {
    bool => |n| Scalar::Bool(n);
    i8 => |n| Scalar::Int(n.into());
    i16 => |n| Scalar::Int(n.into());
    i32 => |n| Scalar::Int(n.into());
    i64 => |n| Scalar::Int(n);
    isize => |n| Scalar::Int(n as i64);
    u8 => |n| Scalar::Int(n.into());
    u16 => |n| Scalar::Int(n.into());
    u32 => |n| Scalar::Int(n.into());
    u64 => |n| Scalar::from(n);
    usize => |n| Scalar::from(n as u64);
    f32 => |n| Scalar::Float(n.into());
    f64 => |n| Scalar::Float(n);
    Float16 => |n| Scalar::Float(n.to_f32().into());
    BFloat16 => |n| Scalar::Float(n.to_f32().into());
    Complex<f32> => |n| Scalar::Complex(n.re.into(), n.im.into());
    Complex<f64> => |n| Scalar::Complex(n.re, n.im);
    Scalar => |n| n;
}
