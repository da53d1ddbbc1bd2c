//! Decompositions, whose results one record packs into one array: the functions return views of it.

use crate::array::index::Index;
use crate::functions::by_name::{call, float_of, to_dtype};
use crate::methods::pairs::functions;
use crate::{Arg, Array, ops};
use forerun_base::{Error, ErrorKind, Kind, Loc, Result, Shape};
use forerun_ops::linalg::Stack;
use forerun_ops::samples::Value;
use forerun_ops::{Point, Promotion};

/// The matrices in a float or complex dtype, and their extents.
pub(super) fn matrices(op: &'static str, x: &Array, loc: Loc) -> Result<(Array, Stack)> {
    if x.ndim() < 2 {
        let text = format!("needs at least two dimensions: {}", x.shape());
        return Err(Error::new(ErrorKind::Value, text).in_op(op));
    }
    Ok((to_dtype(x, float_of(&[x]), loc)?, Stack::of(&x.shape())))
}

/// Views of results that are packed one after another, for all matrices of a stack.
fn unpack<const N: usize>(packed: &Array, like: &Shape, shapes: [&[usize]; N], loc: Loc) -> Result<[Array; N]> {
    let lead = &like[..like.rank() - 2];
    let mut start = 0;
    let parts = shapes.map(|shape| {
        let whole = [lead, shape].concat();
        let stop = start + whole.iter().product::<usize>() as isize;
        let range = Index::Slice { start: Some(start), stop: Some(stop), step: 1 };
        start = stop;
        let dims: Vec<isize> = whole.iter().map(|extent| *extent as isize).collect();
        ops::reshape(&ops::index(packed, &[range])?, &dims, loc)
    });
    let mut all = Vec::with_capacity(N);
    for part in parts {
        all.push(part?);
    }
    Ok(std::array::from_fn(|at| all[at].clone()))
}

/// The real part of a result that is real by definition.
fn real(x: Array, loc: Loc) -> Result<Array> {
    if x.dtype().kind() == Kind::Complex { ops::pointwise(Point::Real, &[Arg::Array(&x)], loc) } else { Ok(x) }
}

/// The singular value decomposition.
pub(super) fn decomposed(a: &Array, full: bool, loc: Loc) -> Result<(Array, Array, Array)> {
    let (x, of) = matrices("svd", a, loc)?;
    let packed = call("svd", Promotion::Given, &[&x], &[("complete", Value::from(full))], loc)?;
    let (left, right) = (of.kept(full), of.kept_right(full));
    let [u, s, vh] = unpack(&packed, &x.shape(), [&[of.rows, left], &[of.least()], &[right, of.columns]], loc)?;
    Ok((u, real(s, loc)?, vh))
}

functions! {
    /// The singular value decomposition: left vectors, values in descending order, right vectors. The vectors are as many as
    /// there are values.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// let (u, s, vh) = linalg::svd(&Array::from([[0.0f32, 2.0], [1.0, 0.0], [0.0, 0.0]]));
    /// assert!(s.allclose(Array::from([2.0f32, 1.0]))?);
    /// assert_eq!((*u.shape() == [3, 2], *vh.shape() == [2, 2]), (true, true));
    /// # Ok::<(), Error>(())
    /// ```
    svd, try_svd(a: &Array) -> (Array, Array, Array) |loc| { decomposed(a, false, loc) }
    /// As [`svd()`]; with `full_matrices`, as NumPy does by default, the vectors form square matrices.
    svd_with, try_svd_with(a: &Array, full_matrices: bool) -> (Array, Array, Array) |loc| {
        decomposed(a, full_matrices, loc)
    }
    /// The QR decomposition: an orthogonal factor with as many columns as there are rows or columns, and a triangular one.
    qr, try_qr(a: &Array) -> (Array, Array) |loc| {
        let (x, of) = matrices("qr", a, loc)?;
        let packed = call("qr", Promotion::Given, &[&x], &[], loc)?;
        let [q, r] = unpack(&packed, &x.shape(), [&[of.rows, of.least()], &[of.least(), of.columns]], loc)?;
        Ok((q, r))
    }
    /// The eigenvalues of Hermitian matrices in ascending order, and their eigenvectors as columns. Only the lower half of
    /// each matrix is read.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// let (values, _vectors) = linalg::eigh(&Array::from([[2.0f32, 0.0], [0.0, 1.0]]));
    /// assert!(values.allclose(Array::from([1.0f32, 2.0]))?);
    /// # Ok::<(), Error>(())
    /// ```
    eigh, try_eigh(a: &Array) -> (Array, Array) |loc| {
        let (x, of) = matrices("eigh", a, loc)?;
        let packed = call("eigh", Promotion::Given, &[&x], &[], loc)?;
        let [w, v] = unpack(&packed, &x.shape(), [&[of.rows], &[of.rows, of.rows]], loc)?;
        Ok((real(w, loc)?, v))
    }
    /// The eigenvalues of Hermitian matrices in ascending order.
    eigvalsh, try_eigvalsh(a: &Array) -> Array |loc| {
        call("eigvalsh", Promotion::Floats, &[a], &[], loc)
    }
    /// The eigenvalues of square matrices, unordered, and their eigenvectors as columns. Both are complex.
    eig, try_eig(a: &Array) -> (Array, Array) |loc| {
        let (x, of) = matrices("eig", a, loc)?;
        let packed = call("eig", Promotion::Given, &[&x], &[], loc)?;
        let [w, v] = unpack(&packed, &x.shape(), [&[of.rows], &[of.rows, of.rows]], loc)?;
        Ok((w, v))
    }
    /// The signs of determinants, and the logarithms of their absolute values.
    slogdet, try_slogdet(a: &Array) -> (Array, Array) |loc| {
        let packed = call("slogdet", Promotion::Floats, &[a], &[], loc)?;
        let row = |at| ops::index(&packed, &[Index::At(at)]);
        Ok((row(0)?, real(row(1)?, loc)?))
    }
}
