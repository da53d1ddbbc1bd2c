//! The reference implementation for single elements. Vector kernels are checked against it bit for bit.

use crate::num::{Double, Mask, Num, NumBits, NumFloat, NumSigned, NumWhole, Single};
use crate::power;
use crate::turn::Turn;

impl Mask for bool {
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self & other
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self | other
    }
    #[inline(always)]
    fn not(self) -> Self {
        !self
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
    ($ty:ty) => {
        impl NumBits for $ty {
            #[inline(always)]
            fn bit_and(self, other: Self) -> Self {
                self & other
            }
            #[inline(always)]
            fn bit_or(self, other: Self) -> Self {
                self | other
            }
            #[inline(always)]
            fn bit_xor(self, other: Self) -> Self {
                self ^ other
            }
            #[inline(always)]
            fn bit_not(self) -> Self {
                !self
            }
        }
    };
}

bits!(bool);
bits!(i32);
bits!(i64);
bits!(u64);

impl Num for bool {
    compare_and_select!();
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self | other
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self & other
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self | other
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self & other
    }
    #[inline(always)]
    fn abs(self) -> Self {
        self
    }
}

macro_rules! integer {
    ($ty:ty) => {
        impl Num for $ty {
            compare_and_select!();
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                Ord::max(self, other)
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                Ord::min(self, other)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                self.wrapping_abs()
            }
        }

        impl NumSigned for $ty {
            #[inline(always)]
            fn small(value: i8) -> Self {
                value as $ty
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn neg(self) -> Self {
                self.wrapping_neg()
            }
            #[inline(always)]
            fn floor_div(self, other: Self) -> Self {
                if other == 0 {
                    return 0;
                }
                let (q, r) = (self.wrapping_div(other), self.wrapping_rem(other));
                if r != 0 && (r < 0) != (other < 0) { q - 1 } else { q }
            }
            #[inline(always)]
            fn remainder(self, other: Self) -> Self {
                if other == 0 {
                    return 0;
                }
                let r = self.wrapping_rem(other);
                if r != 0 && (r < 0) != (other < 0) { r + other } else { r }
            }
            #[inline(always)]
            fn fmod(self, other: Self) -> Self {
                if other == 0 { 0 } else { self.wrapping_rem(other) }
            }
            #[inline(always)]
            fn power(self, other: Self) -> Self {
                if other < 0 {
                    return match self {
                        1 => 1,
                        -1 => 1 - 2 * (other & 1),
                        _ => 0,
                    };
                }
                let (mut result, mut base, mut left) = (1 as $ty, self, other);
                while left != 0 {
                    if left & 1 == 1 {
                        result = result.wrapping_mul(base);
                    }
                    base = base.wrapping_mul(base);
                    left >>= 1;
                }
                result
            }
            #[inline(always)]
            fn floor(self) -> Self {
                self
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                self
            }
            #[inline(always)]
            fn trunc(self) -> Self {
                self
            }
            #[inline(always)]
            fn rint(self) -> Self {
                self
            }
        }
    };
}

integer!(i8);
integer!(i16);
integer!(i32);
integer!(i64);

impl Num for u64 {
    compare_and_select!();
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Ord::max(self, other)
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Ord::min(self, other)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        self
    }
}

impl NumSigned for u64 {
    #[inline(always)]
    fn small(value: i8) -> Self {
        value as u64
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }
    #[inline(always)]
    fn neg(self) -> Self {
        self.wrapping_neg()
    }
    #[inline(always)]
    fn floor_div(self, other: Self) -> Self {
        self.checked_div(other).unwrap_or(0)
    }
    #[inline(always)]
    fn remainder(self, other: Self) -> Self {
        self.checked_rem(other).unwrap_or(0)
    }
    #[inline(always)]
    fn fmod(self, other: Self) -> Self {
        self.checked_rem(other).unwrap_or(0)
    }
    #[inline(always)]
    fn power(self, other: Self) -> Self {
        let (mut result, mut base, mut left) = (1u64, self, other);
        while left != 0 {
            if left & 1 == 1 {
                result = result.wrapping_mul(base);
            }
            base = base.wrapping_mul(base);
            left >>= 1;
        }
        result
    }
    #[inline(always)]
    fn floor(self) -> Self {
        self
    }
    #[inline(always)]
    fn ceil(self) -> Self {
        self
    }
    #[inline(always)]
    fn trunc(self) -> Self {
        self
    }
    #[inline(always)]
    fn rint(self) -> Self {
        self
    }
}

macro_rules! whole {
    ($ty:ty, $magnitude:expr) => {
        impl NumWhole for $ty {
            #[inline(always)]
            fn gcd(self, other: Self) -> Self {
                // Binary GCD, several times faster than Euclid's algorithm with division: remove common factors of two,
                // then repeatedly subtract the smaller odd number from the larger.
                let (mut a, mut b) = ($magnitude(self), $magnitude(other));
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
            }
            #[inline(always)]
            fn lcm(self, other: Self) -> Self {
                let (a, b) = ($magnitude(self), $magnitude(other));
                let divisor = $magnitude(self.gcd(other));
                if divisor == 0 { 0 } else { (a / divisor).wrapping_mul(b) as $ty }
            }
            #[inline(always)]
            fn shift_left(self, by: Self) -> Self {
                if (0..<$ty>::BITS as $ty).contains(&by) { self << by } else { 0 }
            }
            #[inline(always)]
            fn shift_right(self, by: Self) -> Self {
                if (0..<$ty>::BITS as $ty).contains(&by) { self >> by } else { self >> (<$ty>::BITS - 1) >> 1u8 }
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
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                if self > other || self != self { self } else { other }
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                if self < other || self != self { self } else { other }
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $ty::abs(self)
            }
        }

        impl NumSigned for $ty {
            #[inline(always)]
            fn small(value: i8) -> Self {
                value as $ty
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn neg(self) -> Self {
                -self
            }
            #[inline(always)]
            fn floor_div(self, other: Self) -> Self {
                if other == 0.0 {
                    return self / other;
                }
                let r = self % other;
                let mut quotient = (self - r) / other;
                if r != 0.0 && (r < 0.0) != (other < 0.0) {
                    quotient -= 1.0;
                }
                if quotient == 0.0 {
                    return (0.0 as $ty).copysign(self / other);
                }
                // The quotient is an integer apart from the rounding error of the division.
                let floor = $ty::floor(quotient);
                if quotient - floor > 0.5 { floor + 1.0 } else { floor }
            }
            #[inline(always)]
            fn remainder(self, other: Self) -> Self {
                let r = self % other;
                if r == 0.0 {
                    return (0.0 as $ty).copysign(other);
                }
                if (r < 0.0) != (other < 0.0) { r + other } else { r }
            }
            #[inline(always)]
            fn fmod(self, other: Self) -> Self {
                self % other
            }
            #[inline(always)]
            fn power(self, other: Self) -> Self {
                power::power(self, other)
            }
            #[inline(always)]
            fn power_unfused(self, other: Self) -> Self {
                // These cases also cover signalling NaN, for which the C library returns NaN.
                if self == 1.0 || other == 0.0 { 1.0 } else { $ty::powf(self, other) }
            }
            #[inline(always)]
            fn floor(self) -> Self {
                $ty::floor(self)
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                $ty::ceil(self)
            }
            #[inline(always)]
            fn trunc(self) -> Self {
                $ty::trunc(self)
            }
            #[inline(always)]
            fn rint(self) -> Self {
                self.round_ties_even()
            }
        }

        impl NumFloat for $ty {
            type Format = $format;
            #[inline(always)]
            fn constant(value: f64) -> Self {
                value as $ty
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                self / other
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $ty::sqrt(self)
            }
            #[inline(always)]
            fn mul_add(self, b: Self, c: Self) -> Self {
                $ty::mul_add(self, b, c)
            }
            #[inline(always)]
            fn lesser(self, other: Self) -> Self {
                if self < other { self } else { other }
            }
            #[inline(always)]
            fn greater(self, other: Self) -> Self {
                if self > other { self } else { other }
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                $ty::copysign(self, sign)
            }
            #[inline(always)]
            fn scale(self, n: Self) -> Self {
                // Two factors, so that denormal results round once and large ones reach infinity.
                let n = n as $signed;
                let half = n >> 1;
                let power = |e: $signed| $ty::from_bits(((e + $bias) << $mantissa) as $bits);
                self * power(half) * power(n - half)
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
            #[inline(always)]
            fn next_after(self, other: Self) -> Self {
                if self != self || other != other {
                    self + other
                } else if self == other {
                    other
                } else if self < other {
                    self.next_up()
                } else {
                    self.next_down()
                }
            }
        }
    };
}

float!(f32, u32, i32, Single, 23, 127);
float!(f64, u64, i64, Double, 52, 1023);
