//! `+`, `-`, `*`, `/`, `%` and their assigning forms, between arrays and numbers. Shape errors panic at the user's
//! line, as out-of-bounds indices do; the functions in [`crate::ops`] return them instead.

use crate::array::{Arg, Array};
use crate::ops;
use forerun_base::{Loc, Scalar};
use forerun_ops::Point;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign};

#[track_caller]
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
        impl $trait<&Array> for &Array {
            type Output = Array;
            #[track_caller]
            fn $method(self, other: &Array) -> Array {
                apply($point, &[Arg::Array(self), Arg::Array(other)])
            }
        }
        impl $trait<Array> for &Array {
            type Output = Array;
            #[track_caller]
            fn $method(self, other: Array) -> Array {
                apply($point, &[Arg::Array(self), Arg::Array(&other)])
            }
        }
        impl $trait<&Array> for Array {
            type Output = Array;
            #[track_caller]
            fn $method(self, other: &Array) -> Array {
                apply($point, &[Arg::Array(&self), Arg::Array(other)])
            }
        }
        impl $trait<Array> for Array {
            type Output = Array;
            #[track_caller]
            fn $method(self, other: Array) -> Array {
                apply($point, &[Arg::Array(&self), Arg::Array(&other)])
            }
        }
        operator!(scalar $trait $method $point, f64 i64);
        impl<'a, T: Into<Arg<'a>>> $assign<T> for Array {
            #[track_caller]
            fn $assign_method(&mut self, value: T) {
                apply_in_place($point, self, value.into());
            }
        }
    };
    (scalar $trait:ident $method:ident $point:expr, $($number:ty)*) => {$(
        impl $trait<$number> for &Array {
            type Output = Array;
            #[track_caller]
            fn $method(self, other: $number) -> Array {
                apply($point, &[Arg::Array(self), Arg::Scalar(Scalar::from(other))])
            }
        }
        impl $trait<$number> for Array {
            type Output = Array;
            #[track_caller]
            fn $method(self, other: $number) -> Array {
                apply($point, &[Arg::Array(&self), Arg::Scalar(Scalar::from(other))])
            }
        }
        impl $trait<&Array> for $number {
            type Output = Array;
            #[track_caller]
            fn $method(self, other: &Array) -> Array {
                apply($point, &[Arg::Scalar(Scalar::from(self)), Arg::Array(other)])
            }
        }
        impl $trait<Array> for $number {
            type Output = Array;
            #[track_caller]
            fn $method(self, other: Array) -> Array {
                apply($point, &[Arg::Scalar(Scalar::from(self)), Arg::Array(&other)])
            }
        }
    )*};
}

operator!(Add add AddAssign add_assign Point::Add);
operator!(Sub sub SubAssign sub_assign Point::Subtract);
operator!(Mul mul MulAssign mul_assign Point::Multiply);
operator!(Div div DivAssign div_assign Point::Divide);
operator!(Rem rem RemAssign rem_assign Point::Remainder);

impl Neg for &Array {
    type Output = Array;
    #[track_caller]
    fn neg(self) -> Array {
        apply(Point::Negative, &[Arg::Array(self)])
    }
}

impl Neg for Array {
    type Output = Array;
    #[track_caller]
    fn neg(self) -> Array {
        -&self
    }
}
