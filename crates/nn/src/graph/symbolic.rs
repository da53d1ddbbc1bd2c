//! Integers and numbers that may depend on the batch size.
//!
//! A number is `per_batch * batch + plus`. Extents, strides and offsets of networks have this form, and so have the counts
//! that means divide by.

use forerun_base::Scalar;

/// An integer that is linear in the batch size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Linear {
    pub(crate) per_batch: i64,
    pub(crate) plus: i64,
}

impl Linear {
    /// An integer that does not depend on the batch size.
    pub(crate) fn fixed(plus: i64) -> Linear {
        Linear { per_batch: 0, plus }
    }

    /// The value for a batch size; `None` if it overflows.
    pub(crate) fn at(self, batch: i64) -> Option<i64> {
        self.per_batch.checked_mul(batch)?.checked_add(self.plus)
    }

    /// The linear function through points `(batch, value)`; `None` if there is none with integer coefficients.
    pub(crate) fn through(points: &[(i64, i64)]) -> Option<Linear> {
        let (&(batch, value), rest) = points.split_first()?;
        let Some(&(other, further)) = rest.first() else { return Some(Linear::fixed(value)) };
        let (run, rise) = (other.checked_sub(batch)?, further.checked_sub(value)?);
        let per_batch = rise.checked_div(run).filter(|slope| slope.checked_mul(run) == Some(rise))?;
        let line = Linear { per_batch, plus: value.checked_sub(per_batch.checked_mul(batch)?)? };
        rest.iter().all(|(batch, value)| line.at(*batch) == Some(*value)).then_some(line)
    }
}

/// A float that is equal to another if the bits are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exact(pub(crate) f64);

impl PartialEq for Exact {
    fn eq(&self, other: &Exact) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

/// A number in place of an array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Bool(bool),
    Int(Linear),
    /// An integer above the maximum of [`Number::Int`].
    Large(u64),
    Float(Exact),
    /// A float with an integer value that may depend on the batch size.
    Whole(Linear),
    Complex(Exact, Exact),
}

/// Integers up to this one are exact as floats.
const MOST_WHOLE: f64 = 9_007_199_254_740_992.0;

impl Number {
    /// The number of a scalar. Floats with integer values may turn out to depend on the batch size.
    pub(crate) fn of(scalar: Scalar) -> Number {
        match scalar {
            Scalar::Bool(value) => Number::Bool(value),
            Scalar::Int(value) => Number::Int(Linear::fixed(value)),
            Scalar::Large(value) => Number::Large(value),
            Scalar::Float(value) => Number::of_float(value),
            Scalar::Complex(real, imaginary) => Number::Complex(Exact(real), Exact(imaginary)),
        }
    }

    fn of_float(value: f64) -> Number {
        let whole = value.trunc() == value && value.abs() <= MOST_WHOLE && !(value == 0.0 && value.is_sign_negative());
        if whole { Number::Whole(Linear::fixed(value as i64)) } else { Number::Float(Exact(value)) }
    }

    /// The scalar for a batch size; `None` if it overflows.
    pub(crate) fn at(self, batch: i64) -> Option<Scalar> {
        Some(match self {
            Number::Bool(value) => Scalar::Bool(value),
            Number::Int(value) => Scalar::Int(value.at(batch)?),
            Number::Large(value) => Scalar::Large(value),
            Number::Float(value) => Scalar::Float(value.0),
            Number::Whole(value) => Scalar::Float(value.at(batch)? as f64),
            Number::Complex(real, imaginary) => Scalar::Complex(real.0, imaginary.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_through_points() {
        assert_eq!(Linear::through(&[(2, 7), (3, 10), (5, 16)]), Some(Linear { per_batch: 3, plus: 1 }));
        assert_eq!(Linear::through(&[(2, 4), (3, 4), (5, 4)]), Some(Linear::fixed(4)));
        assert_eq!(Linear::through(&[(8, 4)]), Some(Linear::fixed(4)));
        // A square, a half rounded down, and a difference that overflows.
        assert_eq!(Linear::through(&[(2, 4), (3, 9), (5, 25)]), None);
        assert_eq!(Linear::through(&[(2, 1), (3, 1), (5, 2)]), None);
        assert_eq!(Linear::through(&[(2, i64::MIN), (3, i64::MAX)]), None);
        assert_eq!(Linear { per_batch: i64::MAX, plus: 1 }.at(2), None);
    }

    #[test]
    fn floats_keep_their_bits() {
        for value in [2.0, -0.0, 0.0, 0.1, f64::INFINITY, 1e300, -3.0] {
            let Some(Scalar::Float(again)) = Number::of(Scalar::Float(value)).at(7) else { panic!("{value}") };
            assert_eq!(again.to_bits(), value.to_bits());
        }
        assert!(matches!(Number::of(Scalar::Float(f64::NAN)), Number::Float(_)));
    }
}
