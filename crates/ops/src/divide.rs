//! Float remainder and floor division over [`NumFloat`], without a loop over digits. They work if the integer part of
//! the quotient is exact in the format.
//!
//! Invariant: where [`is_near`] holds, results equal the reference bit for bit. Requires a fused multiply-add.

use crate::num::{Format, Mask, NumFloat};

/// Whether these functions apply: the quotient is below [`Format::WHOLE`], and the divisor is finite and not zero.
#[inline(always)]
pub fn is_near<T: NumFloat>(x: T, y: T) -> T::Mask {
    let near = x.div(y).abs().lt(T::constant(<T::Format as Format>::WHOLE));
    near.and(y.abs().lt(T::constant(f64::INFINITY)))
}

/// The remainder of truncating division, with the sign of the dividend.
///
/// The integer part of the true quotient is representable, so the rounded quotient is never below it, and at most one
/// above it. In both cases the remainder is smaller than the divisor; it is therefore representable, and the fused
/// multiply-add computes it exactly.
#[inline(always)]
pub fn fmod<T: NumFloat>(x: T, y: T) -> T {
    let whole = x.div(y).trunc();
    let left = whole.neg().mul_add(y, x);
    let beyond = left.mul(T::constant(1.0).copysign(x)).lt(T::constant(0.0));
    T::select(beyond, left.add(y.copysign(x)), left).copysign(x)
}

/// Whether the truncated remainder is nonzero and its sign differs from the divisor's.
#[inline(always)]
fn is_across<T: NumFloat>(left: T, y: T) -> T::Mask {
    let zero = T::constant(0.0);
    let (below, negative) = (left.lt(zero), y.lt(zero));
    below.and(negative.not()).or(zero.lt(left).and(negative))
}

/// The remainder of floor division, with the sign of the divisor.
#[inline(always)]
pub fn remainder<T: NumFloat>(x: T, y: T) -> T {
    let left = fmod(x, y);
    let kept = T::select(left.eq(T::constant(0.0)), left.copysign(y), left);
    T::select(is_across(left, y), left.add(y), kept)
}

/// The quotient rounded towards minus infinity.
#[inline(always)]
pub fn floor_div<T: NumFloat>(x: T, y: T) -> T {
    let (zero, one) = (T::constant(0.0), T::constant(1.0));
    let left = fmod(x, y);
    let quotient = x.sub(left).div(y);
    let quotient = T::select(is_across(left, y), quotient.sub(one), quotient);
    // The quotient is an integer apart from the rounding error of the division.
    let floor = quotient.floor();
    let whole = T::select(T::constant(0.5).lt(quotient.sub(floor)), floor.add(one), floor);
    T::select(quotient.eq(zero), zero.copysign(x.div(y)), whole)
}
