//! Arithmetic, element by element.

use crate::abi::{forerun_argument, forerun_array, forerun_dtype, forerun_status};
use crate::caller::{Caller, Outcome, call};
use crate::error::Failure;
use forerun::{Arg, Point, ops};

/// Submits an op on two arguments, of which one is an array.
#[inline]
fn two(
    caller: &Caller,
    point: Point,
    x1: forerun_argument,
    x2: forerun_argument,
    out: *mut *mut forerun_array,
) -> Outcome<()> {
    let (x1, x2) = (caller.operand(&x1)?, caller.operand(&x2)?);
    let args = [x1.arg(), x2.arg()];
    if let [Arg::Scalar(_), Arg::Scalar(_)] = args {
        return Err(Failure::kind("needs at least one array, got numbers alone").within(point.row().name));
    }
    caller.give(out, ops::pointwise(point, &args, caller.loc()))
}

/// Submits an op on an array.
#[inline]
fn one(point: Point, x: *const forerun_array, out: *mut *mut forerun_array) -> forerun_status {
    call(|caller| caller.give(out, ops::pointwise(point, &[Arg::Array(&*caller.get(x)?)], caller.loc())))
}

/// Submits an op that writes its result to its first operand.
fn onto(point: Point, x: *mut forerun_array, value: forerun_argument) -> forerun_status {
    call(|caller| Ok(ops::in_place(point, &*caller.get(x)?, caller.operand(&value)?.arg(), caller.loc())?))
}

/// Adds: `x1` and `x2` broadcast.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_add(
    x1: forerun_argument,
    x2: forerun_argument,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| two(caller, Point::Add, x1, x2, out))
}

/// Subtracts: `x1` and `x2` broadcast.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_subtract(
    x1: forerun_argument,
    x2: forerun_argument,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| two(caller, Point::Subtract, x1, x2, out))
}

/// Multiplies: `x1` and `x2` broadcast.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_multiply(
    x1: forerun_argument,
    x2: forerun_argument,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| two(caller, Point::Multiply, x1, x2, out))
}

/// Divides; integers give floats: `x1` and `x2` broadcast.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_divide(
    x1: forerun_argument,
    x2: forerun_argument,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| two(caller, Point::Divide, x1, x2, out))
}

/// Divides and rounds down: `x1` and `x2` broadcast.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_floor_divide(
    x1: forerun_argument,
    x2: forerun_argument,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| two(caller, Point::FloorDivide, x1, x2, out))
}

/// The remainder of the division that rounds down: `x1` and `x2` broadcast.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_remainder(
    x1: forerun_argument,
    x2: forerun_argument,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| two(caller, Point::Remainder, x1, x2, out))
}

/// Raises to a power: `x1` and `x2` broadcast.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_power(
    x1: forerun_argument,
    x2: forerun_argument,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| two(caller, Point::Power, x1, x2, out))
}

/// The larger element; NaN if one is NaN: `x1` and `x2` broadcast.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_maximum(
    x1: forerun_argument,
    x2: forerun_argument,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| two(caller, Point::Maximum, x1, x2, out))
}

/// The smaller element; NaN if one is NaN: `x1` and `x2` broadcast.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_minimum(
    x1: forerun_argument,
    x2: forerun_argument,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| two(caller, Point::Minimum, x1, x2, out))
}

/// Whether elements are equal: `x1` and `x2` broadcast.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_equal(
    x1: forerun_argument,
    x2: forerun_argument,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| two(caller, Point::Equal, x1, x2, out))
}

/// Whether elements differ: `x1` and `x2` broadcast.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_not_equal(
    x1: forerun_argument,
    x2: forerun_argument,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| two(caller, Point::NotEqual, x1, x2, out))
}

/// Whether the first is less: `x1` and `x2` broadcast.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_less(
    x1: forerun_argument,
    x2: forerun_argument,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| two(caller, Point::Less, x1, x2, out))
}

/// Whether the first is less or equal: `x1` and `x2` broadcast.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_less_equal(
    x1: forerun_argument,
    x2: forerun_argument,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| two(caller, Point::LessEqual, x1, x2, out))
}

/// Whether the first is greater: `x1` and `x2` broadcast.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_greater(
    x1: forerun_argument,
    x2: forerun_argument,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| two(caller, Point::Greater, x1, x2, out))
}

/// Whether the first is greater or equal: `x1` and `x2` broadcast.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_greater_equal(
    x1: forerun_argument,
    x2: forerun_argument,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| two(caller, Point::GreaterEqual, x1, x2, out))
}

/// Whether both are nonzero: `x1` and `x2` broadcast.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_logical_and(
    x1: forerun_argument,
    x2: forerun_argument,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| two(caller, Point::LogicalAnd, x1, x2, out))
}

/// Whether one of them is nonzero: `x1` and `x2` broadcast.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_logical_or(
    x1: forerun_argument,
    x2: forerun_argument,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| two(caller, Point::LogicalOr, x1, x2, out))
}

/// The negative of every element.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_negative(x: *const forerun_array, out: *mut *mut forerun_array) -> forerun_status {
    one(Point::Negative, x, out)
}

/// The magnitude of every element.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_abs(x: *const forerun_array, out: *mut *mut forerun_array) -> forerun_status {
    one(Point::Abs, x, out)
}

/// The exponential of every element.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_exp(x: *const forerun_array, out: *mut *mut forerun_array) -> forerun_status {
    one(Point::Exp, x, out)
}

/// The natural logarithm of every element.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_log(x: *const forerun_array, out: *mut *mut forerun_array) -> forerun_status {
    one(Point::Log, x, out)
}

/// The square root of every element.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_sqrt(x: *const forerun_array, out: *mut *mut forerun_array) -> forerun_status {
    one(Point::Sqrt, x, out)
}

/// The square of every element.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_square(x: *const forerun_array, out: *mut *mut forerun_array) -> forerun_status {
    one(Point::Square, x, out)
}

/// The sine of every element.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_sin(x: *const forerun_array, out: *mut *mut forerun_array) -> forerun_status {
    one(Point::Sin, x, out)
}

/// The cosine of every element.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_cos(x: *const forerun_array, out: *mut *mut forerun_array) -> forerun_status {
    one(Point::Cos, x, out)
}

/// The hyperbolic tangent of every element.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_tanh(x: *const forerun_array, out: *mut *mut forerun_array) -> forerun_status {
    one(Point::Tanh, x, out)
}

/// The logistic function of every element.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_sigmoid(x: *const forerun_array, out: *mut *mut forerun_array) -> forerun_status {
    one(Point::Sigmoid, x, out)
}

/// Every element, or 0 if it is negative.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_relu(x: *const forerun_array, out: *mut *mut forerun_array) -> forerun_status {
    one(Point::Relu, x, out)
}

/// Whether every element is zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_logical_not(x: *const forerun_array, out: *mut *mut forerun_array) -> forerun_status {
    one(Point::LogicalNot, x, out)
}

/// Adds in place: writes `x + value` to `x`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_add_in_place(x: *mut forerun_array, value: forerun_argument) -> forerun_status {
    onto(Point::Add, x, value)
}

/// Subtracts in place: writes `x - value` to `x`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_subtract_in_place(x: *mut forerun_array, value: forerun_argument) -> forerun_status {
    onto(Point::Subtract, x, value)
}

/// Multiplies in place: writes `x * value` to `x`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_multiply_in_place(x: *mut forerun_array, value: forerun_argument) -> forerun_status {
    onto(Point::Multiply, x, value)
}

/// Divides in place: writes `x / value` to `x`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_divide_in_place(x: *mut forerun_array, value: forerun_argument) -> forerun_status {
    onto(Point::Divide, x, value)
}

/// Writes a value to every element of an array or view. The value broadcasts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_assign(x: *mut forerun_array, value: forerun_argument) -> forerun_status {
    call(|caller| Ok(ops::assign(&*caller.get(x)?, caller.operand(&value)?.arg(), caller.loc())?))
}

/// The elements of `x1` where the condition is true, those of `x2` elsewhere. All three broadcast.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_where(
    condition: *const forerun_array,
    x1: forerun_argument,
    x2: forerun_argument,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| {
        let (condition, x1, x2) = (caller.get(condition)?, caller.operand(&x1)?, caller.operand(&x2)?);
        caller.give(out, ops::pointwise(Point::Where, &[Arg::Array(&condition), x1.arg(), x2.arg()], caller.loc()))
    })
}

/// The elements in another dtype.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_astype(
    x: *const forerun_array,
    dtype: forerun_dtype,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| caller.give(out, ops::cast(&*caller.get(x)?, caller.dtype(dtype)?, caller.loc())))
}

/// A copy of the elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_copy(x: *const forerun_array, out: *mut *mut forerun_array) -> forerun_status {
    call(|caller| caller.give(out, ops::copy(&*caller.get(x)?, caller.loc())))
}

/// The matrix product, batched over leading dimensions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_matmul(
    x1: *const forerun_array,
    x2: *const forerun_array,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| caller.give(out, ops::matmul(&*caller.get(x1)?, &*caller.get(x2)?, caller.loc())))
}

/// NumPy's dot: an inner product, a matrix product or a scaling, by the dimensions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_dot(
    x1: *const forerun_array,
    x2: *const forerun_array,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| caller.give(out, ops::dot(&*caller.get(x1)?, &*caller.get(x2)?, caller.loc())))
}
