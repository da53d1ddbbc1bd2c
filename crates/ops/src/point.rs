//! Pointwise ops as types: the enum, the rows, the bodies and the gradient rules that follow from the table in
//! [`crate::pointwise`].

use crate::gradient::{Flow, Rule, Term, power, select, trigamma, winner};
use crate::num::{Mask, Num, NumBits, NumFloat, NumSigned, NumWhole};
use crate::python::{Namespace, namespace, or_default};
use crate::{elementary, math, special, trig};
use forerun_base::{DType, Error, ErrorKind, Kind, Result};
use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LOG2_E, LOG10_E, PI};
use std::fmt;

/// The dtypes that an op takes and gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Every dtype; the result has the operands' dtype.
    Any,
    /// As `Any`, but not bool.
    Number,
    /// Computed in a float dtype.
    Float,
    /// Every dtype; the result is bool.
    Compare,
    /// Operands taken as truth values; the result is bool.
    Logic,
    /// Integers and bool.
    Bits,
    /// Integers.
    Whole,
    /// A float predicate; the result is bool.
    Predicate,
    /// A truth value selects one of two operands of the same dtype.
    Select,
    /// From any dtype to any other.
    Cast,
    /// A part of a complex number.
    Part,
    /// Two floats that make a complex number.
    Join,
}

/// A row of the catalogue: the properties of a pointwise op, except for its body.
#[derive(Debug)]
pub struct PointRow {
    /// The op.
    pub point: Point,
    /// Its name in every frontend.
    pub name: &'static str,
    /// The number of operands.
    pub arity: usize,
    /// The dtypes it takes and gives.
    pub class: Class,
    /// A one-sentence description.
    pub doc: &'static str,
    /// The largest error of a float result in ulp, except near zeros of the function.
    pub ulp: u8,
    /// The Python module that has it; `None` if only functions written by hand call it.
    pub python: Option<Namespace>,
    /// Its other names there.
    pub aliases: &'static [&'static str],
    /// The arguments of an example call in Python, and the output.
    pub example: (&'static str, &'static str),
}

impl PointRow {
    /// The names of its operands.
    pub fn inputs(&self) -> &'static [&'static str] {
        match self.arity {
            _ if self.class == Class::Select => &["condition", "x1", "x2"],
            1 => &["x"],
            n => &["x1", "x2", "x3"][..n],
        }
    }

    /// The dtype to compute in and the dtype of the result, for operands that promote to `operand`. The caller
    /// determines the result dtype of a cast.
    pub fn types(&self, operand: DType) -> Result<(DType, DType)> {
        let refused = || {
            let text = format!("not defined for {operand}");
            Err(Error::new(ErrorKind::Type, text).in_op(self.name))
        };
        if operand.kind() == Kind::Complex && !self.takes_complex() {
            return refused();
        }
        match self.class {
            Class::Any if self.point == Point::Abs => Ok((operand, operand.to_real())),
            Class::Any | Class::Select | Class::Cast => Ok((operand, operand)),
            Class::Number if operand == DType::Bool => refused(),
            Class::Number => Ok((operand, operand)),
            // The neighbours of a half float are not those of its carrier.
            Class::Float if self.point == Point::NextAfter && operand.to_float().carrier() != operand.to_float() => {
                refused()
            }
            Class::Float => Ok((operand.to_float(), operand.to_float())),
            Class::Compare => Ok((operand, DType::Bool)),
            Class::Logic => Ok((DType::Bool, DType::Bool)),
            Class::Bits if operand.kind() == Kind::Float => refused(),
            Class::Whole if operand.kind() != Kind::Int => refused(),
            Class::Bits | Class::Whole => Ok((operand, operand)),
            Class::Predicate => Ok((operand.to_float(), DType::Bool)),
            Class::Part if operand.kind() == Kind::Complex => Ok((operand, operand.to_real())),
            Class::Part => refused(),
            Class::Join => Ok((operand.to_float().carrier(), operand.to_complex())),
        }
    }

    /// Whether the op is defined for complex numbers, which have no order, floor or bits. The planner lowers such ops
    /// to the real and imaginary parts.
    fn takes_complex(&self) -> bool {
        use Point::*;
        match self.class {
            Class::Select | Class::Cast | Class::Logic | Class::Part => true,
            Class::Predicate => matches!(self.point, IsNan | IsInf | IsFinite),
            Class::Compare => matches!(self.point, Equal | NotEqual),
            Class::Any => matches!(self.point, Copy | Add | Multiply | Abs),
            Class::Number => {
                matches!(self.point, Subtract | Negative | Positive | Square | MultiplyAdd | Power | Sign | Rint)
            }
            Class::Float => {
                matches!(
                    self.point,
                    Divide | Reciprocal | Sqrt | Exp | Exp2 | Expm1 | Log | Log2 | Log10 | Log1p | FloatPower
                ) || matches!(
                    self.point,
                    Sin | Cos | Tan | Sinh | Cosh | Tanh | Asin | Acos | Atan | Asinh | Acosh | Atanh
                )
            }
            Class::Bits | Class::Whole | Class::Join => false,
        }
    }
}

/// The body of an op for operands `A`: `(T,)`, `(T, T)`, `(T, T, T)`, or `(T::Mask, T, T)`.
pub trait Body<A> {
    /// The result: `T` or `T::Mask`.
    type Out;
    /// Whether the body is so long that a branch is cheaper than a second copy.
    const IS_LONG: bool = false;
    /// The op, element by element.
    fn apply(args: A) -> Self::Out;
}

macro_rules! body {
    (Any, $($row:tt)+) => { body!(@ Num, T, $($row)+); };
    (Number, $($row:tt)+) => { body!(@ NumSigned, T, $($row)+); };
    (Float, $($row:tt)+) => { body!(@ NumFloat, T, $($row)+); };
    (Compare, $($row:tt)+) => { body!(@ Num, T::Mask, $($row)+); };
    (Predicate, $($row:tt)+) => { body!(@ NumFloat, T::Mask, $($row)+); };
    (Logic, $($row:tt)+) => { body!(@ NumBits, T, $($row)+); };
    (Bits, $($row:tt)+) => { body!(@ NumBits, T, $($row)+); };
    (Whole, $($row:tt)+) => { body!(@ NumWhole, T, $($row)+); };
    (Cast, $($row:tt)+) => {};
    (Part, $($row:tt)+) => {};
    (Join, $($row:tt)+) => {};
    (Select, $point:ident, $ulp:expr, $args:tt, $body:expr) => {
        body!(@@ Num, T, $point, $ulp, $args, (T::Mask, T, T), $body);
    };
    (@ $bound:ident, $out:ty, $point:ident, $ulp:expr, ($a:ident), $body:expr) => {
        body!(@@ $bound, $out, $point, $ulp, ($a,), (T,), $body);
    };
    (@ $bound:ident, $out:ty, $point:ident, $ulp:expr, ($a:ident, $b:ident), $body:expr) => {
        body!(@@ $bound, $out, $point, $ulp, ($a, $b), (T, T), $body);
    };
    (@ $bound:ident, $out:ty, $point:ident, $ulp:expr, ($a:ident, $b:ident, $c:ident), $body:expr) => {
        body!(@@ $bound, $out, $point, $ulp, ($a, $b, $c), (T, T, T), $body);
    };
    (@@ $bound:ident, $out:ty, $point:ident, $ulp:expr, $args:tt, $types:ty, $body:expr) => {
        impl<T: $bound> Body<$types> for bodies::$point {
            type Out = $out;
            const IS_LONG: bool = $ulp > 0;
            #[inline(always)]
            fn apply($args: $types) -> $out { $body }
        }
    };
}

/// Converts a result to a number.
trait ToNumber {
    fn to_number(self) -> f64;
}

impl ToNumber for f64 {
    fn to_number(self) -> f64 {
        self
    }
}

impl ToNumber for bool {
    fn to_number(self) -> f64 {
        f64::from(self)
    }
}

macro_rules! numbers {
    (Bits, $($row:tt)+) => { None };
    (Whole, $($row:tt)+) => { None };
    (Logic, $($row:tt)+) => { None };
    (Cast, $($row:tt)+) => { None };
    (Part, $($row:tt)+) => { None };
    (Join, $($row:tt)+) => { None };
    (Select, $args:tt, $point:ident, $x:ident) => { numbers!(@ $point, ($x[0] != 0.0, $x[1], $x[2])) };
    ($class:ident, ($a:ident), $point:ident, $x:ident) => { numbers!(@ $point, ($x[0],)) };
    ($class:ident, ($a:ident, $b:ident), $point:ident, $x:ident) => { numbers!(@ $point, ($x[0], $x[1])) };
    ($class:ident, ($a:ident, $b:ident, $c:ident), $point:ident, $x:ident) => { numbers!(@ $point, ($x[0], $x[1], $x[2])) };
    (@ $point:ident, $args:expr) => { Some(<bodies::$point as Body<_>>::apply($args).to_number()) };
}

macro_rules! declare {
    ($($point:ident {
        name: $name:literal, class: $class:ident, $(ulp: $ulp:literal,)? doc: $doc:literal,
        body: |$($arg:ident),+| $body:expr, gradient: |$g:ident, $y:ident| $rule:expr
        $(, python: $python:ident, $(aliases: $aliases:expr,)? example: $call:literal => $shown:literal)?
    })*) => {
        /// A pointwise op.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Point {
            $(#[doc = $doc] $point,)*
        }

        impl Point {
            /// Every pointwise op, in table order.
            pub const ALL: &'static [Point] = &[$(Point::$point),*];
        }

        static ROWS: &[PointRow] = &[
            $(PointRow {
                point: Point::$point,
                name: $name,
                arity: <[&str]>::len(&[$(stringify!($arg)),+]),
                class: Class::$class,
                doc: $doc,
                ulp: or_default!(0, $($ulp)?),
                python: or_default!(None, $(Some(namespace!($python)))?),
                aliases: &or_default!([], $($($aliases)?)?),
                example: or_default!(("", ""), $(($call, $shown))?),
            },)*
        ];

        /// The gradient of each operand.
        #[allow(unused_variables, reason = "few rules name all they may")]
        pub(crate) fn flows(point: Point) -> Vec<Flow> {
            use {Flow::{Nothing, Zero}, Point::*};
            match point {
                $(Point::$point => {
                    let [$($arg),+] = Term::operands();
                    let ($g, $y) = (Term::Grad, Term::Out);
                    Rule::flows($rule, point.row().arity)
                })*
            }
        }

        impl Point {
            /// Evaluates the op on doubles; true is 1. `None` if it takes no floats.
            pub fn of_numbers(self, x: &[f64]) -> Option<f64> {
                match self {
                    $(Point::$point => numbers!($class, ($($arg),+), $point, x),)*
                }
            }
        }

        /// One marker type per op, which implements its [`Body`]. A cast has none, because it has two dtypes.
        pub mod bodies {
            $(#[doc = $doc] #[derive(Debug)] pub enum $point {})*
        }

        $(body!($class, $point, or_default!(0, $($ulp)?), ($($arg),+), $body);)*
    };
}

crate::for_each_point!(declare);

impl Point {
    /// The op's row.
    pub fn row(self) -> &'static PointRow {
        &ROWS[self as usize]
    }

    /// The op with this name.
    pub fn from_name(name: &str) -> Option<Point> {
        ROWS.iter().find(|row| row.name == name).map(|row| row.point)
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_op_and_by_name() {
        for (i, &point) in Point::ALL.iter().enumerate() {
            assert_eq!((point as usize, point.row().point), (i, point));
            assert_eq!(Point::from_name(point.row().name), Some(point));
            assert!((1..=3).contains(&point.row().arity));
        }
        assert_eq!(Point::from_name("no such op"), None);
    }

    #[test]
    fn classes_say_what_is_taken_and_given() {
        let types = |point: Point, dtype| point.row().types(dtype);
        assert_eq!(types(Point::Add, DType::Bool).unwrap(), (DType::Bool, DType::Bool));
        assert_eq!(types(Point::Divide, DType::I64).unwrap(), (DType::F32, DType::F32));
        assert_eq!(types(Point::Exp, DType::F64).unwrap(), (DType::F64, DType::F64));
        assert_eq!(types(Point::Less, DType::I32).unwrap(), (DType::I32, DType::Bool));
        assert_eq!(types(Point::LogicalAnd, DType::F32).unwrap(), (DType::Bool, DType::Bool));
        assert_eq!(types(Point::IsNan, DType::I32).unwrap(), (DType::F32, DType::Bool));
        assert_eq!(types(Point::Invert, DType::Bool).unwrap(), (DType::Bool, DType::Bool));
        let error = types(Point::Subtract, DType::Bool).unwrap_err();
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::Type, "subtract: not defined for bool".to_owned()));
        assert!(types(Point::BitwiseOr, DType::F32).is_err());
    }
}
