//! Gradients: for each op, what flows back to its operands and which values that takes. A tape keeps alive what is named
//! here and nothing else. Pointwise rules are terms over the catalogue itself, so they differentiate again.
//!
//! Invariant: the matches below have no wildcard, so a new op does not compile before somebody has thought about its gradient.

use crate::{Op, Point, ReduceKind};
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::LazyLock;

/// A term of a pointwise gradient.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// What flows back to the result.
    Grad,
    /// An operand.
    In(u8),
    /// The result.
    Out,
    /// A number without a width.
    Number(f64),
    /// An op of the catalogue.
    Point(Point, Vec<Term>),
}

/// What flows back to one operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Flow {
    /// Nothing: the operand or the result is not a smooth number.
    Nothing,
    /// Zero: the result does not change with the operand, but for jumps.
    Zero,
    /// This term, summed over what was broadcast.
    Term(Term),
}

/// Which values a rule wants to see again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// A bit an input.
    pub inputs: u8,
    /// The result.
    pub output: bool,
}

impl Needs {
    /// Neither inputs nor the result.
    pub const NOTHING: Needs = Needs { inputs: 0, output: false };

    /// What either wants.
    pub fn and(self, other: Needs) -> Needs {
        Needs { inputs: self.inputs | other.inputs, output: self.output || other.output }
    }

    /// This input alone.
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
    /// Which operands and results the flow is made of.
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

macro_rules! operator {
    ($($trait:ident $method:ident $point:ident)*) => {$(
        impl<R: Into<Term>> $trait<R> for Term {
            type Output = Term;
            fn $method(self, right: R) -> Term {
                Term::Point(Point::$point, vec![self, right.into()])
            }
        }
    )*};
}

operator! { Add add Add Sub sub Subtract Mul mul Multiply Div div Divide }

impl Neg for Term {
    type Output = Term;
    fn neg(self) -> Term {
        unary(Point::Negative, self)
    }
}

fn unary(point: Point, x: Term) -> Term {
    Term::Point(point, vec![x])
}

fn select(condition: Term, yes: impl Into<Term>, no: impl Into<Term>) -> Term {
    Term::Point(Point::Where, vec![condition, yes.into(), no.into()])
}

fn compare(point: Point, a: Term, b: impl Into<Term>) -> Term {
    Term::Point(point, vec![a, b.into()])
}

/// What flows back to each operand of a pointwise op.
pub fn pointwise(point: Point) -> &'static [Flow] {
    static TABLE: LazyLock<Vec<Vec<Flow>>> = LazyLock::new(|| Point::ALL.iter().map(|p| flows(*p)).collect());
    &TABLE[point as usize]
}

fn flows(point: Point) -> Vec<Flow> {
    let (g, a, b, y) = (Term::Grad, Term::In(0), Term::In(1), Term::Out);
    let terms = |terms: Vec<Term>| terms.into_iter().map(Flow::Term).collect();
    // At a tie each side gets half, as the slopes on both sides say on average.
    let winner = |point: Point, a: Term, b: Term| {
        let (tie, wins) = (compare(Point::Equal, a.clone(), b.clone()), compare(point, a, b));
        select(tie, Term::Grad * 0.5, select(wins, Term::Grad, 0.0))
    };
    match point {
        Point::Copy | Point::Cast => terms(vec![g]),
        // Gradients flow to floats, and a complex number is none.
        Point::Real | Point::Imag => vec![Flow::Nothing],
        Point::Compose => vec![Flow::Nothing, Flow::Nothing],
        Point::Add => terms(vec![g.clone(), g]),
        Point::Subtract => terms(vec![g.clone(), -g]),
        Point::Multiply => terms(vec![g.clone() * b, g * a]),
        Point::MultiplyAdd => terms(vec![g.clone() * b, g.clone() * a, g]),
        Point::Divide => terms(vec![g.clone() / b.clone(), -(g / b.clone()) * (a / b)]),
        Point::Remainder => {
            let quotient = Term::Point(Point::FloorDivide, vec![a, b]);
            terms(vec![g.clone(), -(g * quotient)])
        }
        Point::Power => {
            let power = |x: Term, e: Term| Term::Point(Point::Power, vec![x, e]);
            let base = g.clone() * b.clone() * power(a.clone(), b.clone() - 1.0);
            let exponent = g * power(a.clone(), b.clone()) * unary(Point::Log, a.clone());
            terms(vec![
                select(compare(Point::Equal, b, 0.0), 0.0, base),
                select(compare(Point::Equal, a, 0.0), 0.0, exponent),
            ])
        }
        Point::Negative => terms(vec![-g]),
        Point::Abs => terms(vec![g * unary(Point::Sign, a)]),
        Point::Square => terms(vec![g * (a * 2.0)]),
        Point::Sqrt => terms(vec![g * 0.5 / y]),
        Point::Reciprocal => terms(vec![-(g * (y.clone() * y))]),
        Point::Exp => terms(vec![g * y]),
        Point::Log => terms(vec![g / a]),
        Point::Expm1 => terms(vec![g * (y + 1.0)]),
        Point::Log1p => terms(vec![g / (a + 1.0)]),
        Point::Erf => {
            let bell = unary(Point::Exp, -(a.clone() * a));
            terms(vec![g * (bell * std::f64::consts::FRAC_2_SQRT_PI)])
        }
        Point::Tanh => terms(vec![g * (Term::Number(1.0) - y.clone() * y)]),
        Point::Sigmoid => terms(vec![g * (y.clone() * (Term::Number(1.0) - y))]),
        Point::Relu => terms(vec![select(compare(Point::Greater, y, 0.0), g, 0.0)]),
        Point::Maximum => terms(vec![winner(Point::Greater, a.clone(), b.clone()), winner(Point::Less, a, b)]),
        Point::Minimum => terms(vec![winner(Point::Less, a.clone(), b.clone()), winner(Point::Greater, a, b)]),
        Point::Where => {
            let condition = Term::In(0);
            let (yes, no) = (select(condition.clone(), g.clone(), 0.0), select(condition, 0.0, g));
            vec![Flow::Nothing, Flow::Term(yes), Flow::Term(no)]
        }
        Point::Sign | Point::Floor | Point::Ceil | Point::Trunc | Point::Rint => vec![Flow::Zero],
        Point::FloorDivide => vec![Flow::Zero; 2],
        Point::Equal
        | Point::NotEqual
        | Point::Less
        | Point::LessEqual
        | Point::Greater
        | Point::GreaterEqual
        | Point::LogicalAnd
        | Point::LogicalOr
        | Point::LogicalXor
        | Point::BitwiseAnd
        | Point::BitwiseOr
        | Point::BitwiseXor => vec![Flow::Nothing; 2],
        Point::LogicalNot | Point::Invert | Point::IsNan | Point::IsInf | Point::IsFinite => vec![Flow::Nothing],
    }
}

/// Which values the rule of an op wants to see again for its operand `i`; `None` if nothing flows back to it.
pub fn needs(op: Op, i: usize) -> Option<Needs> {
    match op {
        Op::Point(point) => match &pointwise(point)[i] {
            Flow::Nothing => None,
            flow => Some(flow.needs()),
        },
        Op::Reduce(ReduceKind::Sum) => Some(Needs::NOTHING),
        Op::Reduce(ReduceKind::Prod) => Some(Needs::input(0)),
        Op::Reduce(ReduceKind::Max | ReduceKind::Min) => Some(Needs { inputs: 1, output: true }),
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
            let smooth = !matches!(row.class, Class::Compare | Class::Logic | Class::Bits | Class::Predicate);
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
