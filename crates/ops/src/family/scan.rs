//! Cumulative ops along an axis.

use crate::gradient::Needs;
use crate::routine::{
    AlongAxis, Attributes, ComplexGradient, Family, Flows, Given, GradientBuilder, family, invalid, mistyped,
};
use crate::samples::{COMPLEX, Look, NUMBERS, Sample, Values, call, x};
use forerun_base::DType::{self, Bool, C64, F32, F64, I32, I64};
use forerun_base::{Kind, Result};

family! {
    /// Cumulative ops.
    Scan {
        CumSum {
            name: "cumsum",
            inputs: [x],
            attributes: AlongAxis,
            fallible: false,
            doc: "cumulative sum along an axis",
        }
        CumProd {
            name: "cumprod",
            inputs: [x],
            attributes: AlongAxis,
            fallible: false,
            doc: "cumulative product along an axis",
        }
        /// Return the linear recurrence ``y[i] = x[i] + factors[i] * y[i - 1]`` along an axis; ``y[0]`` is ``x[0]``.
        ///
        /// Examples
        /// --------
        /// >>> from forerun import np, npx
        /// >>> npx.linear_scan(np.array([1.0, 1.0, 1.0]), np.array([0.0, 0.5, 0.5]))
        /// array([1.  , 1.5 , 1.75])
        Linear {
            name: "linear_scan",
            inputs: [x, factors],
            attributes: AlongAxis,
            fallible: false,
            doc: "linear recurrence along an axis: each element plus a factor times the previous result",
            python: npx,
            parameters: "x: ArrayLike, factors: ArrayLike, axis: SupportsIndex = -1",
            inputs_as: Common,
        }
        ArgCumMax {
            name: "argcummax",
            inputs: [x],
            attributes: AlongAxis,
            fallible: false,
            doc: "index of the largest element up to each position along an axis; the last one of equals",
        }
        ArgCumMin {
            name: "argcummin",
            inputs: [x],
            attributes: AlongAxis,
            fallible: false,
            doc: "index of the smallest element up to each position along an axis; the last one of equals",
        }
    }
}

impl Family for Scan {
    fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
        let (dtype, shape) = given[0];
        shape.axis(AlongAxis::read(attributes)?.axis)?;
        match self {
            Scan::ArgCumMax | Scan::ArgCumMin => Ok((DType::I64, shape)),
            Scan::Linear if !matches!(dtype.kind(), Kind::Float | Kind::Complex) => {
                mistyped(format!("not defined for {dtype}"))
            }
            Scan::Linear if given[0] != given[1] => {
                invalid(format!("factors are {} {}, not {dtype} {shape}", given[1].0, given[1].1))
            }
            _ if dtype == DType::Bool => mistyped("not defined for bool"),
            Scan::CumSum | Scan::CumProd | Scan::Linear => Ok(given[0]),
        }
    }

    fn cost(self, given: &[Given], _: &Given, _: &[i64]) -> usize {
        given[0].1.size().saturating_mul(2)
    }

    fn needs(self, i: usize) -> Option<Needs> {
        match self {
            Scan::CumSum => Some(Needs::NOTHING),
            Scan::CumProd => Some(Needs { inputs: 1, output: true }),
            Scan::Linear => Some(Needs { inputs: 2, output: i == 1 }),
            Scan::ArgCumMax | Scan::ArgCumMin => None,
        }
    }

    /// Each element contributes to all results from its own position on.
    fn gradient<B: GradientBuilder>(self, b: &B, attributes: &[i64]) -> Flows<B> {
        let axis = AlongAxis::read(attributes)?.axis;
        match self {
            Scan::CumSum => {
                let sums = b.routine(Scan::CumSum, &[&b.reverse(b.grad(), axis)?], AlongAxis { axis })?;
                Ok(vec![Some(b.reverse(&sums, axis)?)])
            }
            Scan::CumProd => {
                // The product of all elements before it, times the accumulated gradient of the products from it on.
                // This form has no division, so it is correct for zeros.
                let before = shifted(b, b.output(), axis, 1)?;
                Ok(vec![Some(b.times(&before, &linear_back(b, b.input(0), axis)?)?)])
            }
            Scan::Linear => {
                let back = linear_back(b, b.input(1), axis)?;
                let factors = b.if_wanted(1, || b.times(&back, &shifted(b, b.output(), axis, 0)?))?;
                Ok(vec![Some(back), factors])
            }
            Scan::ArgCumMax | Scan::ArgCumMin => unreachable!("indices are never on the tape"),
        }
    }

    fn complex_gradient(self) -> ComplexGradient {
        if self == Scan::CumSum { ComplexGradient::Same } else { ComplexGradient::Conjugate }
    }

    fn takes_complex(self) -> bool {
        matches!(self, Scan::CumSum | Scan::CumProd | Scan::Linear)
    }

    fn samples() -> Vec<Sample> {
        let mut all = Vec::new();
        for op in ["cumsum", "cumprod"] {
            let scan = |axis: i64| call(op).with("axis", axis).of(NUMBERS);
            for axis in [0, 1, -1] {
                for input in
                    [x([3, 4, 5]), x([4, 5]).look(Look::Transposed), x([3, 4]).look(Look::Backwards), x([0, 3])]
                {
                    all.push(scan(axis).on([input]));
                }
            }
            // Complete blocks, several lines side by side, and a partial block.
            all.extend([x([5000]), x([1100, 3])].map(|input| scan(0).on([input]).of([I32, I64])));
            all.push(scan(1).on([x([3, 4, 5])]).of(COMPLEX));
            all.push(scan(-1).on([x([4, 5]).look(Look::Backwards)]).of(COMPLEX));
            all.push(scan(0).on([x([0, 3])]).of(COMPLEX));
            all.push(scan(1).on([x([2])]).fails(format!("{op}: axis 1 is out of bounds")));
            all.push(scan(0).on([x([2])]).of([Bool]).fails(format!("{op}: not defined for bool")));
        }
        for op in ["argcummax", "argcummin"] {
            let scan = |axis: i64| call(op).with("axis", axis);
            for axis in [0, -1] {
                all.push(scan(axis).on([x([3, 4, 5])]));
                all.push(scan(axis).on([x([4, 5]).look(Look::Transposed)]));
            }
            all.push(scan(0).on([x([40]).values(Values::Special)]));
            all.push(scan(1).on([x([2])]).fails(format!("{op}: axis 1 is out of bounds")));
            all.push(scan(0).on([x([3])]).of([C64]).fails(format!("{op}: not defined for complex64")));
        }
        let linear = |axis: i64| call("linear_scan").with("axis", axis);
        for axis in [0, 1, -1] {
            all.push(linear(axis).on([x([3, 4, 2]), x([3, 4, 2]).look(Look::Backwards)]).of([F32, F64]));
        }
        all.push(linear(1).on([x([3, 4]), x([3, 4])]).of(COMPLEX));
        let misfit = linear(0).on([x([3]), x([2])]).of([F32]);
        all.push(misfit.fails("linear_scan: factors are float32 (2,), not float32 (3,)"));
        all.push(linear(0).on([x([3]), x([3])]).of([I32]).fails("linear_scan: not defined for int32"));
        all
    }
}

/// The gradient of a linear scan: the same recurrence from the end, with the factors shifted by one position.
fn linear_back<B: GradientBuilder>(b: &B, factors: &B::Value, axis: isize) -> Result<B::Value> {
    let later = shifted(b, &b.reverse(factors, axis)?, axis, 0)?;
    let back = b.routine(Scan::Linear, &[&b.reverse(b.grad(), axis)?, &later], AlongAxis { axis })?;
    b.reverse(&back, axis)
}

/// Shifts the elements by one position along an axis and puts a constant in the first place.
fn shifted<B: GradientBuilder>(b: &B, x: &B::Value, axis: isize, first: i64) -> Result<B::Value> {
    let (dtype, mut shape) = b.describe(x);
    let axis = shape.axis(axis)?;
    if shape[axis] == 0 {
        return Ok(x.clone());
    }
    shape.dims_mut()[axis] = 1;
    b.concatenate(&[&b.full(&shape, first, dtype)?, &b.slice(x, axis, None, Some(-1), 1)?], axis as isize)
}
