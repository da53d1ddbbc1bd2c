//! DLPack: arrays out as capsules that other libraries take, and in from theirs.
//!
//! | | what goes out | what comes in |
//! |---|---|---|
//! | versioned capsule | the bytes themselves, marked read-only; with `copy=True` a copy that may be written | copied |
//! | capsule of before 1.0 | a copy: it cannot say that its bytes are read-only | copied |
//!
//! Invariant: what a capsule describes never changes by our doing and lives until its deleter is called, which anybody may
//! do, on any thread, with or without the GIL. What comes in is given back to its maker exactly once.

use crate::device::{PyDevice, on};
use crate::error::raise;
use crate::loc::here;
use crate::{dtype, submit, wait};
use forerun::{Array, DType, Layout, Shape, Snapshot, ops};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{CStr, c_void};

/// The kinds of devices that the protocol numbers, as far as arrays of ours can be there.
const HOST: i32 = 1;
const PINNED_HOST: i32 = 3;

/// The version that capsules of ours are of.
const VERSION: Version = Version { major: 1, minor: 1 };
const READ_ONLY: u64 = 1;
const IS_COPIED: u64 = 2;

/// The names of capsules, before and after their content was taken.
const PLAIN: &CStr = c"dltensor";
const PLAIN_TAKEN: &CStr = c"used_dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
const VERSIONED_TAKEN: &CStr = c"used_dltensor_versioned";

#[repr(C)]
#[derive(Clone, Copy)]
struct Version {
    major: u32,
    minor: u32,
}

/// What elements are: a family, their bits, and how many of them make one.
#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct Elements {
    code: u8,
    bits: u8,
    lanes: u16,
}

/// Where elements lie, and how.
#[repr(C)]
struct Described {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    rank: i32,
    elements: Elements,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

/// What a capsule of before 1.0 points at.
#[repr(C)]
struct Plain {
    described: Described,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Plain)>,
}

/// What a versioned capsule points at.
#[repr(C)]
struct Versioned {
    version: Version,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    described: Described,
}

/// What an exported description needs to stay valid. The first field is what the capsule points at.
#[repr(C)]
struct Exported<T> {
    head: T,
    _snapshot: Snapshot,
    _numbers: Vec<i64>,
}

/// The deleter of everything exported.
///
/// # Safety
/// Called once, with the address of the head of an [`Exported`] of the same type.
unsafe extern "C" fn delete<T>(head: *mut T) {
    // SAFETY: the head is the first field of what `Box::into_raw` gave.
    drop(unsafe { Box::from_raw(head.cast::<Exported<T>>()) });
}

/// The destructor of capsules that nobody took.
///
/// # Safety
/// Python calls it once, for a capsule made below.
unsafe extern "C" fn forget(capsule: *mut ffi::PyObject) {
    // SAFETY: the capsule is alive; a valid name means that its pointer is still ours.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) != 0 {
            delete(ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast::<Versioned>());
        } else if ffi::PyCapsule_IsValid(capsule, PLAIN.as_ptr()) != 0 {
            delete(ffi::PyCapsule_GetPointer(capsule, PLAIN.as_ptr()).cast::<Plain>());
        }
    }
}

/// What `__dlpack__` was asked for.
pub(crate) struct Asked<'a, 'py> {
    pub(crate) stream: Option<&'a Bound<'py, PyAny>>,
    pub(crate) max_version: Option<(u32, u32)>,
    pub(crate) device: Option<(i32, i32)>,
    pub(crate) copy: Option<bool>,
}

/// How the protocol numbers the device of an array.
pub(crate) fn device_of(array: &Array) -> PyResult<(i32, i32)> {
    if array.device().is_host() {
        return Ok((HOST, 0));
    }
    Err(PyBufferError::new_err(format!("__dlpack_device__: the memory of {} cannot be shared", array.device())))
}

/// An array as a capsule.
pub(crate) fn export<'py>(py: Python<'py>, array: &Array, asked: &Asked<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    if asked.stream.is_some_and(|stream| !stream.is_none()) {
        return Err(PyValueError::new_err("__dlpack__: arrays of the host have no stream"));
    }
    let home = if asked.device == Some((HOST, 0)) { asked.device } else { None };
    let home = home.map_or_else(|| device_of(array), Ok)?;
    if let Some(other) = asked.device.filter(|device| *device != home) {
        return Err(PyBufferError::new_err(format!("__dlpack__: cannot export to device {other:?}, only to {home:?}")));
    }
    let versioned = asked.max_version.is_some_and(|(major, _)| major >= 1);
    // A capsule of before 1.0 cannot say that its bytes must not be written.
    let copied = match asked.copy {
        Some(false) if !versioned => {
            return Err(PyBufferError::new_err("__dlpack__: without a copy a consumer of DLPack 1.0 is needed"));
        }
        Some(false) if !array.device().is_host() => {
            return Err(PyBufferError::new_err("__dlpack__: elements of a GPU cannot reach the host without a copy"));
        }
        Some(copy) => copy,
        None => !versioned,
    };
    // What comes from a device is a copy already.
    let fetched = !array.device().is_host();
    let own = if copied && !fetched { Some(ops::copy(&array.detach(), here(py)).map_err(raise)?) } else { None };
    let array = own.as_ref().unwrap_or(array);
    let snapshot = wait::read(py, array, "__dlpack__", |array, wait| array.snapshot_with(wait))?;
    // From here on nobody but the capsule holds the bytes of a copy, so whoever takes it may write them.
    drop(own);
    let layout = snapshot.layout();
    let mut numbers: Vec<i64> = layout.shape.iter().map(|extent| *extent as i64).collect();
    numbers.extend(layout.strides().iter().map(|stride| *stride as i64));
    let described = Described {
        data: snapshot.ptr().cast_mut().cast(),
        device_type: home.0,
        device_id: home.1,
        rank: layout.shape.rank() as i32,
        elements: elements_of(snapshot.dtype()),
        shape: numbers.as_ptr(),
        strides: numbers[layout.shape.rank()..].as_ptr(),
        byte_offset: 0,
    };
    let context = std::ptr::null_mut();
    if versioned {
        let flags = if copied || fetched { IS_COPIED } else { READ_ONLY };
        let head = Versioned { version: VERSION, context, deleter: Some(delete), flags, described };
        capsule(py, Exported { head, _snapshot: snapshot, _numbers: numbers }, VERSIONED)
    } else {
        let head = Plain { described, context, deleter: Some(delete) };
        capsule(py, Exported { head, _snapshot: snapshot, _numbers: numbers }, PLAIN)
    }
}

fn capsule<'py, T>(py: Python<'py>, exported: Exported<T>, name: &'static CStr) -> PyResult<Bound<'py, PyAny>> {
    let pointer = Box::into_raw(Box::new(exported));
    // SAFETY: the pointer is not null, the name lives for ever, and the capsule owns what it points at from now on.
    let made = unsafe { ffi::PyCapsule_New(pointer.cast(), name.as_ptr(), Some(forget)) };
    if made.is_null() {
        // SAFETY: no capsule took it over.
        drop(unsafe { Box::from_raw(pointer) });
    }
    // SAFETY: a new reference, or null with an error set.
    unsafe { Bound::from_owned_ptr_or_err(py, made) }
}

/// The content of a capsule, taken: given back to its maker when it is dropped.
enum Taken {
    Plain(*mut Plain),
    Versioned(*mut Versioned),
}

impl Taken {
    fn from(capsule: &Bound<'_, PyAny>) -> PyResult<Taken> {
        let py = capsule.py();
        // SAFETY: the object is alive and the GIL is held; names are compared before the pointer is believed, and the
        // new name tells the capsule's destructor and every other consumer that the content is taken.
        let take = |name: &CStr, taken: &'static CStr| unsafe {
            if ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) == 0 {
                return Ok(None);
            }
            let pointer = ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr());
            match ffi::PyCapsule_SetName(capsule.as_ptr(), taken.as_ptr()) {
                0 => Ok(Some(pointer)),
                _ => Err(PyErr::fetch(py)),
            }
        };
        if let Some(pointer) = take(VERSIONED, VERSIONED_TAKEN)? {
            return Ok(Taken::Versioned(pointer.cast()));
        }
        if let Some(pointer) = take(PLAIN, PLAIN_TAKEN)? {
            return Ok(Taken::Plain(pointer.cast()));
        }
        Err(PyTypeError::new_err("from_dlpack: __dlpack__ gave no capsule, or one that was taken before"))
    }

    /// What the capsule describes, if it is of a version that is known.
    fn described(&self) -> PyResult<&Described> {
        match self {
            // SAFETY: the protocol promises the struct until the deleter is called.
            Taken::Plain(head) => Ok(unsafe { &(**head).described }),
            Taken::Versioned(head) => {
                // SAFETY: as above, for the version; for the rest if the version is the one that is known.
                let (version, described) = unsafe { ((**head).version, &raw const (**head).described) };
                if version.major != VERSION.major {
                    let text = format!("from_dlpack: version {}.{} is not supported", version.major, version.minor);
                    return Err(PyBufferError::new_err(text));
                }
                // SAFETY: as above.
                Ok(unsafe { &*described })
            }
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // SAFETY: the content is taken, so nobody else calls the deleter, and this does once.
        unsafe {
            match *self {
                Taken::Plain(head) => (*head).deleter.into_iter().for_each(|delete| delete(head)),
                Taken::Versioned(head) => (*head).deleter.into_iter().for_each(|delete| delete(head)),
            }
        }
    }
}

/// An array of what a capsule describes, copied, on a device or on the current one.
#[pyfunction]
#[pyo3(signature = (capsule, device = None))]
pub(crate) fn from_capsule(
    py: Python<'_>,
    capsule: &Bound<'_, PyAny>,
    device: Option<&Bound<'_, PyDevice>>,
) -> PyResult<Py<PyAny>> {
    let taken = Taken::from(capsule)?;
    let described = taken.described()?;
    if described.device_type != HOST && described.device_type != PINNED_HOST {
        let place = (described.device_type, described.device_id);
        return Err(PyBufferError::new_err(format!("from_dlpack: cannot read from device {place:?}")));
    }
    let dtype = dtype_of(described.elements)?;
    let layout = layout_of(described)?;
    let bytes = layout.shape.size() * dtype.size();
    let first = described.data.cast::<u8>().wrapping_add(described.byte_offset as usize);
    if bytes > 0 && (described.data.is_null() || !first.addr().is_multiple_of(dtype.size())) {
        return Err(PyBufferError::new_err(format!("from_dlpack: {first:?} is no address of elements of {dtype}")));
    }
    wait::make_host_room(py, bytes)?;
    // SAFETY: the protocol promises the elements that the layout reaches, until the deleter is called.
    let copied = on(device, || unsafe { ops::from_host(first, dtype, layout, here(py)) })?;
    submit::object(py, copied)
}

/// Shape and strides of a description. Every number in it is checked.
fn layout_of(described: &Described) -> PyResult<Layout> {
    let rank = usize::try_from(described.rank).map_err(|_| PyBufferError::new_err("from_dlpack: negative rank"))?;
    if rank > 0 && described.shape.is_null() {
        return Err(PyBufferError::new_err("from_dlpack: the capsule has no shape"));
    }
    // SAFETY: the protocol promises a number for each dimension; where there is none, nothing is read.
    let numbers = |first: *const i64| (0..rank).map(move |axis| unsafe { *first.add(axis) });
    let extents: Result<Vec<usize>, _> = numbers(described.shape).map(usize::try_from).collect();
    let extents = extents.map_err(|_| PyBufferError::new_err("from_dlpack: a negative extent"))?;
    let shape = Shape::new(&extents).map_err(raise)?;
    if described.strides.is_null() {
        return Ok(Layout::dense(shape));
    }
    let strides: Vec<isize> = numbers(described.strides).map(|stride| stride as isize).collect();
    Ok(Layout::strided(shape, &strides))
}

/// How the protocol numbers a dtype: by the family that its name begins with, and its bits.
fn elements_of(dtype: DType) -> Elements {
    let code = match dtype.name().trim_end_matches(|c: char| c.is_ascii_digit()) {
        "int" => 0,
        "uint" => 1,
        "float" => 2,
        "bfloat" => 4,
        "complex" => 5,
        _ => 6,
    };
    Elements { code, bits: dtype.size() as u8 * 8, lanes: 1 }
}

fn dtype_of(elements: Elements) -> PyResult<DType> {
    DType::ALL.into_iter().find(|dtype| elements_of(*dtype) == elements).ok_or_else(|| {
        let Elements { code, bits, lanes } = elements;
        let family = ["int", "uint", "float", "handle", "bfloat", "complex", "bool"].get(code as usize);
        let width = if lanes == 1 { format!("{bits}") } else { format!("{bits}x{lanes}") };
        dtype::unknown(&format!("{}{width}", family.unwrap_or(&"of an unknown family, ")))
    })
}
