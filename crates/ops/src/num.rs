//! The traits that pointwise bodies are generic over. An implementor is a single element (the reference: `f32`, `f64`,
//! `i32`, `i64`, `u64`, `bool`) or a vector of elements; a body cannot tell the difference. Other dtypes are computed
//! in one of these, their carrier.
//!
//! Invariant: every method acts on each element separately, so a vector gives the same bits as its elements one by one.
//! The exception is [`NumFloat::mul_add`]: an instruction set without a fused form rounds twice.

use crate::tables::Tables;

/// The result of a comparison: one truth value per element.
pub trait Mask: Copy {
    /// Both.
    fn and(self, other: Self) -> Self;
    /// Either.
    fn or(self, other: Self) -> Self;
    /// The opposite.
    fn not(self) -> Self;
}

/// Methods of every dtype. On truth values, `add` and `max` are "or"; `mul` and `min` are "and".
pub trait Num: Copy {
    /// The result of comparisons.
    type Mask: Mask;

    /// Sum; integers wrap.
    fn add(self, other: Self) -> Self;
    /// Product; integers wrap.
    fn mul(self, other: Self) -> Self;
    /// The larger; NaN if either is.
    fn max(self, other: Self) -> Self;
    /// The smaller; NaN if either is.
    fn min(self, other: Self) -> Self;
    /// Absolute value; the most negative integer stays itself.
    fn abs(self) -> Self;
    /// Whether equal.
    fn eq(self, other: Self) -> Self::Mask;
    /// Whether less.
    fn lt(self, other: Self) -> Self::Mask;
    /// Whether less or equal.
    fn le(self, other: Self) -> Self::Mask;
    /// `yes` where the mask holds, else `no`.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
}

/// Integers and floats. Negation of unsigned integers wraps.
pub trait NumSigned: Num {
    /// A small constant.
    fn small(value: i8) -> Self;
    /// Difference; integers wrap.
    fn sub(self, other: Self) -> Self;
    /// Negation; integers wrap.
    fn neg(self) -> Self;
    /// Quotient rounded towards minus infinity; an integer divided by zero is zero.
    fn floor_div(self, other: Self) -> Self;
    /// The remainder of [`NumSigned::floor_div`], with the divisor's sign; an integer modulo zero is zero.
    fn remainder(self, other: Self) -> Self;
    /// The remainder of truncating division, with the dividend's sign; an integer modulo zero is zero.
    fn fmod(self, other: Self) -> Self;
    /// Power; an integer to a negative power is zero unless the base is 1 or -1.
    fn power(self, other: Self) -> Self;
    /// Power of one element without a fused multiply-add: the last bits of a float may differ.
    #[inline(always)]
    fn power_unfused(self, other: Self) -> Self {
        self.power(other)
    }
    /// Rounded down; the identity for integers.
    fn floor(self) -> Self;
    /// Rounded up; the identity for integers.
    fn ceil(self) -> Self;
    /// Rounded towards zero; the identity for integers.
    fn trunc(self) -> Self;
    /// Rounded to nearest, ties to even; the identity for integers.
    fn rint(self) -> Self;
}

/// Integers and truth values.
pub trait NumBits: Num {
    /// Bitwise and.
    fn bit_and(self, other: Self) -> Self;
    /// Bitwise or.
    fn bit_or(self, other: Self) -> Self;
    /// Bitwise exclusive or.
    fn bit_xor(self, other: Self) -> Self;
    /// Every bit flipped; a truth value negated.
    fn bit_not(self) -> Self;
}

/// Integers.
pub trait NumWhole: NumSigned + NumBits {
    /// The greatest common divisor, not negative; wraps for the most negative integer.
    fn gcd(self, other: Self) -> Self;
    /// The least common multiple, not negative; wraps.
    fn lcm(self, other: Self) -> Self;
    /// Shifted left; zero if `by` is negative or at least the number of bits.
    fn shift_left(self, by: Self) -> Self;
    /// Arithmetic right shift; 0 or -1, by the sign, if `by` is negative or at least the number of bits.
    fn shift_right(self, by: Self) -> Self;
}

/// Floats.
pub trait NumFloat: NumSigned {
    /// Single or double precision.
    type Format: Format;
    /// Whether a body may call [`NumFloat::all`]. Recording a script requires a body without branches.
    const BRANCHES: bool = false;

    /// A constant, rounded to the format.
    fn constant(value: f64) -> Self;
    /// Quotient.
    fn div(self, other: Self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// `self * b + c`; rounded once where the instruction set has a fused form.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// `self` if it is less than `other`, otherwise `other`; so `other` if either is NaN.
    fn lesser(self, other: Self) -> Self;
    /// `self` if it is greater than `other`, otherwise `other`; so `other` if either is NaN.
    fn greater(self, other: Self) -> Self;
    /// `self` with the sign of `sign`.
    fn copysign(self, sign: Self) -> Self;
    /// `self * 2^n` with a single rounding, for an integer `n` and a `self` near 1. NaN in `n` gives NaN.
    fn scale(self, n: Self) -> Self;
    /// `(m, e)` with `self = m * 2^e`, `e` an integer and `m` in [2/3, 4/3), for a positive normal number; unspecified
    /// for others.
    fn split(self) -> (Self, Self);
    /// Argument reduction by multiples of pi / 2: the quadrant, 0 to 3, and the remainder as an unevaluated sum of two
    /// numbers. The remainder is at most slightly above pi / 4 in magnitude. Infinity gives NaN.
    fn turns(self) -> [Self; 3];
    /// The next representable number towards `other`.
    fn next_after(self, other: Self) -> Self;
    /// Whether the mask holds for every element, so that a body can skip its other cases. The bits of the result are
    /// the same either way.
    #[inline(always)]
    fn all(_: Self::Mask) -> bool {
        false
    }
}

/// The constants of a float format that [`crate::math`] needs.
pub trait Format: Tables {
    /// `(e^r - 1 - r) / r^2` on [-ln 2 / 2, ln 2 / 2], highest power first.
    const EXP: &'static [f64];
    /// `(ln(1 + f) - f + f^2 / 2) / f^3` on [-1/3, 1/3], highest power first.
    const LOG: &'static [f64];
    /// As [`Format::EXP`], fitted to minimise the relative error of `e^r - 1`.
    const TANH: &'static [f64];
    /// `sin(pi t / 2) / t` in `t^2` for t up to 1/2, highest power first.
    const SIN: &'static [f64];
    /// `cos(pi t / 2)` in `t^2` for t up to 1/2, highest power first.
    const COS: &'static [f64];
    /// `erf(x) / x - 1` in `x^2` for x up to 3/4, highest power first.
    const ERF: &'static [f64];
    /// `(1 - erf(x)) e^(x^2)` in `(x - 2) / (x + 2)` for x from 3/4 to [`Format::ERF_HIGH`], highest power first.
    const ERFC: &'static [f64];
    /// `erf` is 1 from here on.
    const ERF_HIGH: f64;
    /// The leading bits of ln 2; the product with any exponent is exact.
    const LN2_HIGH: f64;
    /// ln 2 minus [`Format::LN2_HIGH`].
    const LN2_LOW: f64;
    /// The part of ln 2 below `LN2_LOW`; zero where it is negligible.
    const LN2_LOST: f64;
    /// `exp` is zero below this.
    const EXP_LOW: f64;
    /// `exp` is infinite above this.
    const EXP_HIGH: f64;
    /// The smallest normal number.
    const MIN_NORMAL: f64;
    /// The exponent of a power of two that makes every denormal normal.
    const LIFT: i32;
    /// All integers up to this one are representable.
    const WHOLE: f64;
}

/// IEEE single precision.
#[derive(Debug)]
pub enum Single {}

/// IEEE double precision.
#[derive(Debug)]
pub enum Double {}

impl Format for Single {
    const EXP: &'static [f64] =
        &[0.0013926183587713494, 0.008363179052722578, 0.041666554617204574, 0.16666576989698775, 0.5];
    const LOG: &'static [f64] = &[
        0.11331137461608976,
        -0.12422762133731653,
        0.10915568473315877,
        -0.1228862840014668,
        0.1429187115508432,
        -0.166733205436616,
        0.19999948307546836,
        -0.24999944138980057,
        0.3333333333333333,
    ];
    const TANH: &'static [f64] =
        &[0.0013882497565165664, 0.008366646881743104, 0.041667203920525656, 0.16666542683836116, 0.499999981329186];
    const SIN: &'static [f64] =
        &[0.0001582054153418526, -0.004681265867999628, 0.07969258267354878, -0.6459640961446242, 1.5707963267880862];
    const COS: &'static [f64] =
        &[0.0009036218609260198, -0.02086006678438046, 0.2536692032912251, -1.2337005406179924, 0.9999999999523945];
    const ERF: &'static [f64] = &[
        -0.0006756479568680047,
        0.005115332112532226,
        -0.026835114568609705,
        0.11283386538414544,
        -0.37612619469437675,
        0.12837916557875168,
    ];
    const ERFC: &'static [f64] = &[
        -3.233900326755135e-05,
        -0.0009446376184576804,
        -0.0008282297208820849,
        0.006994811478852463,
        0.00373145871626096,
        -0.07897851009566051,
        0.24165822896256603,
        -0.42718584799726905,
        0.25539567617977355,
    ];
    const ERF_HIGH: f64 = 4.0;
    const LN2_HIGH: f64 = 0.693145751953125;
    const LN2_LOW: f64 = 1.4286068203094173e-06;
    const LN2_LOST: f64 = 0.0;
    const EXP_LOW: f64 = -110.0;
    const EXP_HIGH: f64 = 100.0;
    const MIN_NORMAL: f64 = f32::MIN_POSITIVE as f64;
    const LIFT: i32 = 24;
    const WHOLE: f64 = 16777216.0;
}

impl Format for Double {
    const EXP: &'static [f64] = &[
        2.0914686968086876e-09,
        2.5105217004720745e-08,
        2.75572736431103e-07,
        2.7557255400206422e-06,
        2.4801587325547743e-05,
        0.00019841269874820627,
        0.0013888888888883748,
        0.008333333333326136,
        0.04166666666666667,
        0.1666666666666667,
        0.5,
    ];
    const LOG: &'static [f64] = &[
        -0.07731626364535878,
        0.0808291543676995,
        -0.041715901048068806,
        0.04399948352240293,
        -0.05669069971989078,
        0.06000618793048784,
        -0.06240781818521389,
        0.06657063444046214,
        -0.07143315875770997,
        0.0769278556058168,
        -0.08333319517467837,
        0.09090894699253782,
        -0.10000000238061403,
        0.11111111359087993,
        -0.12499999997922877,
        0.1428571428355068,
        -0.1666666666667368,
        0.20000000000007306,
        -0.24999999999999997,
        0.3333333333333333,
    ];
    const TANH: &'static [f64] = Self::EXP;
    const SIN: &'static [f64] = &[
        6.017863578594784e-12,
        -6.687805284232516e-10,
        5.692172341148037e-08,
        -3.598843234356377e-06,
        0.00016044118478728575,
        -0.004681754135318685,
        0.07969262624616705,
        -0.6459640975062463,
        std::f64::consts::FRAC_PI_2,
    ];
    const COS: &'static [f64] = &[
        6.506630612891103e-11,
        -6.386325241874813e-09,
        4.710874076696347e-07,
        -2.52020423627168e-05,
        0.0009192602748385314,
        -0.020863480763352916,
        0.25366950790104803,
        -1.2337005501361697,
        1.0,
    ];
    const ERF: &'static [f64] = &[
        1.1472499701094691e-08,
        -1.5940066854661717e-07,
        1.643068417974155e-06,
        -1.4924196305569617e-05,
        0.00012055289567541706,
        -0.0008548326188759752,
        0.005223977615420539,
        -0.026866170644428485,
        0.11283791670952596,
        -0.37612638903183715,
        0.1283791670955126,
    ];
    const ERFC: &'static [f64] = &[
        1.1154880282914635e-07,
        -6.739224611453425e-08,
        -5.37345228425526e-07,
        -4.4372287536578674e-07,
        1.2066520814890937e-06,
        3.7572680220422096e-06,
        1.390648577833116e-06,
        -1.3962628101135558e-05,
        -2.7580030283628507e-05,
        2.7524968423320173e-05,
        0.00017436119868498724,
        4.3555629968283816e-05,
        -0.000981977028520381,
        -0.0008471432517704922,
        0.006997461739249923,
        0.003732892404341046,
        -0.07897858101573262,
        0.24165819424246637,
        -0.4271858474139584,
        0.25539567631050575,
    ];
    const ERF_HIGH: f64 = 6.0;
    const LN2_HIGH: f64 = 0.693147180559663;
    const LN2_LOW: f64 = 2.8235290563031577e-13;
    const LN2_LOST: f64 = 2.3190468138462996e-17;
    const EXP_LOW: f64 = -760.0;
    const EXP_HIGH: f64 = 720.0;
    const MIN_NORMAL: f64 = f64::MIN_POSITIVE;
    const LIFT: i32 = 54;
    const WHOLE: f64 = 9007199254740992.0;
}
