//! Element types of matrices: real and complex floats.

use crate::Failure;
use faer::MatRef;
use faer::traits::{ComplexField, RealField};

/// A complex number, stored as two floats: real part, then imaginary part.
pub type Complex<R> = faer::complex::Complex<R>;

/// An element of a matrix: a float or a complex number.
pub trait Element: ComplexField<Real = Self::Part> + Copy + Default + Send + Sync + 'static {
    /// The float type of the real part.
    type Part: RealField + Copy + Default + Send + Sync + 'static;

    /// One.
    const ONE: Self;

    /// NaN.
    const NAN: Self;

    /// Converts a real number.
    fn from_real(part: Self::Part) -> Self;

    /// The real part.
    fn real_part(self) -> Self::Part;

    /// The complex conjugate.
    fn conjugate(self) -> Self;

    /// The absolute value.
    fn modulus(self) -> Self::Part;

    /// The natural logarithm of the absolute value.
    fn ln_modulus(self) -> Self;

    /// `self / |self|`, the unit-modulus sign.
    fn phase(self) -> Self;

    /// Whether the number is finite.
    fn finite(self) -> bool;

    /// The product.
    fn times(self, other: Self) -> Self;

    /// The sum.
    fn plus(self, other: Self) -> Self;

    /// A power of two to scale the elements by, and its inverse, if the largest modulus is so large or so small that
    /// squares would overflow or underflow. `None` if no scaling is needed.
    fn range_scale(largest: Self::Part) -> Option<(Self, Self::Part)>;
}

macro_rules! elements {
    ($($float:ty)*) => {$(
        impl Element for $float {
            type Part = $float;
            const ONE: $float = 1.0;
            const NAN: $float = <$float>::NAN;

            fn from_real(part: $float) -> $float {
                part
            }

            fn real_part(self) -> $float {
                self
            }

            fn conjugate(self) -> $float {
                self
            }

            fn modulus(self) -> $float {
                self.abs()
            }

            fn ln_modulus(self) -> $float {
                self.abs().ln()
            }

            fn phase(self) -> $float {
                self.signum()
            }

            fn finite(self) -> bool {
                self.is_finite()
            }

            fn times(self, other: $float) -> $float {
                self * other
            }

            fn plus(self, other: $float) -> $float {
                self + other
            }

            fn range_scale(largest: $float) -> Option<($float, $float)> {
                let most = <$float>::MAX_EXP - 2;
                let exponent = (largest.log2() as i32).clamp(-most, most);
                let far = largest > 0.0 && exponent.abs() > <$float>::MAX_EXP / 4;
                let power = |n: i32| <$float as From<f32>>::from(2.0f32).powi(n);
                far.then(|| (power(-exponent), power(exponent)))
            }
        }

        impl Element for Complex<$float> {
            type Part = $float;
            const ONE: Complex<$float> = Complex { re: 1.0, im: 0.0 };
            const NAN: Complex<$float> = Complex { re: <$float>::NAN, im: <$float>::NAN };

            fn from_real(part: $float) -> Complex<$float> {
                Complex { re: part, im: 0.0 }
            }

            fn real_part(self) -> $float {
                self.re
            }

            fn conjugate(self) -> Complex<$float> {
                Complex { re: self.re, im: -self.im }
            }

            fn modulus(self) -> $float {
                self.re.hypot(self.im)
            }

            fn ln_modulus(self) -> Complex<$float> {
                Element::from_real(self.modulus().ln())
            }

            fn phase(self) -> Complex<$float> {
                let modulus = self.modulus();
                Complex { re: self.re / modulus, im: self.im / modulus }
            }

            fn finite(self) -> bool {
                self.re.is_finite() && self.im.is_finite()
            }

            fn times(self, other: Complex<$float>) -> Complex<$float> {
                self * other
            }

            fn plus(self, other: Complex<$float>) -> Complex<$float> {
                self + other
            }

            fn range_scale(largest: $float) -> Option<(Complex<$float>, $float)> {
                <$float>::range_scale(largest).map(|(factor, back)| (Complex::from_real(factor), back))
            }
        }
    )*};
}

elements!(f32 f64);

/// Fails if any element is infinite or NaN, because the iterations would not converge.
pub(crate) fn all_finite<T: Element>(a: &[T]) -> Result<(), Failure> {
    if a.iter().all(|x| x.finite()) { Ok(()) } else { Err(Failure::NotFinite) }
}

/// Writes a matrix in row-major order.
pub(crate) fn write<T: Element>(from: MatRef<'_, T>, to: &mut [T]) {
    let columns = from.ncols();
    for (at, place) in to.iter_mut().enumerate() {
        *place = from[(at / columns, at % columns)];
    }
}

/// Writes the adjoint (conjugate transpose) of a matrix in row-major order.
pub(crate) fn write_adjoint<T: Element>(from: MatRef<'_, T>, to: &mut [T]) {
    let columns = from.nrows();
    for (at, place) in to.iter_mut().enumerate() {
        *place = from[(at % columns, at / columns)].conjugate();
    }
}

/// The sign (`x / |x|`) of the first element in a column whose modulus is at least half of the column's largest.
///
/// The vectors of a decomposition are unique only up to such a factor. Making this element positive keeps the result
/// continuous under small changes of the matrix, so finite differences of it are meaningful.
pub(crate) fn leading_phase<T: Element>(a: &[T], rows: usize, columns: usize, column: usize) -> T {
    let at = |i: usize| a[i * columns + column];
    let longest = (0..rows).fold(T::Part::default(), |most, i| {
        let modulus = at(i).modulus();
        if modulus > most { modulus } else { most }
    });
    (0..rows).map(at).find(|x| x.modulus() + x.modulus() >= longest).map_or(T::ONE, T::phase)
}

/// Multiplies a column by the conjugate of `phase`.
pub(crate) fn remove_phase<T: Element>(a: &mut [T], rows: usize, columns: usize, column: usize, phase: T) {
    for i in 0..rows {
        a[i * columns + column] = a[i * columns + column].times(phase.conjugate());
    }
}
