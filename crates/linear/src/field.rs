//! What can be done to matrices, for each type of element: the functions of this room, compiled here and nowhere else.

use crate::element::{Complex, Element};
use crate::failure::Failure;
use crate::lu::Triangle;
use crate::orthogonal::Parts;
use crate::spectral::Half;
use crate::{lu, orthogonal, spectral};

/// An element of a matrix. Matrices are square, of `n` rows, where nothing else is said.
pub trait Field: Element {
    /// The factor L of `L L*`, or its adjoint, of a matrix of which one half is read.
    fn cholesky(a: &[Self], n: usize, upper: bool, out: &mut [Self]) -> Result<(), Failure>;

    /// The determinant.
    fn det(a: &[Self], n: usize) -> Self;

    /// The direction of the determinant, and the logarithm of its modulus.
    fn slogdet(a: &[Self], n: usize) -> (Self, Self);

    /// The inverse.
    fn inverse(a: &[Self], n: usize, out: &mut [Self]) -> Result<(), Failure>;

    /// The solutions of `a x = b` for every column of `b`.
    fn solve(a: &[Self], n: usize, b: &[Self], columns: usize, out: &mut [Self]) -> Result<(), Failure>;

    /// The solutions of `a x = b` for every column of `b`, of a matrix of which one half is read.
    fn solve_triangular(
        a: &[Self],
        n: usize,
        triangle: Triangle,
        b: &[Self],
        columns: usize,
        out: &mut [Self],
    ) -> Result<(), Failure>;

    /// `q r` of a matrix of `m` rows and `n` columns.
    fn qr(a: &[Self], m: usize, n: usize, parts: Parts, q: &mut [Self], r: &mut [Self]);

    /// `u s vh` of a matrix of `m` rows and `n` columns: the singular values, largest first, and both factors.
    fn svd(
        a: &[Self],
        size: (usize, usize),
        complete: bool,
        u: &mut [Self],
        s: &mut [Self],
        vh: &mut [Self],
    ) -> Result<(), Failure>;

    /// The singular values of a matrix of `m` rows and `n` columns, largest first.
    fn singular_values(a: &[Self], m: usize, n: usize, out: &mut [Self::Part]) -> Result<(), Failure>;

    /// Eigenvalues, smallest first, and eigenvectors as columns, of a matrix that equals its adjoint.
    fn eigh(a: &[Self], n: usize, half: Half, values: &mut [Self], vectors: &mut [Self]) -> Result<(), Failure>;

    /// Eigenvalues, smallest first, of a matrix that equals its adjoint.
    fn eigvalsh(a: &[Self], n: usize, half: Half, values: &mut [Self::Part]) -> Result<(), Failure>;

    /// Eigenvalues, and eigenvectors as columns of length one, of any matrix. Without room for vectors, none are found.
    fn eig(
        a: &[Self],
        n: usize,
        values: &mut [Complex<Self::Part>],
        vectors: Option<&mut [Complex<Self::Part>]>,
    ) -> Result<(), Failure>;
}

macro_rules! fields {
    ($($type:ty)*) => {$(
        impl Field for $type {
            fn cholesky(a: &[Self], n: usize, upper: bool, out: &mut [Self]) -> Result<(), Failure> {
                lu::cholesky(a, n, upper, out)
            }

            fn det(a: &[Self], n: usize) -> Self {
                lu::det(a, n)
            }

            fn slogdet(a: &[Self], n: usize) -> (Self, Self) {
                lu::slogdet(a, n)
            }

            fn inverse(a: &[Self], n: usize, out: &mut [Self]) -> Result<(), Failure> {
                lu::inverse(a, n, out)
            }

            fn solve(a: &[Self], n: usize, b: &[Self], columns: usize, out: &mut [Self]) -> Result<(), Failure> {
                lu::solve(a, n, b, columns, out)
            }

            fn solve_triangular(
                a: &[Self],
                n: usize,
                triangle: Triangle,
                b: &[Self],
                columns: usize,
                out: &mut [Self],
            ) -> Result<(), Failure> {
                lu::solve_triangular(a, n, triangle, b, columns, out)
            }

            fn qr(a: &[Self], m: usize, n: usize, parts: Parts, q: &mut [Self], r: &mut [Self]) {
                orthogonal::qr(a, m, n, parts, q, r)
            }

            fn svd(
                a: &[Self],
                size: (usize, usize),
                complete: bool,
                u: &mut [Self],
                s: &mut [Self],
                vh: &mut [Self],
            ) -> Result<(), Failure> {
                orthogonal::svd(a, size, complete, u, s, vh)
            }

            fn singular_values(a: &[Self], m: usize, n: usize, out: &mut [Self::Part]) -> Result<(), Failure> {
                orthogonal::singular_values(a, m, n, out)
            }

            fn eigh(
                a: &[Self],
                n: usize,
                half: Half,
                values: &mut [Self],
                vectors: &mut [Self],
            ) -> Result<(), Failure> {
                spectral::eigh(a, n, half, values, vectors)
            }

            fn eigvalsh(a: &[Self], n: usize, half: Half, values: &mut [Self::Part]) -> Result<(), Failure> {
                spectral::eigvalsh(a, n, half, values)
            }

            fn eig(
                a: &[Self],
                n: usize,
                values: &mut [Complex<Self::Part>],
                vectors: Option<&mut [Complex<Self::Part>]>,
            ) -> Result<(), Failure> {
                spectral::eig(a, n, values, vectors)
            }
        }
    )*};
}

fields!(f32 f64 Complex<f64>);
