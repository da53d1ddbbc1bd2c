//! Terms of update rules: arrays with operators, so that a rule reads like its formula. A term keeps the first error,
//! which the write of the term returns.

use crate::terms::{one, two};
use forerun_array::{Arg, Array, ops};
use forerun_base::{DType, Error, Loc, Result};
use forerun_ops::{Point, ReduceKind};
use std::ops::{Add, Div, Mul, Sub};

/// An array or an error, and the user's line.
#[derive(Clone)]
pub(super) struct Term {
    pub(super) made: Result<Array>,
    pub(super) loc: Loc,
}

/// An argument of an operator on terms.
pub(super) trait Operand {
    fn arg(&self) -> std::result::Result<Arg<'_>, &Error>;
}

impl Operand for f64 {
    fn arg(&self) -> std::result::Result<Arg<'_>, &Error> {
        Ok((*self).into())
    }
}

impl Operand for Term {
    fn arg(&self) -> std::result::Result<Arg<'_>, &Error> {
        self.made.as_ref().map(Arg::Array)
    }
}

impl Operand for &Term {
    fn arg(&self) -> std::result::Result<Arg<'_>, &Error> {
        (*self).arg()
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $point:ident),*) => {$(
        impl<B: Operand> $trait<B> for &Term {
            type Output = Term;

            fn $method(self, other: B) -> Term {
                self.with(Point::$point, &other)
            }
        }

        impl<B: Operand> $trait<B> for Term {
            type Output = Term;

            fn $method(self, other: B) -> Term {
                self.with(Point::$point, &other)
            }
        }
    )*};
}

operators!(Add add Add, Sub sub Subtract, Mul mul Multiply, Div div Divide);

impl Term {
    pub(super) fn new(array: &Array, loc: Loc) -> Term {
        Term { made: Ok(array.clone()), loc }
    }

    fn with(&self, point: Point, other: &dyn Operand) -> Term {
        self.map(|x| two(point, x, other.arg().map_err(Clone::clone)?, self.loc))
    }

    fn map(&self, f: impl FnOnce(&Array) -> Result<Array>) -> Term {
        Term { made: self.made.as_ref().map_err(Clone::clone).and_then(f), loc: self.loc }
    }

    fn point(&self, point: Point) -> Term {
        self.map(|x| one(point, x, self.loc))
    }

    pub(super) fn abs(&self) -> Term {
        self.point(Point::Abs)
    }

    pub(super) fn sign(&self) -> Term {
        self.point(Point::Sign)
    }

    pub(super) fn sqrt(&self) -> Term {
        self.point(Point::Sqrt)
    }

    pub(super) fn square(&self) -> Term {
        self.point(Point::Square)
    }

    pub(super) fn maximum(&self, other: impl Operand) -> Term {
        self.with(Point::Maximum, &other)
    }

    pub(super) fn minimum(&self, other: impl Operand) -> Term {
        self.with(Point::Minimum, &other)
    }

    /// Limits the elements to between `-limit` and `limit`.
    pub(super) fn clip(&self, limit: f64) -> Term {
        self.minimum(limit).maximum(-limit)
    }

    /// True for every element. It is computed from the elements, so that it fails where the term does.
    pub(super) fn always(&self) -> Term {
        self.point(Point::IsNan).map(|x| two(Point::GreaterEqual, x, false, self.loc))
    }

    /// This where the term is positive, else 1.
    pub(super) fn or_one_unless_positive(&self, term: &Term) -> Term {
        let positive = term.map(|x| two(Point::Greater, x, 0.0, self.loc));
        positive.map(|positive| {
            let this = self.arg().map_err(Clone::clone)?;
            ops::pointwise(Point::Where, &[positive.into(), this, 1.0.into()], self.loc)
        })
    }

    /// The mean along the second axis, which is kept with extent 1.
    pub(super) fn row_means(&self) -> Term {
        self.map(|x| ops::mean(x, Some(&[1]), true, self.loc))
    }

    /// The root of the sum of squares; for half floats in float32, where squares do not overflow.
    pub(super) fn norm(&self) -> Term {
        let loc = self.loc;
        let sum = |x: &Array| ops::reduce(ReduceKind::Sum, &one(Point::Square, x, loc)?, None, false, loc);
        self.cast(self.made.as_ref().map_or(DType::F32, |x| x.dtype().carrier())).map(sum).sqrt()
    }

    pub(super) fn cast(&self, dtype: DType) -> Term {
        self.map(|x| if x.dtype() == dtype { Ok(x.clone()) } else { ops::cast(x, dtype, self.loc) })
    }
}
