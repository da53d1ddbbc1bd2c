//! Conversions to and from the arrays of the crate `ndarray`, behind the feature of that name. They copy.

use crate::array::Array;
use crate::ops::{self, HostElement};
use forerun_base::{Error, ErrorKind, Loc, Result};
use ndarray::{ArrayBase, ArrayD, Data, Dimension, IxDyn};

impl<T: HostElement, S: Data<Elem = T>, D: Dimension> From<&ArrayBase<S, D>> for Array {
    /// Copies the elements in row-major order.
    #[track_caller]
    fn from(theirs: &ArrayBase<S, D>) -> Array {
        let loc = Loc::caller();
        let made = match theirs.as_slice() {
            Some(numbers) => ops::from_slice(numbers, theirs.shape(), loc),
            None => ops::from_slice(&theirs.iter().copied().collect::<Vec<T>>(), theirs.shape(), loc),
        };
        match made {
            Ok(array) => array,
            Err(error) => panic!("{}", error.submitted_at(loc)),
        }
    }
}

impl<T: HostElement> TryFrom<&Array> for ArrayD<T> {
    type Error = Error;

    /// Waits; converts the elements as [`Array::to_vec`] does.
    #[track_caller]
    fn try_from(array: &Array) -> Result<ArrayD<T>> {
        let elements = array.to_vec()?;
        ArrayD::from_shape_vec(IxDyn(&array.shape()), elements)
            .map_err(|error| Error::new(ErrorKind::Value, error.to_string()).in_op("array"))
    }
}
