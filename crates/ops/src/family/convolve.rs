//! Convolution of two vectors.

use crate::gradient::Needs;
use crate::routine::{
    Attributes, ComplexGradient, Family, Flows, Given, GradientBuilder, attributes, family, invalid, mistyped,
};
use crate::samples::{COMPLEX, Look, Sample, call, x};
use forerun_base::DType::{Bool, I8, I32, I64};
use forerun_base::{Result, Shape};

family! {
    /// Slices of a convolution. Elements outside of the full convolution are zero, so the gradient of a convolution is
    /// a convolution as well.
    Convolve {
        Part {
            name: "convolve",
            inputs: [x, y],
            attributes: Window,
            fallible: false,
            doc: "a range of the discrete convolution of two vectors",
        }
    }
}

attributes! {
    /// The range of the full convolution that is computed.
    Window {
        /// The index of the first element.
        first: i64,
        /// The number of elements.
        count: i64,
    }
}

/// Multiply-adds per nanosecond.
const TOGETHER: usize = 16;

impl Family for Convolve {
    fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
        let ((dtype, x), (other, y)) = (given[0], given[1]);
        if x.rank() != 1 || y.rank() != 1 {
            return invalid(format!("needs two vectors: {x} x {y}"));
        }
        if dtype != other {
            return mistyped(format!("dtypes differ: {dtype} and {other}"));
        }
        let count = Window::read(attributes)?.count;
        let count = usize::try_from(count).or_else(|_| invalid(format!("count must not be negative, got {count}")))?;
        Ok((dtype, Shape::new(&[count])?.checked()?))
    }

    fn cost(self, given: &[Given], out: &Given, _: &[i64]) -> usize {
        let taps = given[0].1.size().min(given[1].1.size());
        out.1.size().saturating_mul(1 + taps / TOGETHER)
    }

    fn needs(self, i: usize) -> Option<Needs> {
        Some(Needs::input(1 - i as u8))
    }

    /// The gradient for each vector is a convolution with the other one, reversed.
    fn gradient<B: GradientBuilder>(self, b: &B, attributes: &[i64]) -> Flows<B> {
        let first = Window::read(attributes)?.first;
        let length = |i: usize| b.given(i).1.size() as i64;
        let back = |i: usize| {
            b.if_wanted(i, || {
                let other = 1 - i;
                // In each result `o`, element `k` of one vector is multiplied by element `first + o - k` of the other.
                let window = Window { first: length(other) - 1 - first, count: length(i) };
                b.routine(self, &[b.grad(), &b.reverse(b.input(other), 0)?], window)
            })
        };
        Ok(vec![back(0)?, back(1)?])
    }

    fn complex_gradient(self) -> ComplexGradient {
        ComplexGradient::Conjugate
    }

    fn takes_complex(self) -> bool {
        true
    }

    fn samples() -> Vec<Sample> {
        let mut all = Vec::new();
        let part = |first: i64, count: i64| call("convolve").with("first", first).with("count", count);
        for (n, m) in [(9, 4), (4, 9), (1, 1), (300, 70), (40, 41)] {
            let full = (n + m - 1) as i64;
            for (first, count) in [(0, full), (m as i64 - 1, 3), (-3, full + 9)] {
                let sample = part(first, count).on([x([n]), x([m])]);
                // Other implementations add long float sums in another order, so compare those for integers only.
                all.push(if n < 10 { sample } else { sample.of([Bool, I8, I32, I64]) });
            }
        }
        all.push(part(0, 602).on([x([300]).look(Look::Backwards), x([303]).look(Look::Backwards)]).of([I64]));
        all.push(part(0, 12).on([x([9]), x([4])]).of(COMPLEX));
        all.push(part(-1, 3).on([x([0]), x([3])]));
        all.push(part(0, 0).on([x([5]), x([3])]));
        all.push(part(0, 4).on([x([2, 2]), x([3])]).fails("convolve: needs two vectors: (2, 2) x (3,)"));
        all.push(part(0, -1).on([x([2]), x([3])]).fails("convolve: count must not be negative, got -1"));
        all
    }
}
