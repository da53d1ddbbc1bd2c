//! Triangular factors, and what is solved with them.

use crate::element::{Element, write};
use crate::failure::Failure;
use faer::linalg::solvers::{DenseSolveCore, PartialPivLu, SolveCore};
use faer::{Conj, MatMut, MatRef, Side};

/// Which half of a matrix counts, and how it is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Triangle {
    /// The half on and below the diagonal, instead of the one above.
    pub lower: bool,
    /// Turned over its diagonal.
    pub transposed: bool,
    /// Ones on the diagonal, whatever stands there.
    pub unit: bool,
}

/// The factor L of `L L*`, or its adjoint, of a matrix of which one half is read; the other half of the result is zero.
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
            (true, _) => l[(j, i)].turned(),
        };
    }
    // NaN passes for a pivot; the diagonal shows it.
    if (0..n).all(|i| out[i * n + i].finite()) { Ok(()) } else { Err(Failure::NotPositiveDefinite) }
}

/// The pivots, and whether the rows were exchanged an odd number of times.
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

/// The determinant: one of no elements.
pub(crate) fn det<T: Element>(a: &[T], n: usize) -> T {
    let lu = MatRef::from_row_major_slice(a, n, n).partial_piv_lu();
    let (pivots, odd) = pivots(&lu, n);
    let product = pivots.fold(T::ONE, T::times);
    if odd { -product } else { product }
}

/// The direction of the determinant, and the logarithm of its modulus.
pub(crate) fn slogdet<T: Element>(a: &[T], n: usize) -> (T, T) {
    let lu = MatRef::from_row_major_slice(a, n, n).partial_piv_lu();
    let (pivots, odd) = pivots(&lu, n);
    let (mut sign, mut log) = (if odd { -T::ONE } else { T::ONE }, T::default());
    for pivot in pivots {
        if pivot == T::default() {
            return (T::default(), pivot.ln_modulus());
        }
        (sign, log) = (sign.times(pivot.direction()), log.plus(pivot.ln_modulus()));
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

/// The solutions of `a x = b` for every column of `b`.
pub(crate) fn solve<T: Element>(a: &[T], n: usize, b: &[T], columns: usize, out: &mut [T]) -> Result<(), Failure> {
    let lu = regular(a, n)?;
    out.copy_from_slice(b);
    lu.solve_in_place_with_conj(Conj::No, MatMut::from_row_major_slice_mut(out, n, columns));
    Ok(())
}

/// The solutions of `a x = b` for every column of `b`, of a matrix of which one half is read.
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
