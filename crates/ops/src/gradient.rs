//! Gradients: for each op, the gradient of each operand and the values it needs. A tape keeps exactly these values
//! alive. Pointwise rules are terms over the catalogue itself, so they can be differentiated again; they are part of
//! the rows.
//!
//! The gradient of a complex number is complex: its parts are the gradients of the real and the imaginary part.
//!
//! Invariant: a new op does not compile without a decision about its gradient. Every pointwise row has a rule, the
//! matches below have no wildcard, and `Family::needs` of routines has no default.

use crate::point::flows;
use crate::{Op, Point, ReduceKind};
use std::f64::consts::PI;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::LazyLock;

/// A term of a pointwise gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Term {
    /// The gradient of the result.
    Grad,
    /// An operand.
    In(u8),
    /// The result.
    Out,
    /// A scalar without a dtype.
    Number(f64),
    /// An op of the catalogue.
    Point(Point, &'static [Term]),
}

/// The gradient of one operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Flow {
    /// No gradient: the operand or the result is not a float.
    Nothing,
    /// Zero: the result is piecewise constant in the operand.
    Zero,
    /// This term, summed over broadcast dimensions.
    Term(Term),
}

/// The values that a gradient rule reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// One bit per input.
    pub inputs: u8,
    /// The result.
    pub output: bool,
}

impl Needs {
    /// Neither inputs nor the result.
    pub const NOTHING: Needs = Needs { inputs: 0, output: false };

    /// The union of both.
    pub fn and(self, other: Needs) -> Needs {
        Needs { inputs: self.inputs | other.inputs, output: self.output || other.output }
    }

    /// Input `i` alone.
    pub const fn input(i: u8) -> Needs {
        Needs { inputs: 1 << i, output: false }
    }
}

impl Term {
    fn needs(&self) -> Needs {
        match self {
            Term::Grad | Term::Number(_) => Needs::NOTHING,
            Term::In(i) => Needs::input(*i),
            Term::Out => Needs { inputs: 0, output: true },
            Term::Point(_, args) => args.iter().fold(Needs::NOTHING, |needs, arg| needs.and(arg.needs())),
        }
    }
}

impl Flow {
    /// The operands and results that the term reads.
    pub fn needs(&self) -> Needs {
        match self {
            Flow::Nothing | Flow::Zero => Needs::NOTHING,
            Flow::Term(term) => term.needs(),
        }
    }
}

impl From<f64> for Term {
    fn from(number: f64) -> Term {
        Term::Number(number)
    }
}

impl From<Term> for Flow {
    fn from(term: Term) -> Flow {
        Flow::Term(term)
    }
}

/// The gradient in a row: one flow per operand, or the same for all.
pub(crate) trait Rule {
    /// One flow per operand.
    fn flows(self, arity: usize) -> Vec<Flow>;
}

impl<F: Into<Flow>, const N: usize> Rule for [F; N] {
    fn flows(self, _: usize) -> Vec<Flow> {
        self.map(Into::into).to_vec()
    }
}

impl Rule for Flow {
    fn flows(self, arity: usize) -> Vec<Flow> {
        vec![self; arity]
    }
}

impl Term {
    /// The operands of an op.
    pub(crate) fn operands<const N: usize>() -> [Term; N] {
        std::array::from_fn(|i| Term::In(i as u8))
    }

    /// A pointwise op as a term. The arguments are leaked: rules are built once and kept for the life of the process.
    fn point<const N: usize>(point: Point, args: [Term; N]) -> Term {
        Term::Point(point, Box::leak(Box::new(args)))
    }

    /// Applies a unary op to this term.
    pub(crate) fn of(self, point: Point) -> Term {
        Term::point(point, [self])
    }

    /// Applies a binary op to this term and another.
    pub(crate) fn with(self, point: Point, other: impl Into<Term>) -> Term {
        Term::point(point, [self, other.into()])
    }
}

macro_rules! operator {
    ($($trait:ident $method:ident $point:ident)*) => {$(
        impl<R: Into<Term>> $trait<R> for Term {
            type Output = Term;
            fn $method(self, right: R) -> Term {
                self.with(Point::$point, right)
            }
        }

        impl $trait<Term> for f64 {
            type Output = Term;
            fn $method(self, right: Term) -> Term {
                Term::Number(self).with(Point::$point, right)
            }
        }
    )*};
}

operator! { Add add Add Sub sub Subtract Mul mul Multiply Div div Divide }

impl Neg for Term {
    type Output = Term;
    fn neg(self) -> Term {
        self.of(Point::Negative)
    }
}

/// One term where a condition holds, another one elsewhere.
pub(crate) fn select(condition: Term, yes: impl Into<Term>, no: impl Into<Term>) -> Term {
    Term::point(Point::Where, [condition, yes.into(), no.into()])
}

/// The gradient of the operand that wins a comparison. At a tie each operand gets half, the mean of the one-sided
/// derivatives.
pub(crate) fn winner(point: Point, a: Term, b: Term) -> Term {
    select(a.with(Point::Equal, b), Term::Grad * 0.5, select(a.with(point, b), Term::Grad, 0.0))
}

/// The gradients of the base and the exponent of a power.
pub(crate) fn power(g: Term, a: Term, b: Term, point: Point) -> [Term; 2] {
    let base = g * b * a.with(point, b - 1.0);
    let exponent = g * a.with(point, b) * a.of(Point::Log);
    [select(b.with(Point::Equal, 0.0), 0.0, base), select(a.with(Point::Equal, 0.0), 0.0, exponent)]
}

/// The derivative of the digamma function. Negative arguments use the reflection formula.
pub(crate) fn trigamma(a: Term) -> Term {
    let negative = a.with(Point::Less, 0.0);
    let positive = Term::Number(1.0).with(Point::Polygamma, select(negative, 1.0 - a, a));
    let sine = (a * PI).of(Point::Sin);
    select(negative, PI * PI / (sine * sine) - positive, positive)
}

/// The gradient of each operand of a pointwise op.
pub fn pointwise(point: Point) -> &'static [Flow] {
    static TABLE: LazyLock<Vec<Vec<Flow>>> = LazyLock::new(|| Point::ALL.iter().map(|p| flows(*p)).collect());
    &TABLE[point as usize]
}

/// The values that the gradient of operand `i` reads; `None` if the operand has no gradient.
pub fn needs(op: Op, i: usize) -> Option<Needs> {
    match op {
        Op::Point(point) => match &pointwise(point)[i] {
            Flow::Nothing => None,
            flow => Some(flow.needs()),
        },
        Op::Reduce(ReduceKind::Sum) => Some(Needs::NOTHING),
        Op::Reduce(ReduceKind::Prod) => Some(Needs::input(0)),
        Op::Reduce(ReduceKind::Max | ReduceKind::Min | ReduceKind::NanMax | ReduceKind::NanMin) => {
            Some(Needs { inputs: 1, output: true })
        }
        Op::Reduce(ReduceKind::ArgMax | ReduceKind::ArgMin) => None,
        Op::Matmul => Some(Needs::input(1 - i as u8)),
        Op::View | Op::Concat | Op::Update | Op::Transfer => Some(Needs::NOTHING),
        Op::Take => (i == 0).then_some(Needs::input(1)),
        Op::ScatterAdd if i == 1 => None,
        Op::ScatterAdd => Some(if i == 0 { Needs::NOTHING } else { Needs::input(1) }),
        Op::Fill(_) => None,
        Op::Routine(routine) => routine.needs(i),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Class;

    #[test]
    fn every_row_has_one_flow_an_operand() {
        for &point in Point::ALL {
            let row = point.row();
            assert_eq!(pointwise(point).len(), row.arity, "{}", row.name);
            let truths = matches!(row.class, Class::Compare | Class::Logic | Class::Predicate);
            let smooth = !truths && !matches!(row.class, Class::Bits | Class::Whole);
            let flows = pointwise(point).iter().any(|f| *f != Flow::Nothing);
            assert_eq!(smooth, flows, "{}", row.name);
        }
    }

    #[test]
    fn needs_follow_from_the_terms() {
        assert_eq!(needs(Op::Point(Point::Multiply), 0), Some(Needs::input(1)));
        assert_eq!(needs(Op::Point(Point::Tanh), 0), Some(Needs { inputs: 0, output: true }));
        assert_eq!(needs(Op::Point(Point::Add), 1), Some(Needs::NOTHING));
        assert_eq!(needs(Op::Point(Point::Where), 0), None);
        assert_eq!(needs(Op::Matmul, 0), Some(Needs::input(1)));
    }
}
