//! Tier 1 of the catalogue: pointwise ops, one row each. A row has the name, the dtypes the op takes and gives, its
//! body over the traits of [`crate::num`], its gradient, its accuracy and its place in Python. All other code about
//! pointwise ops iterates over the rows.
//!
//! Invariant: adding a pointwise op means adding one row to [`for_each_point!`].

use crate::gradient::{Flow, Rule, Term, power, select, trigamma, winner};
use crate::num::{Mask, Num, NumBits, NumFloat, NumSigned, NumWhole};
use crate::{elementary, math, special, trig};
use forerun_base::{DType, Error, ErrorKind, Kind, Result};
use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LOG2_E, LOG10_E, PI};
use std::fmt;

/// Calls `$then!` with every row: `(Variant, "name", arity, Class, "doc", |args| body; |g, y| gradient; off, place
/// [aliases] call => shown)`.
///
/// `T` is the type of the operands. The gradient is one term per argument, over the arguments, the result `y` and its
/// gradient `g`. `off` is the largest error of a float result, in ulp. The place is the Python module with the op; the
/// call is its example there.
#[macro_export]
macro_rules! for_each_point {
    ($then:path) => {
        $then! {
            (Copy, "copy", 1, Any, "The same value.", |a| a;
                |g, y| [g]; 0, hidden [] "" => "")
            (Add, "add", 2, Any, "Sum; on bool, or.", |a, b| a.add(b);
                |g, y| [g, g]; 0, np [] "np.array([1.0, 2.0]), 1" => "array([2., 3.])")
            (Subtract, "subtract", 2, Number, "Difference.", |a, b| a.sub(b);
                |g, y| [g, -g]; 0, np [] "np.array([1.0, 2.0]), 1" => "array([0., 1.])")
            (Multiply, "multiply", 2, Any, "Product; on bool, and.", |a, b| a.mul(b);
                |g, y| [g * b, g * a]; 0, np [] "np.array([1.0, 2.0]), np.array([3.0, 4.0])" => "array([3., 8.])")
            (Divide, "divide", 2, Float, "True quotient.", |a, b| a.div(b);
                |g, y| [g / b, -(g / b) * (a / b)]; 0, np ["true_divide"] "np.array([1, 2]), 4" => "array([0.25, 0.5 ])")
            (FloorDivide, "floor_divide", 2, Number, "Quotient rounded towards minus infinity.", |a, b| a.floor_div(b);
                |g, y| Zero; 0, np [] "np.array([-7, 7]), 2" => "array([-4,  3])")
            (Remainder, "remainder", 2, Number, "Remainder of floor division, with the divisor's sign.", |a, b| a.remainder(b);
                |g, y| [g, -(g * a.with(FloorDivide, b))]; 0, np ["mod"] "np.array([-7, 7]), 3" => "array([2, 1])")
            (Fmod, "fmod", 2, Number, "Remainder of truncating division, with the dividend's sign.", |a, b| a.fmod(b);
                |g, y| [g, -(g * (a / b).of(Trunc))]; 0, np [] "np.array([-7, 7]), 3" => "array([-1,  1])")
            (Power, "power", 2, Number, "x1 to the power of x2.", |a, b| a.power(b);
                |g, y| power(g, a, b, Power); 2, np ["pow"] "np.array([2, 3]), 2" => "array([4, 9])")
            (FloatPower, "float_power", 2, Float, "x1 to the power of x2, computed in floats.", |a, b| a.power(b);
                |g, y| power(g, a, b, FloatPower); 2, np [] "np.array([2, 3]), -1" => "array([0.5       , 0.33333334])")
            (Negative, "negative", 1, Number, "Negation.", |a| a.neg();
                |g, y| [-g]; 0, np [] "np.array([1, -2])" => "array([-1,  2])")
            (Positive, "positive", 1, Number, "The same number.", |a| a;
                |g, y| [g]; 0, np [] "np.array([1, -2])" => "array([ 1, -2])")
            (Abs, "abs", 1, Any, "Absolute value.", |a| a.abs();
                |g, y| [g * a.of(Sign)]; 0, np ["absolute"] "np.array([1, -2])" => "array([1, 2])")
            (Fabs, "fabs", 1, Float, "Absolute value, as a float.", |a| a.abs();
                |g, y| [g * a.of(Sign)]; 0, np [] "np.array([1, -2])" => "array([1., 2.])")
            (Sign, "sign", 1, Number, "The sign: -1, 0 or 1; NaN for NaN.", |a| {
                let (zero, one) = (T::small(0), T::small(1));
                T::select(zero.lt(a), one, T::select(a.lt(zero), T::small(-1), T::select(a.eq(zero), zero, a)))
            };
                |g, y| Zero; 0, np [] "np.array([-5.0, 0.0, 5.0])" => "array([-1.,  0.,  1.])")
            (Copysign, "copysign", 2, Float, "x1 with the sign of x2.", |a, b| a.copysign(b);
                |g, y| [(g * a.of(Sign) * Term::Number(1.0).with(Copysign, b)).into(), Zero]; 0,
                np [] "np.array([1.0, 2.0]), np.array([-1.0, 1.0])" => "array([-1.,  2.])")
            (Signbit, "signbit", 1, Predicate, "Whether the sign bit is set, also for zeros and NaN.", |a| {
                T::constant(1.0).copysign(a).lt(T::constant(0.0))
            };
                |g, y| Nothing; 0, np [] "np.array([-1.0, 0.0, -0.0])" => "array([ True, False,  True])")
            (Heaviside, "heaviside", 2, Float, "0 where x1 < 0, 1 where x1 > 0, x2 where x1 is 0.", |a, b| {
                let (zero, one) = (T::constant(0.0), T::constant(1.0));
                T::select(a.lt(zero), zero, T::select(zero.lt(a), one, T::select(a.eq(zero), b, a)))
            };
                |g, y| [Zero, select(a.with(Equal, 0.0), g, 0.0).into()]; 0,
                np [] "np.array([-2.0, 0.0, 3.0]), 0.5" => "array([0. , 0.5, 1. ])")
            (NextAfter, "nextafter", 2, Float, "The next representable number after x1 towards x2.", |a, b| a.next_after(b);
                |g, y| [g.into(), Zero]; 0, np [] "np.array([0.0, 1.0]), 2.0" => "array([1.4012985e-45, 1.0000001e+00])")
            (Square, "square", 1, Number, "Square.", |a| a.mul(a);
                |g, y| [g * (a * 2.0)]; 0, np [] "np.array([2, -3])" => "array([4, 9])")
            (Sqrt, "sqrt", 1, Float, "Square root.", |a| a.sqrt();
                |g, y| [g * 0.5 / y]; 0, np [] "np.array([4.0, 9.0])" => "array([2., 3.])")
            (Cbrt, "cbrt", 1, Float, "Cube root.", |a| elementary::cbrt(a);
                |g, y| [g / (y * y * 3.0)]; 2, np [] "np.array([8.0, -27.0])" => "array([ 2., -3.])")
            (Hypot, "hypot", 2, Float, "sqrt(x1^2 + x2^2), without intermediate overflow.", |a, b| elementary::hypot(a, b);
                |g, y| [g * (a / y), g * (b / y)]; 2, np [] "np.array([3.0, 5.0]), np.array([4.0, 12.0])" => "array([ 5., 13.])")
            (Reciprocal, "reciprocal", 1, Float, "Reciprocal, 1 / x.", |a| T::constant(1.0).div(a);
                |g, y| [-(g * (y * y))]; 0, np [] "np.array([2.0, 4.0])" => "array([0.5 , 0.25])")
            (Exp, "exp", 1, Float, "Exponential, e^x.", |a| math::exp(a);
                |g, y| [g * y]; 2, np [] "np.array([0.0])" => "array([1.])")
            (Exp2, "exp2", 1, Float, "2^x.", |a| elementary::exp2(a);
                |g, y| [g * y * LN_2]; 2, np [] "np.array([3.0, -1.0])" => "array([8. , 0.5])")
            (Log, "log", 1, Float, "Natural logarithm.", |a| math::log(a);
                |g, y| [g / a]; 2, np [] "np.array([1.0])" => "array([0.])")
            (Log2, "log2", 1, Float, "Logarithm to base 2.", |a| elementary::log2(a);
                |g, y| [g / a * LOG2_E]; 2, np [] "np.array([1.0, 8.0])" => "array([0., 3.])")
            (Log10, "log10", 1, Float, "Logarithm to base 10.", |a| elementary::log10(a);
                |g, y| [g / a * LOG10_E]; 2, np [] "np.array([1.0, 1000.0])" => "array([0., 3.])")
            (Expm1, "expm1", 1, Float, "e^x - 1, accurate near 0.", |a| math::expm1(a);
                |g, y| [g * (y + 1.0)]; 2, np [] "np.array([0.0])" => "array([0.])")
            (Log1p, "log1p", 1, Float, "Natural logarithm of 1 + x, accurate near 0.", |a| math::log1p(a);
                |g, y| [g / (a + 1.0)]; 2, np [] "np.array([0.0])" => "array([0.])")
            (LogAddExp, "logaddexp", 2, Float, "log(exp(x1) + exp(x2)), without intermediate overflow.", |a, b| elementary::logaddexp(a, b);
                |g, y| [g * (a - b).of(Sigmoid), g * (b - a).of(Sigmoid)]; 8,
                np [] "np.array([0.0, -np.inf]), 0.0" => "array([0.6931472, 0.       ])")
            (Ldexp, "ldexp", 2, Float, "x1 * 2^x2, rounded once.", |a, b| elementary::ldexp(a, b);
                |g, y| [g.with(Ldexp, b).into(), Zero]; 0, np [] "np.array([0.5, 3.0]), np.array([3, -1])" => "array([4. , 1.5])")
            (Mantissa, "mantissa", 1, Float, "Mantissa m of x = m * 2^e, with 1/2 <= |m| < 1.", |a| elementary::mantissa(a);
                |g, y| [g.with(Ldexp, -a.of(Exponent))]; 0, hidden [] "" => "")
            (Exponent, "exponent", 1, Float, "Exponent e of x = m * 2^e, with 1/2 <= |m| < 1.", |a| elementary::exponent(a);
                |g, y| Zero; 0, hidden [] "" => "")
            (Sin, "sin", 1, Float, "Sine.", |a| trig::sin(a);
                |g, y| [g * a.of(Cos)]; 2, np [] "np.array([0.0, np.pi / 2])" => "array([0., 1.])")
            (Cos, "cos", 1, Float, "Cosine.", |a| trig::cos(a);
                |g, y| [-(g * a.of(Sin))]; 2, np [] "np.array([0.0])" => "array([1.])")
            (Tan, "tan", 1, Float, "Tangent.", |a| trig::tan(a);
                |g, y| [g * (y * y + 1.0)]; 2, np [] "np.array([0.0])" => "array([0.])")
            (Asin, "asin", 1, Float, "Arcsine.", |a| trig::asin(a);
                |g, y| [g / (1.0 - a * a).of(Sqrt)]; 2, np ["arcsin"] "np.array([0.0, 1.0])" => "array([0.       , 1.5707964])")
            (Acos, "acos", 1, Float, "Arccosine.", |a| trig::acos(a);
                |g, y| [-(g / (1.0 - a * a).of(Sqrt))]; 2, np ["arccos"] "np.array([1.0, -1.0])" => "array([0.       , 3.1415927])")
            (Atan, "atan", 1, Float, "Arctangent.", |a| trig::atan(a);
                |g, y| [g / (a * a + 1.0)]; 2, np ["arctan"] "np.array([0.0, np.inf])" => "array([0.       , 1.5707964])")
            (Atan2, "atan2", 2, Float, "The angle of the point (x2, x1), by quadrant.", |a, b| trig::atan2(a, b);
                |g, y| [g * (b / (a * a + b * b)), -(g * (a / (a * a + b * b)))]; 2,
                np ["arctan2"] "np.array([0.0, 1.0]), np.array([-1.0, 0.0])" => "array([3.1415927, 1.5707964])")
            (Sinh, "sinh", 1, Float, "Hyperbolic sine.", |a| trig::sinh(a);
                |g, y| [g * a.of(Cosh)]; 2, np [] "np.array([0.0])" => "array([0.])")
            (Cosh, "cosh", 1, Float, "Hyperbolic cosine.", |a| trig::cosh(a);
                |g, y| [g * a.of(Sinh)]; 2, np [] "np.array([0.0])" => "array([1.])")
            (Tanh, "tanh", 1, Float, "Hyperbolic tangent.", |a| math::tanh(a);
                |g, y| [g * (1.0 - y * y)]; 2, np [] "np.array([0.0])" => "array([0.])")
            (Asinh, "asinh", 1, Float, "Inverse hyperbolic sine.", |a| trig::asinh(a);
                |g, y| [g / (a * a + 1.0).of(Sqrt)]; 2, np ["arcsinh"] "np.array([0.0])" => "array([0.])")
            (Acosh, "acosh", 1, Float, "Inverse hyperbolic cosine.", |a| trig::acosh(a);
                |g, y| [g / (a * a - 1.0).of(Sqrt)]; 2, np ["arccosh"] "np.array([1.0])" => "array([0.])")
            (Atanh, "atanh", 1, Float, "Inverse hyperbolic tangent.", |a| trig::atanh(a);
                |g, y| [g / (1.0 - a * a)]; 2, np ["arctanh"] "np.array([0.0, 1.0])" => "array([ 0., inf])")
            (Degrees, "degrees", 1, Float, "Converts radians to degrees.", |a| a.mul(T::constant(180.0 / PI));
                |g, y| [g * (180.0 / PI)]; 2, np ["rad2deg"] "np.array([np.pi])" => "array([180.])")
            (Radians, "radians", 1, Float, "Converts degrees to radians.", |a| a.mul(T::constant(PI / 180.0));
                |g, y| [g * (PI / 180.0)]; 2, np ["deg2rad"] "np.array([180.0])" => "array([3.1415927])")
            (Sinc, "sinc", 1, Float, "sin(pi x) / (pi x).", |a| special::sinc(a);
                |g, y| [select(a.with(Equal, 0.0), 0.0, g * ((a * PI).of(Cos) - y) / a)]; 4, np [] "np.array([0.0, 1.0])" => "array([1., 0.])")
            (I0, "i0", 1, Float, "Modified Bessel function of the first kind, of order 0.", |a| special::i0(a);
                |g, y| [g * a.of(I1)]; 4, np [] "np.array([0.0])" => "array([1.])")
            (I1, "i1", 1, Float, "Modified Bessel function of the first kind, of order 1.", |a| special::i1(a);
                |g, y| [g * select(a.with(Equal, 0.0), 0.5, a.of(I0) - y / a)]; 4, npx [] "np.array([0.0])" => "array([0.])")
            (Erf, "erf", 1, Float, "Error function.", |a| math::erf(a);
                |g, y| [g * ((-(a * a)).of(Exp) * FRAC_2_SQRT_PI)]; 2, npx [] "np.array([0.0, np.inf])" => "array([0., 1.])")
            (Erfinv, "erfinv", 1, Float, "Inverse of the error function.", |a| special::erfinv(a);
                |g, y| [g * ((y * y).of(Exp) * (1.0 / FRAC_2_SQRT_PI))]; 4, npx [] "np.array([0.0, 1.0])" => "array([ 0., inf])")
            (Gamma, "gamma", 1, Float, "Gamma function.", |a| special::gamma(a);
                |g, y| [g * y * a.of(Digamma)]; 16, npx [] "np.array([1.0, 5.0])" => "array([ 1., 24.])")
            (Gammaln, "gammaln", 1, Float, "Logarithm of the absolute value of the gamma function.", |a| special::gammaln(a);
                |g, y| [g * a.of(Digamma)]; 16, npx [] "np.array([1.0, 2.0])" => "array([0., 0.])")
            (Digamma, "digamma", 1, Float, "Digamma function, the derivative of log(gamma(x)).", |a| special::digamma(a);
                |g, y| [g * trigamma(a)]; 16, npx [] "np.array([1.0], 'float64')" => "array([-0.57721566], dtype=float64)")
            (Polygamma, "polygamma", 2, Float, "The x1-th derivative of digamma at a positive x2.", |a, b| special::polygamma(a, b);
                |g, y| [Nothing, (g * (a + 1.0).with(Polygamma, b)).into()]; 32, npx [] "1, np.array([1.0], 'float64')" => "array([1.64493407], dtype=float64)")
            (Sigmoid, "sigmoid", 1, Float, "1 / (1 + exp(-x)).", |a| math::sigmoid(a);
                |g, y| [g * (y * (1.0 - y))]; 2, npx [] "np.array([0.0])" => "array([0.5])")
            (Softsign, "softsign", 1, Float, "x / (1 + |x|).", |a| a.div(a.abs().add(T::constant(1.0)));
                |g, y| [g / (a.of(Abs) + 1.0).of(Square)]; 2, npx [] "np.array([1.0, -3.0])" => "array([ 0.5 , -0.75])")
            (Relu, "relu", 1, Number, "max(x, 0).", |a| T::small(0).max(a);
                |g, y| [select(y.with(Greater, 0.0), g, 0.0)]; 0, npx [] "np.array([-1.0, 2.0])" => "array([0., 2.])")
            (Maximum, "maximum", 2, Any, "The larger; NaN if either operand is NaN.", |a, b| a.max(b);
                |g, y| [winner(Greater, a, b), winner(Less, a, b)]; 0, np [] "np.array([1.0, 5.0]), 3" => "array([3., 5.])")
            (Minimum, "minimum", 2, Any, "The smaller; NaN if either operand is NaN.", |a, b| a.min(b);
                |g, y| [winner(Less, a, b), winner(Greater, a, b)]; 0, np [] "np.array([1.0, 5.0]), 3" => "array([1., 3.])")
            (Fmax, "fmax", 2, Any, "The larger, ignoring NaN.", |a, b| T::select(b.eq(b), T::select(a.eq(a), a.max(b), b), a);
                |g, y| [winner(Greater, a, b), winner(Less, a, b)]; 0, np [] "np.array([1.0, np.nan]), 3" => "array([3., 3.])")
            (Fmin, "fmin", 2, Any, "The smaller, ignoring NaN.", |a, b| T::select(b.eq(b), T::select(a.eq(a), a.min(b), b), a);
                |g, y| [winner(Less, a, b), winner(Greater, a, b)]; 0, np [] "np.array([1.0, np.nan]), 3" => "array([1., 3.])")
            (Floor, "floor", 1, Number, "Rounded down.", |a| a.floor();
                |g, y| Zero; 0, np [] "np.array([-1.5, 1.5])" => "array([-2.,  1.])")
            (Ceil, "ceil", 1, Number, "Rounded up.", |a| a.ceil();
                |g, y| Zero; 0, np [] "np.array([-1.5, 1.5])" => "array([-1.,  2.])")
            (Trunc, "trunc", 1, Number, "Rounded towards zero.", |a| a.trunc();
                |g, y| Zero; 0, np ["fix"] "np.array([-1.5, 1.5])" => "array([-1.,  1.])")
            (Rint, "rint", 1, Number, "Rounded to nearest, ties to even.", |a| a.rint();
                |g, y| Zero; 0, np [] "np.array([0.5, 1.5])" => "array([0., 2.])")
            (Equal, "equal", 2, Compare, "Whether equal.", |a, b| a.eq(b);
                |g, y| Nothing; 0, np [] "np.array([1, 2]), 2" => "array([False,  True])")
            (NotEqual, "not_equal", 2, Compare, "Whether different.", |a, b| a.eq(b).not();
                |g, y| Nothing; 0, np [] "np.array([1, 2]), 2" => "array([ True, False])")
            (Less, "less", 2, Compare, "Whether less.", |a, b| a.lt(b);
                |g, y| Nothing; 0, np [] "np.array([1, 2]), 2" => "array([ True, False])")
            (LessEqual, "less_equal", 2, Compare, "Whether less or equal.", |a, b| a.le(b);
                |g, y| Nothing; 0, np [] "np.array([1, 2]), 1" => "array([ True, False])")
            (Greater, "greater", 2, Compare, "Whether greater.", |a, b| b.lt(a);
                |g, y| Nothing; 0, np [] "np.array([1, 2]), 1" => "array([False,  True])")
            (GreaterEqual, "greater_equal", 2, Compare, "Whether greater or equal.", |a, b| b.le(a);
                |g, y| Nothing; 0, np [] "np.array([1, 2]), 2" => "array([False,  True])")
            (LogicalAnd, "logical_and", 2, Logic, "Whether both are true.", |a, b| a.bit_and(b);
                |g, y| Nothing; 0, np [] "np.array([0, 1]), True" => "array([False,  True])")
            (LogicalOr, "logical_or", 2, Logic, "Whether either is true.", |a, b| a.bit_or(b);
                |g, y| Nothing; 0, np [] "np.array([0, 1]), False" => "array([False,  True])")
            (LogicalXor, "logical_xor", 2, Logic, "Whether exactly one is true.", |a, b| a.bit_xor(b);
                |g, y| Nothing; 0, np [] "np.array([0, 1]), True" => "array([ True, False])")
            (LogicalNot, "logical_not", 1, Logic, "Whether it is false.", |a| a.bit_not();
                |g, y| Nothing; 0, np [] "np.array([0, 1])" => "array([ True, False])")
            (BitwiseAnd, "bitwise_and", 2, Bits, "Bitwise and.", |a, b| a.bit_and(b);
                |g, y| Nothing; 0, np [] "np.array([6, 5]), 3" => "array([2, 1])")
            (BitwiseOr, "bitwise_or", 2, Bits, "Bitwise or.", |a, b| a.bit_or(b);
                |g, y| Nothing; 0, np [] "np.array([6, 5]), 3" => "array([7, 7])")
            (BitwiseXor, "bitwise_xor", 2, Bits, "Bitwise exclusive or.", |a, b| a.bit_xor(b);
                |g, y| Nothing; 0, np [] "np.array([6, 5]), 3" => "array([5, 6])")
            (Invert, "invert", 1, Bits, "Every bit flipped; on bool, not.", |a| a.bit_not();
                |g, y| Nothing; 0, np ["bitwise_invert", "bitwise_not"] "np.array([0, 1])" => "array([-1, -2])")
            (LeftShift, "left_shift", 2, Whole, "Left shift; 0 if shifted by the bit width or more.", |a, b| a.shift_left(b);
                |g, y| Nothing; 0, np ["bitwise_left_shift"] "np.array([1, 5]), 2" => "array([ 4, 20])")
            (RightShift, "right_shift", 2, Whole, "Arithmetic right shift.", |a, b| a.shift_right(b);
                |g, y| Nothing; 0, np ["bitwise_right_shift"] "np.array([8, -5]), 1" => "array([ 4, -3])")
            (Gcd, "gcd", 2, Whole, "Greatest common divisor.", |a, b| a.gcd(b);
                |g, y| Nothing; 0, np [] "np.array([12, -18]), 8" => "array([4, 2])")
            (Lcm, "lcm", 2, Whole, "Least common multiple.", |a, b| a.lcm(b);
                |g, y| Nothing; 0, np [] "np.array([4, 6]), 10" => "array([20, 30])")
            (IsNan, "isnan", 1, Predicate, "Whether it is NaN.", |a| a.eq(a).not();
                |g, y| Nothing; 0, np [] "np.array([1.0, np.nan])" => "array([False,  True])")
            (IsInf, "isinf", 1, Predicate, "Whether it is infinite.", |a| a.abs().eq(T::constant(f64::INFINITY));
                |g, y| Nothing; 0, np [] "np.array([1.0, np.inf])" => "array([False,  True])")
            (IsPosInf, "isposinf", 1, Predicate, "Whether it is plus infinity.", |a| a.eq(T::constant(f64::INFINITY));
                |g, y| Nothing; 0, np [] "np.array([np.inf, -np.inf])" => "array([ True, False])")
            (IsNegInf, "isneginf", 1, Predicate, "Whether it is minus infinity.", |a| a.eq(T::constant(f64::NEG_INFINITY));
                |g, y| Nothing; 0, np [] "np.array([np.inf, -np.inf])" => "array([False,  True])")
            (IsFinite, "isfinite", 1, Predicate, "Whether it is neither infinite nor NaN.", |a| a.abs().lt(T::constant(f64::INFINITY));
                |g, y| Nothing; 0, np [] "np.array([1.0, np.inf])" => "array([ True, False])")
            (Where, "where", 3, Select, "x1 where the condition is true, otherwise x2.", |c, a, b| T::select(c, a, b);
                |g, y| [Nothing, select(c, g, 0.0).into(), select(c, 0.0, g).into()]; 0,
                np [] "np.array([True, False]), np.array([1, 2]), 0" => "array([1, 0])")
            (MultiplyAdd, "multiply_add", 3, Number, "x1 * x2 + x3, rounded twice.", |a, b, c| a.mul(b).add(c);
                |g, y| [g * b, g * a, g]; 0, npx [] "np.array([1.0, 2.0]), 0.5, np.array([3.0, 4.0])" => "array([3.5, 5. ])")
            (Cast, "cast", 1, Cast, "The same value in another dtype.", |a| a;
                |g, y| [g]; 0, hidden [] "" => "")
            (Real, "real", 1, Part, "Real part of a complex number.", |a| a;
                |g, y| [g.with(Compose, 0.0)]; 0, hidden [] "" => "")
            (Imag, "imag", 1, Part, "Imaginary part of a complex number.", |a| a;
                |g, y| [Term::Number(0.0).with(Compose, g)]; 0, hidden [] "" => "")
            (Compose, "compose", 2, Join, "A complex number from its real and imaginary parts.", |a, b| a;
                |g, y| [g.of(Real), g.of(Imag)]; 0, hidden [] "" => "")
        }
    };
}

/// The dtypes that an op takes and gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Every dtype; the result has the operands' dtype.
    Any,
    /// As `Any`, but not bool.
    Number,
    /// Computed in a float dtype.
    Float,
    /// Every dtype; the result is bool.
    Compare,
    /// Operands taken as truth values; the result is bool.
    Logic,
    /// Integers and bool.
    Bits,
    /// Integers.
    Whole,
    /// A float predicate; the result is bool.
    Predicate,
    /// A truth value selects one of two operands of the same dtype.
    Select,
    /// From any dtype to any other.
    Cast,
    /// A part of a complex number.
    Part,
    /// Two floats that make a complex number.
    Join,
}

/// A row of the catalogue: the properties of a pointwise op, except for its body.
#[derive(Debug)]
pub struct PointRow {
    /// The op.
    pub point: Point,
    /// Its name in every frontend.
    pub name: &'static str,
    /// The number of operands.
    pub arity: usize,
    /// The dtypes it takes and gives.
    pub class: Class,
    /// A one-sentence description.
    pub doc: &'static str,
    /// The largest error of a float result in ulp, except near zeros of the function.
    pub off: u8,
    /// The Python module with the op.
    pub place: Namespace,
    /// Its other names there.
    pub aliases: &'static [&'static str],
    /// The arguments of an example call in Python, and the output.
    pub example: (&'static str, &'static str),
}

/// The Python module of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namespace {
    /// `forerun.np`: NumPy has the op.
    Np,
    /// `forerun.npx`, beyond NumPy.
    Npx,
    /// No public name: hand-written functions call it.
    Hidden,
}

impl PointRow {
    /// The dtype to compute in and the dtype of the result, for operands that promote to `operand`. The caller
    /// determines the result dtype of a cast.
    pub fn types(&self, operand: DType) -> Result<(DType, DType)> {
        let refused = || {
            let text = format!("not defined for {operand}");
            Err(Error::new(ErrorKind::Type, text).in_op(self.name))
        };
        if operand.kind() == Kind::Complex && !self.takes_complex() {
            return refused();
        }
        match self.class {
            Class::Any if self.point == Point::Abs => Ok((operand, operand.to_real())),
            Class::Any | Class::Select | Class::Cast => Ok((operand, operand)),
            Class::Number if operand == DType::Bool => refused(),
            Class::Number => Ok((operand, operand)),
            // The neighbours of a half float are not those of its carrier.
            Class::Float if self.point == Point::NextAfter && operand.to_float().carrier() != operand.to_float() => {
                refused()
            }
            Class::Float => Ok((operand.to_float(), operand.to_float())),
            Class::Compare => Ok((operand, DType::Bool)),
            Class::Logic => Ok((DType::Bool, DType::Bool)),
            Class::Bits if operand.kind() == Kind::Float => refused(),
            Class::Whole if operand.kind() != Kind::Int => refused(),
            Class::Bits | Class::Whole => Ok((operand, operand)),
            Class::Predicate => Ok((operand.to_float(), DType::Bool)),
            Class::Part if operand.kind() == Kind::Complex => Ok((operand, operand.to_real())),
            Class::Part => refused(),
            Class::Join => Ok((operand.to_float().carrier(), operand.to_complex())),
        }
    }

    /// Whether the op is defined for complex numbers, which have no order, floor or bits. The planner lowers such ops
    /// to the real and imaginary parts.
    fn takes_complex(&self) -> bool {
        use Point::*;
        match self.class {
            Class::Select | Class::Cast | Class::Logic | Class::Part => true,
            Class::Predicate => matches!(self.point, IsNan | IsInf | IsFinite),
            Class::Compare => matches!(self.point, Equal | NotEqual),
            Class::Any => matches!(self.point, Copy | Add | Multiply | Abs),
            Class::Number => {
                matches!(self.point, Subtract | Negative | Positive | Square | MultiplyAdd | Power | Sign | Rint)
            }
            Class::Float => {
                matches!(
                    self.point,
                    Divide | Reciprocal | Sqrt | Exp | Exp2 | Expm1 | Log | Log2 | Log10 | Log1p | FloatPower
                ) || matches!(
                    self.point,
                    Sin | Cos | Tan | Sinh | Cosh | Tanh | Asin | Acos | Atan | Asinh | Acosh | Atanh
                )
            }
            Class::Bits | Class::Whole | Class::Join => false,
        }
    }
}

/// The body of an op for operands `A`: `(T,)`, `(T, T)`, `(T, T, T)`, or `(T::Mask, T, T)`.
pub trait Body<A> {
    /// The result: `T` or `T::Mask`.
    type Out;
    /// Whether the body is so long that a branch is cheaper than a second copy.
    const IS_LONG: bool = false;
    /// The op, element by element.
    fn apply(args: A) -> Self::Out;
}

macro_rules! body {
    (Any, $point:ident, $off:literal, ($($arg:ident),+), $body:expr) => { body!(@ Num, T, $point, $off, ($($arg),+), $body); };
    (Number, $point:ident, $off:literal, ($($arg:ident),+), $body:expr) => { body!(@ NumSigned, T, $point, $off, ($($arg),+), $body); };
    (Float, $point:ident, $off:literal, ($($arg:ident),+), $body:expr) => { body!(@ NumFloat, T, $point, $off, ($($arg),+), $body); };
    (Compare, $point:ident, $off:literal, ($($arg:ident),+), $body:expr) => { body!(@ Num, T::Mask, $point, $off, ($($arg),+), $body); };
    (Predicate, $point:ident, $off:literal, ($($arg:ident),+), $body:expr) => { body!(@ NumFloat, T::Mask, $point, $off, ($($arg),+), $body); };
    (Logic, $point:ident, $off:literal, ($($arg:ident),+), $body:expr) => { body!(@ NumBits, T, $point, $off, ($($arg),+), $body); };
    (Bits, $point:ident, $off:literal, ($($arg:ident),+), $body:expr) => { body!(@ NumBits, T, $point, $off, ($($arg),+), $body); };
    (Whole, $point:ident, $off:literal, ($($arg:ident),+), $body:expr) => { body!(@ NumWhole, T, $point, $off, ($($arg),+), $body); };
    (Cast, $point:ident, $off:literal, ($($arg:ident),+), $body:expr) => {};
    (Part, $point:ident, $off:literal, ($($arg:ident),+), $body:expr) => {};
    (Join, $point:ident, $off:literal, ($($arg:ident),+), $body:expr) => {};
    (Select, $point:ident, $off:literal, ($c:ident, $a:ident, $b:ident), $body:expr) => {
        impl<T: Num> Body<(T::Mask, T, T)> for bodies::$point {
            type Out = T;
            #[inline(always)]
            fn apply(($c, $a, $b): (T::Mask, T, T)) -> T { $body }
        }
    };
    (@ $bound:ident, $out:ty, $point:ident, $off:literal, ($a:ident), $body:expr) => {
        impl<T: $bound> Body<(T,)> for bodies::$point {
            type Out = $out;
            const IS_LONG: bool = $off > 0;
            #[inline(always)]
            fn apply(($a,): (T,)) -> $out { $body }
        }
    };
    (@ $bound:ident, $out:ty, $point:ident, $off:literal, ($a:ident, $b:ident), $body:expr) => {
        impl<T: $bound> Body<(T, T)> for bodies::$point {
            type Out = $out;
            const IS_LONG: bool = $off > 0;
            #[inline(always)]
            fn apply(($a, $b): (T, T)) -> $out { $body }
        }
    };
    (@ $bound:ident, $out:ty, $point:ident, $off:literal, ($a:ident, $b:ident, $c:ident), $body:expr) => {
        impl<T: $bound> Body<(T, T, T)> for bodies::$point {
            type Out = $out;
            const IS_LONG: bool = $off > 0;
            #[inline(always)]
            fn apply(($a, $b, $c): (T, T, T)) -> $out { $body }
        }
    };
}

/// Converts a result to a number.
trait ToNumber {
    fn to_number(self) -> f64;
}

impl ToNumber for f64 {
    fn to_number(self) -> f64 {
        self
    }
}

impl ToNumber for bool {
    fn to_number(self) -> f64 {
        f64::from(self)
    }
}

macro_rules! numbers {
    (Bits, $arity:tt, $point:ident, $x:ident) => { None };
    (Whole, $arity:tt, $point:ident, $x:ident) => { None };
    (Logic, $arity:tt, $point:ident, $x:ident) => { None };
    (Cast, $arity:tt, $point:ident, $x:ident) => { None };
    (Part, $arity:tt, $point:ident, $x:ident) => { None };
    (Join, $arity:tt, $point:ident, $x:ident) => { None };
    (Select, $arity:tt, $point:ident, $x:ident) => { numbers!(@ $point, ($x[0] != 0.0, $x[1], $x[2])) };
    ($class:ident, 1, $point:ident, $x:ident) => { numbers!(@ $point, ($x[0],)) };
    ($class:ident, 2, $point:ident, $x:ident) => { numbers!(@ $point, ($x[0], $x[1])) };
    ($class:ident, 3, $point:ident, $x:ident) => { numbers!(@ $point, ($x[0], $x[1], $x[2])) };
    (@ $point:ident, $args:expr) => { Some(<bodies::$point as Body<_>>::apply($args).to_number()) };
}

macro_rules! place {
    (np) => {
        Namespace::Np
    };
    (npx) => {
        Namespace::Npx
    };
    (hidden) => {
        Namespace::Hidden
    };
}

macro_rules! declare {
    ($((
        $point:ident, $name:literal, $arity:tt, $class:ident, $doc:literal, |$($arg:ident),+| $body:expr;
        |$g:ident, $y:ident| $rule:expr;
        $off:literal, $place:ident [$($alias:literal),*] $call:literal => $shown:literal
    ))*) => {
        /// A pointwise op.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Point {
            $(#[doc = $doc] $point,)*
        }

        impl Point {
            /// Every pointwise op, in table order.
            pub const ALL: &'static [Point] = &[$(Point::$point),*];
        }

        static ROWS: &[PointRow] = &[
            $(PointRow {
                point: Point::$point,
                name: $name,
                arity: $arity,
                class: Class::$class,
                doc: $doc,
                off: $off,
                place: place!($place),
                aliases: &[$($alias),*],
                example: ($call, $shown),
            },)*
        ];

        /// The gradient of each operand.
        #[allow(unused_variables, reason = "few rules name all they may")]
        pub(crate) fn flows(point: Point) -> Vec<Flow> {
            use {Flow::{Nothing, Zero}, Point::*};
            match point {
                $(Point::$point => {
                    let [$($arg),+] = Term::operands();
                    let ($g, $y) = (Term::Grad, Term::Out);
                    Rule::flows($rule, $arity)
                })*
            }
        }

        impl Point {
            /// Evaluates the op on doubles; true is 1. `None` if it takes no floats.
            pub fn of_numbers(self, x: &[f64]) -> Option<f64> {
                match self {
                    $(Point::$point => numbers!($class, $arity, $point, x),)*
                }
            }
        }

        /// One marker type per op, which implements its [`Body`]. A cast has none, because it has two dtypes.
        pub mod bodies {
            $(#[doc = $doc] #[derive(Debug)] pub enum $point {})*
        }

        $(body!($class, $point, $off, ($($arg),+), $body);)*
    };
}

crate::for_each_point!(declare);

impl Point {
    /// The op's row.
    pub fn row(self) -> &'static PointRow {
        &ROWS[self as usize]
    }

    /// The op with this name.
    pub fn from_name(name: &str) -> Option<Point> {
        ROWS.iter().find(|row| row.name == name).map(|row| row.point)
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_op_and_by_name() {
        for (i, &point) in Point::ALL.iter().enumerate() {
            assert_eq!((point as usize, point.row().point), (i, point));
            assert_eq!(Point::from_name(point.row().name), Some(point));
            assert!((1..=3).contains(&point.row().arity));
        }
        assert_eq!(Point::from_name("no such op"), None);
    }

    #[test]
    fn classes_say_what_is_taken_and_given() {
        let types = |point: Point, dtype| point.row().types(dtype);
        assert_eq!(types(Point::Add, DType::Bool).unwrap(), (DType::Bool, DType::Bool));
        assert_eq!(types(Point::Divide, DType::I64).unwrap(), (DType::F32, DType::F32));
        assert_eq!(types(Point::Exp, DType::F64).unwrap(), (DType::F64, DType::F64));
        assert_eq!(types(Point::Less, DType::I32).unwrap(), (DType::I32, DType::Bool));
        assert_eq!(types(Point::LogicalAnd, DType::F32).unwrap(), (DType::Bool, DType::Bool));
        assert_eq!(types(Point::IsNan, DType::I32).unwrap(), (DType::F32, DType::Bool));
        assert_eq!(types(Point::Invert, DType::Bool).unwrap(), (DType::Bool, DType::Bool));
        let error = types(Point::Subtract, DType::Bool).unwrap_err();
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::Type, "subtract: not defined for bool".to_owned()));
        assert!(types(Point::BitwiseOr, DType::F32).is_err());
    }
}
