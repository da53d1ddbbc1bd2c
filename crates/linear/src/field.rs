//! The entry points for each element type. Instantiating the generic functions here means that they are compiled in
//! this crate only.

use crate::element::{Complex, Element};
use crate::failure::Failure;
use crate::lu::Triangle;
use crate::orthogonal::Parts;
use crate::spectral::Half;
use crate::{lu, orthogonal, spectral};

/// An element type with all matrix operations. Unless stated otherwise, matrices are square with `n` rows.
pub trait Field: Element {
    /// The Cholesky factor `L` with `a = L L*`, or `L*` if `upper`. Only that triangle of `a` is read.
    fn cholesky(a: &[Self], n: usize, upper: bool, out: &mut [Self]) -> Result<(), Failure>;

    /// The determinant.
    fn det(a: &[Self], n: usize) -> Self;

    /// The sign of the determinant and the logarithm of its absolute value.
    fn slogdet(a: &[Self], n: usize) -> (Self, Self);

    /// The inverse.
    fn inverse(a: &[Self], n: usize, out: &mut [Self]) -> Result<(), Failure>;

    /// Solves `a x = b` for every column of `b`.
    fn solve(a: &[Self], n: usize, b: &[Self], columns: usize, out: &mut [Self]) -> Result<(), Failure>;

    /// Solves `a x = b` for every column of `b`, where `a` is triangular. Only that triangle is read.
    fn solve_triangular(
        a: &[Self],
        n: usize,
        triangle: Triangle,
        b: &[Self],
        columns: usize,
        out: &mut [Self],
    ) -> Result<(), Failure>;

    /// The QR decomposition of an `m` x `n` matrix.
    fn qr(a: &[Self], m: usize, n: usize, parts: Parts, q: &mut [Self], r: &mut [Self]);

    /// The singular value decomposition of an `m` x `n` matrix: `u`, the singular values in descending order, and `vh`.
    fn svd(
        a: &[Self],
        size: (usize, usize),
        complete: bool,
        u: &mut [Self],
        s: &mut [Self],
        vh: &mut [Self],
    ) -> Result<(), Failure>;

    /// The singular values of an `m` x `n` matrix, in descending order.
    fn singular_values(a: &[Self], m: usize, n: usize, out: &mut [Self::Part]) -> Result<(), Failure>;

    /// Eigenvalues in ascending order, and eigenvectors as columns, of a Hermitian matrix.
    fn eigh(a: &[Self], n: usize, half: Half, values: &mut [Self], vectors: &mut [Self]) -> Result<(), Failure>;

    /// Eigenvalues of a Hermitian matrix, in ascending order.
    fn eigvalsh(a: &[Self], n: usize, half: Half, values: &mut [Self::Part]) -> Result<(), Failure>;

    /// Eigenvalues, and eigenvectors as unit columns, of a general matrix. Without an output for the eigenvectors, only
    /// eigenvalues are computed.
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
