//! Tier 1 of the catalogue: pointwise ops, one row each. A row says the name, what dtypes the op takes and gives,
//! and its body over the traits of [`crate::num`]; everything else that knows pointwise ops walks the rows.
//!
//! Invariant: adding a pointwise op is adding one row to [`for_each_point!`].

use crate::math;
use crate::num::{Mask, Num, NumBits, NumFloat, NumSigned};
use forerun_base::{DType, Error, ErrorKind, Kind, Result};
use std::fmt;

/// Calls `$then!` with every row: `(Variant, "name", arity, Class, "doc", |args| body)`. `T` is the operands' type.
#[macro_export]
macro_rules! for_each_point {
    ($then:path) => {
        $then! {
            (Copy, "copy", 1, Any, "The same value.", |a| a)
            (Add, "add", 2, Any, "Sum; on bool, or.", |a, b| a.add(b))
            (Subtract, "subtract", 2, Number, "Difference.", |a, b| a.sub(b))
            (Multiply, "multiply", 2, Any, "Product; on bool, and.", |a, b| a.mul(b))
            (Divide, "divide", 2, Float, "True quotient.", |a, b| a.div(b))
            (FloorDivide, "floor_divide", 2, Number, "Quotient rounded towards minus infinity.", |a, b| a.floor_div(b))
            (Remainder, "remainder", 2, Number, "What floor division leaves, with the divisor's sign.", |a, b| a.remainder(b))
            (Power, "power", 2, Number, "The first to the power of the second.", |a, b| a.power(b))
            (Negative, "negative", 1, Number, "Negation.", |a| a.neg())
            (Abs, "abs", 1, Any, "Absolute value.", |a| a.abs())
            (Sign, "sign", 1, Number, "-1, 0 or 1 by the sign; NaN stays.", |a| {
                let (zero, one) = (T::small(0), T::small(1));
                T::select(zero.lt(a), one, T::select(a.lt(zero), T::small(-1), T::select(a.eq(zero), zero, a)))
            })
            (Square, "square", 1, Number, "Product with itself.", |a| a.mul(a))
            (Sqrt, "sqrt", 1, Float, "Square root.", |a| a.sqrt())
            (Reciprocal, "reciprocal", 1, Float, "One divided by it.", |a| T::constant(1.0).div(a))
            (Exp, "exp", 1, Float, "e to its power.", |a| math::exp(a))
            (Log, "log", 1, Float, "Natural logarithm.", |a| math::log(a))
            (Expm1, "expm1", 1, Float, "e to its power, less one.", |a| math::expm1(a))
            (Log1p, "log1p", 1, Float, "Natural logarithm of one more.", |a| math::log1p(a))
            (Erf, "erf", 1, Float, "Error function.", |a| math::erf(a))
            (Tanh, "tanh", 1, Float, "Hyperbolic tangent.", |a| math::tanh(a))
            (Sigmoid, "sigmoid", 1, Float, "1 / (1 + exp(-x)).", |a| math::sigmoid(a))
            (Relu, "relu", 1, Number, "The larger of it and zero.", |a| T::small(0).max(a))
            (Maximum, "maximum", 2, Any, "The larger; NaN if either is.", |a, b| a.max(b))
            (Minimum, "minimum", 2, Any, "The smaller; NaN if either is.", |a, b| a.min(b))
            (Floor, "floor", 1, Number, "Rounded down.", |a| a.floor())
            (Ceil, "ceil", 1, Number, "Rounded up.", |a| a.ceil())
            (Trunc, "trunc", 1, Number, "Rounded towards zero.", |a| a.trunc())
            (Rint, "rint", 1, Number, "Rounded to nearest, ties to even.", |a| a.rint())
            (Equal, "equal", 2, Compare, "Whether equal.", |a, b| a.eq(b))
            (NotEqual, "not_equal", 2, Compare, "Whether different.", |a, b| a.eq(b).not())
            (Less, "less", 2, Compare, "Whether less.", |a, b| a.lt(b))
            (LessEqual, "less_equal", 2, Compare, "Whether less or equal.", |a, b| a.le(b))
            (Greater, "greater", 2, Compare, "Whether greater.", |a, b| b.lt(a))
            (GreaterEqual, "greater_equal", 2, Compare, "Whether greater or equal.", |a, b| b.le(a))
            (LogicalAnd, "logical_and", 2, Logic, "Whether both are true.", |a, b| a.bit_and(b))
            (LogicalOr, "logical_or", 2, Logic, "Whether either is true.", |a, b| a.bit_or(b))
            (LogicalXor, "logical_xor", 2, Logic, "Whether exactly one is true.", |a, b| a.bit_xor(b))
            (LogicalNot, "logical_not", 1, Logic, "Whether it is false.", |a| a.bit_not())
            (BitwiseAnd, "bitwise_and", 2, Bits, "Bitwise and.", |a, b| a.bit_and(b))
            (BitwiseOr, "bitwise_or", 2, Bits, "Bitwise or.", |a, b| a.bit_or(b))
            (BitwiseXor, "bitwise_xor", 2, Bits, "Bitwise exclusive or.", |a, b| a.bit_xor(b))
            (Invert, "invert", 1, Bits, "Every bit flipped; on bool, not.", |a| a.bit_not())
            (IsNan, "isnan", 1, Predicate, "Whether it is NaN.", |a| a.eq(a).not())
            (IsInf, "isinf", 1, Predicate, "Whether it is infinite.", |a| a.abs().eq(T::constant(f64::INFINITY)))
            (IsFinite, "isfinite", 1, Predicate, "Whether it is neither infinite nor NaN.", |a| a.abs().lt(T::constant(f64::INFINITY)))
            (Where, "where", 3, Select, "The second where the first holds, else the third.", |c, a, b| T::select(c, a, b))
            (MultiplyAdd, "multiply_add", 3, Number, "The first times the second, plus the third, rounded twice.", |a, b, c| a.mul(b).add(c))
            (Cast, "cast", 1, Cast, "The same value in another dtype.", |a| a)
            (Real, "real", 1, Part, "Real part of a complex number.", |a| a)
            (Imag, "imag", 1, Part, "Imaginary part of a complex number.", |a| a)
            (Compose, "compose", 2, Join, "The complex number of a real and an imaginary part.", |a, b| a)
        }
    };
}

/// What dtypes an op takes, and what it gives for them.
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
    /// A question about a float; the result is bool.
    Predicate,
    /// A truth value chooses between two operands of one dtype.
    Select,
    /// From any dtype to any other.
    Cast,
    /// A part of a complex number.
    Part,
    /// Two floats that make a complex number.
    Join,
}

/// A row of the catalogue: what there is to know of a pointwise op, besides its body.
#[derive(Debug)]
pub struct PointRow {
    /// The op.
    pub point: Point,
    /// Its name in every frontend.
    pub name: &'static str,
    /// How many operands it takes.
    pub arity: usize,
    /// What dtypes it takes and gives.
    pub class: Class,
    /// What it computes, in a sentence.
    pub doc: &'static str,
}

impl PointRow {
    /// The dtype to compute in and the dtype of the result, given what the operands promote to. (A cast's
    /// result is for the caller to say.)
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
            Class::Float => Ok((operand.to_float(), operand.to_float())),
            Class::Compare => Ok((operand, DType::Bool)),
            Class::Logic => Ok((DType::Bool, DType::Bool)),
            Class::Bits if operand.kind() >= Kind::Float => refused(),
            Class::Bits => Ok((operand, operand)),
            Class::Predicate => Ok((operand.to_float(), DType::Bool)),
            Class::Part if operand.kind() == Kind::Complex => Ok((operand, operand.to_real())),
            Class::Part => refused(),
            Class::Join => Ok((operand.to_float().carrier(), operand.to_complex())),
        }
    }

    /// Whether complex numbers have this op: they have no order, no floor and no bits. (What it does with them, the planner
    /// says: it works on the parts.)
    fn takes_complex(&self) -> bool {
        use Point::*;
        match self.class {
            Class::Select | Class::Cast | Class::Logic | Class::Predicate | Class::Part => true,
            Class::Compare => matches!(self.point, Equal | NotEqual),
            Class::Any => matches!(self.point, Copy | Add | Multiply | Abs),
            Class::Number => matches!(self.point, Subtract | Negative | Square | MultiplyAdd),
            Class::Float => matches!(self.point, Divide | Reciprocal | Sqrt),
            Class::Bits | Class::Join => false,
        }
    }
}

/// The body of an op for operands `A`: `(T,)`, `(T, T)`, `(T, T, T)`, or `(T::Mask, T, T)`.
pub trait Body<A> {
    /// What it gives: `T`, or `T::Mask`.
    type Out;
    /// The op, element by element.
    fn apply(args: A) -> Self::Out;
}

macro_rules! body {
    (Any, $point:ident, ($($arg:ident),+), $body:expr) => { body!(@ Num, T, $point, ($($arg),+), $body); };
    (Number, $point:ident, ($($arg:ident),+), $body:expr) => { body!(@ NumSigned, T, $point, ($($arg),+), $body); };
    (Float, $point:ident, ($($arg:ident),+), $body:expr) => { body!(@ NumFloat, T, $point, ($($arg),+), $body); };
    (Compare, $point:ident, ($($arg:ident),+), $body:expr) => { body!(@ Num, T::Mask, $point, ($($arg),+), $body); };
    (Predicate, $point:ident, ($($arg:ident),+), $body:expr) => { body!(@ NumFloat, T::Mask, $point, ($($arg),+), $body); };
    (Logic, $point:ident, ($($arg:ident),+), $body:expr) => { body!(@ NumBits, T, $point, ($($arg),+), $body); };
    (Bits, $point:ident, ($($arg:ident),+), $body:expr) => { body!(@ NumBits, T, $point, ($($arg),+), $body); };
    (Cast, $point:ident, ($($arg:ident),+), $body:expr) => {};
    (Part, $point:ident, ($($arg:ident),+), $body:expr) => {};
    (Join, $point:ident, ($($arg:ident),+), $body:expr) => {};
    (Select, $point:ident, ($c:ident, $a:ident, $b:ident), $body:expr) => {
        impl<T: Num> Body<(T::Mask, T, T)> for bodies::$point {
            type Out = T;
            #[inline(always)]
            fn apply(($c, $a, $b): (T::Mask, T, T)) -> T { $body }
        }
    };
    (@ $bound:ident, $out:ty, $point:ident, ($a:ident), $body:expr) => {
        impl<T: $bound> Body<(T,)> for bodies::$point {
            type Out = $out;
            #[inline(always)]
            fn apply(($a,): (T,)) -> $out { $body }
        }
    };
    (@ $bound:ident, $out:ty, $point:ident, ($a:ident, $b:ident), $body:expr) => {
        impl<T: $bound> Body<(T, T)> for bodies::$point {
            type Out = $out;
            #[inline(always)]
            fn apply(($a, $b): (T, T)) -> $out { $body }
        }
    };
    (@ $bound:ident, $out:ty, $point:ident, ($a:ident, $b:ident, $c:ident), $body:expr) => {
        impl<T: $bound> Body<(T, T, T)> for bodies::$point {
            type Out = $out;
            #[inline(always)]
            fn apply(($a, $b, $c): (T, T, T)) -> $out { $body }
        }
    };
}

macro_rules! declare {
    ($(($point:ident, $name:literal, $arity:literal, $class:ident, $doc:literal, |$($arg:ident),+| $body:expr))*) => {
        /// A pointwise op.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Point {
            $(#[doc = $doc] $point,)*
        }

        impl Point {
            /// Every pointwise op, in the order of the table.
            pub const ALL: &'static [Point] = &[$(Point::$point),*];
        }

        static ROWS: &[PointRow] = &[
            $(PointRow { point: Point::$point, name: $name, arity: $arity, class: Class::$class, doc: $doc },)*
        ];

        /// One type an op, to name its [`Body`] by. (What has two dtypes, as a cast, has none.)
        pub mod bodies {
            $(#[doc = $doc] #[derive(Debug)] pub enum $point {})*
        }

        $(body!($class, $point, ($($arg),+), $body);)*
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
