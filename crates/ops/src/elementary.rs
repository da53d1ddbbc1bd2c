//! Powers, roots, logarithms and parts of floats, written once over [`NumFloat`].
//!
//! Invariant: the accuracy of [`crate::math`].

use crate::math::{self, exp_of, is_normal, log_parts, polynomial};
use crate::num::{Format, Mask, NumFloat};
use crate::power::Powers;
use crate::tables::Tables;
use std::f64::consts::{LN_2, LOG2_E};

/// `2^x`.
#[inline(always)]
pub fn exp2<T: NumFloat>(x: T) -> T {
    // The result is constant beyond these limits; NaN passes through both.
    let (low, high) = (<T::Format as Tables>::SCALE_LOW, <T::Format as Tables>::SCALE_HIGH);
    let x = T::constant(low).greater(T::constant(high).lesser(x));
    let n = x.rint();
    exp_of(x.sub(n).mul(T::constant(LN_2))).scale(n)
}

/// The logarithm to base 2.
#[inline(always)]
pub fn log2<T: NumFloat>(x: T) -> T {
    let parts = log_parts(x);
    math::log_edges(x, parts.f.add(parts.b).mul_add(T::constant(LOG2_E), parts.e), &parts)
}

/// The logarithm to base 10.
#[inline(always)]
pub fn log10<T: NumFloat>(x: T) -> T {
    let parts = log_parts(x);
    let (e, f) = (parts.e, parts.f);
    let [high, low] = <T::Format as Tables>::LOG10_E.map(T::constant);
    let [base, base_low] = <T::Format as Tables>::LOG10_2.map(T::constant);
    let base = e.mul(base);
    let part = f.mul(high);
    let lost = f.mul_add(high, part.neg());
    let sum = base.add(part);
    let rest = part.sub(sum.sub(base)).add(lost);
    let rest = e.mul_add(base_low, parts.b.mul_add(high, f.mul_add(low, rest)));
    math::log_edges(x, sum.add(rest), &parts)
}

/// The mantissa in [2/3, 4/3) and the integer exponent of a magnitude, including denormals. The result is unspecified
/// for zero, infinity and NaN.
#[inline(always)]
pub(crate) fn parts<T: NumFloat>(magnitude: T) -> (T, T) {
    let lift = <T::Format as Format>::LIFT;
    let denormal = magnitude.lt(T::constant(<T::Format as Format>::MIN_NORMAL));
    let lifted = magnitude.mul(T::constant(2f64.powi(lift)));
    let (m, e) = T::select(denormal, lifted, magnitude).split();
    (m, T::select(denormal, e.sub(T::constant(lift as f64)), e))
}

/// Whether a number is neither zero, nor infinite, nor NaN.
#[inline(always)]
fn is_ordinary<T: NumFloat>(magnitude: T) -> T::Mask {
    T::constant(0.0).lt(magnitude).and(magnitude.lt(T::constant(f64::INFINITY)))
}

/// The cube root.
#[inline(always)]
pub fn cbrt<T: NumFloat>(x: T) -> T {
    let third = T::constant(1.0 / 3.0);
    let magnitude = x.abs();
    let plain = T::BRANCHES && T::all(is_normal(magnitude));
    let (m, e) = if plain { magnitude.split() } else { parts(magnitude) };
    let n = e.mul(third).rint();
    let left = e.sub(n.mul(T::constant(3.0)));
    // `left` lies between 1/3 and 8/3; the polynomial gives its root to five digits, and each step more than doubles
    // the number of correct digits.
    let is = |v: f64| left.eq(T::constant(v));
    let by = |above: f64, below: f64| {
        T::select(is(1.0), T::constant(above), T::select(is(-1.0), T::constant(below), T::constant(1.0)))
    };
    let number = m.mul(by(2.0, 0.5));
    let y = polynomial(m, <T::Format as Tables>::CBRT).mul(by(1.2599210498948732, 0.7937005259840998));
    let step = |y: T| {
        let square = y.mul(y);
        let off = square.neg().mul_add(y, number);
        off.div(square.mul(T::constant(3.0))).add(y)
    };
    let y = if <T::Format as Powers>::ONE_STEP { step(y) } else { step(step(y)) };
    let y = y.scale(n).copysign(x);
    if plain { y } else { T::select(is_ordinary(magnitude), y, x) }
}

/// `sqrt(x^2 + y^2)` without intermediate overflow.
#[inline(always)]
pub fn hypot<T: NumFloat>(x: T, y: T) -> T {
    let infinity = T::constant(f64::INFINITY);
    let (a, b) = (x.abs(), y.abs());
    let more = a.max(b);
    let large = T::constant(<T::Format as Tables>::LARGE).lt(more);
    let small = more.lt(T::constant(<T::Format as Tables>::SMALL));
    let (up, down) = (<T::Format as Tables>::UP, 1.0 / <T::Format as Tables>::UP);
    let choose = |large_by: f64, small_by: f64| {
        T::select(large, T::constant(large_by), T::select(small, T::constant(small_by), T::constant(1.0)))
    };
    let (there, back) = (choose(down, up), choose(up, down));
    let (a, b) = (a.mul(there), b.mul(there));
    let swap = a.lt(b);
    let (more, less) = (T::select(swap, b, a), T::select(swap, a, b));
    let root = more.mul_add(more, less.mul(less)).sqrt().mul(back);
    T::select(x.abs().eq(infinity).or(y.abs().eq(infinity)), infinity, root)
}

/// `log(e^x + e^y)`.
#[inline(always)]
pub fn logaddexp<T: NumFloat>(x: T, y: T) -> T {
    let rest = math::log1p(math::exp(x.sub(y).abs().neg()));
    // Equal infinities are a special case, because their difference is NaN.
    T::select(x.eq(y), x.add(T::constant(LN_2)), x.max(y).add(rest))
}

/// `x * 2^n` with a single rounding.
#[inline(always)]
pub fn ldexp<T: NumFloat>(x: T, n: T) -> T {
    let magnitude = x.abs();
    let (m, e) = parts(magnitude);
    let (low, high) = (<T::Format as Tables>::SCALE_LOW, <T::Format as Tables>::SCALE_HIGH);
    let exponent = T::constant(low).greater(T::constant(high).lesser(e.add(n.trunc())));
    let y = T::select(is_ordinary(magnitude), m.scale(exponent).copysign(x), x);
    T::select(n.eq(n), y, n)
}

/// The mantissa of a number: in [1/2, 1), with the sign of the number.
#[inline(always)]
pub fn mantissa<T: NumFloat>(x: T) -> T {
    let magnitude = x.abs();
    let (m, _) = parts(magnitude);
    let m = T::select(m.lt(T::constant(1.0)), m, m.mul(T::constant(0.5)));
    T::select(is_ordinary(magnitude), m.copysign(x), x)
}

/// The exponent that belongs to [`mantissa`].
#[inline(always)]
pub fn exponent<T: NumFloat>(x: T) -> T {
    let (zero, one) = (T::constant(0.0), T::constant(1.0));
    let magnitude = x.abs();
    let (m, e) = parts(magnitude);
    T::select(is_ordinary(magnitude), T::select(m.lt(one), e, e.add(one)), zero)
}
