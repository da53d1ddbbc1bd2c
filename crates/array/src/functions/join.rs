//! Joins several arrays, and chooses between two.

use crate::array::index::Index;
use crate::methods::pairs::functions;
use crate::{Arg, Array, ArrayLike, ops};
use forerun_base::{Error, ErrorKind, Result, Shape};
use forerun_ops::Point;

functions! {
    /// Concatenates arrays along an axis.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// let (x, y) = (Array::from([[1, 2]]), Array::from([[3, 4]]));
    /// assert_eq!(concatenate(&[&x, &y], 0).to_string(), "[[1 2]\n [3 4]]");
    /// ```
    concatenate, try_concatenate(arrays: &[&Array], axis: isize) -> Array |loc| {
        ops::concatenate(arrays, axis, loc)
    }
    /// Stacks arrays of one shape along a new axis.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// let (x, y) = (Array::from([1, 2]), Array::from([3, 4]));
    /// assert_eq!(stack(&[&x, &y], 1).to_string(), "[[1 3]\n [2 4]]");
    /// ```
    stack, try_stack(arrays: &[&Array], axis: isize) -> Array |loc| {
        ops::stack(arrays, axis, loc)
    }
    /// Concatenates along the second axis; vectors along their own.
    hstack, try_hstack(arrays: &[&Array]) -> Array |loc| {
        ops::join(arrays, 1, 1, loc)
    }
    /// Concatenates along the first axis; vectors become rows.
    vstack, try_vstack(arrays: &[&Array]) -> Array |loc| {
        ops::join(arrays, 2, 0, loc)
    }
    /// Concatenates along the third axis, after adding axes as NumPy does.
    dstack, try_dstack(arrays: &[&Array]) -> Array |loc| {
        ops::join(arrays, 3, 2, loc)
    }
    /// Concatenates matrices along the second axis; vectors become columns.
    column_stack, try_column_stack(arrays: &[&Array]) -> Array |loc| {
        let wide = |x: &&Array| if x.ndim() < 2 { ops::reshape(x, &[-1, 1], loc) } else { Ok((*x).clone()) };
        let all = arrays.iter().map(wide).collect::<Result<Vec<Array>>>()?;
        ops::concatenate(&all.iter().collect::<Vec<_>>(), 1, loc)
    }
    /// `x` where the condition is true, otherwise `y`.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// let x = Array::from([1, -2, 3]);
    /// assert_eq!(where_(&x.less(0), 0, &x).to_string(), "[1 0 3]");
    /// ```
    #[doc(alias = "where")]
    where_, try_where_(condition: &Array, x: impl ArrayLike, y: impl ArrayLike) -> Array |loc| {
        ops::pointwise(Point::Where, &[Arg::Array(condition), x.as_arg(), y.as_arg()], loc)
    }
    /// The arrays, broadcast to one shape: views.
    broadcast_arrays, try_broadcast_arrays(arrays: &[&Array]) -> Vec<Array> |_loc| {
        let mut shape = Shape::SCALAR;
        for x in arrays {
            shape = shape.broadcast(&x.shape()).ok_or_else(|| {
                let text = format!("shapes do not broadcast: {shape} and {}", x.shape());
                Error::new(ErrorKind::Value, text).in_op("broadcast_arrays")
            })?;
        }
        arrays.iter().map(|x| ops::broadcast_to(x, &shape)).collect()
    }
    /// The coordinates of a grid: one array for each vector, all of the grid's shape. As in NumPy, the first two axes are
    /// exchanged, so that the first vector runs along the columns.
    meshgrid, try_meshgrid(vectors: &[&Array]) -> Vec<Array> |loc| {
        let rank = vectors.len();
        let place = |at: usize| match at {
            0 | 1 if rank > 1 => 1 - at,
            at => at,
        };
        let mut shape = vec![0; rank];
        vectors.iter().enumerate().for_each(|(at, x)| shape[place(at)] = x.size());
        let spread = |(at, x): (usize, &&Array)| {
            let mut items = vec![Index::NewAxis; rank];
            items[place(at)] = Index::ALL;
            ops::copy(&ops::broadcast_to(&ops::index(&ops::reshape(x, &[-1], loc)?, &items)?, &shape)?, loc)
        };
        vectors.iter().enumerate().map(spread).collect()
    }
}
