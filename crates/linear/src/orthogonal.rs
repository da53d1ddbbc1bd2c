//! QR and singular value decompositions.

use crate::element::{Element, all_finite, leading_phase, remove_phase, write, write_adjoint};
use crate::failure::Failure;
use faer::MatRef;
use std::borrow::Cow;

/// How many columns of the orthogonal factors to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// `min(m, n)` columns.
    Reduced,
    /// All columns, so that the factors are square.
    Complete,
}

/// The QR decomposition of an `m` x `n` matrix.
pub(crate) fn qr<T: Element>(a: &[T], m: usize, n: usize, parts: Parts, q: &mut [T], r: &mut [T]) {
    let found = MatRef::from_row_major_slice(a, m, n).qr();
    match parts {
        Parts::Reduced => write(found.compute_thin_Q().as_ref(), q),
        Parts::Complete => write(found.compute_Q().as_ref(), q),
    }
    let upper = found.R();
    for (at, place) in r.iter_mut().enumerate() {
        let (i, j) = (at / n, at % n);
        *place = if i <= j && i < upper.nrows() { upper[(i, j)] } else { T::default() };
    }
}

/// The singular value decomposition of an `m` x `n` matrix: `u`, the singular values in descending order, and `vh`.
pub(crate) fn svd<T: Element>(
    a: &[T],
    (m, n): (usize, usize),
    complete: bool,
    u: &mut [T],
    s: &mut [T],
    vh: &mut [T],
) -> Result<(), Failure> {
    all_finite(a)?;
    let (near, back) = scaled_to_range(a);
    let a = MatRef::from_row_major_slice(&near, m, n);
    let found = if complete { a.svd() } else { a.thin_svd() }.map_err(|_| Failure::NoConvergence)?;
    write(found.U(), u);
    write_adjoint(found.V(), vh);
    let values = found.S().column_vector();
    s.iter_mut().enumerate().for_each(|(i, place)| *place = values[i].times(T::from_real(back)));
    let width = found.U().ncols();
    for k in 0..m.min(n) {
        let phase = leading_phase(u, m, width, k);
        remove_phase(u, m, width, k, phase);
        vh[k * n..(k + 1) * n].iter_mut().for_each(|x| *x = x.times(phase));
    }
    Ok(())
}

/// The singular values in descending order.
pub(crate) fn singular_values<T: Element>(a: &[T], m: usize, n: usize, out: &mut [T::Part]) -> Result<(), Failure> {
    all_finite(a)?;
    let (near, back) = scaled_to_range(a);
    let found = MatRef::from_row_major_slice(&near, m, n).singular_values().map_err(|_| Failure::NoConvergence)?;
    out.iter_mut()
        .zip(&found)
        .for_each(|(place, value)| *place = T::from_real(*value).times(T::from_real(back)).real_part());
    Ok(())
}

/// The matrix, scaled so that squares of its elements neither overflow nor underflow, and the factor that undoes the
/// scaling of the singular values.
fn scaled_to_range<T: Element>(a: &[T]) -> (Cow<'_, [T]>, T::Part) {
    let larger = |most: T::Part, x: &T| if x.modulus() > most { x.modulus() } else { most };
    match T::range_scale(a.iter().fold(T::Part::default(), larger)) {
        Some((factor, back)) => (a.iter().map(|x| x.times(factor)).collect::<Vec<_>>().into(), back),
        None => (a.into(), T::ONE.real_part()),
    }
}
