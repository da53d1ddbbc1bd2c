//! Cholesky and LU factorisations, and solvers based on them.

use crate::element::{Element, write};
use crate::failure::Failure;
use faer::linalg::solvers::{DenseSolveCore, PartialPivLu, SolveCore};
use faer::{Conj, MatMut, MatRef, Side};

/// Which triangle of a matrix is used, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Triangle {
    /// Use the lower triangle instead of the upper one.
    pub lower: bool,
    /// Solve with the transposed matrix.
    pub transposed: bool,
    /// Assume ones on the diagonal, whatever is stored there.
    pub unit: bool,
}

/// The Cholesky factor `L` with `a = L L*`, or `L*` if `upper`. Only that triangle is read; the other triangle of the
/// result is zero.
pub(crate) fn cholesky<T: Element>(a: &[T], n: usize, upper: bool, out: &mut [T]) -> Result<(), Failure> {
    let a = MatRef::from_row_major_slice(a, n, n);
    let side = if upper { Side::Upper } else { Side::Lower };
    let found = a.llt(side).map_err(|_| Failure::NotPositiveDefinite)?;
    let l = found.L();
    for (at, place) in out.iter_mut().enumerate() {
        let (i, j) = (at / n, at % n);
        *place = match (upper, i.cmp(&j)) {
            (false, std::cmp::Ordering::Less) | (true, std::cmp::Ordering::Greater) => T::default(),
            (false, _) => l[(i, j)],
            (true, _) => l[(j, i)].conjugate(),
        };
    }
    // The factorisation accepts NaN pivots, so check the diagonal.
    if (0..n).all(|i| out[i * n + i].finite()) { Ok(()) } else { Err(Failure::NotPositiveDefinite) }
}

/// The pivots, and whether the row permutation is odd.
fn pivots<T: Element>(lu: &PartialPivLu<T>, n: usize) -> (impl Iterator<Item = T> + '_, bool) {
    let (forward, _) = lu.P().arrays();
    let mut seen = vec![false; n];
    let mut odd = false;
    for start in 0..n {
        let mut at = forward[start];
        while at != start && !seen[at] {
            seen[at] = true;
            odd = !odd;
            at = forward[at];
        }
        seen[start] = true;
    }
    let u = lu.U();
    ((0..n).map(move |i| u[(i, i)]), odd)
}

/// The determinant; 1 for an empty matrix.
pub(crate) fn det<T: Element>(a: &[T], n: usize) -> T {
    let lu = MatRef::from_row_major_slice(a, n, n).partial_piv_lu();
    let (pivots, odd) = pivots(&lu, n);
    let product = pivots.fold(T::ONE, T::times);
    if odd { -product } else { product }
}

/// The sign of the determinant and the logarithm of its absolute value.
pub(crate) fn slogdet<T: Element>(a: &[T], n: usize) -> (T, T) {
    let lu = MatRef::from_row_major_slice(a, n, n).partial_piv_lu();
    let (pivots, odd) = pivots(&lu, n);
    let (mut sign, mut log) = (if odd { -T::ONE } else { T::ONE }, T::default());
    for pivot in pivots {
        if pivot == T::default() {
            return (T::default(), pivot.ln_modulus());
        }
        (sign, log) = (sign.times(pivot.phase()), log.plus(pivot.ln_modulus()));
    }
    (sign, log)
}

fn regular<T: Element>(a: &[T], n: usize) -> Result<PartialPivLu<T>, Failure> {
    let lu = MatRef::from_row_major_slice(a, n, n).partial_piv_lu();
    let zero = pivots(&lu, n).0.any(|pivot| pivot == T::default());
    if zero { Err(Failure::Singular) } else { Ok(lu) }
}

/// The inverse.
pub(crate) fn inverse<T: Element>(a: &[T], n: usize, out: &mut [T]) -> Result<(), Failure> {
    write(regular(a, n)?.inverse().as_ref(), out);
    Ok(())
}

/// Solves `a x = b` for every column of `b`.
pub(crate) fn solve<T: Element>(a: &[T], n: usize, b: &[T], columns: usize, out: &mut [T]) -> Result<(), Failure> {
    let lu = regular(a, n)?;
    out.copy_from_slice(b);
    lu.solve_in_place_with_conj(Conj::No, MatMut::from_row_major_slice_mut(out, n, columns));
    Ok(())
}

/// Solves `a x = b` for every column of `b`, where `a` is triangular. Only that triangle is read.
pub(crate) fn solve_triangular<T: Element>(
    a: &[T],
    n: usize,
    triangle: Triangle,
    b: &[T],
    columns: usize,
    out: &mut [T],
) -> Result<(), Failure> {
    if !triangle.unit && (0..n).any(|i| a[i * n + i] == T::default()) {
        return Err(Failure::Singular);
    }
    out.copy_from_slice(b);
    let (mut a, x) = (MatRef::from_row_major_slice(a, n, n), MatMut::from_row_major_slice_mut(out, n, columns));
    if triangle.transposed {
        a = a.transpose();
    }
    match (triangle.lower != triangle.transposed, triangle.unit) {
        (true, false) => a.solve_lower_triangular_in_place(x),
        (true, true) => a.solve_unit_lower_triangular_in_place(x),
        (false, false) => a.solve_upper_triangular_in_place(x),
        (false, true) => a.solve_unit_upper_triangular_in_place(x),
    }
    Ok(())
}
