//! Tier 1 of the catalogue: pointwise ops, one row each. A row has the name, the dtypes the op takes and gives, its
//! body over the traits of `num`, its gradient, its accuracy and its place in Python. All other code about pointwise ops
//! iterates over the rows.
//!
//! Invariant: adding a pointwise op means adding one row to [`for_each_point!`].

/// Calls `$then!` with every row. Its fields:
///
/// - `name`: the op's name in every frontend; `class`: a [`Class`](crate::Class), the dtypes that it takes and gives;
/// - `ulp`: the largest error of a float result, in ulp; 0 by default;
/// - `doc`: a description in one sentence;
/// - `body`: the op on one element of type `T`, which implements the traits of `num`;
/// - `gradient`: one term per argument, over the arguments, the result `y` and its gradient `g`;
/// - `python`: the Python module with the op, if it is public; `aliases`: its other names there; `example`: the arguments of a call
///   and its output.
#[macro_export]
macro_rules! for_each_point {
    ($then:path) => {
        $then! {
            Copy { name: "copy", class: Any, doc: "The same value.",
                body: |a| a, gradient: |g, y| [g] }
            Add { name: "add", class: Any, doc: "Sum; on bool, or.",
                body: |a, b| a.add(b), gradient: |g, y| [g, g],
                python: np, example: "np.array([1.0, 2.0]), 1" => "array([2., 3.])" }
            Subtract { name: "subtract", class: Number, doc: "Difference.",
                body: |a, b| a.sub(b), gradient: |g, y| [g, -g],
                python: np, example: "np.array([1.0, 2.0]), 1" => "array([0., 1.])" }
            Multiply { name: "multiply", class: Any, doc: "Product; on bool, and.",
                body: |a, b| a.mul(b), gradient: |g, y| [g * b, g * a],
                python: np, example: "np.array([1.0, 2.0]), np.array([3.0, 4.0])" => "array([3., 8.])" }
            Divide { name: "divide", class: Float, doc: "True quotient.",
                body: |a, b| a.div(b), gradient: |g, y| [g / b, -(g / b) * (a / b)],
                python: np, aliases: ["true_divide"], example: "np.array([1, 2]), 4" => "array([0.25, 0.5 ])" }
            FloorDivide { name: "floor_divide", class: Number, doc: "Quotient rounded towards minus infinity.",
                body: |a, b| a.floor_div(b), gradient: |g, y| Zero,
                python: np, example: "np.array([-7, 7]), 2" => "array([-4,  3])" }
            Remainder { name: "remainder", class: Number, doc: "Remainder of floor division, with the divisor's sign.",
                body: |a, b| a.remainder(b), gradient: |g, y| [g, -(g * a.with(FloorDivide, b))],
                python: np, aliases: ["mod"], example: "np.array([-7, 7]), 3" => "array([2, 1])" }
            Fmod { name: "fmod", class: Number, doc: "Remainder of truncating division, with the dividend's sign.",
                body: |a, b| a.fmod(b), gradient: |g, y| [g, -(g * (a / b).of(Trunc))],
                python: np, example: "np.array([-7, 7]), 3" => "array([-1,  1])" }
            Power { name: "power", class: Number, ulp: 2, doc: "x1 to the power of x2.",
                body: |a, b| a.power(b), gradient: |g, y| power(g, a, b, Power),
                python: np, aliases: ["pow"], example: "np.array([2, 3]), 2" => "array([4, 9])" }
            FloatPower { name: "float_power", class: Float, ulp: 2, doc: "x1 to the power of x2, computed in floats.",
                body: |a, b| a.power(b), gradient: |g, y| power(g, a, b, FloatPower),
                python: np, example: "np.array([2, 3]), -1" => "array([0.5       , 0.33333334])" }
            Negative { name: "negative", class: Number, doc: "Negation.",
                body: |a| a.neg(), gradient: |g, y| [-g],
                python: np, example: "np.array([1, -2])" => "array([-1,  2])" }
            Positive { name: "positive", class: Number, doc: "The same number.",
                body: |a| a, gradient: |g, y| [g],
                python: np, example: "np.array([1, -2])" => "array([ 1, -2])" }
            Abs { name: "abs", class: Any, doc: "Absolute value.",
                body: |a| a.abs(), gradient: |g, y| [g * a.of(Sign)],
                python: np, aliases: ["absolute"], example: "np.array([1, -2])" => "array([1, 2])" }
            Fabs { name: "fabs", class: Float, doc: "Absolute value, as a float.",
                body: |a| a.abs(), gradient: |g, y| [g * a.of(Sign)],
                python: np, example: "np.array([1, -2])" => "array([1., 2.])" }
            Sign { name: "sign", class: Number, doc: "The sign: -1, 0 or 1; NaN for NaN.",
                body: |a| {
                    let (zero, one) = (T::small(0), T::small(1));
                    T::select(zero.lt(a), one, T::select(a.lt(zero), T::small(-1), T::select(a.eq(zero), zero, a)))
                },
                gradient: |g, y| Zero,
                python: np, example: "np.array([-5.0, 0.0, 5.0])" => "array([-1.,  0.,  1.])" }
            Copysign { name: "copysign", class: Float, doc: "x1 with the sign of x2.",
                body: |a, b| a.copysign(b),
                gradient: |g, y| [(g * a.of(Sign) * Term::Number(1.0).with(Copysign, b)).into(), Zero],
                python: np, example: "np.array([1.0, 2.0]), np.array([-1.0, 1.0])" => "array([-1.,  2.])" }
            Signbit { name: "signbit", class: Predicate, doc: "Whether the sign bit is set, also for zeros and NaN.",
                body: |a| T::constant(1.0).copysign(a).lt(T::constant(0.0)), gradient: |g, y| Nothing,
                python: np, example: "np.array([-1.0, 0.0, -0.0])" => "array([ True, False,  True])" }
            Heaviside { name: "heaviside", class: Float, doc: "0 where x1 < 0, 1 where x1 > 0, x2 where x1 is 0.",
                body: |a, b| {
                    let (zero, one) = (T::constant(0.0), T::constant(1.0));
                    T::select(a.lt(zero), zero, T::select(zero.lt(a), one, T::select(a.eq(zero), b, a)))
                },
                gradient: |g, y| [Zero, select(a.with(Equal, 0.0), g, 0.0).into()],
                python: np, example: "np.array([-2.0, 0.0, 3.0]), 0.5" => "array([0. , 0.5, 1. ])" }
            NextAfter { name: "nextafter", class: Float, doc: "The next representable number after x1 towards x2.",
                body: |a, b| a.next_after(b), gradient: |g, y| [g.into(), Zero],
                python: np, example: "np.array([0.0, 1.0]), 2.0" => "array([1.4012985e-45, 1.0000001e+00])" }
            Square { name: "square", class: Number, doc: "Square.",
                body: |a| a.mul(a), gradient: |g, y| [g * (a * 2.0)],
                python: np, example: "np.array([2, -3])" => "array([4, 9])" }
            Sqrt { name: "sqrt", class: Float, doc: "Square root.",
                body: |a| a.sqrt(), gradient: |g, y| [g * 0.5 / y],
                python: np, example: "np.array([4.0, 9.0])" => "array([2., 3.])" }
            Cbrt { name: "cbrt", class: Float, ulp: 2, doc: "Cube root.",
                body: |a| elementary::cbrt(a), gradient: |g, y| [g / (y * y * 3.0)],
                python: np, example: "np.array([8.0, -27.0])" => "array([ 2., -3.])" }
            Hypot { name: "hypot", class: Float, ulp: 2, doc: "sqrt(x1^2 + x2^2), without intermediate overflow.",
                body: |a, b| elementary::hypot(a, b), gradient: |g, y| [g * (a / y), g * (b / y)],
                python: np, example: "np.array([3.0, 5.0]), np.array([4.0, 12.0])" => "array([ 5., 13.])" }
            Reciprocal { name: "reciprocal", class: Float, doc: "Reciprocal, 1 / x.",
                body: |a| T::constant(1.0).div(a), gradient: |g, y| [-(g * (y * y))],
                python: np, example: "np.array([2.0, 4.0])" => "array([0.5 , 0.25])" }
            Exp { name: "exp", class: Float, ulp: 2, doc: "Exponential, e^x.",
                body: |a| math::exp(a), gradient: |g, y| [g * y],
                python: np, example: "np.array([0.0])" => "array([1.])" }
            Exp2 { name: "exp2", class: Float, ulp: 2, doc: "2^x.",
                body: |a| elementary::exp2(a), gradient: |g, y| [g * y * LN_2],
                python: np, example: "np.array([3.0, -1.0])" => "array([8. , 0.5])" }
            Log { name: "log", class: Float, ulp: 2, doc: "Natural logarithm.",
                body: |a| math::log(a), gradient: |g, y| [g / a],
                python: np, example: "np.array([1.0])" => "array([0.])" }
            Log2 { name: "log2", class: Float, ulp: 2, doc: "Logarithm to base 2.",
                body: |a| elementary::log2(a), gradient: |g, y| [g / a * LOG2_E],
                python: np, example: "np.array([1.0, 8.0])" => "array([0., 3.])" }
            Log10 { name: "log10", class: Float, ulp: 2, doc: "Logarithm to base 10.",
                body: |a| elementary::log10(a), gradient: |g, y| [g / a * LOG10_E],
                python: np, example: "np.array([1.0, 1000.0])" => "array([0., 3.])" }
            Expm1 { name: "expm1", class: Float, ulp: 2, doc: "e^x - 1, accurate near 0.",
                body: |a| math::expm1(a), gradient: |g, y| [g * (y + 1.0)],
                python: np, example: "np.array([0.0])" => "array([0.])" }
            Log1p { name: "log1p", class: Float, ulp: 2, doc: "Natural logarithm of 1 + x, accurate near 0.",
                body: |a| math::log1p(a), gradient: |g, y| [g / (a + 1.0)],
                python: np, example: "np.array([0.0])" => "array([0.])" }
            LogAddExp { name: "logaddexp", class: Float, ulp: 8, doc: "log(exp(x1) + exp(x2)), without intermediate overflow.",
                body: |a, b| elementary::logaddexp(a, b),
                gradient: |g, y| [g * (a - b).of(Sigmoid), g * (b - a).of(Sigmoid)],
                python: np, example: "np.array([0.0, -np.inf]), 0.0" => "array([0.6931472, 0.       ])" }
            Ldexp { name: "ldexp", class: Float, doc: "x1 * 2^x2, rounded once.",
                body: |a, b| elementary::ldexp(a, b), gradient: |g, y| [g.with(Ldexp, b).into(), Zero],
                python: np, example: "np.array([0.5, 3.0]), np.array([3, -1])" => "array([4. , 1.5])" }
            Mantissa { name: "mantissa", class: Float, doc: "Mantissa m of x = m * 2^e, with 1/2 <= |m| < 1.",
                body: |a| elementary::mantissa(a), gradient: |g, y| [g.with(Ldexp, -a.of(Exponent))] }
            Exponent { name: "exponent", class: Float, doc: "Exponent e of x = m * 2^e, with 1/2 <= |m| < 1.",
                body: |a| elementary::exponent(a), gradient: |g, y| Zero }
            Sin { name: "sin", class: Float, ulp: 2, doc: "Sine.",
                body: |a| trig::sin(a), gradient: |g, y| [g * a.of(Cos)],
                python: np, example: "np.array([0.0, np.pi / 2])" => "array([0., 1.])" }
            Cos { name: "cos", class: Float, ulp: 2, doc: "Cosine.",
                body: |a| trig::cos(a), gradient: |g, y| [-(g * a.of(Sin))],
                python: np, example: "np.array([0.0])" => "array([1.])" }
            Tan { name: "tan", class: Float, ulp: 2, doc: "Tangent.",
                body: |a| trig::tan(a), gradient: |g, y| [g * (y * y + 1.0)],
                python: np, example: "np.array([0.0])" => "array([0.])" }
            Asin { name: "asin", class: Float, ulp: 2, doc: "Arcsine.",
                body: |a| trig::asin(a), gradient: |g, y| [g / (1.0 - a * a).of(Sqrt)],
                python: np, aliases: ["arcsin"], example: "np.array([0.0, 1.0])" => "array([0.       , 1.5707964])" }
            Acos { name: "acos", class: Float, ulp: 2, doc: "Arccosine.",
                body: |a| trig::acos(a), gradient: |g, y| [-(g / (1.0 - a * a).of(Sqrt))],
                python: np, aliases: ["arccos"], example: "np.array([1.0, -1.0])" => "array([0.       , 3.1415927])" }
            Atan { name: "atan", class: Float, ulp: 2, doc: "Arctangent.",
                body: |a| trig::atan(a), gradient: |g, y| [g / (a * a + 1.0)],
                python: np, aliases: ["arctan"], example: "np.array([0.0, np.inf])" => "array([0.       , 1.5707964])" }
            Atan2 { name: "atan2", class: Float, ulp: 2, doc: "The angle of the point (x2, x1), by quadrant.",
                body: |a, b| trig::atan2(a, b),
                gradient: |g, y| [g * (b / (a * a + b * b)), -(g * (a / (a * a + b * b)))],
                python: np, aliases: ["arctan2"], example: "np.array([0.0, 1.0]), np.array([-1.0, 0.0])" => "array([3.1415927, 1.5707964])" }
            Sinh { name: "sinh", class: Float, ulp: 2, doc: "Hyperbolic sine.",
                body: |a| trig::sinh(a), gradient: |g, y| [g * a.of(Cosh)],
                python: np, example: "np.array([0.0])" => "array([0.])" }
            Cosh { name: "cosh", class: Float, ulp: 2, doc: "Hyperbolic cosine.",
                body: |a| trig::cosh(a), gradient: |g, y| [g * a.of(Sinh)],
                python: np, example: "np.array([0.0])" => "array([1.])" }
            Tanh { name: "tanh", class: Float, ulp: 2, doc: "Hyperbolic tangent.",
                body: |a| math::tanh(a), gradient: |g, y| [g * (1.0 - y * y)],
                python: np, example: "np.array([0.0])" => "array([0.])" }
            Asinh { name: "asinh", class: Float, ulp: 2, doc: "Inverse hyperbolic sine.",
                body: |a| trig::asinh(a), gradient: |g, y| [g / (a * a + 1.0).of(Sqrt)],
                python: np, aliases: ["arcsinh"], example: "np.array([0.0])" => "array([0.])" }
            Acosh { name: "acosh", class: Float, ulp: 2, doc: "Inverse hyperbolic cosine.",
                body: |a| trig::acosh(a), gradient: |g, y| [g / (a * a - 1.0).of(Sqrt)],
                python: np, aliases: ["arccosh"], example: "np.array([1.0])" => "array([0.])" }
            Atanh { name: "atanh", class: Float, ulp: 2, doc: "Inverse hyperbolic tangent.",
                body: |a| trig::atanh(a), gradient: |g, y| [g / (1.0 - a * a)],
                python: np, aliases: ["arctanh"], example: "np.array([0.0, 1.0])" => "array([ 0., inf])" }
            Degrees { name: "degrees", class: Float, ulp: 2, doc: "Radians converted to degrees.",
                body: |a| a.mul(T::constant(180.0 / PI)), gradient: |g, y| [g * (180.0 / PI)],
                python: np, aliases: ["rad2deg"], example: "np.array([np.pi])" => "array([180.])" }
            Radians { name: "radians", class: Float, ulp: 2, doc: "Degrees converted to radians.",
                body: |a| a.mul(T::constant(PI / 180.0)), gradient: |g, y| [g * (PI / 180.0)],
                python: np, aliases: ["deg2rad"], example: "np.array([180.0])" => "array([3.1415927])" }
            Sinc { name: "sinc", class: Float, ulp: 4, doc: "sin(pi x) / (pi x).",
                body: |a| special::sinc(a),
                gradient: |g, y| [select(a.with(Equal, 0.0), 0.0, g * ((a * PI).of(Cos) - y) / a)],
                python: np, example: "np.array([0.0, 1.0])" => "array([1., 0.])" }
            I0 { name: "i0", class: Float, ulp: 4, doc: "Modified Bessel function of the first kind, of order 0.",
                body: |a| special::i0(a), gradient: |g, y| [g * a.of(I1)],
                python: np, example: "np.array([0.0])" => "array([1.])" }
            I1 { name: "i1", class: Float, ulp: 4, doc: "Modified Bessel function of the first kind, of order 1.",
                body: |a| special::i1(a), gradient: |g, y| [g * select(a.with(Equal, 0.0), 0.5, a.of(I0) - y / a)],
                python: npx, example: "np.array([0.0])" => "array([0.])" }
            Erf { name: "erf", class: Float, ulp: 2, doc: "Error function.",
                body: |a| math::erf(a), gradient: |g, y| [g * ((-(a * a)).of(Exp) * FRAC_2_SQRT_PI)],
                python: npx, example: "np.array([0.0, np.inf])" => "array([0., 1.])" }
            Erfinv { name: "erfinv", class: Float, ulp: 4, doc: "Inverse of the error function.",
                body: |a| special::erfinv(a), gradient: |g, y| [g * ((y * y).of(Exp) * (1.0 / FRAC_2_SQRT_PI))],
                python: npx, example: "np.array([0.0, 1.0])" => "array([ 0., inf])" }
            Gamma { name: "gamma", class: Float, ulp: 16, doc: "Gamma function.",
                body: |a| special::gamma(a), gradient: |g, y| [g * y * a.of(Digamma)],
                python: npx, example: "np.array([1.0, 5.0])" => "array([ 1., 24.])" }
            Gammaln { name: "gammaln", class: Float, ulp: 16, doc: "Logarithm of the absolute value of the gamma function.",
                body: |a| special::gammaln(a), gradient: |g, y| [g * a.of(Digamma)],
                python: npx, example: "np.array([1.0, 2.0])" => "array([0., 0.])" }
            Digamma { name: "digamma", class: Float, ulp: 16, doc: "Digamma function, the derivative of log(gamma(x)).",
                body: |a| special::digamma(a), gradient: |g, y| [g * trigamma(a)],
                python: npx, example: "np.array([1.0], 'float64')" => "array([-0.57721566], dtype=float64)" }
            Polygamma { name: "polygamma", class: Float, ulp: 32, doc: "The x1-th derivative of digamma at a positive x2.",
                body: |a, b| special::polygamma(a, b),
                gradient: |g, y| [Nothing, (g * (a + 1.0).with(Polygamma, b)).into()],
                python: npx, example: "1, np.array([1.0], 'float64')" => "array([1.64493407], dtype=float64)" }
            Sigmoid { name: "sigmoid", class: Float, ulp: 2, doc: "1 / (1 + exp(-x)).",
                body: |a| math::sigmoid(a), gradient: |g, y| [g * (y * (1.0 - y))],
                python: npx, example: "np.array([0.0])" => "array([0.5])" }
            Softsign { name: "softsign", class: Float, ulp: 2, doc: "x / (1 + |x|).",
                body: |a| a.div(a.abs().add(T::constant(1.0))), gradient: |g, y| [g / (a.of(Abs) + 1.0).of(Square)],
                python: npx, example: "np.array([1.0, -3.0])" => "array([ 0.5 , -0.75])" }
            Relu { name: "relu", class: Number, doc: "max(x, 0).",
                body: |a| T::small(0).max(a), gradient: |g, y| [select(y.with(Greater, 0.0), g, 0.0)],
                python: npx, example: "np.array([-1.0, 2.0])" => "array([0., 2.])" }
            Maximum { name: "maximum", class: Any, doc: "The larger; NaN if either operand is NaN.",
                body: |a, b| a.max(b), gradient: |g, y| [winner(Greater, a, b), winner(Less, a, b)],
                python: np, example: "np.array([1.0, 5.0]), 3" => "array([3., 5.])" }
            Minimum { name: "minimum", class: Any, doc: "The smaller; NaN if either operand is NaN.",
                body: |a, b| a.min(b), gradient: |g, y| [winner(Less, a, b), winner(Greater, a, b)],
                python: np, example: "np.array([1.0, 5.0]), 3" => "array([1., 3.])" }
            Fmax { name: "fmax", class: Any, doc: "The larger, ignoring NaN.",
                body: |a, b| T::select(b.eq(b), T::select(a.eq(a), a.max(b), b), a),
                gradient: |g, y| [winner(Greater, a, b), winner(Less, a, b)],
                python: np, example: "np.array([1.0, np.nan]), 3" => "array([3., 3.])" }
            Fmin { name: "fmin", class: Any, doc: "The smaller, ignoring NaN.",
                body: |a, b| T::select(b.eq(b), T::select(a.eq(a), a.min(b), b), a),
                gradient: |g, y| [winner(Less, a, b), winner(Greater, a, b)],
                python: np, example: "np.array([1.0, np.nan]), 3" => "array([1., 3.])" }
            Floor { name: "floor", class: Number, doc: "Rounded down.",
                body: |a| a.floor(), gradient: |g, y| Zero,
                python: np, example: "np.array([-1.5, 1.5])" => "array([-2.,  1.])" }
            Ceil { name: "ceil", class: Number, doc: "Rounded up.",
                body: |a| a.ceil(), gradient: |g, y| Zero,
                python: np, example: "np.array([-1.5, 1.5])" => "array([-1.,  2.])" }
            Trunc { name: "trunc", class: Number, doc: "Rounded towards zero.",
                body: |a| a.trunc(), gradient: |g, y| Zero,
                python: np, aliases: ["fix"], example: "np.array([-1.5, 1.5])" => "array([-1.,  1.])" }
            Rint { name: "rint", class: Number, doc: "Rounded to nearest, ties to even.",
                body: |a| a.rint(), gradient: |g, y| Zero,
                python: np, example: "np.array([0.5, 1.5])" => "array([0., 2.])" }
            Equal { name: "equal", class: Compare, doc: "Whether equal.",
                body: |a, b| a.eq(b), gradient: |g, y| Nothing,
                python: np, example: "np.array([1, 2]), 2" => "array([False,  True])" }
            NotEqual { name: "not_equal", class: Compare, doc: "Whether different.",
                body: |a, b| a.eq(b).not(), gradient: |g, y| Nothing,
                python: np, example: "np.array([1, 2]), 2" => "array([ True, False])" }
            Less { name: "less", class: Compare, doc: "Whether less.",
                body: |a, b| a.lt(b), gradient: |g, y| Nothing,
                python: np, example: "np.array([1, 2]), 2" => "array([ True, False])" }
            LessEqual { name: "less_equal", class: Compare, doc: "Whether less or equal.",
                body: |a, b| a.le(b), gradient: |g, y| Nothing,
                python: np, example: "np.array([1, 2]), 1" => "array([ True, False])" }
            Greater { name: "greater", class: Compare, doc: "Whether greater.",
                body: |a, b| b.lt(a), gradient: |g, y| Nothing,
                python: np, example: "np.array([1, 2]), 1" => "array([False,  True])" }
            GreaterEqual { name: "greater_equal", class: Compare, doc: "Whether greater or equal.",
                body: |a, b| b.le(a), gradient: |g, y| Nothing,
                python: np, example: "np.array([1, 2]), 2" => "array([False,  True])" }
            LogicalAnd { name: "logical_and", class: Logic, doc: "Whether both are true.",
                body: |a, b| a.bit_and(b), gradient: |g, y| Nothing,
                python: np, example: "np.array([0, 1]), True" => "array([False,  True])" }
            LogicalOr { name: "logical_or", class: Logic, doc: "Whether either is true.",
                body: |a, b| a.bit_or(b), gradient: |g, y| Nothing,
                python: np, example: "np.array([0, 1]), False" => "array([False,  True])" }
            LogicalXor { name: "logical_xor", class: Logic, doc: "Whether exactly one is true.",
                body: |a, b| a.bit_xor(b), gradient: |g, y| Nothing,
                python: np, example: "np.array([0, 1]), True" => "array([ True, False])" }
            LogicalNot { name: "logical_not", class: Logic, doc: "Whether it is false.",
                body: |a| a.bit_not(), gradient: |g, y| Nothing,
                python: np, example: "np.array([0, 1])" => "array([ True, False])" }
            BitwiseAnd { name: "bitwise_and", class: Bits, doc: "Bitwise and.",
                body: |a, b| a.bit_and(b), gradient: |g, y| Nothing,
                python: np, example: "np.array([6, 5]), 3" => "array([2, 1])" }
            BitwiseOr { name: "bitwise_or", class: Bits, doc: "Bitwise or.",
                body: |a, b| a.bit_or(b), gradient: |g, y| Nothing,
                python: np, example: "np.array([6, 5]), 3" => "array([7, 7])" }
            BitwiseXor { name: "bitwise_xor", class: Bits, doc: "Bitwise exclusive or.",
                body: |a, b| a.bit_xor(b), gradient: |g, y| Nothing,
                python: np, example: "np.array([6, 5]), 3" => "array([5, 6])" }
            Invert { name: "invert", class: Bits, doc: "Every bit flipped; on bool, not.",
                body: |a| a.bit_not(), gradient: |g, y| Nothing,
                python: np, aliases: ["bitwise_invert", "bitwise_not"], example: "np.array([0, 1])" => "array([-1, -2])" }
            LeftShift { name: "left_shift", class: Whole, doc: "Left shift; 0 if shifted by the bit width or more.",
                body: |a, b| a.shift_left(b), gradient: |g, y| Nothing,
                python: np, aliases: ["bitwise_left_shift"], example: "np.array([1, 5]), 2" => "array([ 4, 20])" }
            RightShift { name: "right_shift", class: Whole, doc: "Arithmetic right shift.",
                body: |a, b| a.shift_right(b), gradient: |g, y| Nothing,
                python: np, aliases: ["bitwise_right_shift"], example: "np.array([8, -5]), 1" => "array([ 4, -3])" }
            Gcd { name: "gcd", class: Whole, doc: "Greatest common divisor.",
                body: |a, b| a.gcd(b), gradient: |g, y| Nothing,
                python: np, example: "np.array([12, -18]), 8" => "array([4, 2])" }
            Lcm { name: "lcm", class: Whole, doc: "Least common multiple.",
                body: |a, b| a.lcm(b), gradient: |g, y| Nothing,
                python: np, example: "np.array([4, 6]), 10" => "array([20, 30])" }
            IsNan { name: "isnan", class: Predicate, doc: "Whether it is NaN.",
                body: |a| a.eq(a).not(), gradient: |g, y| Nothing,
                python: np, example: "np.array([1.0, np.nan])" => "array([False,  True])" }
            IsInf { name: "isinf", class: Predicate, doc: "Whether it is infinite.",
                body: |a| a.abs().eq(T::constant(f64::INFINITY)), gradient: |g, y| Nothing,
                python: np, example: "np.array([1.0, np.inf])" => "array([False,  True])" }
            IsPosInf { name: "isposinf", class: Predicate, doc: "Whether it is plus infinity.",
                body: |a| a.eq(T::constant(f64::INFINITY)), gradient: |g, y| Nothing,
                python: np, example: "np.array([np.inf, -np.inf])" => "array([ True, False])" }
            IsNegInf { name: "isneginf", class: Predicate, doc: "Whether it is minus infinity.",
                body: |a| a.eq(T::constant(f64::NEG_INFINITY)), gradient: |g, y| Nothing,
                python: np, example: "np.array([np.inf, -np.inf])" => "array([False,  True])" }
            IsFinite { name: "isfinite", class: Predicate, doc: "Whether it is neither infinite nor NaN.",
                body: |a| a.abs().lt(T::constant(f64::INFINITY)), gradient: |g, y| Nothing,
                python: np, example: "np.array([1.0, np.inf])" => "array([ True, False])" }
            Where { name: "where", class: Select, doc: "x1 where the condition is true, otherwise x2.",
                body: |c, a, b| T::select(c, a, b),
                gradient: |g, y| [Nothing, select(c, g, 0.0).into(), select(c, 0.0, g).into()],
                python: np, example: "np.array([True, False]), np.array([1, 2]), 0" => "array([1, 0])" }
            MultiplyAdd { name: "multiply_add", class: Number, doc: "x1 * x2 + x3, rounded twice.",
                body: |a, b, c| a.mul(b).add(c), gradient: |g, y| [g * b, g * a, g],
                python: npx, example: "np.array([1.0, 2.0]), 0.5, np.array([3.0, 4.0])" => "array([3.5, 5. ])" }
            Cast { name: "cast", class: Cast, doc: "The same value in another dtype.",
                body: |a| a, gradient: |g, y| [g] }
            Real { name: "real", class: Part, doc: "Real part of a complex number.",
                body: |a| a, gradient: |g, y| [g.with(Compose, 0.0)] }
            Imag { name: "imag", class: Part, doc: "Imaginary part of a complex number.",
                body: |a| a, gradient: |g, y| [Term::Number(0.0).with(Compose, g)] }
            Compose { name: "compose", class: Join, doc: "A complex number from its real and imaginary parts.",
                body: |a, b| a, gradient: |g, y| [g.of(Real), g.of(Imag)] }
        }
    };
}
