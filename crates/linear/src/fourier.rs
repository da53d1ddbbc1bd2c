//! One-dimensional Fourier transforms, unnormalised.

use crate::element::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftNum, FftPlanner};
use std::sync::Arc;

/// A float type with Fourier transforms.
pub trait Line: FftNum + Default {
    /// The transform of `n` complex numbers, forward or inverse.
    fn transform(n: usize, back: bool) -> Transform<Self>;

    /// The transform of `n` real numbers. It computes the first `n / 2 + 1` points; the others are their conjugates.
    fn forward(n: usize) -> Forward<Self>;

    /// The inverse of [`Line::forward`]: from the first half of the spectrum to `n` real numbers.
    fn backward(n: usize) -> Backward<Self>;
}

/// A complex-to-complex transform, in place.
pub struct Transform<T>(Arc<dyn Fft<T>>);

/// A real-to-complex transform.
pub struct Forward<T>(Arc<dyn RealToComplex<T>>);

/// A complex-to-real transform.
pub struct Backward<T>(Arc<dyn ComplexToReal<T>>);

/// Scratch memory of transforms, reused from line to line.
#[derive(Default)]
pub struct Scratch<T>(Vec<Complex<T>>);

impl<T: Line> Scratch<T> {
    fn of(&mut self, size: usize) -> &mut [Complex<T>] {
        if self.0.len() < size {
            self.0.resize(size, Complex { re: T::default(), im: T::default() });
        }
        &mut self.0[..size]
    }
}

impl<T: Line> Transform<T> {
    /// Transforms a line in place.
    pub fn run(&self, line: &mut [Complex<T>], scratch: &mut Scratch<T>) {
        self.0.process_with_scratch(line, scratch.of(self.0.get_inplace_scratch_len()));
    }
}

impl<T: Line> Forward<T> {
    /// Transforms a line. The contents of `line` are destroyed.
    pub fn run(&self, line: &mut [T], out: &mut [Complex<T>], scratch: &mut Scratch<T>) {
        let done = self.0.process_with_scratch(line, out, scratch.of(self.0.get_scratch_len()));
        done.expect("lines are as long as the transform");
    }
}

impl<T: Line> Backward<T> {
    /// Transforms a line. The contents of `line` are destroyed. Imaginary parts of the points that must be real are
    /// ignored.
    pub fn run(&self, line: &mut [Complex<T>], out: &mut [T], scratch: &mut Scratch<T>) {
        line[0].im = T::default();
        if out.len().is_multiple_of(2) {
            line[out.len() / 2].im = T::default();
        }
        let done = self.0.process_with_scratch(line, out, scratch.of(self.0.get_scratch_len()));
        done.expect("lines are as long as the transform");
    }
}

macro_rules! lines {
    ($($float:ty)*) => {$(
        impl Line for $float {
            fn transform(n: usize, back: bool) -> Transform<$float> {
                let mut planner = FftPlanner::new();
                Transform(if back { planner.plan_fft_inverse(n) } else { planner.plan_fft_forward(n) })
            }

            fn forward(n: usize) -> Forward<$float> {
                Forward(RealFftPlanner::new().plan_fft_forward(n))
            }

            fn backward(n: usize) -> Backward<$float> {
                Backward(RealFftPlanner::new().plan_fft_inverse(n))
            }
        }
    )*};
}

lines!(f32 f64);
