//! Fourier transforms along an axis.

use crate::Point;
use crate::gradient::Needs;
use crate::routine::{Attributes, Family, Flows, Given, GradientBuilder, attributes, family, invalid, mistyped};
use crate::samples::{Look, Sample, call, x};
use forerun_base::DType::{C64, C128, F32, F64, I64};
use forerun_base::{DType, Kind, Result, Shape};

family! {
    /// Fourier transforms.
    Fft {
        Complete {
            name: "fft",
            inputs: [x],
            attributes: Transform,
            fallible: false,
            doc: "Fourier transform of complex numbers, forward or inverse",
        }
        Half {
            name: "rfft",
            inputs: [x],
            attributes: HalfTransform,
            fallible: false,
            doc: "Fourier transform of real numbers, without the redundant half",
        }
        Back {
            name: "irfft",
            inputs: [x],
            attributes: BackTransform,
            fallible: false,
            doc: "inverse of rfft: n real numbers from half of their spectrum",
        }
    }
}

attributes! {
    /// The attributes of `fft`.
    Transform {
        /// The axis.
        axis: isize,
        /// Whether it is the inverse transform.
        back: bool,
        /// See [`factor`].
        scale: i64,
    }
    /// The attributes of `rfft`.
    HalfTransform {
        /// The axis.
        axis: isize,
        /// See [`factor`].
        scale: i64,
    }
    /// The attributes of `irfft`.
    BackTransform {
        /// The axis.
        axis: isize,
        /// The number of real elements along the axis of the result.
        n: i64,
        /// See [`factor`].
        scale: i64,
    }
}

/// The scale factor for `n` points: 1 if `scale` is 0, `1 / n` if it is 1, `1 / sqrt(n)` if it is 2.
pub fn factor(scale: i64, n: usize) -> f64 {
    match scale {
        1 => 1.0 / n as f64,
        2 => 1.0 / (n as f64).sqrt(),
        _ => 1.0,
    }
}

impl Family for Fft {
    fn infer(self, given: &[Given], attributes: &[i64]) -> Result<Given> {
        let (dtype, shape) = given[0];
        let fits = match self {
            Fft::Complete | Fft::Back => dtype.kind() == Kind::Complex,
            Fft::Half => matches!(dtype, DType::F32 | DType::F64),
        };
        if !fits {
            return mistyped(format!("not defined for {dtype}"));
        }
        let (axis, n) = match self {
            Fft::Complete => (Transform::read(attributes)?.axis, None),
            Fft::Half => (HalfTransform::read(attributes)?.axis, None),
            Fft::Back => BackTransform::read(attributes).map(|of| (of.axis, Some(of.n)))?,
        };
        let axis = shape.axis(axis)?;
        let n = n.unwrap_or(shape[axis] as i64);
        if n < 1 {
            return invalid(format!("cannot transform {n} points: {shape}"));
        }
        let n = n as usize;
        let mut dims = shape.to_vec();
        let result = match self {
            Fft::Complete => dtype,
            Fft::Half => {
                dims[axis] = n / 2 + 1;
                dtype.to_complex()
            }
            Fft::Back if dims[axis] != n / 2 + 1 => {
                return invalid(format!("{} points are not the first half of {n}: {shape}", dims[axis]));
            }
            Fft::Back => {
                dims[axis] = n;
                dtype.to_real()
            }
        };
        Ok((result, Shape::new(&dims)?))
    }

    fn cost(self, given: &[Given], out: &Given, _: &[i64]) -> usize {
        let size = given[0].1.size().max(out.1.size());
        size.saturating_mul(4 + size.max(2).ilog2() as usize / 2)
    }

    fn needs(self, _: usize) -> Option<Needs> {
        // The transforms are linear.
        Some(Needs::NOTHING)
    }

    /// The adjoint of each transform.
    fn gradient<B: GradientBuilder>(self, b: &B, attributes: &[i64]) -> Flows<B> {
        let (grad, shape) = (b.grad(), b.given(0).1);
        let dtype = b.describe(grad).0;
        let back = match self {
            Fft::Complete => {
                let Transform { axis, back, scale } = Transform::read(attributes)?;
                b.routine(Fft::Complete, &[grad], Transform { axis, back: !back, scale })?
            }
            Fft::Half => {
                // The gradient is padded with zeros for the omitted half of the spectrum; the real part of the
                // transform is taken.
                let HalfTransform { axis, scale } = HalfTransform::read(attributes)?;
                let axis = shape.axis(axis)?;
                let mut rest = b.shape(grad);
                rest.dims_mut()[axis] = shape[axis] - rest[axis];
                let whole = b.concatenate(&[grad, &b.full(&rest, 0, dtype)?], axis as isize)?;
                let transform = Transform { axis: axis as isize, back: true, scale };
                b.pointwise(Point::Real, &[(&b.routine(Fft::Complete, &[&whole], transform)?).into()])?
            }
            Fft::Back => {
                // Every point of the half spectrum also stands for its conjugate, except for the first and, if `n` is
                // even, the last one.
                let BackTransform { axis, n, scale } = BackTransform::read(attributes)?;
                let n = n as usize;
                let found = b.routine(Fft::Half, &[grad], HalfTransform { axis, scale })?;
                let weight = |count: usize, value: i64| b.full(&Shape::of(&[count]), value, dtype);
                let (twice, last) = ((n - 1) / 2, n / 2 - (n - 1) / 2);
                let weights = b.concatenate(&[&weight(1, 1)?, &weight(twice, 2)?, &weight(last, 1)?], 0)?;
                let mut dims = vec![1; b.shape(&found).rank()];
                dims[shape.axis(axis)?] = (n / 2 + 1) as isize;
                b.times(&found, &b.reshape(&weights, &dims)?)?
            }
        };
        Ok(vec![Some(back)])
    }

    fn takes_complex(self) -> bool {
        true
    }

    fn samples() -> Vec<Sample> {
        let mut all = Vec::new();
        let fft = |axis: i64, back: bool, scale: i64| {
            call("fft").with("axis", axis).with("back", back).with("scale", scale).of([C64, C128])
        };
        let rfft = |axis: i64, scale: i64| call("rfft").with("axis", axis).with("scale", scale).of([F32, F64]);
        let irfft = |axis: i64, n: i64, scale: i64| {
            call("irfft").with("axis", axis).with("n", n).with("scale", scale).of([C64, C128])
        };
        for scale in [0, 1, 2] {
            for back in [false, true] {
                all.push(fft(0, back, scale).on([x([8])]));
                all.push(fft(1, back, scale).on([x([3, 5])]));
            }
            all.push(rfft(0, scale).on([x([9])]));
            all.push(rfft(-2, scale).on([x([6, 3])]));
            all.push(irfft(0, 8, scale).on([x([5])]));
            all.push(irfft(-1, 9, scale).on([x([2, 5])]));
        }
        all.push(fft(0, false, 0).on([x([2, 4, 3]).look(Look::Transposed)]));
        all.push(fft(1, false, 0).on([x([3, 2]).look(Look::Backwards)]));
        all.push(rfft(0, 0).on([x([3, 4]).look(Look::Transposed)]));
        all.push(rfft(0, 0).on([x([3, 0])]));
        all.push(irfft(1, 3, 0).on([x([0, 2])]));
        all.push(fft(0, false, 0).on([x([0])]).fails("fft: cannot transform 0 points: (0,)"));
        all.push(rfft(0, 0).on([x([])]).fails("rfft: axis 0 is out of bounds"));
        all.push(irfft(0, 2, 0).on([x([2])]).of([F64]).fails("irfft: not defined for float64"));
        for dtype in [F32, I64] {
            all.push(fft(0, false, 0).on([x([2])]).of([dtype]).fails(format!("fft: not defined for {dtype}")));
        }
        for dtype in [I64, C64] {
            all.push(rfft(0, 0).on([x([2])]).of([dtype]).fails(format!("rfft: not defined for {dtype}")));
        }
        all.push(irfft(0, 8, 0).on([x([3])]).fails("irfft: 3 points are not the first half of 8: (3,)"));
        all
    }
}
