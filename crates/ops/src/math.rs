//! Elementary functions, each written once over [`NumFloat`], for single and double precision and for any vector.
//!
//! Invariant: the error is at most 2 ulp in single and 4 ulp in double precision over the whole range. Infinities, NaN,
//! denormals and -0 are handled.

use crate::elementary::parts;
use crate::num::{Format, Mask, NumFloat};

/// Evaluates a polynomial; the coefficients start with the highest power.
#[inline(always)]
pub(crate) fn polynomial<T: NumFloat>(x: T, coefficients: &'static [f64]) -> T {
    let mut p = T::constant(coefficients[0]);
    for &c in &coefficients[1..] {
        p = p.mul_add(x, T::constant(c));
    }
    p
}

/// `e^r` for `|r| <= ln(2) / 2`.
#[inline(always)]
pub(crate) fn exp_of<T: NumFloat>(r: T) -> T {
    let p = polynomial(r, <T::Format as Format>::EXP);
    p.mul_add(r.mul(r), r).add(T::constant(1.0))
}

/// `e^x`.
#[inline(always)]
pub fn exp<T: NumFloat>(x: T) -> T {
    exp_by(x, 0.0)
}

/// `e^x * 2^by` without intermediate overflow.
#[inline(always)]
pub(crate) fn exp_by<T: NumFloat>(x: T, by: f64) -> T {
    // The result is constant beyond these limits; NaN passes through both.
    let (low, high) = (T::constant(<T::Format as Format>::EXP_LOW), T::constant(<T::Format as Format>::EXP_HIGH));
    let x = low.greater(high.lesser(x));
    // A scaling that underflows takes a hundred cycles on some processors, and a masked softmax has many such elements.
    let is_zero = x.le(low);
    let n = x.mul(T::constant(std::f64::consts::LOG2_E)).rint();
    let r = n.mul_add(T::constant(-<T::Format as Format>::LN2_HIGH), x);
    let r = n.mul_add(T::constant(-<T::Format as Format>::LN2_LOW), r);
    let zero = T::constant(0.0);
    let power = T::select(is_zero, zero, if by == 0.0 { n } else { n.add(T::constant(by)) });
    T::select(is_zero, zero, exp_of(r).scale(power))
}

/// `e^x - 1` without cancellation near 0.
#[inline(always)]
pub fn expm1<T: NumFloat>(x: T) -> T {
    let one = T::constant(1.0);
    let near =
        T::constant(<T::Format as Format>::EXP_LOW).greater(T::constant(<T::Format as Format>::EXP_HIGH).lesser(x));
    let n = near.mul(T::constant(std::f64::consts::LOG2_E)).rint();
    let high = n.mul_add(T::constant(-<T::Format as Format>::LN2_HIGH), near);
    let low = n.mul(T::constant(<T::Format as Format>::LN2_LOW));
    let r = high.sub(low);
    // The rounding error of the reduced argument.
    let lost = high.sub(r).sub(low);
    let p = polynomial(r, <T::Format as Format>::EXP);
    let rest = p.mul_add(r.mul(r), lost);
    // 2^n (e^r - 1) + (2^n - 1), small terms first. For large `n` the 1 is negligible, and 2^n may overflow.
    let far = T::constant(60.0).lt(n);
    let power = one.scale(T::select(far, T::constant(0.0), n));
    let sum = r.mul_add(power, power.sub(one));
    let left = r.mul_add(power, power.sub(one).sub(sum));
    let y = rest.mul_add(power, left).add(sum);
    if T::BRANCHES && T::all(far.not()) {
        return y.copysign(x);
    }
    T::select(far, exp_of(r).scale(n), y).copysign(x)
}

/// Whether a number is positive, normal and finite.
#[inline(always)]
pub(crate) fn is_normal<T: NumFloat>(x: T) -> T::Mask {
    T::constant(<T::Format as Format>::MIN_NORMAL).le(x).and(x.lt(T::constant(f64::INFINITY)))
}

/// The parts of a logarithm: for a positive number it is `e * ln(2) + f + b`. These are functions instead of a
/// combining closure, because a closure may not be inlined, and would then be compiled without the target features of
/// its vectors.
pub(crate) struct LogParts<T> {
    /// Whether every element is a positive normal number.
    plain: bool,
    /// The exponent, an integer.
    pub(crate) e: T,
    /// The mantissa minus 1; exact.
    pub(crate) f: T,
    pub(crate) b: T,
}

#[inline(always)]
pub(crate) fn log_parts<T: NumFloat>(x: T) -> LogParts<T> {
    let plain = T::BRANCHES && T::all(is_normal(x));
    let (m, e) = if plain { x.split() } else { parts(x) };
    let f = m.sub(T::constant(1.0));
    let p = polynomial(f, <T::Format as Format>::LOG);
    let t = f.mul_add(p, T::constant(-0.5));
    LogParts { plain, e, f, b: f.mul(f).mul(t) }
}

/// `y` where the logarithm is finite; otherwise the special value.
#[inline(always)]
pub(crate) fn log_edges<T: NumFloat>(x: T, y: T, parts: &LogParts<T>) -> T {
    if parts.plain {
        return y;
    }
    let (zero, infinity) = (T::constant(0.0), T::constant(f64::INFINITY));
    let edge = T::select(x.eq(zero), T::constant(f64::NEG_INFINITY), T::constant(f64::NAN));
    T::select(zero.lt(x), T::select(x.lt(infinity), y, x), edge)
}

/// The natural logarithm.
#[inline(always)]
pub fn log<T: NumFloat>(x: T) -> T {
    let parts = log_parts(x);
    let low = parts.e.mul_add(T::constant(<T::Format as Format>::LN2_LOW), parts.b);
    let y = parts.e.mul_add(T::constant(<T::Format as Format>::LN2_HIGH), parts.f.add(low));
    log_edges(x, y, &parts)
}

/// The natural logarithm of `x + lost`, where `lost` is at most one ulp of `x`.
#[inline(always)]
pub(crate) fn log_of<T: NumFloat>(x: T, lost: T) -> T {
    let y = log(x);
    let inside = T::constant(0.0).lt(x).and(x.lt(T::constant(f64::INFINITY)));
    T::select(inside, y.add(lost.div(x)), y)
}

/// `ln(1 + x)` without the rounding error of the sum.
#[inline(always)]
pub fn log1p<T: NumFloat>(x: T) -> T {
    let one = T::constant(1.0);
    let sum = x.add(one);
    let back = sum.sub(one);
    // The rounding error of the sum, times the derivative.
    log_of(sum, x.sub(back).add(one.sub(sum.sub(back)))).copysign(x)
}

/// The hyperbolic tangent: `(1 - e^-2x) / (1 + e^-2x)`. Both terms come from one exponential that is accurate near 0.
#[inline(always)]
pub fn tanh<T: NumFloat>(x: T) -> T {
    let one = T::constant(1.0);
    // The result is constant beyond this limit; NaN passes through.
    let half = T::constant(-20.0).greater(x.abs().neg());
    let exponent = half.add(half);
    let n = exponent.mul(T::constant(std::f64::consts::LOG2_E)).rint();
    let r = n.mul_add(T::constant(-std::f64::consts::LN_2), exponent);
    let lost = <T::Format as Format>::LN2_LOST;
    let r = if lost == 0.0 { r } else { n.mul_add(T::constant(-lost), r) };
    let bend = polynomial(r, <T::Format as Format>::TANH).mul_add(r.mul(r), r);
    // The exponential is `power + part`; neither is rounded.
    let power = one.scale(n);
    let part = bend.mul(power);
    one.sub(power).sub(part).div(one.add(power).add(part)).copysign(x)
}

/// `1 / (1 + e^-x)`.
#[inline(always)]
pub fn sigmoid<T: NumFloat>(x: T) -> T {
    // The exponential of a negative number cannot overflow, so small results keep all their bits.
    let e = exp(x.abs().neg());
    let one = T::constant(1.0);
    let negative = x.lt(T::constant(0.0));
    let below = e.add(one);
    let quotient = T::select(negative, e, one).div(below);
    // The rounding error of the denominator, times the derivative: without it the error reaches 2.3 ulp.
    let lost = e.sub(below.sub(one));
    let inverse = T::select(negative, one.sub(quotient), quotient);
    lost.mul(inverse).neg().mul_add(quotient, quotient)
}

/// The error function: `2 / sqrt(pi)` times the integral of `e^(-t^2)` from 0.
#[inline(always)]
pub fn erf<T: NumFloat>(x: T) -> T {
    let (one, two) = (T::constant(1.0), T::constant(2.0));
    let magnitude = T::constant(<T::Format as Format>::ERF_HIGH).lesser(x.abs());
    let square = magnitude.mul(magnitude);
    let near = polynomial(square, <T::Format as Format>::ERF).mul_add(magnitude, magnitude);
    let t = magnitude.sub(two).div(magnitude.add(two));
    let far = one.sub(exp(square.neg()).mul(polynomial(t, <T::Format as Format>::ERFC)));
    T::select(magnitude.lt(T::constant(0.75)), near, far).copysign(x)
}

/// Sine and cosine of `2 pi x`, for `x` in [0, 1].
#[inline(always)]
pub fn sin_cos_turn<T: NumFloat>(x: T) -> (T, T) {
    let quarters = x.mul(T::constant(4.0));
    let quadrant = quarters.rint();
    let t = quarters.sub(quadrant);
    let square = t.mul(t);
    let sine = t.mul(polynomial(square, <T::Format as Format>::SIN));
    let cosine = polynomial(square, <T::Format as Format>::COS);
    let is = |n: f64| quadrant.eq(T::constant(n));
    let odd = is(1.0).or(is(3.0));
    let (s, c) = (T::select(odd, cosine, sine), T::select(odd, sine, cosine));
    (T::select(is(2.0).or(is(3.0)), s.neg(), s), T::select(is(1.0).or(is(2.0)), c.neg(), c))
}

/// Two independent normal numbers from two uniform ones, the first in (0, 1], by the Box-Muller method.
#[inline(always)]
pub fn normal_pair<T: NumFloat>(u: T, v: T) -> (T, T) {
    let radius = log(u).mul(T::constant(-2.0)).sqrt();
    let (sine, cosine) = sin_cos_turn(v);
    (radius.mul(cosine), radius.mul(sine))
}
