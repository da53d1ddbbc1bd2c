//! Reading: snapshots of settled arrays, and single elements.

use crate::array::Array;
use crate::array::wait::Wait;
use crate::observe::no_sync;
use crate::observe::observers;
use crate::observe::origin;
use crate::ops::{self, HostElement};
use crate::runtime::buffer::BufferRef;
use crate::runtime::node::INLINE;
use forerun_base::{DType, Device, Error, ErrorKind, Layout, Result, Scalar, fail_point};

/// The elements of an array at the time it was read. They are not copied and never change.
pub struct Snapshot {
    bytes: Bytes,
    offset: usize,
    layout: Layout,
    dtype: DType,
}

enum Bytes {
    Shared(BufferRef),
    Own(Box<[u64; INLINE / 8]>),
}

impl Snapshot {
    /// The first element.
    pub fn ptr(&self) -> *const u8 {
        let base = match &self.bytes {
            Bytes::Shared(buffer) => buffer.ptr(),
            Bytes::Own(words) => words.as_ptr() as *const u8,
        };
        // The offset of a view stays inside its base; a device address is only a number here.
        base.wrapping_add(self.offset)
    }

    /// Shape and strides, in elements.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The elements in row-major order.
    pub fn elements(&self) -> impl Iterator<Item = Scalar> + '_ {
        let shape = self.layout.shape;
        (0..shape.size()).map(move |mut linear| {
            let mut at = 0isize;
            for (d, s) in shape.iter().zip(self.layout.strides()).rev() {
                at += (linear % d) as isize * s;
                linear /= d;
            }
            self.element(at)
        })
    }

    fn element(&self, at: isize) -> Scalar {
        let size = self.dtype.size();
        let mut bytes = [0u8; 16];
        // SAFETY: the layout's elements are inside the bytes that the snapshot keeps.
        unsafe {
            let from = self.ptr().offset(at * size as isize);
            std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), size);
        }
        Scalar::from_bytes(&bytes, self.dtype)
    }

    /// The elements in row-major order, as their bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let size = self.dtype.size();
        if self.layout.is_dense() && self.layout.shape.size() > 0 {
            // SAFETY: the elements are dense and inside the bytes that the snapshot keeps; bytes need no alignment.
            return unsafe { std::slice::from_raw_parts(self.ptr(), self.layout.shape.size() * size) }.to_vec();
        }
        self.elements().flat_map(|element| element.to_bytes(self.dtype)).collect()
    }

    /// The elements in memory, if they are dense and have the dtype of a Rust type.
    pub fn dense<T: HostElement>(&self) -> Option<&[T]> {
        let is_dense = self.layout.is_dense() && self.layout.shape.size() > 0;
        if self.dtype != T::DTYPE || !is_dense || !self.ptr().cast::<T>().is_aligned() {
            return None;
        }
        // SAFETY: the elements are dense, aligned, of this type, inside the bytes that the snapshot keeps, and never
        // written while it exists.
        Some(unsafe { std::slice::from_raw_parts(self.ptr().cast(), self.layout.shape.size()) })
    }

    /// The elements in row-major order, as `f64`.
    pub fn to_f64(&self) -> Vec<f64> {
        self.elements().map(Scalar::as_f64).collect()
    }
}

/// The elements of an array on their device, exported to another library: kept alive and never changed.
pub struct Lent(Snapshot);

impl Lent {
    /// The address of the first element; a device address on an accelerator.
    pub fn address(&self) -> *const u8 {
        self.0.ptr()
    }

    /// Shape and strides, in elements.
    pub fn layout(&self) -> Layout {
        self.0.layout
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.0.dtype
    }
}

impl From<Snapshot> for Lent {
    fn from(snapshot: Snapshot) -> Lent {
        Lent(snapshot)
    }
}

impl Array {
    /// For an array on an accelerator, a copy on the host that may not be complete. Waiting for it also waits for the
    /// array.
    fn fetched<'a>(&self, wait: &Wait<'a>) -> Result<Option<(Array, Wait<'a>)>> {
        if self.device().is_host() {
            return Ok(None);
        }
        no_sync::check(wait, Some(self))?;
        let origin = self.pin(|value| if value.is_settled() { None } else { origin::of(value) });
        let here = observers::unobserved(|| ops::transfer(self, Device::default(), wait.loc))?;
        Ok(Some((here, Wait { origin, ..*wait })))
    }

    /// Waits and returns the elements without copying them; those of an accelerator are copied to the host.
    pub fn snapshot_with(&self, wait: &Wait<'_>) -> Result<Snapshot> {
        if let Some((here, wait)) = self.fetched(wait)? {
            return here.snapshot_with(&wait);
        }
        self.snapshot_in_place(wait)
    }

    /// Waits and returns the elements on their device, without copying them.
    pub fn lend_with(&self, wait: &Wait<'_>) -> Result<Lent> {
        self.snapshot_in_place(wait).map(Lent)
    }

    fn snapshot_in_place(&self, wait: &Wait<'_>) -> Result<Snapshot> {
        fail_point!("host.out", error => return Err(error.in_op("read").read_at(wait.loc)));
        let bytes = self.read(wait, |value| {
            // SAFETY: the value is ready, and open while it is read.
            match unsafe { value.share_buffer() } {
                Some(buffer) => Bytes::Shared(buffer),
                None => Bytes::Own(Box::new(value.inline_bytes())),
            }
        })?;
        let dtype = self.dtype();
        Ok(Snapshot { bytes, offset: self.offset() as usize * dtype.size(), layout: self.layout(), dtype })
    }

    /// Waits and returns the only element.
    pub fn item_with(&self, wait: &Wait<'_>) -> Result<Scalar> {
        if self.size() != 1 {
            return Err(Error::new(
                ErrorKind::Value,
                format!("can only convert an array of size 1 to a scalar, not one of shape {}", self.shape()),
            )
            .in_op("item")
            .read_at(wait.loc));
        }
        if let Some((here, wait)) = self.fetched(wait)? {
            return here.item_with(&wait);
        }
        let dtype = self.dtype();
        let (size, offset) = (dtype.size(), self.offset() as usize * dtype.size());
        self.read(wait, |value| {
            let mut bytes = [0u8; 16];
            // SAFETY: the value is ready and open; the view's element is inside it.
            unsafe { std::ptr::copy_nonoverlapping(value.data().add(offset), bytes.as_mut_ptr(), size) };
            Scalar::from_bytes(&bytes, dtype)
        })
    }
}
