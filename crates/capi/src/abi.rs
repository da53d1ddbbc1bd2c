//! The types and numbers of the ABI. A number never changes its meaning while the major version stays.

use std::ffi::{c_char, c_void};

/// The version of this header: `major << 16 | minor`. See forerun_abi_version().
pub const FORERUN_ABI_VERSION: u32 = 1;

/// The result of a call: FORERUN_OK, or the kind of the error.
pub type forerun_status = i32;

/// Success.
pub const FORERUN_OK: forerun_status = 0;
/// A bad argument or shape.
pub const FORERUN_ERROR_VALUE: forerun_status = 1;
/// A bad dtype, or an argument of the wrong type.
pub const FORERUN_ERROR_TYPE: forerun_status = 2;
/// An index or an axis out of bounds.
pub const FORERUN_ERROR_INDEX: forerun_status = 3;
/// A number that does not fit the dtype.
pub const FORERUN_ERROR_OVERFLOW: forerun_status = 4;
/// An unexpected NaN or infinity.
pub const FORERUN_ERROR_FLOAT: forerun_status = 5;
/// A matrix that an op cannot handle.
pub const FORERUN_ERROR_LINEAR: forerun_status = 6;
/// Out of memory.
pub const FORERUN_ERROR_MEMORY: forerun_status = 7;
/// A wait was interrupted.
pub const FORERUN_ERROR_INTERRUPTED: forerun_status = 8;
/// An error of the engine, of a kernel, of a device or of a file.
pub const FORERUN_ERROR_RUNTIME: forerun_status = 9;
/// A null handle; in a library with debug assertions also a handle that was freed, or one of another type.
pub const FORERUN_ERROR_HANDLE: forerun_status = 10;

/// An element type: one of the numbers below. 1 byte, 0 or 1.
pub type forerun_dtype = i32;
/// A truth value: a byte, 0 or 1.
pub const FORERUN_BOOL: forerun_dtype = 0;
/// An 8-bit signed integer.
pub const FORERUN_INT8: forerun_dtype = 1;
/// A 16-bit signed integer.
pub const FORERUN_INT16: forerun_dtype = 2;
/// A 32-bit signed integer.
pub const FORERUN_INT32: forerun_dtype = 3;
/// A 64-bit signed integer: the default integer.
pub const FORERUN_INT64: forerun_dtype = 4;
/// An 8-bit unsigned integer.
pub const FORERUN_UINT8: forerun_dtype = 5;
/// A 16-bit unsigned integer.
pub const FORERUN_UINT16: forerun_dtype = 6;
/// A 32-bit unsigned integer.
pub const FORERUN_UINT32: forerun_dtype = 7;
/// A 64-bit unsigned integer.
pub const FORERUN_UINT64: forerun_dtype = 8;
/// IEEE half precision.
pub const FORERUN_FLOAT16: forerun_dtype = 9;
/// The upper half of an IEEE single.
pub const FORERUN_BFLOAT16: forerun_dtype = 10;
/// IEEE single precision: the default float, unless FORERUN_DEFAULT_DTYPE is set.
pub const FORERUN_FLOAT32: forerun_dtype = 11;
/// IEEE double precision.
pub const FORERUN_FLOAT64: forerun_dtype = 12;
/// Two singles, the real part first.
pub const FORERUN_COMPLEX64: forerun_dtype = 13;
/// Two doubles, the real part first.
pub const FORERUN_COMPLEX128: forerun_dtype = 14;
/// As an argument: the default of the function.
pub const FORERUN_DEFAULT: forerun_dtype = -1;

/// An array whose elements may not be computed yet. Free it with forerun_free().
pub struct forerun_array {
    _opaque: [u8; 0],
}

/// The elements of an array at the time it was read. Free it with forerun_snapshot_free().
pub struct forerun_snapshot {
    _opaque: [u8; 0],
}

/// Named arrays that were read from a file. Free it with forerun_archive_free().
pub struct forerun_archive {
    _opaque: [u8; 0],
}

/// A network that was exported to files. Free it with forerun_network_free().
pub struct forerun_network {
    _opaque: [u8; 0],
}

/// An optimiser with its states. Free it with forerun_optimiser_free().
pub struct forerun_optimiser {
    _opaque: [u8; 0],
}

/// The kind of an argument: an array. See forerun_of().
pub const FORERUN_ARGUMENT_ARRAY: u32 = 0;
/// The kind of an argument: a truth value.
pub const FORERUN_ARGUMENT_BOOL: u32 = 1;
/// The kind of an argument: a signed integer.
pub const FORERUN_ARGUMENT_INT: u32 = 2;
/// The kind of an argument: an unsigned integer.
pub const FORERUN_ARGUMENT_UINT: u32 = 3;
/// The kind of an argument: a float.
pub const FORERUN_ARGUMENT_FLOAT: u32 = 4;
/// The kind of an argument: a complex number.
pub const FORERUN_ARGUMENT_COMPLEX: u32 = 5;

/// The content of an argument, according to its kind.
#[repr(C)]
#[derive(Clone, Copy)]
pub union forerun_content {
    /// FORERUN_ARGUMENT_ARRAY.
    pub array: *const forerun_array,
    /// FORERUN_ARGUMENT_BOOL and FORERUN_ARGUMENT_INT.
    pub integer: i64,
    /// FORERUN_ARGUMENT_UINT.
    pub natural: u64,
    /// FORERUN_ARGUMENT_FLOAT: the first; FORERUN_ARGUMENT_COMPLEX: the real part and the imaginary part.
    pub real: [f64; 2],
}

/// An argument of an op: an array, or a number without a dtype, which takes the width of the array it is combined with.
/// forerun_of(), forerun_int(), forerun_float() and forerun_complex() make them.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct forerun_argument {
    /// One of FORERUN_ARGUMENT_...
    pub kind: u32,
    /// The array or the number.
    pub content: forerun_content,
}

/// The kind of an attribute: a truth value, in `integer`.
pub const FORERUN_ATTRIBUTE_BOOL: u32 = 1;
/// The kind of an attribute: an integer or an axis, in `integer`.
pub const FORERUN_ATTRIBUTE_INT: u32 = 2;
/// The kind of an attribute: an unsigned integer, in `integer`.
pub const FORERUN_ATTRIBUTE_UINT: u32 = 3;
/// The kind of an attribute: a float, in `real`.
pub const FORERUN_ATTRIBUTE_FLOAT: u32 = 4;
/// The kind of an attribute: a complex number, two floats at `data`.
pub const FORERUN_ATTRIBUTE_COMPLEX: u32 = 5;
/// The kind of an attribute: `count` integers (int64_t) at `data`.
pub const FORERUN_ATTRIBUTE_INTS: u32 = 6;
/// The kind of an attribute: `count` floats (double) at `data`.
pub const FORERUN_ATTRIBUTE_FLOATS: u32 = 7;
/// The kind of an attribute: a name at `data`, for example of a mode or a dtype.
pub const FORERUN_ATTRIBUTE_TEXT: u32 = 8;

/// A named attribute of an op. docs/catalogue.json lists the attributes of every op with their types.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct forerun_attribute {
    /// The name.
    pub name: *const c_char,
    /// One of FORERUN_ATTRIBUTE_...
    pub kind: u32,
    /// A truth value or an integer.
    pub integer: i64,
    /// A float.
    pub real: f64,
    /// A list or a text.
    pub data: *const c_void,
    /// The length of a list.
    pub count: usize,
}

/// The kind of an index item: one position, `start`; the dimension is dropped.
pub const FORERUN_INDEX_AT: u32 = 0;
/// The kind of an index item: `start`, `stop` and `step` of a slice.
pub const FORERUN_INDEX_SLICE: u32 = 1;
/// The kind of an index item: a new dimension of extent 1.
pub const FORERUN_INDEX_NEW_AXIS: u32 = 2;
/// The kind of an index item: all dimensions that no other item covers.
pub const FORERUN_INDEX_ELLIPSIS: u32 = 3;

/// cbindgen:ignore
///
/// As `start` or `stop` of a slice: from the first element, or up to the last. The header defines it by hand.
pub const FORERUN_END: i64 = i64::MIN;

/// One item of an index, with Python's meaning: negative positions count from the end.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct forerun_index {
    /// One of FORERUN_INDEX_...
    pub kind: u32,
    /// The position, or the first position of a slice.
    pub start: i64,
    /// One past the last position of a slice.
    pub stop: i64,
    /// The step of a slice.
    pub step: i64,
}

/// The kind of a device: the host.
pub const FORERUN_CPU: i32 = 0;
/// The kind of a device: a GPU.
pub const FORERUN_GPU: i32 = 1;

/// A device.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct forerun_device {
    /// FORERUN_CPU or FORERUN_GPU.
    pub kind: i32,
    /// The number among its kind.
    pub number: i32,
}

/// What backward does with the gradient of a variable: overwrite the stored one.
pub const FORERUN_GRAD_WRITE: i32 = 0;
/// What backward does with the gradient of a variable: add to the stored one.
pub const FORERUN_GRAD_ADD: i32 = 1;

/// Called when an array is ready, with FORERUN_OK, or failed, with the kind of the error.
pub type forerun_callback = Option<unsafe extern "C" fn(context: *mut c_void, status: forerun_status)>;

/// Counters since the start of the process.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct forerun_counters {
    /// Submitted ops.
    pub records: u64,
    /// Segments that were planned.
    pub segments: u64,
    /// Segments whose plan was found in the cache.
    pub plan_hits: u64,
    /// Bytes of arrays on the host.
    pub live_bytes: u64,
    /// The maximum of `live_bytes`.
    pub peak_bytes: u64,
}
