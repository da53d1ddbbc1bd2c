//! Arithmetic and bitwise operators and their assigning forms, between arrays and numbers. Mistakes panic at the user's
//! line, as out-of-bounds indices do; the methods of the same meaning, [`Array::try_add`] and so on, return them instead.
//!
//! A number on the right has any Rust type. On the left it is `f64` or `i64`, the types of literals there, or one that no
//! literal can have: with both `f32` and `f64`, the compiler could not determine the type of `(1.0 - &x).exp()`.

use crate::array::{Arg, Array, ArrayLike};
use crate::ops;
use forerun_base::{BFloat16, Complex, Float16, Loc};
use forerun_ops::Point;
use std::ops::{
    Add, AddAssign, BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Div, DivAssign, Mul, MulAssign,
    Neg, Not, Rem, RemAssign, Shl, ShlAssign, Shr, ShrAssign, Sub, SubAssign,
};

#[track_caller]
#[inline]
fn apply(point: Point, args: &[Arg<'_>]) -> Array {
    match ops::pointwise(point, args, Loc::caller()) {
        Ok(array) => array,
        Err(error) => panic!("{}", error.submitted_at(Loc::caller())),
    }
}

#[track_caller]
fn apply_in_place(point: Point, x: &mut Array, value: Arg<'_>) {
    if let Err(error) = ops::in_place(point, x, value, Loc::caller()) {
        panic!("{}", error.submitted_at(Loc::caller()));
    }
}

macro_rules! operator {
    ($trait:ident $method:ident $assign:ident $assign_method:ident $point:expr) => {
        impl<T: ArrayLike> $trait<T> for &Array {
            type Output = Array;
            #[track_caller]
            #[inline]
            fn $method(self, other: T) -> Array {
                apply($point, &[Arg::Array(self), other.as_arg()])
            }
        }
        impl<T: ArrayLike> $trait<T> for Array {
            type Output = Array;
            #[track_caller]
            #[inline]
            fn $method(self, other: T) -> Array {
                apply($point, &[Arg::Array(&self), other.as_arg()])
            }
        }
        operator!(left $trait $method $point, f64 i64 bool Float16 BFloat16 Complex<f32> Complex<f64>);
        impl<T: ArrayLike> $assign<T> for Array {
            /// Writes the elements, which clones of the handle and views share.
            #[track_caller]
            fn $assign_method(&mut self, value: T) {
                apply_in_place($point, self, value.as_arg());
            }
        }
    };
    (left $trait:ident $method:ident $point:expr, $($number:ty)*) => {$(
        impl $trait<&Array> for $number {
            type Output = Array;
            #[track_caller]
            #[inline]
            fn $method(self, other: &Array) -> Array {
                apply($point, &[self.as_arg(), Arg::Array(other)])
            }
        }
        impl $trait<Array> for $number {
            type Output = Array;
            #[track_caller]
            #[inline]
            fn $method(self, other: Array) -> Array {
                apply($point, &[self.as_arg(), Arg::Array(&other)])
            }
        }
    )*};
}

operator!(Add add AddAssign add_assign Point::Add);
operator!(Sub sub SubAssign sub_assign Point::Subtract);
operator!(Mul mul MulAssign mul_assign Point::Multiply);
operator!(Div div DivAssign div_assign Point::Divide);
operator!(Rem rem RemAssign rem_assign Point::Remainder);
operator!(BitAnd bitand BitAndAssign bitand_assign Point::BitwiseAnd);
operator!(BitOr bitor BitOrAssign bitor_assign Point::BitwiseOr);
operator!(BitXor bitxor BitXorAssign bitxor_assign Point::BitwiseXor);
operator!(Shl shl ShlAssign shl_assign Point::LeftShift);
operator!(Shr shr ShrAssign shr_assign Point::RightShift);

macro_rules! prefix {
    ($trait:ident $method:ident $point:expr) => {
        impl $trait for &Array {
            type Output = Array;
            #[track_caller]
            fn $method(self) -> Array {
                apply($point, &[Arg::Array(self)])
            }
        }
        impl $trait for Array {
            type Output = Array;
            #[track_caller]
            fn $method(self) -> Array {
                apply($point, &[Arg::Array(&self)])
            }
        }
    };
}

prefix!(Neg neg Point::Negative);
prefix!(Not not Point::Invert);
