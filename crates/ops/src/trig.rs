//! Trigonometric and hyperbolic functions and their inverses, written once over [`NumFloat`].
//!
//! Invariant: the accuracy of [`crate::math`]: at most 2 ulp in single and 4 ulp in double precision over the whole
//! range; infinities, NaN, denormals and -0 are handled. Without a fused multiply-add, the rounding errors below are
//! not exact, which costs 1 ulp.

use crate::math::{exp_by, log_of, polynomial};
use crate::num::{Mask, NumFloat};
use crate::tables::Tables;
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, LN_2, PI};

/// Sine and cosine of a reduced angle up to pi / 4, given as an unevaluated sum of two.
#[inline(always)]
fn sine_cosine<T: NumFloat>(rest: T, low: T) -> (T, T) {
    let (half, one) = (T::constant(0.5), T::constant(1.0));
    let square = rest.mul(rest);
    let sine = polynomial(square, <T::Format as Tables>::SINE).mul(square);
    let sine = rest.add(sine.mul_add(rest, low));
    let halved = square.mul(half);
    let near = one.sub(halved);
    let tail = polynomial(square, <T::Format as Tables>::COSINE).mul(square).mul_add(square, rest.mul(low).neg());
    (sine, near.add(one.sub(near).sub(halved).add(tail)))
}

/// The sine.
#[inline(always)]
pub fn sin<T: NumFloat>(x: T) -> T {
    let [quadrant, rest, low] = x.turns();
    let (sine, cosine) = sine_cosine(rest, low);
    let is = |n: f64| quadrant.eq(T::constant(n));
    let y = T::select(is(1.0).or(is(3.0)), cosine, sine);
    let y = T::select(T::constant(1.5).lt(quadrant), y.neg(), y);
    T::select(x.eq(T::constant(0.0)), x, y)
}

/// The cosine.
#[inline(always)]
pub fn cos<T: NumFloat>(x: T) -> T {
    let [quadrant, rest, low] = x.turns();
    let (sine, cosine) = sine_cosine(rest, low);
    let is = |n: f64| quadrant.eq(T::constant(n));
    let y = T::select(is(1.0).or(is(3.0)), sine, cosine);
    T::select(is(1.0).or(is(2.0)), y.neg(), y)
}

/// The tangent.
#[inline(always)]
pub fn tan<T: NumFloat>(x: T) -> T {
    let [quadrant, rest, low] = x.turns();
    let one = T::constant(1.0);
    let square = rest.mul(rest);
    let bend = polynomial(square, <T::Format as Tables>::TAN).mul(square);
    let near = bend.mul_add(rest, rest);
    // The contribution of the low part, by the derivative.
    let near = rest.add(bend.mul_add(rest, low.mul(near.mul_add(near, one))));
    let odd = quadrant.eq(one).or(quadrant.eq(T::constant(3.0)));
    let y = T::select(odd, one.neg().div(near), near);
    T::select(x.eq(T::constant(0.0)), x, y)
}

/// The arctangent of a positive `x`, or of `x + lost / by`, where the quotient is at most one ulp of `x`.
#[inline(always)]
fn arctangent<T: NumFloat>(x: T, lost: Option<(T, T)>) -> T {
    let (zero, one) = (T::constant(0.0), T::constant(1.0));
    let large = T::constant(2.414213562373095).lt(x);
    let middle = T::constant(0.4142135623730951).lt(x);
    // Beyond tan(3 pi / 8): pi / 2 minus the arctangent of the inverse; beyond tan(pi / 8): pi / 4 plus a smaller
    // angle.
    let above = T::select(large, one.neg(), T::select(middle, x.sub(one), x));
    let below = T::select(large, x, T::select(middle, x.add(one), one));
    let t = above.div(below);
    let base = T::select(large, T::constant(FRAC_PI_2), T::select(middle, T::constant(FRAC_PI_4), zero));
    let rest = <T::Format as Tables>::HALF_PI_LOW;
    let rest = T::select(large, T::constant(rest), T::select(middle, T::constant(rest * 0.5), zero));
    let square = t.mul(t);
    let bend = polynomial(square, <T::Format as Tables>::ATAN).mul(square);
    let rest = match lost {
        Some((lost, by)) => rest.add(lost.div(x.mul_add(x, one).mul(by))),
        None => rest,
    };
    base.add(t.add(bend.mul_add(t, rest)))
}

/// The arctangent.
#[inline(always)]
pub fn atan<T: NumFloat>(x: T) -> T {
    arctangent(x.abs(), None).copysign(x)
}

/// Whether the rounding error of a quotient by this positive number can be computed exactly.
#[inline(always)]
fn is_large_enough<T: NumFloat>(divisor: T) -> T::Mask {
    T::constant(<T::Format as Tables>::SMALL).lt(divisor).and(divisor.lt(T::constant(f64::INFINITY)))
}

/// The angle of the point `(x, y)`.
#[inline(always)]
pub fn atan2<T: NumFloat>(y: T, x: T) -> T {
    let (zero, one) = (T::constant(0.0), T::constant(1.0));
    let (a, b) = (y.abs(), x.abs());
    let steep = b.lt(a);
    let (less, more) = (T::select(steep, b, a), T::select(steep, a, b));
    let quotient = less.div(more);
    let plain = T::BRANCHES && T::all(is_large_enough(more).and(less.eq(less)));
    // The quotient of two zeros counts as 0, and of two infinities as 1.
    let quotient = if plain {
        quotient
    } else {
        T::select(more.eq(zero), zero, T::select(less.eq(more), T::constant(1.0), quotient))
    };
    // The rounding error of the quotient; unknown for the smallest numbers.
    let lost = quotient.neg().mul_add(more, less);
    let known = is_large_enough(more);
    let (lost, by) = if plain { (lost, more) } else { (T::select(known, lost, zero), T::select(known, more, one)) };
    let angle = arctangent(quotient, Some((lost, by)));
    let left = x.lt(zero).or(x.eq(zero).and(T::constant(1.0).copysign(x).lt(zero)));
    // Add or subtract pi / 2 or pi, depending on the octant.
    let choose =
        |quarter: f64, half: f64| T::select(steep, T::constant(quarter), T::select(left, T::constant(half), zero));
    let rest = <T::Format as Tables>::HALF_PI_LOW;
    let back = steep.and(left.not()).or(left.and(steep.not()));
    let angle = T::select(back, angle.neg(), angle).add(choose(rest, rest * 2.0)).add(choose(FRAC_PI_2, PI));
    if plain {
        return angle.copysign(y);
    }
    let number = y.eq(y).and(x.eq(x));
    T::select(number, angle.copysign(y), y.add(x))
}

/// `asin(x) - x` for `|x| <= 1/2`.
#[inline(always)]
fn arcsine_bend<T: NumFloat>(x: T, square: T) -> T {
    polynomial(square, <T::Format as Tables>::ASIN).mul(square).mul(x)
}

/// For `x` in [1/2, 1]: the square root of `(1 - x) / 2` and its rounding error.
#[inline(always)]
fn half_chord<T: NumFloat>(x: T) -> (T, T, T) {
    let square = T::constant(1.0).sub(x).mul(T::constant(0.5));
    let root = square.sqrt();
    let lost = root.neg().mul_add(root, square).div(root.add(root));
    (square, root, T::select(root.eq(T::constant(0.0)), root, lost))
}

/// The arcsine.
#[inline(always)]
pub fn asin<T: NumFloat>(x: T) -> T {
    let magnitude = x.abs();
    let near = magnitude.add(arcsine_bend(magnitude, magnitude.mul(magnitude)));
    let (square, root, lost) = half_chord(magnitude);
    let double = |x: T| x.add(x);
    let bend = arcsine_bend(root, square).add(lost);
    let rest = double(bend).sub(T::constant(<T::Format as Tables>::HALF_PI_LOW));
    let far = T::constant(FRAC_PI_2).sub(double(root).add(rest));
    T::select(magnitude.lt(T::constant(0.5)), near, far).copysign(x)
}

/// The arccosine.
#[inline(always)]
pub fn acos<T: NumFloat>(x: T) -> T {
    let magnitude = x.abs();
    let rest = T::constant(<T::Format as Tables>::HALF_PI_LOW);
    let bend = arcsine_bend(x, x.mul(x));
    let near = T::constant(FRAC_PI_2).sub(x.add(bend.sub(rest)));
    let (square, root, lost) = half_chord(magnitude);
    let bend = arcsine_bend(root, square).add(lost);
    let half = root.add(bend);
    let right = half.add(half);
    let left = T::constant(PI).sub(root.add(root).add(bend.add(bend).sub(rest.add(rest))));
    let far = T::select(x.lt(T::constant(0.0)), left, right);
    T::select(magnitude.lt(T::constant(0.5)), near, far)
}

/// The hyperbolic sine.
#[inline(always)]
pub fn sinh<T: NumFloat>(x: T) -> T {
    let magnitude = x.abs();
    let square = magnitude.mul(magnitude);
    let near = polynomial(square, <T::Format as Tables>::SINH).mul(square).mul_add(magnitude, magnitude);
    let half = exp_by(magnitude, -1.0);
    let far = half.sub(T::constant(0.25).div(half));
    T::select(magnitude.lt(T::constant(1.0)), near, far).copysign(x)
}

/// The hyperbolic cosine.
#[inline(always)]
pub fn cosh<T: NumFloat>(x: T) -> T {
    let half = exp_by(x.abs(), -1.0);
    half.add(T::constant(0.25).div(half))
}

/// `log(2 x)` for an `x` so large that adding 1 has no effect.
#[inline(always)]
fn log_double<T: NumFloat>(x: T) -> T {
    log_of(x, T::constant(0.0)).add(T::constant(LN_2))
}

/// `log(1 + x + low)`.
#[inline(always)]
fn log_one_more<T: NumFloat>(x: T, low: T) -> T {
    let one = T::constant(1.0);
    let sum = x.add(one);
    let back = sum.sub(one);
    let lost = x.sub(back).add(one.sub(sum.sub(back)));
    log_of(sum, lost.add(low))
}

/// The inverse hyperbolic sine.
#[inline(always)]
pub fn asinh<T: NumFloat>(x: T) -> T {
    let one = T::constant(1.0);
    let magnitude = x.abs();
    let large = T::constant(<T::Format as Tables>::LARGE).lt(magnitude);
    let a = T::select(large, one, magnitude);
    // e^y - 1 = a + a^2 / (1 + sqrt(1 + a^2)), as an unevaluated sum of two.
    let square = a.mul(a);
    let lost_square = a.mul_add(a, square.neg());
    let root = square.add(one).sqrt();
    let below = root.add(one);
    let bend = square.div(below);
    let lost = bend.neg().mul_add(below, square).add(lost_square).div(below);
    let more = a.add(bend);
    let less = T::select(a.lt(bend), a.sub(more.sub(bend)), bend.sub(more.sub(a)));
    let y = log_one_more(more, less.add(lost));
    T::select(large, log_double(magnitude), y).copysign(x)
}

/// The inverse hyperbolic cosine.
#[inline(always)]
pub fn acosh<T: NumFloat>(x: T) -> T {
    let (zero, one, two) = (T::constant(0.0), T::constant(1.0), T::constant(2.0));
    let large = T::constant(<T::Format as Tables>::LARGE).lt(x);
    let t = T::select(large, one, x.sub(one));
    // e^y - 1 = t + sqrt(t (t + 2)), as an unevaluated sum of two.
    let twice = t.mul(two);
    let square = t.mul_add(t, twice);
    let root = square.sqrt();
    let lost = root.neg().mul_add(root, square).add(t.mul_add(t, twice.sub(square))).div(root.add(root));
    let more = root.add(t);
    let less = t.sub(more.sub(root)).add(T::select(root.eq(zero), zero, lost));
    let y = log_one_more(more, less);
    T::select(large, log_double(x), T::select(x.lt(one), T::constant(f64::NAN), y))
}

/// The inverse hyperbolic tangent.
#[inline(always)]
pub fn atanh<T: NumFloat>(x: T) -> T {
    let (one, infinity) = (T::constant(1.0), T::constant(f64::INFINITY));
    let a = x.abs();
    let twice = a.add(a);
    let below = one.sub(a);
    let lost_below = one.sub(below).sub(a);
    let quotient = twice.div(below);
    let lost = quotient.neg().mul_add(below, twice).sub(quotient.mul(lost_below)).div(below);
    let inside = a.lt(one);
    let y = log_one_more(T::select(inside, quotient, one), T::select(inside, lost, one)).mul(T::constant(0.5));
    let edge = T::select(a.eq(one), infinity, T::constant(f64::NAN));
    T::select(inside, y, edge).copysign(x)
}
