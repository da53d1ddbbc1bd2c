//! Conversions between arrays and Rust's vectors, slices, nested arrays and numbers. The dtype is that of the Rust type.

use crate::array::Array;
use crate::array::wait::Wait;
use crate::ops::{self, HostElement};
use forerun_base::{DType, Error, ErrorKind, Kind, Loc, Result, Scalar};

#[track_caller]
fn made<T: HostElement>(numbers: &[T], shape: &[usize]) -> Array {
    match ops::from_slice(numbers, shape, Loc::caller()) {
        Ok(array) => array,
        Err(error) => panic!("{}", error.submitted_at(Loc::caller())),
    }
}

impl<T: HostElement> From<T> for Array {
    /// A 0-d array.
    #[track_caller]
    fn from(number: T) -> Array {
        made(&[number], &[])
    }
}

impl<T: HostElement> From<&[T]> for Array {
    #[track_caller]
    fn from(numbers: &[T]) -> Array {
        made(numbers, &[numbers.len()])
    }
}

impl<T: HostElement> From<Vec<T>> for Array {
    #[track_caller]
    fn from(numbers: Vec<T>) -> Array {
        made(&numbers, &[numbers.len()])
    }
}

impl<T: HostElement> From<&Vec<T>> for Array {
    #[track_caller]
    fn from(numbers: &Vec<T>) -> Array {
        made(numbers, &[numbers.len()])
    }
}

impl<T: HostElement, const N: usize> From<[T; N]> for Array {
    #[track_caller]
    fn from(numbers: [T; N]) -> Array {
        made(&numbers, &[N])
    }
}

impl<T: HostElement, const N: usize, const M: usize> From<[[T; N]; M]> for Array {
    #[track_caller]
    fn from(rows: [[T; N]; M]) -> Array {
        made(rows.as_flattened(), &[M, N])
    }
}

impl<T: HostElement, const N: usize, const M: usize, const L: usize> From<[[[T; N]; M]; L]> for Array {
    #[track_caller]
    fn from(planes: [[[T; N]; M]; L]) -> Array {
        made(planes.as_flattened().as_flattened(), &[L, M, N])
    }
}

impl<T: HostElement> TryFrom<&[Vec<T>]> for Array {
    type Error = Error;

    /// A matrix of rows, which must have one length.
    #[track_caller]
    fn try_from(rows: &[Vec<T>]) -> Result<Array> {
        let loc = Loc::caller();
        let width = rows.first().map_or(0, Vec::len);
        if let Some(row) = rows.iter().find(|row| row.len() != width) {
            let text = format!("rows of {width} and {} numbers do not form a matrix", row.len());
            return Err(Error::new(ErrorKind::Value, text).in_op("array").submitted_at(loc));
        }
        ops::from_slice(&rows.concat(), &[rows.len(), width], loc).map_err(|e| e.submitted_at(loc))
    }
}

impl<T: HostElement> TryFrom<&Array> for Vec<T> {
    type Error = Error;

    /// As [`Array::to_vec`].
    #[track_caller]
    fn try_from(array: &Array) -> Result<Vec<T>> {
        array.to_vec()
    }
}

impl<T: HostElement> TryFrom<Array> for Vec<T> {
    type Error = Error;

    /// As [`Array::to_vec`].
    #[track_caller]
    fn try_from(array: Array) -> Result<Vec<T>> {
        array.to_vec()
    }
}

impl TryFrom<&Array> for Scalar {
    type Error = Error;

    /// Waits and returns the only element.
    #[track_caller]
    fn try_from(array: &Array) -> Result<Scalar> {
        array.item_with(&Wait::at(Loc::caller(), "item"))
    }
}

impl Array {
    /// An array of numbers in row-major order, copied before this returns. A loop that supplies numbers faster than they
    /// are used blocks here.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// let x = Array::from_slice(&[1, 2, 3, 4], [2, 2]);
    /// assert_eq!(x.to_string(), "[[1 2]\n [3 4]]");
    /// ```
    ///
    /// # Panics
    /// If the number of values differs from the number of elements of the shape.
    #[track_caller]
    pub fn from_slice<T: HostElement>(numbers: &[T], shape: impl AsRef<[usize]>) -> Array {
        made(numbers, shape.as_ref())
    }

    /// As [`Array::from_slice`], but returns the error.
    #[track_caller]
    pub fn try_from_slice<T: HostElement>(numbers: &[T], shape: impl AsRef<[usize]>) -> Result<Array> {
        let loc = Loc::caller();
        ops::from_slice(numbers, shape.as_ref(), loc).map_err(|e| e.submitted_at(loc))
    }

    /// Waits and returns the only element. Its dtype may be narrower than `T`, as in `cast` without loss; otherwise this
    /// is an error, as is a failure of the ops that compute the array.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// assert_eq!(Array::from([1.5f32, 2.0]).sum().item::<f32>()?, 3.5);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn item<T: HostElement>(&self) -> Result<T> {
        let loc = Loc::caller();
        check::<T>("item", self.dtype(), loc)?;
        self.item_with(&Wait::at(loc, "item")).map(T::from_scalar)
    }

    /// Waits and returns the elements in row-major order. Their dtype may be narrower than `T`, as for [`Array::item`].
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// assert_eq!(arange(0, 3, 1).to_vec::<i64>()?, [0, 1, 2]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn to_vec<T: HostElement>(&self) -> Result<Vec<T>> {
        let loc = Loc::caller();
        check::<T>("to_vec", self.dtype(), loc)?;
        let snapshot = self.snapshot_with(&Wait::at(loc, "to_vec"))?;
        Ok(snapshot.dense().map_or_else(|| snapshot.elements().map(T::from_scalar).collect(), <[T]>::to_vec))
    }
}

/// Fails if elements of a dtype may lose something as numbers of a Rust type.
fn check<T: HostElement>(call: &'static str, dtype: DType, loc: Loc) -> Result<()> {
    if is_safe(dtype, T::DTYPE) {
        return Ok(());
    }
    let text = format!("elements of {dtype} do not fit into {}: cast the array first", T::DTYPE);
    Err(Error::new(ErrorKind::Type, text).in_op(call).read_at(loc))
}

/// Whether NumPy calls the conversion safe. Integers of 64 bits count as safe in float64.
fn is_safe(from: DType, to: DType) -> bool {
    let wide = matches!(from, DType::I64 | DType::U64) && matches!(to, DType::F64 | DType::C128);
    let integer_to_float = from.kind() == Kind::Int && matches!(to.kind(), Kind::Float | Kind::Complex);
    let fits = !integer_to_float || from.size() < to.to_real().size();
    wide || (from.promote(to) == to && fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_conversions_are_those_of_numpy() {
        use DType::{Bool, C64, F16, F32, F64, I8, I16, I32, I64, U8, U16, U64};
        for (from, to) in
            [(Bool, F16), (I8, F16), (I16, F32), (I32, F64), (I64, F64), (F32, F64), (F32, C64), (U8, I16)]
        {
            assert!(is_safe(from, to), "{from} {to}");
        }
        for (from, to) in
            [(F64, F32), (I16, F16), (I32, F32), (I64, F32), (C64, F64), (U16, I16), (I64, U64), (F32, I64)]
        {
            assert!(!is_safe(from, to), "{from} {to}");
        }
    }

    #[test]
    fn nested_arrays_have_as_many_dimensions() {
        let x = Array::from([[[1u8, 2], [3, 4], [5, 6]]]);
        assert_eq!((x.shape().to_vec(), x.dtype()), (vec![1, 3, 2], DType::U8));
        assert_eq!(Vec::<u8>::try_from(&x).unwrap(), [1, 2, 3, 4, 5, 6]);
        assert_eq!(x.t().to_vec::<i64>().unwrap(), [1, 3, 5, 2, 4, 6]);
        assert_eq!(Array::from(2.5).item::<f64>().unwrap(), 2.5);
        let rows = [vec![1.0f32], vec![2.0, 3.0]];
        assert!(Array::try_from(&rows[..]).unwrap_err().to_string().starts_with("array: rows of 1 and 2 numbers"));
    }

    #[test]
    fn a_lossy_read_is_refused() {
        let error = Array::from([1.0f64]).to_vec::<f32>().unwrap_err();
        assert!(error.to_string().starts_with("to_vec: elements of float64 do not fit into float32"), "{error}");
    }
}
