//! Eigenvalues and eigenvectors.

use crate::element::{Complex, Element, all_finite, leading_phase, remove_phase, write};
use crate::failure::Failure;
use faer::linalg::solvers::Eigen;
use faer::{MatRef, Side};

/// Which triangle of a Hermitian matrix is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// The lower triangle with the diagonal.
    Lower,
    /// The upper triangle with the diagonal.
    Upper,
}

impl Half {
    fn side(self) -> Side {
        match self {
            Half::Lower => Side::Lower,
            Half::Upper => Side::Upper,
        }
    }
}

/// Fails if the triangle that is read has infinities or NaN.
fn half_finite<T: Element>(a: &[T], n: usize, half: Half) -> Result<(), Failure> {
    let row = |i: usize| match half {
        Half::Lower => &a[i * n..=i * n + i],
        Half::Upper => &a[i * n + i..(i + 1) * n],
    };
    (0..n).try_for_each(|i| all_finite(row(i)))
}

/// Eigenvalues in ascending order, and eigenvectors as columns, of a Hermitian matrix.
pub(crate) fn eigh<T: Element>(
    a: &[T],
    n: usize,
    half: Half,
    values: &mut [T],
    vectors: &mut [T],
) -> Result<(), Failure> {
    half_finite(a, n, half)?;
    let found = MatRef::from_row_major_slice(a, n, n).self_adjoint_eigen(half.side());
    let found = found.map_err(|_| Failure::NoConvergence)?;
    let s = found.S().column_vector();
    values.iter_mut().enumerate().for_each(|(i, place)| *place = s[i]);
    write(found.U(), vectors);
    for k in 0..n {
        let phase = leading_phase(vectors, n, n, k);
        remove_phase(vectors, n, n, k, phase);
    }
    Ok(())
}

/// Eigenvalues of a Hermitian matrix, in ascending order.
pub(crate) fn eigvalsh<T: Element>(a: &[T], n: usize, half: Half, values: &mut [T::Part]) -> Result<(), Failure> {
    half_finite(a, n, half)?;
    let found = MatRef::from_row_major_slice(a, n, n).self_adjoint_eigenvalues(half.side());
    values.copy_from_slice(&found.map_err(|_| Failure::NoConvergence)?);
    Ok(())
}

/// Eigenvalues, and eigenvectors as unit columns, of a general square matrix. Without an output for the eigenvectors,
/// only eigenvalues are computed.
pub(crate) fn eig<T: Element>(
    a: &[T],
    n: usize,
    values: &mut [Complex<T::Part>],
    vectors: Option<&mut [Complex<T::Part>]>,
) -> Result<(), Failure>
where
    Complex<T::Part>: Element<Part = T::Part>,
{
    all_finite(a)?;
    let a = MatRef::from_row_major_slice(a, n, n);
    let Some(vectors) = vectors else {
        values.copy_from_slice(&a.eigenvalues().map_err(|_| Failure::NoConvergence)?);
        return Ok(());
    };
    let found: Eigen<T::Part> = a.eigen().map_err(|_| Failure::NoConvergence)?;
    let s = found.S().column_vector();
    values.iter_mut().enumerate().for_each(|(i, place)| *place = s[i]);
    let u = found.U();
    for j in 0..n {
        let length = u.col(j).norm_l2();
        for i in 0..n {
            let x = u[(i, j)];
            vectors[i * n + j] = Complex { re: x.re / length, im: x.im / length };
        }
        let phase = leading_phase(vectors, n, n, j);
        remove_phase(vectors, n, n, j, phase);
    }
    Ok(())
}
