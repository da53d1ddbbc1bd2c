//! Complex ops, lowered to ops on the real and imaginary parts: a program splits values, computes on floats, and
//! composes the values that it stores. A backend therefore needs only two more instructions, `imag` and `compose`,
//! besides casts and moves.
//!
//! Invariant: parts are rounded as floats are, so fusion changes no bit of a result.

use crate::program::{Builder, Ssa};
use forerun_base::DType;
use forerun_ops::Point;

/// A complex value as two values of a program.
#[derive(Clone, Copy)]
struct Parts {
    re: Ssa,
    im: Ssa,
}

/// Builds instructions for one dtype of parts.
struct Work<'b> {
    b: &'b mut Builder,
    dtype: DType,
    part: DType,
    zero_and_one: Option<(Ssa, Ssa)>,
}

/// Applies an op to complex operands.
pub(crate) fn apply(b: &mut Builder, op: Point, dtype: DType, args: &[Ssa]) -> Ssa {
    let mut w = Work { b, dtype, part: dtype.carrier(), zero_and_one: None };
    let operands: Vec<Parts> = args.iter().map(|&arg| w.open(arg)).collect();
    let made = match (op, &operands[..]) {
        (Point::Real, [z]) => return z.re,
        (Point::Imag, [z]) => return z.im,
        (Point::Abs, [z]) => return w.absolute(*z),
        (Point::Equal, [x, y]) => return w.compare_parts(Point::Equal, *x, *y, Point::LogicalAnd),
        (Point::NotEqual, [x, y]) => return w.compare_parts(Point::NotEqual, *x, *y, Point::LogicalOr),
        (Point::IsNan | Point::IsInf, [z]) => return w.test_parts(op, *z, Point::LogicalOr),
        (Point::IsFinite, [z]) => return w.test_parts(op, *z, Point::LogicalAnd),
        (Point::Add | Point::Subtract, [x, y]) => Parts { re: w.two(op, x.re, y.re), im: w.two(op, x.im, y.im) },
        (Point::Negative, [z]) => Parts { re: w.one(op, z.re), im: w.one(op, z.im) },
        (Point::Multiply, [x, y]) => w.product(*x, *y),
        (Point::Square, [z]) => w.product(*z, *z),
        (Point::MultiplyAdd, [x, y, z]) => {
            let product = w.product(*x, *y);
            Parts { re: w.two(Point::Add, product.re, z.re), im: w.two(Point::Add, product.im, z.im) }
        }
        (Point::Divide, [x, y]) => w.quotient(*x, *y),
        (Point::Reciprocal, [z]) => {
            let (zero, one) = w.zero_and_one(z.re);
            w.quotient(Parts { re: one, im: zero }, *z)
        }
        (Point::Sqrt, [z]) => w.root(*z),
        (Point::Positive, [z]) => *z,
        (Point::Sign, [z]) => w.direction(*z),
        (Point::Rint, [z]) => Parts { re: w.one(op, z.re), im: w.one(op, z.im) },
        (Point::Exp, [z]) => w.exponential(*z),
        (Point::Log, [z]) => w.logarithm(*z),
        (Point::Log2 | Point::Log10, [z]) => {
            let natural = w.logarithm(*z);
            let (_, one) = w.zero_and_one(z.re);
            // The op applied to e gives the factor from the natural logarithm to this one.
            let e = w.one(Point::Exp, one);
            let factor = w.one(op, e);
            Parts { re: w.two(Point::Multiply, natural.re, factor), im: w.two(Point::Multiply, natural.im, factor) }
        }
        (Point::Exp2, [z]) => {
            let (_, one) = w.zero_and_one(z.re);
            let two = w.two(Point::Add, one, one);
            let log = w.one(Point::Log, two);
            let scaled = Parts { re: w.two(Point::Multiply, z.re, log), im: w.two(Point::Multiply, z.im, log) };
            w.exponential(scaled)
        }
        (Point::Expm1, [z]) => w.expm1(*z),
        (Point::Log1p, [z]) => w.log1p(*z),
        (Point::Power | Point::FloatPower, [x, y]) => w.power(*x, *y),
        (Point::Sin, [z]) => w.mixed_products((Point::Sin, Point::Cosh), (Point::Cos, Point::Sinh), *z, false),
        (Point::Cos, [z]) => w.mixed_products((Point::Cos, Point::Cosh), (Point::Sin, Point::Sinh), *z, true),
        (Point::Sinh, [z]) => w.mixed_products((Point::Sinh, Point::Cos), (Point::Cosh, Point::Sin), *z, false),
        (Point::Cosh, [z]) => w.mixed_products((Point::Cosh, Point::Cos), (Point::Sinh, Point::Sin), *z, false),
        (Point::Tanh, [z]) => w.hyperbolic_tangent(*z),
        (Point::Tan, [z]) => w.rotate(*z, Work::hyperbolic_tangent),
        (Point::Asin, [z]) => w.arcsine(*z),
        (Point::Acos, [z]) => w.arccosine(*z),
        (Point::Acosh, [z]) => w.inverse_hyperbolic_cosine(*z),
        (Point::Atanh, [z]) => w.inverse_hyperbolic_tangent(*z),
        (Point::Asinh, [z]) => w.rotate(*z, Work::arcsine),
        (Point::Atan, [z]) => w.rotate(*z, Work::inverse_hyperbolic_tangent),
        (op, _) => unreachable!("inference refuses {op} of {dtype}"),
    };
    w.b.instruction(Point::Compose, w.part, dtype, &[made.re, made.im])
}

impl Work<'_> {
    /// Splits a value into its parts.
    fn open(&mut self, value: Ssa) -> Parts {
        if let Some((re, im)) = self.b.parts(value) {
            return Parts { re, im };
        }
        // A cast to a float takes the real part.
        let re = self.b.cast(value, self.part);
        Parts { re, im: self.b.instruction(Point::Imag, self.dtype, self.part, &[value]) }
    }

    fn one(&mut self, op: Point, a: Ssa) -> Ssa {
        self.b.instruction(op, self.part, self.part, &[a])
    }

    fn two(&mut self, op: Point, a: Ssa, b: Ssa) -> Ssa {
        self.b.instruction(op, self.part, self.part, &[a, b])
    }

    fn compare(&mut self, op: Point, a: Ssa, b: Ssa) -> Ssa {
        self.b.instruction(op, self.part, DType::Bool, &[a, b])
    }

    fn choose(&mut self, mask: Ssa, yes: Ssa, no: Ssa) -> Ssa {
        self.b.instruction(Point::Where, self.part, self.part, &[mask, yes, no])
    }

    /// Applies a predicate to a float.
    fn test(&mut self, op: Point, a: Ssa) -> Ssa {
        self.b.instruction(op, self.part, DType::Bool, &[a])
    }

    /// Whether the imaginary part is not finite and the real part is infinite; and whether the imaginary part is not
    /// finite and the real part is finite.
    fn nonfinite_imag(&mut self, z: Parts) -> (Ssa, Ssa) {
        let (tame, along) = (self.test(Point::IsFinite, z.im), self.test(Point::IsFinite, z.re));
        let infinite = self.test(Point::IsInf, z.re);
        let wild = self.b.instruction(Point::LogicalNot, DType::Bool, DType::Bool, &[tame]);
        let and = |w: &mut Self, a, b| w.b.instruction(Point::LogicalAnd, DType::Bool, DType::Bool, &[a, b]);
        (and(self, wild, infinite), and(self, wild, along))
    }

    /// Whether a part is infinite, and so the absolute value.
    fn is_infinite(&mut self, z: Parts) -> Ssa {
        self.test_parts(Point::IsInf, z, Point::LogicalOr)
    }

    /// Compares both parts, and joins the results.
    fn compare_parts(&mut self, op: Point, x: Parts, y: Parts, join: Point) -> Ssa {
        let (re, im) = (self.compare(op, x.re, y.re), self.compare(op, x.im, y.im));
        self.b.instruction(join, DType::Bool, DType::Bool, &[re, im])
    }

    /// Applies a predicate to both parts, and joins the results.
    fn test_parts(&mut self, op: Point, z: Parts, join: Point) -> Ssa {
        let re = self.b.instruction(op, self.part, DType::Bool, &[z.re]);
        let im = self.b.instruction(op, self.part, DType::Bool, &[z.im]);
        self.b.instruction(join, DType::Bool, DType::Bool, &[re, im])
    }

    /// The constants 0 and 1, derived from any value: from a comparison with itself that is always false, and its
    /// negation.
    fn zero_and_one(&mut self, any: Ssa) -> (Ssa, Ssa) {
        if let Some(known) = self.zero_and_one {
            return known;
        }
        let never = self.compare(Point::Less, any, any);
        let always = self.b.instruction(Point::LogicalNot, DType::Bool, DType::Bool, &[never]);
        *self.zero_and_one.insert((self.b.cast(never, self.part), self.b.cast(always, self.part)))
    }

    fn product(&mut self, x: Parts, y: Parts) -> Parts {
        let (ac, bd) = (self.two(Point::Multiply, x.re, y.re), self.two(Point::Multiply, x.im, y.im));
        let (ad, bc) = (self.two(Point::Multiply, x.re, y.im), self.two(Point::Multiply, x.im, y.re));
        Parts { re: self.two(Point::Subtract, ac, bd), im: self.two(Point::Add, ad, bc) }
    }

    /// A product of floats in which zero times anything, even infinity, is zero with the sign of the product.
    fn multiply_zeros(&mut self, a: Ssa, b: Ssa) -> Ssa {
        let (zero, one) = self.zero_and_one(a);
        let (no_a, no_b) = (self.compare(Point::Equal, a, zero), self.compare(Point::Equal, b, zero));
        let (sign_a, sign_b) = (self.two(Point::Copysign, one, a), self.two(Point::Copysign, one, b));
        let (a, b) = (self.choose(no_b, sign_a, a), self.choose(no_a, sign_b, b));
        // If both are zero, both were replaced by their signs.
        let product = self.two(Point::Multiply, a, b);
        let nothing = self.b.instruction(Point::LogicalAnd, DType::Bool, DType::Bool, &[no_a, no_b]);
        let none = self.two(Point::Copysign, zero, product);
        self.choose(nothing, none, product)
    }

    /// Smith's method: divides by the larger part of the divisor, so that no intermediate result overflows.
    fn quotient(&mut self, x: Parts, y: Parts) -> Parts {
        let (a, b) = (self.one(Point::Abs, y.re), self.one(Point::Abs, y.im));
        let wide = self.compare(Point::GreaterEqual, a, b);
        let (large, small) = (self.choose(wide, y.re, y.im), self.choose(wide, y.im, y.re));
        let ratio = self.two(Point::Divide, small, large);
        let tail = self.two(Point::Multiply, small, ratio);
        let scale = self.two(Point::Add, large, tail);
        let (u, v) = (self.choose(wide, x.re, x.im), self.choose(wide, x.im, x.re));
        let (ur, vr) = (self.two(Point::Multiply, u, ratio), self.two(Point::Multiply, v, ratio));
        let top = self.two(Point::Add, u, vr);
        let re = self.two(Point::Divide, top, scale);
        let (ahead, back) = (self.two(Point::Subtract, v, ur), self.two(Point::Subtract, ur, v));
        let side = self.choose(wide, ahead, back);
        let im = self.two(Point::Divide, side, scale);
        // Division by zero gives what it gives for floats.
        let none = self.two(Point::Add, a, b);
        let (zero, _) = self.zero_and_one(none);
        let nothing = self.compare(Point::Equal, none, zero);
        let (re_0, im_0) = (self.two(Point::Divide, x.re, none), self.two(Point::Divide, x.im, none));
        Parts { re: self.choose(nothing, re_0, re), im: self.choose(nothing, im_0, im) }
    }

    /// The absolute value.
    fn absolute(&mut self, z: Parts) -> Ssa {
        self.two(Point::Hypot, z.re, z.im)
    }

    fn exponential(&mut self, z: Parts) -> Parts {
        let size = self.one(Point::Exp, z.re);
        let (cos, sin) = (self.one(Point::Cos, z.im), self.one(Point::Sin, z.im));
        let (re, im) = (self.multiply_zeros(size, cos), self.multiply_zeros(size, sin));
        // For an infinite real part and an imaginary part that is not finite, the result is infinite, and zero for
        // minus infinity; the sine is NaN then.
        let (infinite, nonfinite) = self.nonfinite_imag(z);
        let (zero, _) = self.zero_and_one(size);
        let none = self.compare(Point::Equal, size, zero);
        let rest = self.choose(none, zero, sin);
        let (re, im) = (self.choose(infinite, size, re), self.choose(infinite, rest, im));
        Parts { re: self.choose(nonfinite, sin, re), im: self.choose(nonfinite, sin, im) }
    }

    fn logarithm(&mut self, z: Parts) -> Parts {
        let size = self.absolute(z);
        let far = self.one(Point::Log, size);
        // Near the unit circle the logarithm of the rounded absolute value would lose most digits.
        let (_, one) = self.zero_and_one(size);
        let two = self.two(Point::Add, one, one);
        let (a, b) = (self.one(Point::Abs, z.re), self.one(Point::Abs, z.im));
        let (large, small) = (self.two(Point::Maximum, a, b), self.two(Point::Minimum, a, b));
        let (less, more) = (self.two(Point::Subtract, large, one), self.two(Point::Add, large, one));
        let off = self.two(Point::Multiply, less, more);
        let square = self.two(Point::Multiply, small, small);
        let sum = self.two(Point::Add, off, square);
        let twice = self.one(Point::Log1p, sum);
        let near = self.two(Point::Divide, twice, two);
        let half = self.two(Point::Divide, one, two);
        let above = self.compare(Point::Greater, size, half);
        let below = self.compare(Point::Less, size, two);
        let between = self.b.instruction(Point::LogicalAnd, DType::Bool, DType::Bool, &[above, below]);
        Parts { re: self.choose(between, near, far), im: self.two(Point::Atan2, z.im, z.re) }
    }

    /// `e^(y log x)`; anything to the power of zero is one, and zero to any other power is zero.
    fn power(&mut self, x: Parts, y: Parts) -> Parts {
        let log = self.logarithm(x);
        let exponent = self.product(log, y);
        let made = self.exponential(exponent);
        let (zero, one) = self.zero_and_one(x.re);
        let nothing = Parts { re: zero, im: zero };
        let (no_base, no_exponent) = (
            self.compare_parts(Point::Equal, x, nothing, Point::LogicalAnd),
            self.compare_parts(Point::Equal, y, nothing, Point::LogicalAnd),
        );
        let (re, im) = (self.choose(no_base, zero, made.re), self.choose(no_base, zero, made.im));
        Parts { re: self.choose(no_exponent, one, re), im: self.choose(no_exponent, zero, im) }
    }

    /// `f(re) g(im) + i h(re) k(im)` for `(f, g)` and `(h, k)`; with `minus`, the imaginary part is negated.
    fn mixed_products(&mut self, (f, g): (Point, Point), (h, k): (Point, Point), z: Parts, minus: bool) -> Parts {
        let (f, g) = (self.one(f, z.re), self.one(g, z.im));
        let (h, k) = (self.one(h, z.re), self.one(k, z.im));
        let (re, im) = (self.multiply_zeros(f, g), self.multiply_zeros(h, k));
        // With an infinite real part and an imaginary part that is not finite, the magnitude is still known: it is that
        // of `f`.
        let (infinite, _) = self.nonfinite_imag(z);
        let re = self.choose(infinite, f, re);
        Parts { re, im: if minus { self.one(Point::Negative, im) } else { im } }
    }

    /// `(sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y)`; for |x| >= 40 `1 + 4 i sin y cos y e^(-2 x)`. The
    /// squares do not overflow below 40.
    fn hyperbolic_tangent(&mut self, z: Parts) -> Parts {
        let (_, one) = self.zero_and_one(z.re);
        let two = self.two(Point::Add, one, one);
        let four = self.one(Point::Square, two);
        let (eight, sixteen) = (self.two(Point::Add, four, four), self.one(Point::Square, four));
        let more = self.two(Point::Add, sixteen, sixteen);
        let most = self.two(Point::Add, more, eight);
        let least = self.one(Point::Negative, most);
        let x = self.two(Point::Minimum, z.re, most);
        let x = self.two(Point::Maximum, x, least);
        let (sinh, cosh) = (self.one(Point::Sinh, x), self.one(Point::Cosh, x));
        let (sin, cos) = (self.one(Point::Sin, z.im), self.one(Point::Cos, z.im));
        let (along, across) = (self.one(Point::Square, sinh), self.one(Point::Square, cos));
        let under = self.two(Point::Add, along, across);
        let (re, im) = (self.two(Point::Multiply, sinh, cosh), self.two(Point::Multiply, sin, cos));
        let near = Parts { re: self.two(Point::Divide, re, under), im: self.two(Point::Divide, im, under) };
        let size = self.one(Point::Abs, z.re);
        let minus = self.one(Point::Negative, size);
        let small = self.one(Point::Exp, minus);
        let square = self.one(Point::Square, small);
        let (slope, side) = (self.two(Point::Multiply, im, four), self.two(Point::Copysign, one, z.re));
        let tiny = self.multiply_zeros(square, slope);
        let far = self.compare(Point::GreaterEqual, size, most);
        let (re, im) = (self.choose(far, side, near.re), self.choose(far, tiny, near.im));
        // If the imaginary part is not finite, the real part is kept only if it is zero; the sine is NaN then.
        let (_, nonfinite) = self.nonfinite_imag(z);
        let (zero, _) = self.zero_and_one(size);
        let none = self.compare(Point::Equal, z.re, zero);
        let along = self.choose(none, z.re, sin);
        // A real number stays real, and for an infinite real part the imaginary part is a signed zero.
        let (real, infinite) = (self.compare(Point::Equal, z.im, zero), self.test(Point::IsInf, z.re));
        let (im, none) = (self.choose(real, z.im, im), self.two(Point::Copysign, zero, z.im));
        let im = self.choose(infinite, none, im);
        Parts { re: self.choose(nonfinite, along, re), im: self.choose(nonfinite, sin, im) }
    }

    /// The root whose real part is not negative.
    fn root(&mut self, z: Parts) -> Parts {
        let size = self.absolute(z);
        let (zero, one) = self.zero_and_one(z.re);
        let two = self.two(Point::Add, one, one);
        let (along, across) = (self.one(Point::Abs, z.re), self.one(Point::Abs, z.im));
        // Halved first, so that the sum does not overflow.
        let (a, b) = (self.two(Point::Divide, size, two), self.two(Point::Divide, along, two));
        let half = self.two(Point::Add, a, b);
        let large = self.one(Point::Sqrt, half);
        let twice = self.two(Point::Add, large, large);
        let quotient = self.two(Point::Divide, across, twice);
        let none = self.compare(Point::Equal, large, zero);
        let small = self.choose(none, zero, quotient);
        // With an infinite imaginary part, both parts of the root are infinite.
        let far = self.b.instruction(Point::IsInf, self.part, DType::Bool, &[across]);
        let small = self.choose(far, large, small);
        let ahead = self.compare(Point::GreaterEqual, z.re, zero);
        let (re, im) = (self.choose(ahead, large, small), self.choose(ahead, small, large));
        // The imaginary part has the sign of the operand's imaginary part.
        Parts { re, im: self.two(Point::Copysign, im, z.im) }
    }

    /// `z / |z|`; zero for zero.
    fn direction(&mut self, z: Parts) -> Parts {
        let size = self.absolute(z);
        let (zero, _) = self.zero_and_one(size);
        let none = self.compare(Point::Equal, size, zero);
        let (re, im) = (self.two(Point::Divide, z.re, size), self.two(Point::Divide, z.im, size));
        Parts { re: self.choose(none, zero, re), im: self.choose(none, zero, im) }
    }

    /// `-i f(i z)`.
    fn rotate(&mut self, z: Parts, f: fn(&mut Self, Parts) -> Parts) -> Parts {
        let turned = Parts { re: self.one(Point::Negative, z.im), im: z.re };
        let made = f(self, turned);
        Parts { re: made.im, im: self.one(Point::Negative, made.re) }
    }

    /// `(e^x - 1) cos y - 2 sin^2(y / 2) + i e^x sin y`, which avoids cancellation.
    fn expm1(&mut self, z: Parts) -> Parts {
        let (_, one) = self.zero_and_one(z.re);
        let two = self.two(Point::Add, one, one);
        let (less, cos) = (self.one(Point::Expm1, z.re), self.one(Point::Cos, z.im));
        let half = self.two(Point::Divide, z.im, two);
        let sin = self.one(Point::Sin, half);
        let square = self.two(Point::Multiply, sin, sin);
        let (along, off) = (self.two(Point::Multiply, less, cos), self.two(Point::Add, square, square));
        let im = self.exponential(z).im;
        let re = self.two(Point::Subtract, along, off);
        let (infinite, _) = self.nonfinite_imag(z);
        let re = self.choose(infinite, less, re);
        // The C standard requires a positive zero.
        let (zero, _) = self.zero_and_one(z.re);
        Parts { re: self.two(Point::Add, re, zero), im }
    }

    /// Near zero `log1p(x (x + 2) + y^2) / 2`, which keeps the digits that adding one would lose.
    fn log1p(&mut self, z: Parts) -> Parts {
        let (_, one) = self.zero_and_one(z.re);
        let two = self.two(Point::Add, one, one);
        let more = Parts { re: self.two(Point::Add, z.re, one), im: z.im };
        let far = self.logarithm(more);
        let beyond = self.two(Point::Add, z.re, two);
        let (along, across) = (self.two(Point::Multiply, z.re, beyond), self.two(Point::Multiply, z.im, z.im));
        let sum = self.two(Point::Add, along, across);
        let twice = self.one(Point::Log1p, sum);
        let near = self.two(Point::Divide, twice, two);
        let (half, size) = (self.two(Point::Divide, one, two), self.absolute(z));
        let is_near = self.compare(Point::Less, size, half);
        Parts { re: self.choose(is_near, near, far.re), im: far.im }
    }

    /// The roots of `1 - z` and `1 + z`, from which the inverse functions are computed: they give the right branch cuts
    /// and avoid cancellation.
    fn roots_around_one(&mut self, z: Parts) -> (Parts, Parts) {
        let (_, one) = self.zero_and_one(z.re);
        let (less, more) = (self.two(Point::Subtract, one, z.re), self.two(Point::Add, one, z.re));
        let minus = self.one(Point::Negative, z.im);
        (self.root(Parts { re: less, im: minus }), self.root(Parts { re: more, im: z.im }))
    }

    /// The imaginary part of `conj(x) y`.
    fn conj_product_imag(&mut self, x: Parts, y: Parts) -> Ssa {
        let (ahead, back) = (self.multiply_zeros(x.re, y.im), self.multiply_zeros(x.im, y.re));
        self.two(Point::Subtract, ahead, back)
    }

    fn arcsine(&mut self, z: Parts) -> Parts {
        let (below, above) = self.roots_around_one(z);
        let (a, b) = (self.multiply_zeros(below.re, above.re), self.multiply_zeros(below.im, above.im));
        let along = self.two(Point::Subtract, a, b);
        let across = self.conj_product_imag(below, above);
        let (re, im) = (self.two(Point::Atan2, z.re, along), self.one(Point::Asinh, across));
        // Numbers on the imaginary axis stay on it, and infinities keep their direction.
        let (zero, _) = self.zero_and_one(z.re);
        let none = self.compare(Point::Equal, z.re, zero);
        let re = self.choose(none, z.re, re);
        let (infinite, size) = (self.is_infinite(z), self.absolute(z));
        let aside = self.one(Point::Abs, z.im);
        let (angle, infinity) = (self.two(Point::Atan2, z.re, aside), self.two(Point::Copysign, size, z.im));
        Parts { re: self.choose(infinite, angle, re), im: self.choose(infinite, infinity, im) }
    }

    /// The angle of an arc cosine in special cases: pi / 2 on the imaginary axis, and the direction of infinities,
    /// between zero and pi. Otherwise `angle`.
    fn angle_at_ends(&mut self, z: Parts, angle: Ssa) -> Ssa {
        let (zero, one) = self.zero_and_one(z.re);
        let quarter = self.two(Point::Atan2, one, zero);
        let none = self.compare(Point::Equal, z.re, zero);
        let angle = self.choose(none, quarter, angle);
        let (infinite, aside) = (self.is_infinite(z), self.one(Point::Abs, z.im));
        let direction = self.two(Point::Atan2, aside, z.re);
        self.choose(infinite, direction, angle)
    }

    fn arccosine(&mut self, z: Parts) -> Parts {
        let (below, above) = self.roots_around_one(z);
        let half = self.two(Point::Atan2, below.re, above.re);
        let across = self.conj_product_imag(above, below);
        let (twice, im) = (self.two(Point::Add, half, half), self.one(Point::Asinh, across));
        let (infinite, size) = (self.is_infinite(z), self.absolute(z));
        let minus = self.one(Point::Negative, z.im);
        let infinity = self.two(Point::Copysign, size, minus);
        Parts { re: self.angle_at_ends(z, twice), im: self.choose(infinite, infinity, im) }
    }

    fn inverse_hyperbolic_cosine(&mut self, z: Parts) -> Parts {
        let (_, one) = self.zero_and_one(z.re);
        let (less, more) = (self.two(Point::Subtract, z.re, one), self.two(Point::Add, z.re, one));
        let (below, above) = (self.root(Parts { re: less, im: z.im }), self.root(Parts { re: more, im: z.im }));
        let (a, b) = (self.multiply_zeros(below.re, above.re), self.multiply_zeros(below.im, above.im));
        let along = self.two(Point::Add, a, b);
        let half = self.two(Point::Atan2, below.im, above.re);
        let (re, twice) = (self.one(Point::Asinh, along), self.two(Point::Add, half, half));
        let (infinite, size) = (self.is_infinite(z), self.absolute(z));
        let angle = self.angle_at_ends(z, twice);
        Parts { re: self.choose(infinite, size, re), im: self.two(Point::Copysign, angle, z.im) }
    }

    /// `log1p(4 |x| / ((1 - |x|)^2 + y^2)) / 4 + i atan2(2 y, (1 - |x|) (1 + |x|) - y^2) / 2`, with the sign of x;
    /// where the squares overflow, `x / |z|^2` and pi / 2.
    fn inverse_hyperbolic_tangent(&mut self, z: Parts) -> Parts {
        let x = self.one(Point::Abs, z.re);
        let (zero, one) = self.zero_and_one(x);
        let two = self.two(Point::Add, one, one);
        let four = self.two(Point::Add, two, two);
        let (less, more) = (self.two(Point::Subtract, one, x), self.two(Point::Add, one, x));
        let (along, across) = (self.two(Point::Multiply, less, less), self.two(Point::Multiply, z.im, z.im));
        let under = self.two(Point::Add, along, across);
        let top = self.two(Point::Multiply, four, x);
        let quotient = self.two(Point::Divide, top, under);
        let log = self.one(Point::Log1p, quotient);
        let near = self.two(Point::Divide, log, four);
        // So near one that the square underflows: `log(2 / |1 - z|) / 2`.
        let beside = self.two(Point::Hypot, less, z.im);
        let (log_two, log_beside) = (self.one(Point::Log, two), self.one(Point::Log, beside));
        let long = self.two(Point::Subtract, log_two, log_beside);
        let nearest = self.two(Point::Divide, long, two);
        let vanished = self.test(Point::IsInf, quotient);
        let near = self.choose(vanished, nearest, near);
        let far = self.b.instruction(Point::IsInf, self.part, DType::Bool, &[under]);
        let length = self.absolute(z);
        let share = self.two(Point::Divide, x, length);
        let small = self.two(Point::Divide, share, length);
        let beyond = self.b.instruction(Point::IsInf, self.part, DType::Bool, &[length]);
        let small = self.choose(beyond, zero, small);
        let size = self.choose(far, small, near);
        let product = self.two(Point::Multiply, less, more);
        let (twice, off) = (self.two(Point::Add, z.im, z.im), self.two(Point::Subtract, product, across));
        let angle = self.two(Point::Atan2, twice, off);
        let half = self.two(Point::Divide, angle, two);
        let quarter = self.two(Point::Atan2, one, zero);
        let turned = self.two(Point::Copysign, quarter, z.im);
        let (re, im) = (self.two(Point::Copysign, size, z.re), self.choose(far, turned, half));
        // The real part is zero if a part is infinite or the operand's real part is zero.
        let (infinite, none) = (self.is_infinite(z), self.compare(Point::Equal, z.re, zero));
        let (nothing, unknown) = (self.two(Point::Copysign, zero, z.re), self.test(Point::IsNan, z.im));
        let gone = self.b.instruction(Point::LogicalOr, DType::Bool, DType::Bool, &[infinite, none]);
        let end = self.choose(unknown, z.im, turned);
        Parts { re: self.choose(gone, nothing, re), im: self.choose(infinite, end, im) }
    }
}
