//! Remainders and floor quotients of floats over [`NumFloat`], without a loop over digits: for quotients that the format holds to the
//! last whole.
//!
//! Invariant: where [`is_near`] holds, the results are the reference's, bit for bit. A fused multiply-add is needed.

use crate::num::{Format, Mask, NumFloat};

/// Whether these functions serve: a quotient below [`Format::WHOLE`] by a finite number other than zero.
#[inline(always)]
pub fn is_near<T: NumFloat>(x: T, y: T) -> T::Mask {
    let near = x.div(y).abs().lt(T::constant(<T::Format as Format>::WHOLE));
    near.and(y.abs().lt(T::constant(f64::INFINITY)))
}

/// What division towards zero leaves, with the dividend's sign.
///
/// The rounded quotient is never below the true one's whole part, since that is a number of the format, and never more than one
/// above it. The product's remainder lies within the divisor either way: so it is a number of the format, and exact.
#[inline(always)]
pub fn fmod<T: NumFloat>(x: T, y: T) -> T {
    let whole = x.div(y).trunc();
    let left = whole.neg().mul_add(y, x);
    let beyond = left.mul(T::constant(1.0).copysign(x)).lt(T::constant(0.0));
    T::select(beyond, left.add(y.copysign(x)), left).copysign(x)
}

/// Whether what division towards zero leaves is not zero, and its sign not the divisor's.
#[inline(always)]
fn is_across<T: NumFloat>(left: T, y: T) -> T::Mask {
    let zero = T::constant(0.0);
    let (below, negative) = (left.lt(zero), y.lt(zero));
    below.and(negative.not()).or(zero.lt(left).and(negative))
}

/// What floor division leaves, with the divisor's sign.
#[inline(always)]
pub fn remainder<T: NumFloat>(x: T, y: T) -> T {
    let left = fmod(x, y);
    let kept = T::select(left.eq(T::constant(0.0)), left.copysign(y), left);
    T::select(is_across(left, y), left.add(y), kept)
}

/// The quotient, rounded towards minus infinity.
#[inline(always)]
pub fn floor_div<T: NumFloat>(x: T, y: T) -> T {
    let (zero, one) = (T::constant(0.0), T::constant(1.0));
    let left = fmod(x, y);
    let quotient = x.sub(left).div(y);
    let quotient = T::select(is_across(left, y), quotient.sub(one), quotient);
    // The quotient is whole but for the rounding of the division.
    let floor = quotient.floor();
    let whole = T::select(T::constant(0.5).lt(quotient.sub(floor)), floor.add(one), floor);
    T::select(quotient.eq(zero), zero.copysign(x.div(y)), whole)
}
