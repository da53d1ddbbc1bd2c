//! DLPack: exports arrays as capsules, and imports them.
//!
//! | | export | import |
//! |---|---|---|
//! | versioned capsule | the bytes themselves, marked read-only; with `copy=True` a writable copy | copied |
//! | capsule before version 1.0 | a copy, because it cannot mark its bytes as read-only | copied |
//!
//! Invariant: this library never changes exported elements. They live until the deleter is called, which any thread may
//! do, with or without the GIL. An imported capsule is returned to its producer exactly once.

use crate::device::{PyDevice, on};
use crate::error::raise;
use crate::loc::here;
use crate::{dtype, submit, wait};
use forerun::frontend::Lent;
use forerun::{Array, DType, Device, Layout, Shape, ops};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{CStr, c_void};

/// The protocol's device types on which arrays can be.
const HOST: i32 = 1;
const CUDA: i32 = 2;
const PINNED_HOST: i32 = 3;

/// The version of exported capsules.
const VERSION: Version = Version { major: 1, minor: 1 };
const READ_ONLY: u64 = 1;
const IS_COPIED: u64 = 2;

/// The names of capsules before and after they are consumed.
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

/// An element type: a kind, its bits, and the number of lanes.
#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct Elements {
    code: u8,
    bits: u8,
    lanes: u16,
}

/// A tensor of the protocol: address, device, element type and layout.
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

/// The content of a capsule before version 1.0.
#[repr(C)]
struct Plain {
    described: Described,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Plain)>,
}

/// The content of a versioned capsule.
#[repr(C)]
struct Versioned {
    version: Version,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    described: Described,
}

/// An exported description and the data it refers to. The first field is what the capsule points at.
#[repr(C)]
struct Exported<T> {
    head: T,
    _kept: Kept,
    _numbers: Vec<i64>,
}

/// Elements exported to another library.
pub(crate) struct Kept {
    lent: Lent,
    device: Device,
}

impl Kept {
    /// The elements.
    pub(crate) fn lent(&self) -> &Lent {
        &self.lent
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // Kernels of the consumer may still read the elements after it released them. If the device is lost, nothing
        // reads any more.
        if !self.device.is_host() {
            let _ = forerun::frontend::settle_device(self.device);
        }
    }
}

/// The deleter of exported capsules.
///
/// # Safety
/// Called once, with the address of the head of an [`Exported`] of the same type.
unsafe extern "C" fn delete<T>(head: *mut T) {
    // SAFETY: the head is the first field of a box that came from `Box::into_raw`.
    drop(unsafe { Box::from_raw(head.cast::<Exported<T>>()) });
}

/// The destructor of capsules that were not consumed.
///
/// # Safety
/// Called once by Python, for a capsule created below.
unsafe extern "C" fn forget(capsule: *mut ffi::PyObject) {
    // SAFETY: the capsule is alive; an unchanged name means that it still owns its pointer.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) != 0 {
            delete(ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast::<Versioned>());
        } else if ffi::PyCapsule_IsValid(capsule, PLAIN.as_ptr()) != 0 {
            delete(ffi::PyCapsule_GetPointer(capsule, PLAIN.as_ptr()).cast::<Plain>());
        }
    }
}

/// The arguments of `__dlpack__`.
pub(crate) struct Asked<'a, 'py> {
    pub(crate) stream: Option<&'a Bound<'py, PyAny>>,
    pub(crate) max_version: Option<(u32, u32)>,
    pub(crate) device: Option<(i32, i32)>,
    pub(crate) copy: Option<bool>,
}

/// The protocol's number of an array's device.
pub(crate) fn device_of(array: &Array) -> PyResult<(i32, i32)> {
    if array.device().is_host() {
        return Ok((HOST, 0));
    }
    if let Some(number) = forerun::frontend::cuda_number(array.device()) {
        return Ok((CUDA, number as i32));
    }
    Err(PyBufferError::new_err(format!("__dlpack_device__: the memory of {} cannot be shared", array.device())))
}

/// Exports an array as a capsule.
pub(crate) fn export<'py>(py: Python<'py>, array: &Array, asked: &Asked<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    let home = if asked.device == Some((HOST, 0)) { asked.device } else { None };
    let home = home.map_or_else(|| device_of(array), Ok)?;
    if let Some(other) = asked.device.filter(|device| *device != home) {
        return Err(PyBufferError::new_err(format!("__dlpack__: cannot export to device {other:?}, only to {home:?}")));
    }
    let in_place = home.0 == CUDA;
    check_stream(asked.stream, in_place)?;
    let versioned = asked.max_version.is_some_and(|(major, _)| major >= 1);
    // A capsule before version 1.0 cannot mark its bytes as read-only; a consumer that forbids a copy must not write.
    let copied = match asked.copy {
        Some(false) if !in_place && !array.device().is_host() => {
            return Err(PyBufferError::new_err(
                "__dlpack__: elements on a GPU cannot be exported to the host without a copy",
            ));
        }
        Some(copy) => copy,
        None => !versioned,
    };
    // A transfer from a device to the host is already a copy.
    let fetched = !in_place && !array.device().is_host();
    let own = if copied && !fetched { Some(ops::copy(&array.detach(), here(py)).map_err(raise)?) } else { None };
    let array = own.as_ref().unwrap_or(array);
    // A complete value may be read on any stream, so the consumer's stream need not wait for it.
    let kept = if fetched { fetch(py, array, "__dlpack__") } else { keep(py, array, "__dlpack__") }?;
    // From here on only the capsule holds the bytes of a copy, so the consumer may write them.
    drop(own);
    let layout = kept.lent.layout();
    let mut numbers: Vec<i64> = layout.shape.iter().map(|extent| *extent as i64).collect();
    numbers.extend(layout.strides().iter().map(|stride| *stride as i64));
    let described = Described {
        data: kept.lent.address().cast_mut().cast(),
        device_type: home.0,
        device_id: home.1,
        rank: layout.shape.rank() as i32,
        elements: elements_of(kept.lent.dtype()),
        shape: numbers.as_ptr(),
        strides: numbers[layout.shape.rank()..].as_ptr(),
        byte_offset: 0,
    };
    let context = std::ptr::null_mut();
    if versioned {
        let flags = if copied || fetched { IS_COPIED } else { READ_ONLY };
        let head = Versioned { version: VERSION, context, deleter: Some(delete), flags, described };
        capsule(py, Exported { head, _kept: kept, _numbers: numbers }, VERSIONED)
    } else {
        let head = Plain { described, context, deleter: Some(delete) };
        capsule(py, Exported { head, _kept: kept, _numbers: numbers }, PLAIN)
    }
}

/// Keeps the elements of an array on their device.
pub(crate) fn keep(py: Python<'_>, array: &Array, call: &'static str) -> PyResult<Kept> {
    let lent = wait::read(py, array, call, |array, wait| array.lend_with(wait))?;
    Ok(Kept { lent, device: array.device() })
}

/// Copies the elements of a device array to the host.
fn fetch(py: Python<'_>, array: &Array, call: &'static str) -> PyResult<Kept> {
    let snapshot = wait::read(py, array, call, |array, wait| array.snapshot_with(wait))?;
    Ok(Kept { lent: snapshot.into(), device: Device::default() })
}

/// Rejects invalid streams: the host has none, and CUDA streams are numbers, of which 0 is ambiguous.
fn check_stream(stream: Option<&Bound<'_, PyAny>>, cuda: bool) -> PyResult<()> {
    let Some(stream) = stream.filter(|stream| !stream.is_none()) else { return Ok(()) };
    if !cuda {
        return Err(PyValueError::new_err("__dlpack__: host arrays have no stream"));
    }
    match stream.extract::<i64>() {
        Ok(number) if number == -1 || number > 0 => Ok(()),
        _ => Err(PyValueError::new_err("__dlpack__: a CUDA stream must be None, -1, 1, 2 or a handle")),
    }
}

fn capsule<'py, T>(py: Python<'py>, exported: Exported<T>, name: &'static CStr) -> PyResult<Bound<'py, PyAny>> {
    let pointer = Box::into_raw(Box::new(exported));
    // SAFETY: the pointer is not null, the name is static, and the capsule owns what it points at from now on.
    let made = unsafe { ffi::PyCapsule_New(pointer.cast(), name.as_ptr(), Some(forget)) };
    if made.is_null() {
        // SAFETY: no capsule took ownership.
        drop(unsafe { Box::from_raw(pointer) });
    }
    // SAFETY: the result is a new reference, or null with an error set.
    unsafe { Bound::from_owned_ptr_or_err(py, made) }
}

/// The consumed content of a capsule, returned to its producer when dropped.
enum Taken {
    Plain(*mut Plain),
    Versioned(*mut Versioned),
}

impl Taken {
    fn from(capsule: &Bound<'_, PyAny>) -> PyResult<Taken> {
        let py = capsule.py();
        // SAFETY: the object is alive and the GIL is held. The name is checked before the pointer is used, and the new
        // name tells the capsule's destructor and other consumers that the content is consumed.
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
        Err(PyTypeError::new_err("from_dlpack: __dlpack__ returned no capsule, or one that was already consumed"))
    }

    /// The described tensor, if the capsule's version is supported.
    fn described(&self) -> PyResult<&Described> {
        match self {
            // SAFETY: the protocol guarantees the struct until the deleter is called.
            Taken::Plain(head) => Ok(unsafe { &(**head).described }),
            Taken::Versioned(head) => {
                // SAFETY: as above, for the version field; the other fields are used only for the known version.
                let (version, described) = unsafe { ((**head).version, &raw const (**head).described) };
                if version.major != VERSION.major {
                    let text = format!("from_dlpack: version {}.{} is not supported", version.major, version.minor);
                    return Err(PyBufferError::new_err(text));
                }
                // SAFETY: the protocol guarantees the struct until the deleter is called.
                Ok(unsafe { &*described })
            }
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // SAFETY: the content is consumed, so only this calls the deleter, once.
        unsafe {
            match *self {
                Taken::Plain(head) => (*head).deleter.into_iter().for_each(|delete| delete(head)),
                Taken::Versioned(head) => (*head).deleter.into_iter().for_each(|delete| delete(head)),
            }
        }
    }
}

/// Creates an array from a capsule by a copy, on a device or on the current one.
#[pyfunction]
#[pyo3(signature = (capsule, device = None))]
pub(crate) fn from_capsule(
    py: Python<'_>,
    capsule: &Bound<'_, PyAny>,
    device: Option<&Bound<'_, PyDevice>>,
) -> PyResult<Py<PyAny>> {
    let taken = Taken::from(capsule)?;
    let described = taken.described()?;
    let home = home_of(described)?;
    let dtype = dtype_of(described.elements)?;
    let layout = layout_of(described)?;
    let bytes = layout.shape.size() * dtype.size();
    let first = described.data.cast::<u8>().wrapping_add(described.byte_offset as usize);
    if bytes > 0 && (described.data.is_null() || !first.addr().is_multiple_of(dtype.size())) {
        return Err(PyBufferError::new_err(format!(
            "from_dlpack: address {first:?} is null or misaligned for {dtype}"
        )));
    }
    if !home.is_host() {
        return from_cuda(py, first, dtype, layout, home, device);
    }
    wait::make_host_room(py, bytes)?;
    // SAFETY: the protocol guarantees the elements of the layout until the deleter is called.
    let copied = on(device, || unsafe { ops::from_host(first, dtype, layout, here(py)) })?;
    submit::object(py, copied)
}

/// The device from which the described elements can be read.
fn home_of(described: &Described) -> PyResult<Device> {
    let place = (described.device_type, described.device_id);
    match place {
        (HOST | PINNED_HOST, _) => Ok(Device::default()),
        (CUDA, number) => {
            let mut gpus = (0..forerun::device::accelerator_count()).map(|number| Device::Gpu(number as u8));
            gpus.find(|gpu| forerun::frontend::cuda_number(*gpu) == usize::try_from(number).ok())
        }
        .ok_or_else(|| PyBufferError::new_err(format!("from_dlpack: there is no device {place:?}"))),
        _ => Err(PyBufferError::new_err(format!("from_dlpack: cannot read from device {place:?}"))),
    }
}

/// Creates an array from elements in device memory: copied on that device, then transferred if needed.
fn from_cuda(
    py: Python<'_>,
    first: *mut u8,
    dtype: DType,
    layout: Layout,
    home: Device,
    wanted: Option<&Bound<'_, PyDevice>>,
) -> PyResult<Py<PyAny>> {
    wait::announce(py, "from_dlpack")?;
    let (address, loc) = (first.addr(), here(py));
    let copied = py.detach(|| {
        // After this the producer's writes are complete, on whatever stream it made them.
        forerun::frontend::settle_device(home)?;
        let first = std::ptr::without_provenance_mut(address);
        // SAFETY: the protocol guarantees the elements of the layout until the deleter is called, and they are written.
        unsafe { ops::from_device(first, dtype, layout, home, loc) }
    });
    let copied = copied.map_err(raise)?;
    match wanted.map(|wanted| wanted.get().0).filter(|wanted| *wanted != home) {
        Some(wanted) => submit::object(py, ops::transfer(&copied, wanted, here(py))),
        None => submit::object(py, Ok(copied)),
    }
}

/// Shape and strides of a description. Every number in it is checked.
fn layout_of(described: &Described) -> PyResult<Layout> {
    let rank = usize::try_from(described.rank).map_err(|_| PyBufferError::new_err("from_dlpack: negative rank"))?;
    if rank > 0 && described.shape.is_null() {
        return Err(PyBufferError::new_err("from_dlpack: the capsule has no shape"));
    }
    // SAFETY: the protocol guarantees a number for each dimension; without dimensions nothing is read.
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

/// The protocol's code of a dtype: the kind that its name begins with, and its bits.
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
