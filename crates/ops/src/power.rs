//! Powers of floats, written once over [`NumFloat`]: `2^(y log2 |x|)`. The logarithm has one and a half times the
//! digits of the format, so that the product is accurate even for exponents in the hundreds.
//!
//! Invariant: the accuracy of [`crate::math`], with the special cases of C99. Requires a fused multiply-add, which
//! computes the rounding errors of products.

use crate::elementary::parts;
use crate::math::{exp_of, is_normal, polynomial};
use crate::num::{Double, Mask, NumFloat, Single};
use crate::tables::Tables;
use std::f64::consts::LN_2;

/// Constants of a float format that powers need.
pub trait Powers {
    /// Single precision: `(atanh(q) / q - 1) / q^2`; double precision: `(atanh(q) / q - 1 - q^2 / 3) / q^4`. Both in
    /// `q^2` for q up to 1/11, highest power first.
    const ATANH: &'static [f64];
    /// 1/3 as an unevaluated sum of two, where the cubic term needs more precision than the format has.
    const THIRD: Option<[f64; 2]>;
    /// 2 / log(2) as an unevaluated sum of two.
    const TWICE_LOG2_E: [f64; 2];
    /// -log2(5/4) as an unevaluated sum of two; the sum of the first part and any exponent is exact.
    const LOG2_LOW: [f64; 2];
    /// -log2(7/8) as an unevaluated sum of two; the sum of the first part and any exponent is exact.
    const LOG2_HIGH: [f64; 2];
    /// The largest finite number.
    const MAX: f64;
    /// Whether one Newton step makes a five-digit root accurate; otherwise two are needed.
    const ONE_STEP: bool;
}

impl Powers for Single {
    const ATANH: &'static [f64] = &[0.14424524638694602, 0.19999568827918326, 0.3333333353139455];
    const THIRD: Option<[f64; 2]> = None;
    const TWICE_LOG2_E: [f64; 2] = [2.885390043258667, 3.851925982253235e-08];
    const LOG2_LOW: [f64; 2] = [-0.321929931640625, 1.8367532626521296e-06];
    const LOG2_HIGH: [f64; 2] = [0.192657470703125, -1.2392760729107441e-05];
    const MAX: f64 = f32::MAX as f64;
    const ONE_STEP: bool = true;
}

impl Powers for Double {
    const ATANH: &'static [f64] = &[
        0.060378692969534416,
        0.06664879520034844,
        0.07692317838556502,
        0.09090909061592611,
        0.11111111111150192,
        0.14285714285714268,
        0.2,
    ];
    const THIRD: Option<[f64; 2]> = Some([0.3333333333333333, 1.850371707708594e-17]);
    const TWICE_LOG2_E: [f64; 2] = [2.8853900817779268, 4.0710547481862066e-17];
    const LOG2_LOW: [f64; 2] = [-0.32192809488697094, -3.914087556296025e-13];
    const LOG2_HIGH: [f64; 2] = [0.19264507794196106, 4.348299516065895e-13];
    const MAX: f64 = f64::MAX;
    const ONE_STEP: bool = false;
}

/// `atanh(q + low)` for `|q| <= 1/11`, as an unevaluated sum of two.
#[inline(always)]
fn atanh_parts<T: NumFloat>(q: T, low: T) -> (T, T) {
    let square = q.mul(q);
    let rest = polynomial(square, <T::Format as Powers>::ATANH).mul(square);
    let Some([third, third_low]) = <T::Format as Powers>::THIRD else {
        let part = q.mul_add(rest, low);
        let sum = q.add(part);
        return (sum, part.sub(sum.sub(q)));
    };
    let third = T::constant(third);
    let lost_square = q.mul_add(low.add(low), q.mul_add(q, square.neg()));
    // The nonlinear part is `q` times this sum of two.
    let bend = square.mul(third);
    let bend_low = lost_square.mul_add(third, square.mul_add(third, bend.neg()));
    let bend_low = square.mul_add(T::constant(third_low), rest.mul_add(square, bend_low));
    let part = q.mul(bend);
    let part_low = q.mul_add(bend, part.neg());
    let part_low = low.mul_add(bend, q.mul_add(bend_low, part_low));
    let sum = q.add(part);
    (sum, part.sub(sum.sub(q)).add(part_low.add(low)))
}

/// `log2` of a mantissa in [2/3, 4/3) times `2^e`, as an unevaluated sum of two.
#[inline(always)]
fn log2_of<T: NumFloat>(m: T, e: T) -> (T, T) {
    let (zero, one, two) = (T::constant(0.0), T::constant(1.0), T::constant(2.0));
    // Scale the mantissa to within a sixth of one. This is exact, because 5/4 and 7/8 have at most three bits.
    let (below, above) = (m.lt(T::constant(8.0 / 9.0)), T::constant(16.0 / 15.0).lt(m));
    let choose = |low: f64, high: f64, middle: T| {
        T::select(below, T::constant(low), T::select(above, T::constant(high), middle))
    };
    let f = m.mul_add(choose(1.25, 0.875, one), one.neg());
    let ([low, low_rest], [high, high_rest]) = (<T::Format as Powers>::LOG2_LOW, <T::Format as Powers>::LOG2_HIGH);
    let whole = e.add(choose(low, high, zero));
    // q = f / (2 + f), and its rounding error.
    let inverse = one.div(f.add(two));
    let q = f.mul(inverse);
    let lost = q.neg().mul_add(f, q.neg().mul_add(two, f));
    let (part, part_low) = atanh_parts(q, lost.mul(inverse));
    let [scale, scale_low] = <T::Format as Powers>::TWICE_LOG2_E.map(T::constant);
    let product = part.mul(scale);
    let rest = part_low.mul_add(scale, part.mul_add(scale, product.neg()));
    let rest = part.mul_add(scale_low, rest);
    let sum = whole.add(product);
    (sum, product.sub(sum.sub(whole)).add(rest.add(choose(low_rest, high_rest, zero))))
}

/// `x^y`.
#[inline(always)]
pub fn power<T: NumFloat>(x: T, y: T) -> T {
    let (zero, one, infinity) = (T::constant(0.0), T::constant(1.0), T::constant(f64::INFINITY));
    // Clamp infinite exponents: beyond the largest number every power is 0 or infinite, except for base 1. NaN passes
    // through.
    let most = <T::Format as Powers>::MAX;
    let y = T::constant(-most).greater(T::constant(most).lesser(y));
    let magnitude = x.abs();
    let (m, e) = parts(magnitude);
    let (log, log_low) = log2_of(m, e);
    let finite = magnitude.lt(infinity);
    let log = T::select(magnitude.eq(zero), infinity.neg(), log);
    let log = T::select(finite, log, magnitude);
    let product = y.mul(log);
    let size = raised(product, y.mul_add(log_low, y.mul_add(log, product.neg())));
    // A negative base has powers for integer exponents; they are negative if the exponent is odd.
    let pairs = y.mul(T::constant(0.5)).rint();
    let left = pairs.mul_add(T::constant(-2.0), y).abs();
    let odd = left.eq(one);
    let signed = T::select(odd, size.copysign(x), size);
    let none = x.lt(zero).and(finite).and(odd.or(left.eq(zero)).not());
    let signed = T::select(none, T::constant(f64::NAN), signed);
    T::select(x.eq(one).or(y.eq(zero)), one, signed)
}

/// `2^exponent` for an exponent given as an unevaluated sum of two.
#[inline(always)]
fn raised<T: NumFloat>(product: T, low: T) -> T {
    let (least, most) = (<T::Format as Tables>::SCALE_LOW, <T::Format as Tables>::SCALE_HIGH);
    // The result is constant beyond these limits, where the low part may be NaN.
    let exponent = T::constant(least).greater(T::constant(most).lesser(product));
    let low = T::select(exponent.eq(product), low, T::constant(0.0));
    let n = exponent.rint();
    let ln2 = T::constant(LN_2);
    exp_of(exponent.sub(n).mul_add(ln2, low.mul(ln2))).scale(n)
}

/// Whether [`plain_power`] applies: a positive normal base and a finite exponent.
#[inline(always)]
pub fn is_plain<T: NumFloat>(x: T, y: T) -> T::Mask {
    is_normal(x).and(y.abs().lt(T::constant(f64::INFINITY)))
}

/// Equals [`power`] bit for bit where [`is_plain`] holds, without the special cases.
#[inline(always)]
pub fn plain_power<T: NumFloat>(x: T, y: T) -> T {
    let (m, e) = x.split();
    let (log, log_low) = log2_of(m, e);
    let product = y.mul(log);
    raised(product, y.mul_add(log_low, y.mul_add(log, product.neg())))
}
