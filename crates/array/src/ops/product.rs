//! Matrix products.

use crate::array::{Arg, Array};
use crate::ops::{cast, complex, pointwise, reduce, reshape};
use crate::runtime::devices::common_device;
use crate::runtime::recipe::Recipe;
use crate::runtime::submit::{SubmitInput, submit};
use crate::runtime::window::window;
use forerun_base::{Error, Kind, Loc, Result};
use forerun_ops::{Op, Point, ReduceKind, infer};
use forerun_plan::{Attrs, Meta, Signature};

/// The matrix product, batched over leading dimensions.
pub fn matmul(a: &Array, b: &Array, loc: Loc) -> Result<Array> {
    if a.dtype() != b.dtype() {
        infer::matmul((a.dtype(), a.shape()), (b.dtype(), b.shape()))?;
        let dtype = a.dtype().promote(b.dtype());
        return match a.dtype() == dtype {
            true => matmul(a, &cast(b, dtype, loc)?, loc),
            false => matmul(&cast(a, dtype, loc)?, b, loc),
        };
    }
    if a.dtype().kind() == Kind::Complex {
        infer::matmul((a.dtype(), a.shape()), (b.dtype(), b.shape()))?;
        return complex::matmul_parts(a, b, loc);
    }
    let key = (Op::Matmul.code(), [a.meta().id, b.meta().id, 0]);
    // SAFETY: the calling thread owns this window, and inference does not access it.
    let owner = unsafe { window().owner() };
    let (recipe, _) = owner.recipe(key, || {
        let types = infer::matmul((a.dtype(), a.shape()), (b.dtype(), b.shape()))?;
        let attrs = Attrs::Matmul { batch: Box::new(types.batch), m: types.m, n: types.n, k: types.k };
        let device = common_device(Op::Matmul.name(), &[a.meta(), b.meta()])?;
        let out = Meta::dense(types.dtype, types.shape, device);
        Ok::<_, Error>((Recipe::of(Signature::of(Op::Matmul, &[a.meta(), b.meta()], attrs, &out)), types.dtype))
    })?;
    Ok(submit(recipe, &[SubmitInput::Array(a), SubmitInput::Array(b)], [0; 2], loc))
}

/// The sums over `axes` of the products of two arrays of one shape, in the dtype of the products. Over all axes this is
/// an inner product, which is one pass over both.
pub fn sum_of_products(x: &Array, y: &Array, axes: &[isize], loc: Loc) -> Result<Array> {
    if axes.len() == x.ndim() && x.shape() == y.shape() {
        return matmul(&reshape(x, &[-1], loc)?, &reshape(y, &[-1], loc)?, loc);
    }
    let products = pointwise(Point::Multiply, &[Arg::Array(x), Arg::Array(y)], loc)?;
    let sums = reduce(ReduceKind::Sum, &products, Some(axes), false, loc)?;
    // A sum of small integers has a wider dtype.
    if sums.dtype() == products.dtype() { Ok(sums) } else { cast(&sums, products.dtype(), loc) }
}

/// The extent of several dimensions folded into one.
fn fold(dims: &[usize]) -> isize {
    dims.iter().product::<usize>() as isize
}

/// NumPy's `dot`: a product of matrices or vectors, a scaling by a 0-d array, or for more dimensions the sum over the
/// last axis of `a` and the second to last of `b`.
pub fn dot(a: &Array, b: &Array, loc: Loc) -> Result<Array> {
    if a.ndim() == 0 || b.ndim() == 0 {
        return pointwise(Point::Multiply, &[Arg::Array(a), Arg::Array(b)], loc);
    }
    if b.ndim() <= 2 && a.ndim() <= 2 {
        return matmul(a, b, loc).map_err(|e| e.in_op("dot"));
    }
    // Rows of `a` times columns of `b`: two matrices, after folding the other dimensions.
    let (sa, sb) = (a.shape(), b.shape());
    let k = sa[sa.rank() - 1];
    let rows = reshape(a, &[fold(&sa[..sa.rank() - 1]), k as isize], loc)?;
    let (columns, rest) = if sb.rank() == 1 {
        (b.clone(), Vec::new())
    } else {
        let axis = sb.rank() - 2;
        let order: Vec<isize> =
            std::iter::once(axis).chain((0..sb.rank()).filter(|i| *i != axis)).map(|i| i as isize).collect();
        let first = super::transpose(b, Some(&order))?;
        let others: Vec<usize> = (0..sb.rank()).filter(|i| *i != axis).map(|i| sb[i]).collect();
        let folded = reshape(&first, &[sb[axis] as isize, fold(&others)], loc)?;
        (folded, (0..sb.rank()).filter(|i| *i != axis).map(|i| sb[i] as isize).collect())
    };
    let product = matmul(&rows, &columns, loc)?;
    let dims: Vec<isize> = sa[..sa.rank() - 1].iter().map(|d| *d as isize).chain(rest).collect();
    reshape(&product, &dims, loc)
}
