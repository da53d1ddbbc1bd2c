//! The reference implementation for single elements. Vector kernels are checked against it bit for bit.

use crate::num::{Double, Mask, Num, NumBits, NumFloat, NumSigned, NumWhole, Single};
use crate::power;
use crate::turn::Turn;
use std::cmp::Ordering;

/// Methods of a trait by their bodies, which see `self` under the first name.
macro_rules! methods {
    ($($name:ident = |$a:ident $(, $b:ident)*| $body:expr;)*) => {$(
        #[inline(always)]
        fn $name(self $(, $b: Self)*) -> Self {
            let $a = self;
            $body
        }
    )*};
}

impl Mask for bool {
    methods! {
        and = |a, b| a & b;
        or = |a, b| a | b;
        not = |a| !a;
    }
}

macro_rules! compare_and_select {
    () => {
        type Mask = bool;
        #[inline(always)]
        fn eq(self, other: Self) -> bool {
            self == other
        }
        #[inline(always)]
        fn lt(self, other: Self) -> bool {
            self < other
        }
        #[inline(always)]
        fn le(self, other: Self) -> bool {
            self <= other
        }
        #[inline(always)]
        fn select(mask: bool, yes: Self, no: Self) -> Self {
            if mask { yes } else { no }
        }
    };
}

macro_rules! bits {
    ($($ty:ty)*) => {$(
        impl NumBits for $ty {
            methods! {
                bit_and = |a, b| a & b;
                bit_or = |a, b| a | b;
                bit_xor = |a, b| a ^ b;
                bit_not = |a| !a;
            }
        }
    )*};
}

bits! { bool i32 i64 u64 }

impl Num for bool {
    compare_and_select!();
    methods! {
        add = |a, b| a | b;
        mul = |a, b| a & b;
        max = |a, b| a | b;
        min = |a, b| a & b;
        abs = |a| a;
    }
}

/// What integers have in common, and how the rest is computed with a sign or without.
macro_rules! integer {
    ($ty:ty, $($signed:tt)*) => {
        impl Num for $ty {
            compare_and_select!();
            methods! {
                add = |a, b| a.wrapping_add(b);
                mul = |a, b| a.wrapping_mul(b);
                max = |a, b| Ord::max(a, b);
                min = |a, b| Ord::min(a, b);
            }
            integer!(@abs $($signed)*);
        }

        impl NumSigned for $ty {
            #[inline(always)]
            fn small(value: i8) -> Self {
                value as $ty
            }
            methods! {
                sub = |a, b| a.wrapping_sub(b);
                neg = |a| a.wrapping_neg();
                fmod = |a, b| if b == 0 { 0 } else { a.wrapping_rem(b) };
                floor = |a| a;
                ceil = |a| a;
                trunc = |a| a;
                rint = |a| a;
            }
            integer!(@divide $($signed)*);
        }
    };
    (@abs signed) => {
        methods! { abs = |a| a.wrapping_abs(); }
    };
    (@abs unsigned) => {
        methods! { abs = |a| a; }
    };
    (@divide signed) => {
        methods! {
            floor_div = |a, b| {
                if b == 0 {
                    return 0;
                }
                let (q, r) = (a.wrapping_div(b), a.wrapping_rem(b));
                if r != 0 && (r < 0) != (b < 0) { q - 1 } else { q }
            };
            remainder = |a, b| {
                let r = NumSigned::fmod(a, b);
                if r != 0 && (r < 0) != (b < 0) { r + b } else { r }
            };
            power = |a, b| match a {
                _ if b >= 0 => whole_power(a, b as u64),
                1 => 1,
                -1 => 1 - 2 * (b & 1),
                _ => 0,
            };
        }
    };
    (@divide unsigned) => {
        methods! {
            floor_div = |a, b| a.checked_div(b).unwrap_or(0);
            remainder = |a, b| NumSigned::fmod(a, b);
            power = |a, b| whole_power(a, b);
        }
    };
}

integer!(i8, signed);
integer!(i16, signed);
integer!(i32, signed);
integer!(i64, signed);
integer!(u64, unsigned);

/// A power by squares of squares.
#[inline(always)]
fn whole_power<T: NumSigned>(mut base: T, mut exponent: u64) -> T {
    let mut result = T::small(1);
    while exponent != 0 {
        if exponent & 1 == 1 {
            result = result.mul(base);
        }
        base = base.mul(base);
        exponent >>= 1;
    }
    result
}

macro_rules! whole {
    ($ty:ty, $magnitude:expr) => {
        impl NumWhole for $ty {
            methods! {
                gcd = |a, b| {
                    // Binary GCD, several times faster than Euclid's algorithm with division: remove common factors of two,
                    // then repeatedly subtract the smaller odd number from the larger.
                    let (mut a, mut b) = ($magnitude(a), $magnitude(b));
                    if a == 0 || b == 0 {
                        return (a | b) as $ty;
                    }
                    let twos = (a | b).trailing_zeros();
                    a >>= a.trailing_zeros();
                    while b != 0 {
                        b >>= b.trailing_zeros();
                        (a, b) = (Ord::min(a, b), a.abs_diff(b));
                    }
                    (a << twos) as $ty
                };
                lcm = |a, b| {
                    let divisor = $magnitude(a.gcd(b));
                    if divisor == 0 { 0 } else { ($magnitude(a) / divisor).wrapping_mul($magnitude(b)) as $ty }
                };
                shift_left = |a, by| if (0..<$ty>::BITS as $ty).contains(&by) { a << by } else { 0 };
                shift_right = |a, by| {
                    if (0..<$ty>::BITS as $ty).contains(&by) { a >> by } else { a >> (<$ty>::BITS - 1) >> 1u8 }
                };
            }
        }
    };
}

whole!(i32, i32::unsigned_abs);
whole!(i64, i64::unsigned_abs);
whole!(u64, std::convert::identity);

macro_rules! float {
    ($ty:ident, $bits:ty, $signed:ty, $format:ty, $mantissa:expr, $bias:expr) => {
        impl Num for $ty {
            compare_and_select!();
            methods! {
                add = |a, b| a + b;
                mul = |a, b| a * b;
                max = |a, b| if a > b || a != a { a } else { b };
                min = |a, b| if a < b || a != a { a } else { b };
                abs = |a| $ty::abs(a);
            }
        }

        impl NumSigned for $ty {
            #[inline(always)]
            fn small(value: i8) -> Self {
                value as $ty
            }
            methods! {
                sub = |a, b| a - b;
                neg = |a| -a;
                floor_div = |a, b| {
                    if b == 0.0 {
                        return a / b;
                    }
                    let r = a % b;
                    let mut quotient = (a - r) / b;
                    if r != 0.0 && (r < 0.0) != (b < 0.0) {
                        quotient -= 1.0;
                    }
                    if quotient == 0.0 {
                        return (0.0 as $ty).copysign(a / b);
                    }
                    // The quotient is an integer apart from the rounding error of the division.
                    let floor = $ty::floor(quotient);
                    if quotient - floor > 0.5 { floor + 1.0 } else { floor }
                };
                remainder = |a, b| {
                    let r = a % b;
                    if r == 0.0 {
                        return (0.0 as $ty).copysign(b);
                    }
                    if (r < 0.0) != (b < 0.0) { r + b } else { r }
                };
                fmod = |a, b| a % b;
                power = |a, b| power::power(a, b);
                // These cases also cover signalling NaN, for which the C library returns NaN.
                power_unfused = |a, b| if a == 1.0 || b == 0.0 { 1.0 } else { $ty::powf(a, b) };
                floor = |a| $ty::floor(a);
                ceil = |a| $ty::ceil(a);
                trunc = |a| $ty::trunc(a);
                rint = |a| a.round_ties_even();
            }
        }

        impl NumFloat for $ty {
            type Format = $format;
            #[inline(always)]
            fn constant(value: f64) -> Self {
                value as $ty
            }
            methods! {
                div = |a, b| a / b;
                sqrt = |a| $ty::sqrt(a);
                mul_add = |a, b, c| $ty::mul_add(a, b, c);
                lesser = |a, b| if a < b { a } else { b };
                greater = |a, b| if a > b { a } else { b };
                copysign = |a, sign| $ty::copysign(a, sign);
                scale = |a, n| {
                    // Two factors, so that denormal results round once and large ones reach infinity.
                    let n = n as $signed;
                    let half = n >> 1;
                    let power = |e: $signed| $ty::from_bits(((e + $bias) << $mantissa) as $bits);
                    a * power(half) * power(n - half)
                };
                next_after = |a, b| match a.partial_cmp(&b) {
                    None => a + b,
                    Some(Ordering::Equal) => b,
                    Some(Ordering::Less) => a.next_up(),
                    Some(Ordering::Greater) => a.next_down(),
                };
            }
            #[inline(always)]
            fn split(self) -> (Self, Self) {
                let two_thirds = (2.0 as $ty / 3.0).to_bits() as $signed;
                let bits = self.to_bits() as $signed;
                let e = bits.wrapping_sub(two_thirds) >> $mantissa;
                ($ty::from_bits(bits.wrapping_sub(e << $mantissa) as $bits), e as $ty)
            }
            #[inline(always)]
            fn turns(self) -> [Self; 3] {
                if self.is_far() { self.far() } else { self.near() }
            }
        }
    };
}

float!(f32, u32, i32, Single, 23, 127);
float!(f64, u64, i64, Double, 52, 1023);
