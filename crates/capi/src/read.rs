//! Waiting and reading.

use crate::abi::{
    FORERUN_ARGUMENT_BOOL, FORERUN_ARGUMENT_COMPLEX, FORERUN_ARGUMENT_FLOAT, FORERUN_ARGUMENT_INT,
    FORERUN_ARGUMENT_UINT, forerun_argument, forerun_array, forerun_content, forerun_dtype, forerun_snapshot,
    forerun_status,
};
use crate::caller::call;
use crate::error::Failure;
use crate::handle::give;
use forerun::Scalar;
use forerun::frontend::wait_all_with;
use std::ffi::{c_char, c_void};

/// Waits until an array is computed. Fails with the cause if the op that produces it failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_wait(x: *const forerun_array) -> forerun_status {
    call(|caller| Ok(caller.get(x)?.wait_to_read_with(&caller.wait("wait"))?))
}

/// Waits for everything submitted so far, by every thread. Fails with all errors that were not read yet:
/// forerun_error_text() has them all, the other functions for errors have the first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_wait_all() -> forerun_status {
    call(|caller| wait_all_with(&caller.wait("wait_all")).map_err(Failure::from_all))
}

/// Whether an array is computed or failed, so that reading it will not wait. Never waits; may compute small ops.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_is_ready(x: *const forerun_array, out: *mut bool) -> forerun_status {
    call(|caller| caller.put(out, caller.get(x)?.settled_now()))
}

/// Waits and copies all elements to `buffer`, of `bytes` bytes, in row-major order and in the dtype of the array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_read(x: *const forerun_array, buffer: *mut c_void, bytes: usize) -> forerun_status {
    call(|caller| {
        let x = caller.get(x)?;
        let needed = x.size() * x.dtype().size();
        if bytes != needed {
            let text = format!("{bytes} bytes do not hold {} of shape {}, which needs {needed}", x.dtype(), x.shape());
            return Err(Failure::value(text).within("read"));
        }
        caller.fill(buffer.cast(), &x.snapshot_with(&caller.wait("read"))?)
    })
}

/// Waits and returns the only element.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_item(x: *const forerun_array, out: *mut forerun_argument) -> forerun_status {
    call(|caller| {
        let real = |real| forerun_content { real };
        let (kind, content) = match caller.get(x)?.item_with(&caller.wait("item"))? {
            Scalar::Bool(flag) => (FORERUN_ARGUMENT_BOOL, forerun_content { integer: flag.into() }),
            Scalar::Int(integer) => (FORERUN_ARGUMENT_INT, forerun_content { integer }),
            Scalar::Large(natural) => (FORERUN_ARGUMENT_UINT, forerun_content { natural }),
            Scalar::Float(number) => (FORERUN_ARGUMENT_FLOAT, real([number, 0.0])),
            Scalar::Complex(re, im) => (FORERUN_ARGUMENT_COMPLEX, real([re, im])),
        };
        caller.put(out, forerun_argument { kind, content })
    })
}

/// Waits and returns the only element as a double; of a complex number, the real part.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_item_double(x: *const forerun_array, out: *mut f64) -> forerun_status {
    call(|caller| caller.put(out, caller.get(x)?.item_with(&caller.wait("item"))?.as_f64()))
}

/// Waits and writes the elements as text, as NumPy prints them: at most `capacity` bytes with the closing zero.
/// `length` (may be null) becomes the length of the whole text without it. With a capacity of 0, `buffer` may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_format(
    x: *const forerun_array,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> forerun_status {
    call(|caller| {
        let x = caller.get(x)?;
        x.wait_to_read_with(&caller.wait("format"))?;
        let text = x.to_string();
        if !length.is_null() {
            caller.put(length, text.len())?;
        }
        if capacity == 0 {
            return Ok(());
        }
        let shown = text.bytes().take(capacity - 1).chain([0]).map(|byte| byte as c_char).collect::<Vec<_>>();
        caller.put_all(buffer, capacity, shown.into_iter())
    })
}

/// Waits and takes a snapshot of the elements, on the host: they are not copied, and never change, also when the array
/// is written afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_snapshot_take(
    x: *const forerun_array,
    out: *mut *mut forerun_snapshot,
) -> forerun_status {
    call(|caller| {
        caller.writable(out)?;
        let taken = caller.get(x)?.snapshot_with(&caller.wait("snapshot"))?;
        caller.put(out, give::<forerun_snapshot>(taken))
    })
}

/// Describes a snapshot: the address of the first element, the dtype, and per dimension extent and stride, in elements.
/// `shape` and `strides` have room for `capacity` numbers each. Any pointer may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_snapshot_describe(
    snapshot: *const forerun_snapshot,
    data: *mut *const c_void,
    dtype: *mut forerun_dtype,
    shape: *mut i64,
    strides: *mut i64,
    capacity: usize,
) -> forerun_status {
    call(|caller| {
        let snapshot = caller.get(snapshot)?;
        let layout = snapshot.layout();
        if !data.is_null() {
            caller.put(data, snapshot.ptr().cast())?;
        }
        if !dtype.is_null() {
            caller.put(dtype, snapshot.dtype() as forerun_dtype)?;
        }
        if !shape.is_null() {
            caller.put_all(shape, capacity, layout.shape.iter().map(|extent| *extent as i64))?;
        }
        if !strides.is_null() {
            caller.put_all(strides, capacity, layout.strides().iter().map(|stride| *stride as i64))?;
        }
        Ok(())
    })
}

/// Frees a snapshot, after which its elements must not be read; null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_snapshot_free(snapshot: *mut forerun_snapshot) -> forerun_status {
    call(|caller| caller.free(snapshot))
}
