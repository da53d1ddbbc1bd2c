//! Selecting and writing elements: views by index, copies by positions or masks.

use crate::array::index::Index;
use crate::array::wait::Wait;
use crate::methods::pairs::methods;
use crate::ops::Item;
use crate::{Arg, Array, ArrayLike, ops};
use forerun_base::{Error, ErrorKind, Loc, Result, Scalar};
use forerun_ops::samples::Value;
use forerun_ops::{Beyond, Promotion};

methods! {
    /// The elements that an index selects: a view, through which the array can be written. The macro [`s!`](crate::s) writes
    /// an index as NumPy does.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// let x = arange(0, 6, 1).reshape([2, 3]);
    /// assert_eq!(x.slice(s![.., 1..3]).to_string(), "[[1 2]\n [4 5]]");
    /// x.slice(s![0]).assign(9);
    /// assert_eq!(x.to_string(), "[[9 9 9]\n [3 4 5]]");
    /// ```
    slice, try_slice(&self, items: impl AsRef<[Index]>) -> Array |_loc| { ops::index(self, items.as_ref()) }
    /// The elements at positions along an axis. A position that does not exist is an error where the result is read.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// assert_eq!(Array::from([5, 6, 7]).take(&Array::from([2, 0]), 0).to_string(), "[7 5]");
    /// ```
    take, try_take(&self, positions: &Array, axis: isize) -> Array |loc| {
        ops::take(self, positions, axis, Beyond::Raise, loc)
    }
    /// The elements at positions along an axis, with positions of their own for each of the other places.
    take_along_axis, try_take_along_axis(&self, positions: &Array, axis: isize) -> Array |loc| {
        let attributes = [("axis", Value::from(axis as i64))];
        crate::functions::by_name::call("take_along_axis", Promotion::Given, &[self, positions], &attributes, loc)
    }
    /// The elements that positions select along an axis, one for each of the other places.
    pick, try_pick(&self, positions: &Array, axis: isize) -> Array |loc| {
        ops::pick(self, positions, axis, false, Beyond::Clip, loc)
    }
}

impl Array {
    /// The elements where a mask is true, in order. Waits for the mask, because the shape depends on it.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// let x = Array::from([1, -2, 3]);
    /// assert_eq!(x.select(&x.greater(0))?.to_string(), "[1 3]");
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn select(&self, mask: &Array) -> Result<Array> {
        let loc = Loc::caller();
        let count = counted(mask, "select", loc)?;
        ops::getitem(self, &[Item::Mask(mask.clone())], &[count], loc).map_err(|error| error.submitted_at(loc))
    }

    /// The positions of the nonzero elements: one vector for each axis. Waits, because the shape depends on the elements.
    #[track_caller]
    pub fn nonzero(&self) -> Result<Vec<Array>> {
        let loc = Loc::caller();
        let mask = ops::pointwise(forerun_ops::Point::NotEqual, &[Arg::Array(self), Arg::from(0)], loc);
        let mask = mask.map_err(|error| error.submitted_at(loc))?;
        let rows =
            ops::nonzero(&mask, counted(&mask, "nonzero", loc)?, loc).map_err(|error| error.submitted_at(loc))?;
        (0..self.ndim() as isize).map(|axis| ops::index(&rows, &[Index::At(axis)])).collect()
    }

    /// Writes every element of the array or view.
    #[track_caller]
    pub fn assign(&self, value: impl ArrayLike) {
        crate::methods::pairs::good(ops::assign(self, value.as_arg(), Loc::caller()));
    }

    /// As [`Array::assign`], but returns the error.
    #[track_caller]
    pub fn try_assign(&self, value: impl ArrayLike) -> Result<()> {
        let loc = Loc::caller();
        ops::assign(self, value.as_arg(), loc).map_err(|error| error.submitted_at(loc))
    }

    /// Writes the elements where a mask is true. Does not wait.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// let x = Array::from([1, -2, 3]);
    /// x.assign_where(&x.less(0), 0);
    /// assert_eq!(x.to_string(), "[1 0 3]");
    /// ```
    #[track_caller]
    pub fn assign_where(&self, mask: &Array, value: impl ArrayLike) {
        crate::methods::pairs::good(ops::copy_where(self, mask, value.as_arg(), Loc::caller()));
    }

    /// As [`Array::assign_where`], but returns the error.
    #[track_caller]
    pub fn try_assign_where(&self, mask: &Array, value: impl ArrayLike) -> Result<()> {
        let loc = Loc::caller();
        ops::copy_where(self, mask, value.as_arg(), loc).map_err(|error| error.submitted_at(loc))
    }

    /// Writes the rows at positions along the first axis. If a position occurs twice, the last value stays.
    #[track_caller]
    pub fn assign_at(&self, positions: &Array, value: impl ArrayLike) {
        let items = [Item::Places(positions.clone())];
        crate::methods::pairs::good(ops::setitem(self, &items, &[], value.as_arg(), Loc::caller()));
    }

    /// As [`Array::assign_at`], but returns the error.
    #[track_caller]
    pub fn try_assign_at(&self, positions: &Array, value: impl ArrayLike) -> Result<()> {
        let loc = Loc::caller();
        let items = [Item::Places(positions.clone())];
        ops::setitem(self, &items, &[], value.as_arg(), loc).map_err(|error| error.submitted_at(loc))
    }
}

/// Waits and returns the number of true elements of a mask.
fn counted(mask: &Array, call: &'static str, loc: Loc) -> Result<usize> {
    if mask.dtype() != forerun_base::DType::Bool {
        let text = format!("the mask must be bool, not {}", mask.dtype());
        return Err(Error::new(ErrorKind::Type, text).in_op(call).submitted_at(loc));
    }
    let count = ops::count(mask, loc).map_err(|error| error.submitted_at(loc))?;
    let Scalar::Int(count) = count.item_with(&Wait::at(loc, call))? else { return Ok(0) };
    Ok(count as usize)
}
