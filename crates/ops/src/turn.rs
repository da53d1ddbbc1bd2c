//! Argument reduction for trigonometric functions: the number of quarter turns in an angle, modulo four, and the
//! remainder. These functions take one element; vectors use [`near`] for all lanes and [`Turn::far`] for the few large
//! ones.
//!
//! Invariant: for every finite angle, the remainder is accurate to 44 bits for singles and to twice the format's
//! precision for doubles. Multiplying by a rounded 2/pi would not do: it loses one bit for each bit in the integer
//! part.

use crate::num::{Double, NumFloat, Single};

/// Reduces an angle to a quadrant and a remainder.
pub trait Turn: Copy {
    /// The largest angle that [`Turn::near`] handles.
    const NEAR: Self;

    /// Whether it is larger than [`Turn::NEAR`].
    fn is_far(self) -> bool;

    /// Quadrant and remainder of an angle up to [`Turn::NEAR`].
    fn near(self) -> [Self; 3];

    /// Quadrant and remainder of an angle beyond [`Turn::NEAR`].
    fn far(self) -> [Self; 3];
}

/// pi/2 as an unevaluated sum: the first two parts have 33 bits, so their products with a quotient below 2^20 are
/// exact.
const HALF_PI: [f64; 3] = [1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21];

/// pi/2 minus its first 33 bits.
const HALF_PI_REST: f64 = 6.077100506506192e-11;

/// pi/2 minus its rounded value.
const HALF_PI_LOW: f64 = 6.123233995736766e-17;

/// The bits of 2/pi: as many as the exponent of the largest double, plus three times its precision.
pub const TWO_OVER_PI: [u64; 20] = [
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
    0xf0cfbc209af4361d,
];

/// The biased exponent of the first far singles, those from 2^20 on.
pub const SINGLE_FIRST_EXPONENT: u32 = 127 + 20;

/// The number of exponents per row of [`SINGLE_TURNS`].
pub const SINGLE_EXPONENTS: u32 = 8;

/// 2/pi for far singles, as a sum of three parts, with one row per [`SINGLE_EXPONENTS`] exponents. Singles of row `k`
/// are multiples of 2^(8k - 3) below 2^(8k + 28), so bits of 2/pi whose products are full turns are omitted.
///
/// The first part has the bits from 2^(4 - 8k) to 2^(-24 - 8k): its product is exact, a multiple of 2^-27. The second
/// part has the next 21 bits: its product is exact, below 16 and a multiple of 2^-48. Their sum is exact once the first
/// product is reduced modulo four. The product of the third part, below 2^-17, has an error of at most 2^-70. In
/// quarter turns, every far single is at least 2^-30 away from an integer and at least 2^-31 away from the midpoint of
/// two.
pub static SINGLE_TURNS: [[f64; 3]; 14] = {
    let mut rows = [[0.0; 3]; 14];
    let mut row = 0;
    while row < rows.len() {
        let skipped = row * SINGLE_EXPONENTS as usize;
        let (second, third) = (skipped + 24, skipped + 45);
        rows[row] = [digits(skipped.saturating_sub(5), second), digits(second, third), digits(third, third + 64)];
        row += 1;
    }
    rows
};

/// The bits of 2/pi between two places after the point, at most 64 of them, rounded to a double.
const fn digits(from: usize, to: usize) -> f64 {
    let (mut whole, mut place) = (0, from);
    while place < to {
        whole = whole << 1 | TWO_OVER_PI[place / 64] >> (63 - place % 64) & 1;
        place += 1;
    }
    whole as f64 * f64::from_bits((1023 - to as u64) << 52)
}

#[inline(always)]
fn quotient(x: f64) -> f64 {
    (x * std::f64::consts::FRAC_2_PI).round_ties_even()
}

/// `n` modulo four; exact.
#[inline(always)]
fn quadrant(n: f64) -> f64 {
    n - 4.0 * (n * 0.25).floor()
}

impl Turn for f64 {
    const NEAR: f64 = 1048576.0;

    #[inline(always)]
    fn is_far(self) -> bool {
        self.abs() > Self::NEAR
    }

    #[inline(always)]
    fn near(self) -> [f64; 3] {
        let n = quotient(self);
        // The first product and difference are exact; keep the error of the second difference.
        let (a, b) = (self - n * HALF_PI[0], n * HALF_PI[1]);
        let s = a - b;
        let t = s - a;
        let lost = (a - (s - t)) - (b + t) - n * HALF_PI[2];
        let high = s + lost;
        [quadrant(n), high, (s - high) + lost]
    }

    #[cold]
    #[inline(never)]
    fn far(self) -> [f64; 3] {
        if !self.is_finite() {
            return [0.0, f64::NAN, f64::NAN];
        }
        let bits = self.to_bits();
        let exponent = (bits >> 52 & 0x7ff) as i32 - 1075;
        let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
        // Skip the bits of 2/pi whose products are full turns; multiply by the next 192.
        let skip = (exponent - 2).max(0) as usize;
        let (word, shift) = (skip / 64, skip % 64);
        let digits = |i: usize| match shift {
            0 => TWO_OVER_PI[word + i],
            _ => TWO_OVER_PI[word + i] << shift | TWO_OVER_PI[word + i + 1] >> (64 - shift),
        };
        let low = mantissa as u128 * digits(2) as u128;
        let middle = mantissa as u128 * digits(1) as u128 + (low >> 64);
        let high = mantissa as u128 * digits(0) as u128 + (middle >> 64);
        let mut limbs = [low as u64, middle as u64, high as u64, (high >> 64) as u64];
        // Two bits before the point, 190 after it.
        let down = (2 - exponent).max(0) as u32;
        if down > 0 {
            for i in 0..3 {
                limbs[i] = limbs[i] >> down | limbs[i + 1] << (64 - down);
            }
        }
        let turned = limbs[2] >> 62;
        let mut rest = [limbs[0] << 2, limbs[1] << 2 | limbs[0] >> 62, limbs[2] << 2 | limbs[1] >> 62];
        // Round to the nearest multiple: from one half on take the next one, with a negative remainder.
        let below = rest[2] >> 63 == 1;
        if below {
            let (first, carry) = (!rest[0]).overflowing_add(1);
            let (second, carry) = (!rest[1]).overflowing_add(carry as u64);
            rest = [first, second, (!rest[2]).wrapping_add(carry as u64)];
        }
        let zeros = if rest[2] != 0 { rest[2].leading_zeros() } else { 64 + rest[1].leading_zeros() };
        let top = |from: usize| {
            let value = (rest[from] as u128) << 64 | if from > 0 { rest[from - 1] as u128 } else { 0 };
            (value << (zeros % 64) >> 64) as u64
        };
        let (first, second) = if zeros < 64 { (top(2), top(1)) } else { (top(1), top(0)) };
        // The leading 53 bits, and the next 53.
        let power = |digits: i32| f64::from_bits(((1023 - digits) as u64) << 52);
        let part = (first >> 11) as f64 * power(zeros as i32 + 53);
        let next = ((first << 53 | second >> 11) >> 11) as f64 * power(zeros as i32 + 106);
        let product = part * std::f64::consts::FRAC_PI_2;
        let lost = part.mul_add(std::f64::consts::FRAC_PI_2, -product);
        let lost = lost + (part * HALF_PI_LOW + next * std::f64::consts::FRAC_PI_2);
        let high = product + lost;
        let low = (product - high) + lost;
        let sign = if below != self.is_sign_negative() { -1.0 } else { 1.0 };
        let turned = (turned + below as u64) as f64;
        let turned = if self.is_sign_negative() { quadrant(-turned) } else { quadrant(turned) };
        [turned, sign * high, sign * low]
    }
}

/// pi/2 as a sum of three singles.
const SINGLE_HALF_PI: [f32; 3] = [std::f32::consts::FRAC_PI_2, -4.371139e-8, -1.7151245e-15];

/// The constants of [`near`], for a format.
pub trait NearTurns {
    /// pi/2 as an unevaluated sum of three.
    const HALF_PI: [f64; 3];
    /// Whether the product of a near quotient and the second part is exact.
    const IS_EXACT: bool;
}

impl NearTurns for Single {
    const HALF_PI: [f64; 3] = [SINGLE_HALF_PI[0] as f64, SINGLE_HALF_PI[1] as f64, SINGLE_HALF_PI[2] as f64];
    const IS_EXACT: bool = false;
}

impl NearTurns for Double {
    const HALF_PI: [f64; 3] = HALF_PI;
    const IS_EXACT: bool = true;
}

/// Equals [`Turn::near`] bit for bit, for vectors with a fused multiply-add.
#[inline(always)]
pub fn near<T: NumFloat>(x: T) -> [T; 3] {
    let [first, second, third] = <T::Format as NearTurns>::HALF_PI.map(T::constant);
    let n = x.mul(T::constant(std::f64::consts::FRAC_2_PI)).rint();
    let (a, b) = (n.neg().mul_add(first, x), n.mul(second));
    let s = a.sub(b);
    let t = s.sub(a);
    let lost = a.sub(s.sub(t)).sub(b.add(t));
    let lost = if <T::Format as NearTurns>::IS_EXACT { lost } else { lost.sub(n.mul_add(second, b.neg())) };
    let lost = lost.sub(n.mul(third));
    let high = s.add(lost);
    let quadrant = n.mul(T::constant(0.25)).floor().mul_add(T::constant(-4.0), n);
    [quadrant, high, s.sub(high).add(lost)]
}

/// Turns and remainder of a single up to 2^20, computed in doubles.
fn middle(wide: f64) -> (f64, f64) {
    let n = quotient(wide);
    (n, (wide - n * HALF_PI[0]) - n * HALF_PI_REST)
}

/// Turns and remainder of a single from 2^20 on, by the table.
fn by_table(x: f32, wide: f64) -> (f64, f64) {
    let exponent = x.to_bits() >> 23 & 0xff;
    let [first, second, third] = SINGLE_TURNS[((exponent - SINGLE_FIRST_EXPONENT) / SINGLE_EXPONENTS) as usize];
    let (sum, small) = (quadrant(wide * first) + wide * second, wide * third);
    let n = (sum + small).round_ties_even();
    (n, ((sum - n) + small) * std::f64::consts::FRAC_PI_2)
}

impl Turn for f32 {
    // Beyond this the quotient is so large that rounding may pick the wrong multiple.
    const NEAR: f32 = 32768.0;

    #[inline(always)]
    fn is_far(self) -> bool {
        self.abs() > Self::NEAR
    }

    #[inline(always)]
    fn near(self) -> [f32; 3] {
        let [first, second, third] = SINGLE_HALF_PI;
        let n = (self * std::f32::consts::FRAC_2_PI).round_ties_even();
        // Both are exact as singles, as a fused multiply-add would compute them.
        let a = (self as f64 - n as f64 * first as f64) as f32;
        let b = n * second;
        let lost_product = (n as f64 * second as f64 - b as f64) as f32;
        let s = a - b;
        let t = s - a;
        let lost = (a - (s - t)) - (b + t) - lost_product - n * third;
        let high = s + lost;
        [quadrant(n as f64) as f32, high, (s - high) + lost]
    }

    #[cold]
    #[inline(never)]
    fn far(self) -> [f32; 3] {
        if !self.is_finite() {
            return [0.0, f32::NAN, f32::NAN];
        }
        let wide = self as f64;
        let (n, rest) = if self.abs() > 1048576.0 { by_table(self, wide) } else { middle(wide) };
        let high = rest as f32;
        [quadrant(n) as f32, high, (rest - high as f64) as f32]
    }
}
