//! DLPack: the protocol's structs, exported elements with their deleters, and the checks of foreign tensors. Frontends
//! wrap the structs, as capsules or as they are, and decide when to wait.
//!
//! Invariant: this library never changes exported elements. They live until the deleter is called, which any thread may
//! do.

use crate::array::read::Lent;
use crate::runtime::devices::{accelerator_count, cuda_number, settle_device};
use forerun_base::{DType, Device, Error, Layout, Shape};
use std::ffi::c_void;

/// The protocol's device type of the host.
pub const HOST: i32 = 1;
/// The protocol's device type of NVIDIA devices.
pub const CUDA: i32 = 2;
const PINNED_HOST: i32 = 3;

/// The version of exported tensors.
pub const VERSION: Version = Version { major: 1, minor: 1 };
/// The flag of tensors that must not be written.
pub const READ_ONLY: u64 = 1;
/// The flag of tensors that are copies.
pub const IS_COPIED: u64 = 2;

/// A version of the protocol.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Versions that differ here are incompatible.
    pub major: u32,
    /// Versions that differ only here are compatible.
    pub minor: u32,
}

/// An element type: a kind, its bits, and the number of lanes.
#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct Elements {
    code: u8,
    bits: u8,
    lanes: u16,
}

/// A tensor: address, device, element type and layout.
#[repr(C)]
pub struct Described {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    rank: i32,
    elements: Elements,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

/// A tensor with its deleter, before version 1.0: `DLManagedTensor`.
#[repr(C)]
pub struct Unversioned {
    described: Described,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Unversioned)>,
}

/// A tensor with its deleter and a version: `DLManagedTensorVersioned`.
#[repr(C)]
pub struct Versioned {
    version: Version,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    described: Described,
}

impl Unversioned {
    /// Calls the deleter of a tensor.
    ///
    /// # Safety
    /// The tensor is valid, and nobody uses it afterwards.
    pub unsafe fn delete(head: *mut Unversioned) {
        // SAFETY: the caller's guarantee; the producer's deleter takes the head it belongs to.
        unsafe { (*head).deleter.into_iter().for_each(|delete| delete(head)) }
    }

    /// The tensor.
    pub fn described(&self) -> &Described {
        &self.described
    }
}

impl Versioned {
    /// Calls the deleter of a tensor, of any version.
    ///
    /// # Safety
    /// The tensor is valid, and nobody uses it afterwards.
    pub unsafe fn delete(head: *mut Versioned) {
        // SAFETY: the caller's guarantee; the producer's deleter takes the head it belongs to.
        unsafe { (*head).deleter.into_iter().for_each(|delete| delete(head)) }
    }

    /// The tensor, if its version is supported.
    ///
    /// # Safety
    /// The tensor is valid for as long as the result is used.
    pub unsafe fn described<'a>(head: *const Versioned) -> Result<&'a Described, Refusal> {
        // SAFETY: the caller's guarantee, for the version; the other fields are used only for the known version.
        let (version, described) = unsafe { ((*head).version, &raw const (*head).described) };
        if version.major != VERSION.major {
            return Err(Refusal::Unreadable(format!("version {}.{} is not supported", version.major, version.minor)));
        }
        // SAFETY: the caller's guarantee.
        Ok(unsafe { &*described })
    }
}

/// An exported tensor and the data it refers to. The first field is what the consumer has a pointer to.
#[repr(C)]
struct Exported<T> {
    head: T,
    _kept: Kept,
    _numbers: Vec<i64>,
}

/// Elements exported to another library.
pub struct Kept {
    lent: Lent,
    device: Device,
}

impl Kept {
    /// Elements on their device.
    pub fn new(lent: Lent, device: Device) -> Kept {
        Kept { lent, device }
    }

    /// The elements.
    pub fn lent(&self) -> &Lent {
        &self.lent
    }

    /// Their description, and the numbers that it points at.
    fn describe(&self, place: (i32, i32)) -> (Described, Vec<i64>) {
        let layout = self.lent.layout();
        let mut numbers: Vec<i64> = layout.shape.iter().map(|extent| *extent as i64).collect();
        numbers.extend(layout.strides().iter().map(|stride| *stride as i64));
        let described = Described {
            data: self.lent.address().cast_mut().cast(),
            device_type: place.0,
            device_id: place.1,
            rank: layout.shape.rank() as i32,
            elements: elements_of(self.lent.dtype()),
            shape: numbers.as_ptr(),
            strides: numbers[layout.shape.rank()..].as_ptr(),
            byte_offset: 0,
        };
        (described, numbers)
    }

    /// Exports the elements as a versioned tensor, which owns them until its deleter is called.
    pub fn export(self, place: (i32, i32), flags: u64) -> *mut Versioned {
        let (described, numbers) = self.describe(place);
        let (context, deleter) = (std::ptr::null_mut(), Some(delete::<Versioned> as unsafe extern "C" fn(_)));
        let head = Versioned { version: VERSION, context, deleter, flags, described };
        Box::into_raw(Box::new(Exported { head, _kept: self, _numbers: numbers })).cast()
    }

    /// The same as a tensor before version 1.0, which cannot be marked as read-only.
    pub fn export_plain(self, place: (i32, i32)) -> *mut Unversioned {
        let (described, numbers) = self.describe(place);
        let (context, deleter) = (std::ptr::null_mut(), Some(delete::<Unversioned> as unsafe extern "C" fn(_)));
        let head = Unversioned { described, context, deleter };
        Box::into_raw(Box::new(Exported { head, _kept: self, _numbers: numbers })).cast()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // Kernels of the consumer may still read the elements after it released them. If the device is lost, nothing
        // reads any more.
        if !self.device.is_host() {
            let _ = settle_device(self.device);
        }
    }
}

/// The deleter of exported tensors.
///
/// # Safety
/// Called once, with the address of the head of an [`Exported`] of the same type.
unsafe extern "C" fn delete<T>(head: *mut T) {
    // SAFETY: the head is the first field of a box that came from `Box::into_raw`.
    drop(unsafe { Box::from_raw(head.cast::<Exported<T>>()) });
}

/// The protocol's number of a device; `None` for a device whose memory cannot be shared.
pub fn place_of(device: Device) -> Option<(i32, i32)> {
    if device.is_host() {
        return Some((HOST, 0));
    }
    cuda_number(device).map(|number| (CUDA, number as i32))
}

/// Why a foreign tensor cannot be imported.
#[derive(Debug)]
pub enum Refusal {
    /// Its version, device, address or shape.
    Unreadable(String),
    /// Its element type, by name.
    Dtype(String),
    /// A shape that no array can have.
    Shape(Error),
}

/// A foreign tensor whose description is valid.
#[derive(Debug)]
pub struct Foreign {
    /// The address of the first element.
    pub first: *mut u8,
    /// Its element type.
    pub dtype: DType,
    /// Shape and strides.
    pub layout: Layout,
    /// The device on which the elements can be read.
    pub home: Device,
}

impl Described {
    /// Checks every number of the description.
    pub fn check(&self) -> Result<Foreign, Refusal> {
        let (home, dtype, layout) = (self.home()?, dtype_of(self.elements)?, self.layout()?);
        let first = self.data.cast::<u8>().wrapping_add(self.byte_offset as usize);
        if layout.shape.size() > 0 && (self.data.is_null() || !first.addr().is_multiple_of(dtype.size())) {
            return Err(Refusal::Unreadable(format!("address {first:?} is null or misaligned for {dtype}")));
        }
        Ok(Foreign { first, dtype, layout, home })
    }

    /// The device from which the elements can be read.
    fn home(&self) -> Result<Device, Refusal> {
        let place = (self.device_type, self.device_id);
        match place {
            (HOST | PINNED_HOST, _) => Ok(Device::default()),
            (CUDA, number) => {
                let mut gpus = (0..accelerator_count()).map(|number| Device::Gpu(number as u8));
                let found = gpus.find(|gpu| cuda_number(*gpu) == usize::try_from(number).ok());
                found.ok_or_else(|| Refusal::Unreadable(format!("there is no device {place:?}")))
            }
            _ => Err(Refusal::Unreadable(format!("cannot read from device {place:?}"))),
        }
    }

    fn layout(&self) -> Result<Layout, Refusal> {
        let refused = |text: &str| Refusal::Unreadable(text.to_owned());
        let rank = usize::try_from(self.rank).map_err(|_| refused("negative rank"))?;
        if rank > 0 && self.shape.is_null() {
            return Err(refused("the tensor has no shape"));
        }
        // SAFETY: the protocol guarantees a number for each dimension; without dimensions nothing is read.
        let numbers = |first: *const i64| (0..rank).map(move |axis| unsafe { *first.add(axis) });
        let extents: Result<Vec<usize>, _> = numbers(self.shape).map(usize::try_from).collect();
        let shape = Shape::new(&extents.map_err(|_| refused("a negative extent"))?).map_err(Refusal::Shape)?;
        if self.strides.is_null() {
            return Ok(Layout::dense(shape));
        }
        let strides: Vec<isize> = numbers(self.strides).map(|stride| stride as isize).collect();
        Ok(Layout::strided(shape, &strides))
    }
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

fn dtype_of(elements: Elements) -> Result<DType, Refusal> {
    DType::ALL.into_iter().find(|dtype| elements_of(*dtype) == elements).ok_or_else(|| {
        let Elements { code, bits, lanes } = elements;
        let family = ["int", "uint", "float", "handle", "bfloat", "complex", "bool"].get(code as usize);
        let width = if lanes == 1 { format!("{bits}") } else { format!("{bits}x{lanes}") };
        Refusal::Dtype(format!("{}{width}", family.unwrap_or(&"of an unknown family, ")))
    })
}
