//! Arrays: creation, handles, shape and dtype.

use crate::abi::{forerun_argument, forerun_array, forerun_dtype, forerun_status};
use crate::caller::{Caller, Operand, Outcome, call};
use crate::error::{Failure, c_text};
use crate::handle::give;
use forerun::{DType, Scalar, Shape, ops};
use std::ffi::{CString, c_char, c_void};
use std::sync::OnceLock;

/// Creates an array from elements in row-major order, which are copied before this returns. A loop that supplies
/// elements faster than they are used waits here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_from_data(
    data: *const c_void,
    dtype: forerun_dtype,
    shape: *const i64,
    rank: usize,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| {
        let (dtype, shape) = (caller.dtype(dtype)?, caller.shape(shape, rank)?);
        let bytes = Shape::new(&shape)?.size() * dtype.size();
        let bytes = caller.slice(data.cast::<u8>(), bytes, "the elements")?;
        caller.give(out, ops::from_bytes(bytes, dtype, &shape, caller.loc()))
    })
}

/// A number that is not an array.
fn number(caller: &Caller, argument: &forerun_argument, what: &str) -> Outcome<Scalar> {
    match caller.operand(argument)? {
        Operand::Number(number) => Ok(number),
        Operand::Array(_) => Err(Failure::kind(format!("{what} must be a number, got an array"))),
    }
}

/// An array filled with one number. The default dtype is that of the number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_full(
    shape: *const i64,
    rank: usize,
    value: forerun_argument,
    dtype: forerun_dtype,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| {
        let value = number(caller, &value, "the value")?;
        let dtype = caller.optional_dtype(dtype)?.unwrap_or(value.default_dtype());
        caller.give(out, ops::full(&caller.shape(shape, rank)?, value, dtype, caller.loc()))
    })
}

/// Zeros. The default dtype is the default float.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_zeros(
    shape: *const i64,
    rank: usize,
    dtype: forerun_dtype,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| {
        let (shape, dtype) = (caller.shape(shape, rank)?, caller.dtype(dtype)?);
        caller.give(out, ops::full(&shape, Scalar::Int(0), dtype, caller.loc()))
    })
}

/// Ones. The default dtype is the default float.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_ones(
    shape: *const i64,
    rank: usize,
    dtype: forerun_dtype,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| {
        let (shape, dtype) = (caller.shape(shape, rank)?, caller.dtype(dtype)?);
        caller.give(out, ops::full(&shape, Scalar::Int(1), dtype, caller.loc()))
    })
}

/// `start`, `start + step`, ... below `stop`. By default integers give int64 and floats the default float.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_arange(
    start: forerun_argument,
    stop: forerun_argument,
    step: forerun_argument,
    dtype: forerun_dtype,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| {
        let (start, stop) = (number(caller, &start, "start")?, number(caller, &stop, "stop")?);
        let (step, dtype) = (number(caller, &step, "step")?, caller.optional_dtype(dtype)?);
        caller.give(out, ops::arange(start, stop, step, dtype, caller.loc()))
    })
}

/// Ones on a diagonal, zeros elsewhere.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_eye(
    rows: usize,
    columns: usize,
    diagonal: i64,
    dtype: forerun_dtype,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| caller.give(out, ops::eye(rows, columns, diagonal as isize, caller.dtype(dtype)?, caller.loc())))
}

/// Normally distributed random numbers. They depend on the seed and the order of calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_normal(
    shape: *const i64,
    rank: usize,
    mean: f64,
    scale: f64,
    dtype: forerun_dtype,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| {
        let (shape, dtype) = (caller.shape(shape, rank)?, caller.dtype(dtype)?);
        caller.give(out, ops::normal(&shape, mean, scale, dtype, caller.loc()))
    })
}

/// Uniformly distributed random numbers from `low` to below `high`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_uniform(
    shape: *const i64,
    rank: usize,
    low: f64,
    high: f64,
    dtype: forerun_dtype,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| {
        let (shape, dtype) = (caller.shape(shape, rank)?, caller.dtype(dtype)?);
        caller.give(out, ops::uniform(&shape, low, high, dtype, caller.loc()))
    })
}

/// Another handle to the same elements: a write through one is visible through the other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_share(x: *const forerun_array, out: *mut *mut forerun_array) -> forerun_status {
    call(|caller| {
        caller.writable(out)?;
        caller.put(out, give::<forerun_array>(Clone::clone(&*caller.get(x)?)))
    })
}

/// Frees a handle; null is allowed. The elements live as long as something needs them. Never waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_free(x: *mut forerun_array) -> forerun_status {
    call(|caller| caller.free(x))
}

/// The dtype.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_dtype_of(x: *const forerun_array, out: *mut forerun_dtype) -> forerun_status {
    call(|caller| caller.put(out, caller.get(x)?.dtype() as forerun_dtype))
}

/// The number of dimensions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_rank(x: *const forerun_array, out: *mut usize) -> forerun_status {
    call(|caller| caller.put(out, caller.get(x)?.ndim()))
}

/// The number of elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_size(x: *const forerun_array, out: *mut usize) -> forerun_status {
    call(|caller| caller.put(out, caller.get(x)?.size()))
}

/// The extents, of which `out` has room for `capacity`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_shape(x: *const forerun_array, out: *mut i64, capacity: usize) -> forerun_status {
    call(|caller| {
        let shape = caller.get(x)?.shape();
        caller.put_all(out, capacity, shape.iter().map(|extent| *extent as i64))
    })
}

/// The bytes of one element; 0 for a number that is not a dtype.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_dtype_size(dtype: forerun_dtype) -> usize {
    usize::try_from(dtype).ok().and_then(|number| DType::ALL.get(number)).map_or(0, |dtype| dtype.size())
}

/// The name of a dtype; null for a number that is not a dtype.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_dtype_name(dtype: forerun_dtype) -> *const c_char {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    let names = NAMES.get_or_init(|| DType::ALL.iter().map(|dtype| c_text(dtype.name())).collect());
    let name = usize::try_from(dtype).ok().and_then(|number| names.get(number));
    name.map_or(std::ptr::null(), |name| name.as_ptr())
}

/// The dtype of a name, such as "float32".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_dtype_named(name: *const c_char, out: *mut forerun_dtype) -> forerun_status {
    call(|caller| {
        let name = caller.text(name, "the name")?;
        let dtype = DType::from_name(name).ok_or_else(|| Failure::kind(format!("there is no dtype {name}")))?;
        caller.put(out, dtype as forerun_dtype)
    })
}
