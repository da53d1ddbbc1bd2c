//! Special functions of statistics and physics, written once over [`NumFloat`]: all branches are computed, then one is
//! selected.
//!
//! Invariant: infinities, NaN and poles are handled. Errors are a few ulp, as given in the rows of the catalogue; near
//! zeros of a function on the negative axis, the error is relative to the function's magnitude nearby.

use crate::math::{exp, exp_by, log, polynomial, sin_cos_turn};
use crate::num::{Mask, NumFloat};
use crate::tables::Tables;
use std::f64::consts::PI;

/// From here on Stirling's series is accurate to the last place.
const FAR: f64 = 10.0;

/// The largest number of recurrence steps that brings a number below [`FAR`] into its interval.
const STEPS: usize = 10;

/// Sine and cosine of `pi x`; exact at every half-integer.
#[inline(always)]
fn sin_cos_pi<T: NumFloat>(x: T) -> (T, T) {
    let half = T::constant(0.5);
    let turned = x.sub(x.mul(half).rint().mul(T::constant(2.0)));
    let (sine, cosine) = sin_cos_turn(turned.abs().mul(half));
    (sine.copysign(turned), cosine)
}

/// `sin(pi x) / (pi x)`, and 1 at 0.
#[inline(always)]
pub fn sinc<T: NumFloat>(x: T) -> T {
    // Closer to 0 the result is 1; the quotient of two denormals would not be.
    let (near, infinity) = (T::constant(1e-9), T::constant(f64::INFINITY));
    let (sine, _) = sin_cos_pi(x);
    let y = sine.div(x.mul(T::constant(PI)));
    T::select(x.abs().lt(near), T::constant(1.0), T::select(x.abs().eq(infinity), T::constant(f64::NAN), y))
}

/// Whether a number is a pole of the gamma function: zero or a negative integer.
#[inline(always)]
fn is_pole<T: NumFloat>(x: T) -> T::Mask {
    x.le(T::constant(0.0)).and(x.floor().eq(x))
}

/// The correction of Stirling's formula, times `x`: a series in `1 / x^2`.
#[inline(always)]
fn stirling<T: NumFloat>(x: T) -> T {
    let inverse = T::constant(1.0).div(x);
    polynomial(inverse.mul(inverse), <T::Format as Tables>::STIRLING).mul(inverse)
}

/// The gamma function.
#[inline(always)]
pub fn gamma<T: NumFloat>(x: T) -> T {
    let (zero, one, two, three) = (T::constant(0.0), T::constant(1.0), T::constant(2.0), T::constant(3.0));
    let a = x.abs();
    // Below FAR: use the recurrence to reach [2, 3].
    let (mut y, mut above, mut below) = (T::constant(FAR).lesser(a), one, one);
    for _ in 0..2 {
        let low = y.lt(two);
        below = T::select(low, below.mul(y), below);
        y = T::select(low, y.add(one), y);
    }
    for _ in 0..STEPS - 2 {
        let high = three.le(y);
        y = T::select(high, y.sub(one), y);
        above = T::select(high, above.mul(y), above);
    }
    let beyond = y.sub(two);
    let near = polynomial(beyond, <T::Format as Tables>::GAMMA).mul_add(beyond, one).mul(above).div(below);
    // Multiply by the square root of the power twice, to avoid intermediate overflow.
    let b = T::constant(FAR).greater(a);
    let root = b.power(b.mul(T::constant(0.5)).sub(T::constant(0.25)));
    let far = root.mul(exp(b.neg())).mul(root).mul(T::constant(2.5066282746310002)).mul(exp(stirling(b)));
    let large = T::constant(<T::Format as Tables>::GAMMA_HIGH).lt(a);
    let positive = T::select(large, T::constant(f64::INFINITY), T::select(a.lt(T::constant(FAR)), near, far));
    // Reflection formula for negative arguments.
    let (sine, _) = sin_cos_pi(x);
    let negative = T::constant(PI).div(a.mul(sine).mul(positive));
    let y = T::select(x.lt(zero), negative, positive);
    let pole = T::select(x.eq(zero), one.div(x), T::constant(f64::NAN));
    T::select(is_pole(x), pole, T::select(x.eq(x), y, x))
}

/// The logarithm of the absolute value of the gamma function.
#[inline(always)]
pub fn gammaln<T: NumFloat>(x: T) -> T {
    let (zero, one, two) = (T::constant(0.0), T::constant(1.0), T::constant(2.0));
    let infinity = T::constant(f64::INFINITY);
    let a = x.abs();
    // Below FAR: use the recurrence to reach [1, 2].
    let tiny = a.lt(one);
    let (mut y, mut product) = (T::constant(FAR).lesser(a), one);
    for _ in 0..STEPS - 1 {
        let high = two.le(y);
        y = T::select(high, y.sub(one), y);
        product = T::select(high, product.mul(y), product);
    }
    let (to_one, to_two) = (T::select(tiny, a, y.sub(one)), T::select(tiny, a.sub(one), y.sub(two)));
    let centred = T::select(tiny, a.sub(T::constant(0.5)), y.sub(T::constant(1.5)));
    let inner = to_one.mul(to_two).mul(polynomial(centred, <T::Format as Tables>::GAMMALN));
    let steps = log(T::select(tiny, a, product));
    let near = T::select(tiny, inner.sub(steps), inner.add(steps));
    let b = T::constant(FAR).greater(a);
    let size = log(b).sub(one).mul(b.sub(T::constant(0.5)));
    let far = size.add(stirling(b).add(T::constant(0.9189385332046727 - 0.5)));
    let positive = T::select(a.lt(T::constant(FAR)), near, far);
    let (sine, _) = sin_cos_pi(x);
    let negative = log(T::constant(PI).div(a.mul(sine).abs())).sub(positive);
    let y = T::select(x.lt(zero), negative, positive);
    let y = T::select(is_pole(x).or(a.eq(infinity)), infinity, y);
    T::select(x.eq(x), y, x)
}

/// The digamma function, the derivative of the logarithm of gamma.
#[inline(always)]
pub fn digamma<T: NumFloat>(x: T) -> T {
    let (zero, one) = (T::constant(0.0), T::constant(1.0));
    let a = x.abs();
    let (mut y, mut sum) = (a, zero);
    for _ in 0..STEPS {
        let low = y.lt(T::constant(FAR));
        sum = T::select(low, sum.add(one.div(y)), sum);
        y = T::select(low, y.add(one), y);
    }
    let inverse = one.div(y);
    let square = inverse.mul(inverse);
    let bend = polynomial(square, <T::Format as Tables>::DIGAMMA).mul(square);
    let positive = log(y).sub(inverse.mul(T::constant(0.5))).sub(bend).sub(sum);
    let (sine, cosine) = sin_cos_pi(x);
    let negative = positive.add(one.div(a)).sub(T::constant(PI).mul(cosine).div(sine));
    // Near the root, the sum above would cancel.
    let [root, rest] = <T::Format as Tables>::DIGAMMA_ROOT.map(T::constant);
    let slope = polynomial(x.sub(T::constant(1.5)), <T::Format as Tables>::DIGAMMA_NEAR);
    let near = x.sub(root).sub(rest).mul(slope);
    let is_near = one.le(x).and(x.le(T::constant(2.0)));
    let y = T::select(x.lt(zero), negative, T::select(is_near, near, positive));
    let pole = T::select(x.eq(zero), T::constant(f64::NEG_INFINITY).copysign(x).neg(), T::constant(f64::NAN));
    T::select(is_pole(x), pole, y)
}

/// The `n`-th derivative of the digamma function, for an integer `n >= 1` and positive `x`; NaN otherwise.
#[inline(always)]
pub fn polygamma<T: NumFloat>(n: T, x: T) -> T {
    let (zero, one, half) = (T::constant(0.0), T::constant(1.0), T::constant(0.5));
    // The Hurwitz zeta function: a direct sum up to twice FAR, then the Euler-Maclaurin formula.
    let s = n.add(one);
    let (mut y, mut sum) = (x, zero);
    for _ in 0..2 * STEPS {
        let low = y.lt(T::constant(2.0 * FAR));
        sum = T::select(low, sum.add(y.power(s.neg())), sum);
        y = T::select(low, y.add(one), y);
    }
    let term = y.power(s.neg());
    let mut rest = half.add(y.div(n));
    let inverse = one.div(y);
    let square = inverse.mul(inverse);
    let mut factor = s.mul(inverse);
    for (j, &bernoulli) in crate::tables::EULER_MACLAURIN.iter().enumerate() {
        rest = factor.mul_add(T::constant(bernoulli), rest);
        let next = s.add(T::constant((2 * j + 1) as f64));
        factor = factor.mul(next).mul(next.add(one)).mul(square);
    }
    let zeta = term.mul_add(rest, sum);
    let even = n.mul(half).floor().eq(n.mul(half));
    let y = gamma(s).mul(zeta);
    let y = T::select(even, y.neg(), y);
    let inside = one.le(n).and(n.floor().eq(n)).and(zero.lt(x));
    T::select(inside, y, T::constant(f64::NAN))
}

/// The inverse of the error function.
#[inline(always)]
pub fn erfinv<T: NumFloat>(x: T) -> T {
    let one = T::constant(1.0);
    let w = log(one.sub(x).mul(one.add(x))).neg();
    let near = polynomial(w.sub(T::constant(2.5)), <T::Format as Tables>::ERFINV_NEAR);
    let root = w.sqrt();
    let mut far =
        polynomial(root.sub(T::constant(<T::Format as Tables>::ERFINV_CENTRE)), <T::Format as Tables>::ERFINV_FAR);
    if let [_, ..] = <T::Format as Tables>::ERFINV_TAIL {
        let tail = polynomial(root.sub(T::constant(5.0)), <T::Format as Tables>::ERFINV_TAIL);
        far = T::select(T::constant(16.0).lt(w), tail, far);
    }
    let y = T::select(w.lt(T::constant(5.0)), near, far).mul(x);
    T::select(x.abs().eq(one), T::constant(f64::INFINITY).copysign(x), y)
}

/// A modified Bessel function of the first kind beyond 8, divided by `e^x / sqrt(x)`.
#[inline(always)]
fn bessel_far<T: NumFloat>(magnitude: T, coefficients: &'static [f64]) -> T {
    let a = T::constant(8.0).greater(magnitude);
    let part = polynomial(T::constant(1.0).div(a), coefficients).div(a.sqrt());
    let y = exp_by(a, -8.0).mul(part).mul(T::constant(256.0));
    T::select(magnitude.eq(T::constant(f64::INFINITY)), magnitude, y)
}

/// The modified Bessel function of the first kind and order 0.
#[inline(always)]
pub fn i0<T: NumFloat>(x: T) -> T {
    let a = x.abs();
    let half = T::constant(8.0).lesser(a).mul(T::constant(0.5));
    let near = polynomial(half.mul(half), <T::Format as Tables>::I0_NEAR);
    let far = bessel_far(a, <T::Format as Tables>::I0_FAR);
    T::select(x.eq(x), T::select(a.le(T::constant(8.0)), near, far), x)
}

/// The modified Bessel function of the first kind and order 1.
#[inline(always)]
pub fn i1<T: NumFloat>(x: T) -> T {
    let a = x.abs();
    let half = T::constant(8.0).lesser(a).mul(T::constant(0.5));
    let near = polynomial(half.mul(half), <T::Format as Tables>::I1_NEAR).mul(half);
    let far = bessel_far(a, <T::Format as Tables>::I1_FAR);
    T::select(x.eq(x), T::select(a.le(T::constant(8.0)), near, far).copysign(x), x)
}
