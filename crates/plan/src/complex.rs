//! Ops on complex numbers, as ops on their parts: a program takes values apart, computes on floats, and puts together what is
//! stored. So a backend needs two instructions for them, `imag` and `compose`, beside casts and moves.
//!
//! Invariant: parts are rounded as floats are, so it shows in no bit what was fused.

use crate::program::{Builder, Ssa};
use forerun_base::DType;
use forerun_ops::Point;

/// A complex value under construction, or its use.
#[derive(Clone, Copy)]
struct Parts {
    re: Ssa,
    im: Ssa,
}

/// The ops of one part dtype.
struct Work<'b> {
    b: &'b mut Builder,
    dtype: DType,
    part: DType,
}

/// Applies an op to complex operands.
pub(crate) fn apply(b: &mut Builder, op: Point, dtype: DType, args: &[Ssa]) -> Ssa {
    let mut w = Work { b, dtype, part: dtype.carrier() };
    let operands: Vec<Parts> = args.iter().map(|&arg| w.open(arg)).collect();
    let made = match (op, &operands[..]) {
        (Point::Real, [z]) => return z.re,
        (Point::Imag, [z]) => return z.im,
        (Point::Abs, [z]) => return w.size(*z),
        (Point::Equal, [x, y]) => return w.both(Point::Equal, *x, *y, Point::LogicalAnd),
        (Point::NotEqual, [x, y]) => return w.both(Point::NotEqual, *x, *y, Point::LogicalOr),
        (Point::IsNan | Point::IsInf, [z]) => return w.asks(op, *z, Point::LogicalOr),
        (Point::IsFinite, [z]) => return w.asks(op, *z, Point::LogicalAnd),
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
        (Point::Exp, [z]) => w.exponential(*z),
        (Point::Log, [z]) => w.logarithm(*z),
        (Point::Log2 | Point::Log10, [z]) => {
            let natural = w.logarithm(*z);
            let (_, one) = w.zero_and_one(z.re);
            // What the function makes of e: the logarithm is so many times the natural one.
            let e = w.one(Point::Exp, one);
            let factor = w.one(op, e);
            Parts { re: w.two(Point::Multiply, natural.re, factor), im: w.two(Point::Multiply, natural.im, factor) }
        }
        (Point::Power, [x, y]) => w.power(*x, *y),
        (Point::Sin, [z]) => w.turned((Point::Sin, Point::Cosh), (Point::Cos, Point::Sinh), *z, false),
        (Point::Cos, [z]) => w.turned((Point::Cos, Point::Cosh), (Point::Sin, Point::Sinh), *z, true),
        (Point::Sinh, [z]) => w.turned((Point::Sinh, Point::Cos), (Point::Cosh, Point::Sin), *z, false),
        (Point::Cosh, [z]) => w.turned((Point::Cosh, Point::Cos), (Point::Sinh, Point::Sin), *z, false),
        (Point::Tanh, [z]) => w.hyperbolic_tangent(*z),
        (Point::Tan, [z]) => {
            let turned = Parts { re: w.one(Point::Negative, z.im), im: z.re };
            let made = w.hyperbolic_tangent(turned);
            Parts { re: made.im, im: w.one(Point::Negative, made.re) }
        }
        (op, _) => unreachable!("inference refuses {op} of {dtype}"),
    };
    w.b.instruction(Point::Compose, w.part, dtype, &[made.re, made.im])
}

impl Work<'_> {
    /// The parts of a value.
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

    fn asks_two(&mut self, op: Point, a: Ssa, b: Ssa) -> Ssa {
        self.b.instruction(op, self.part, DType::Bool, &[a, b])
    }

    fn choose(&mut self, mask: Ssa, yes: Ssa, no: Ssa) -> Ssa {
        self.b.instruction(Point::Where, self.part, self.part, &[mask, yes, no])
    }

    /// A comparison of both parts, joined.
    fn both(&mut self, op: Point, x: Parts, y: Parts, join: Point) -> Ssa {
        let (re, im) = (self.asks_two(op, x.re, y.re), self.asks_two(op, x.im, y.im));
        self.b.instruction(join, DType::Bool, DType::Bool, &[re, im])
    }

    /// A question about both parts, joined.
    fn asks(&mut self, op: Point, z: Parts, join: Point) -> Ssa {
        let re = self.b.instruction(op, self.part, DType::Bool, &[z.re]);
        let im = self.b.instruction(op, self.part, DType::Bool, &[z.im]);
        self.b.instruction(join, DType::Bool, DType::Bool, &[re, im])
    }

    /// 0 and 1, made from any value: of a comparison with itself that never holds, and its opposite.
    fn zero_and_one(&mut self, any: Ssa) -> (Ssa, Ssa) {
        let never = self.asks_two(Point::Less, any, any);
        let always = self.b.instruction(Point::LogicalNot, DType::Bool, DType::Bool, &[never]);
        (self.b.cast(never, self.part), self.b.cast(always, self.part))
    }

    fn product(&mut self, x: Parts, y: Parts) -> Parts {
        let (ac, bd) = (self.two(Point::Multiply, x.re, y.re), self.two(Point::Multiply, x.im, y.im));
        let (ad, bc) = (self.two(Point::Multiply, x.re, y.im), self.two(Point::Multiply, x.im, y.re));
        Parts { re: self.two(Point::Subtract, ac, bd), im: self.two(Point::Add, ad, bc) }
    }

    /// By Smith's method: the larger part of the divisor is divided by, so that nothing overflows on the way.
    fn quotient(&mut self, x: Parts, y: Parts) -> Parts {
        let (a, b) = (self.one(Point::Abs, y.re), self.one(Point::Abs, y.im));
        let wide = self.asks_two(Point::GreaterEqual, a, b);
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
        // A divisor of zero gives what floats give.
        let none = self.two(Point::Add, a, b);
        let (zero, _) = self.zero_and_one(none);
        let nothing = self.asks_two(Point::Equal, none, zero);
        let (re_0, im_0) = (self.two(Point::Divide, x.re, none), self.two(Point::Divide, x.im, none));
        Parts { re: self.choose(nothing, re_0, re), im: self.choose(nothing, im_0, im) }
    }

    /// The absolute value.
    fn size(&mut self, z: Parts) -> Ssa {
        self.two(Point::Hypot, z.re, z.im)
    }

    fn exponential(&mut self, z: Parts) -> Parts {
        let size = self.one(Point::Exp, z.re);
        let (cos, sin) = (self.one(Point::Cos, z.im), self.one(Point::Sin, z.im));
        let im = self.two(Point::Multiply, size, sin);
        // Of a real number the exponential is real, be it infinite.
        let (zero, _) = self.zero_and_one(z.im);
        let real = self.asks_two(Point::Equal, z.im, zero);
        Parts { re: self.two(Point::Multiply, size, cos), im: self.choose(real, z.im, im) }
    }

    fn logarithm(&mut self, z: Parts) -> Parts {
        let size = self.size(z);
        let far = self.one(Point::Log, size);
        // Near the unit circle the logarithm of the rounded size would have lost most digits.
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
        let above = self.asks_two(Point::Greater, size, half);
        let below = self.asks_two(Point::Less, size, two);
        let between = self.b.instruction(Point::LogicalAnd, DType::Bool, DType::Bool, &[above, below]);
        Parts { re: self.choose(between, near, far), im: self.two(Point::Atan2, z.im, z.re) }
    }

    /// `e^(y log x)`; anything to the power of zero is one, and zero to any other is zero.
    fn power(&mut self, x: Parts, y: Parts) -> Parts {
        let log = self.logarithm(x);
        let exponent = self.product(log, y);
        let made = self.exponential(exponent);
        let (zero, one) = self.zero_and_one(x.re);
        let nothing = Parts { re: zero, im: zero };
        let (no_base, no_exponent) = (
            self.both(Point::Equal, x, nothing, Point::LogicalAnd),
            self.both(Point::Equal, y, nothing, Point::LogicalAnd),
        );
        let (re, im) = (self.choose(no_base, zero, made.re), self.choose(no_base, zero, made.im));
        Parts { re: self.choose(no_exponent, one, re), im: self.choose(no_exponent, zero, im) }
    }

    /// `f(re) g(im) + i h(re) k(im)`, for `(f, g)` and `(h, k)`; with a minus between the two if asked for.
    fn turned(&mut self, (f, g): (Point, Point), (h, k): (Point, Point), z: Parts, minus: bool) -> Parts {
        let (f, g) = (self.one(f, z.re), self.one(g, z.im));
        let (h, k) = (self.one(h, z.re), self.one(k, z.im));
        let (re, im) = (self.two(Point::Multiply, f, g), self.two(Point::Multiply, h, k));
        Parts { re, im: if minus { self.one(Point::Negative, im) } else { im } }
    }

    /// `(sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y)`; beyond 40 it is one, whatever y is, and
    /// the squares do not overflow before.
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
        Parts { re: self.two(Point::Divide, re, under), im: self.two(Point::Divide, im, under) }
    }

    /// The root with a real part that is not negative.
    fn root(&mut self, z: Parts) -> Parts {
        let size = self.size(z);
        let (zero, one) = self.zero_and_one(z.re);
        let two = self.two(Point::Add, one, one);
        let along = self.one(Point::Abs, z.re);
        let sum = self.two(Point::Add, size, along);
        let half = self.two(Point::Divide, sum, two);
        let large = self.one(Point::Sqrt, half);
        let twice = self.two(Point::Add, large, large);
        let across = self.one(Point::Abs, z.im);
        let quotient = self.two(Point::Divide, across, twice);
        let none = self.asks_two(Point::Equal, large, zero);
        let small = self.choose(none, zero, quotient);
        let ahead = self.asks_two(Point::GreaterEqual, z.re, zero);
        let (re, im) = (self.choose(ahead, large, small), self.choose(ahead, small, large));
        // The imaginary part has the sign of that of the number.
        let minus = self.one(Point::Negative, im);
        let below = self.asks_two(Point::Less, z.im, zero);
        let negative = self.choose(below, minus, im);
        // Of a zero the sign is told by what it divides.
        let inverse = self.two(Point::Divide, one, z.im);
        let under = self.asks_two(Point::Less, inverse, zero);
        Parts { re, im: self.choose(under, minus, negative) }
    }
}
