//! The arguments of a call: checks and conversions. All dereferences of the caller's pointers are here.
//!
//! Invariant: a [`Caller`] exists only during a call of the ABI, whose caller guarantees what the header states: each
//! pointer is null or valid for the stated number of elements, and each handle is null or alive.

use crate::abi::{
    FORERUN_ARGUMENT_ARRAY, FORERUN_ARGUMENT_BOOL, FORERUN_ARGUMENT_COMPLEX, FORERUN_ARGUMENT_FLOAT,
    FORERUN_ARGUMENT_INT, FORERUN_ARGUMENT_UINT, FORERUN_CPU, FORERUN_DEFAULT, FORERUN_END, FORERUN_GPU,
    FORERUN_INDEX_AT, FORERUN_INDEX_ELLIPSIS, FORERUN_INDEX_NEW_AXIS, FORERUN_INDEX_SLICE, FORERUN_OK,
    forerun_argument, forerun_array, forerun_device, forerun_dtype, forerun_index, forerun_status,
};
use crate::error::{Failure, store};
use crate::handle::{self, Borrowed, Opaque, give};
use crate::line;
use forerun::{Arg, Array, DType, Device, Error, Index, Loc, Scalar, Snapshot, Wait};
use std::borrow::Cow;
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of a conversion.
pub(crate) type Outcome<T> = std::result::Result<T, Failure>;

/// The right to use the pointers of one call.
pub(crate) struct Caller {
    loc: Loc,
}

/// Runs the body of an exported function. Stores its error, also that of a panic.
#[inline]
pub(crate) fn call(body: impl FnOnce(&Caller) -> Outcome<()>) -> forerun_status {
    let caller = Caller { loc: line::here() };
    match catch_unwind(AssertUnwindSafe(|| body(&caller))) {
        Ok(Ok(())) => FORERUN_OK,
        Ok(Err(failure)) => store(failure, caller.loc),
        Err(panic) => store(Error::panicked("forerun", &*panic).into(), caller.loc),
    }
}

/// A string of the caller; what is not UTF-8 is replaced.
pub(crate) fn text(text: &CStr) -> Cow<'_, str> {
    text.to_string_lossy()
}

/// An argument with its array.
pub(crate) enum Operand<'a> {
    Array(Borrowed<'a, forerun_array>),
    Number(Scalar),
}

impl Operand<'_> {
    #[inline]
    pub(crate) fn arg(&self) -> Arg<'_> {
        match self {
            Operand::Array(array) => Arg::Array(array),
            Operand::Number(number) => Arg::Scalar(*number),
        }
    }
}

impl Caller {
    /// The line of the call.
    #[inline]
    pub(crate) fn loc(&self) -> Loc {
        self.loc
    }

    /// A wait on the line of the call.
    pub(crate) fn wait(&self, call: &'static str) -> Wait<'static> {
        Wait::at(self.loc, call)
    }

    /// The object of a handle.
    #[inline]
    pub(crate) fn get<'a, T: Opaque>(&'a self, handle: *const T) -> Outcome<Borrowed<'a, T>> {
        // SAFETY: the invariant of this module.
        unsafe { handle::borrow(handle) }
    }

    /// The objects of several handles.
    pub(crate) fn all<'a, T: Opaque>(
        &'a self,
        handles: *const *const T,
        count: usize,
    ) -> Outcome<Vec<Borrowed<'a, T>>> {
        self.slice(handles, count, "the handles")?.iter().map(|handle| self.get(*handle)).collect()
    }

    /// Frees a handle.
    #[inline]
    pub(crate) fn free<T: Opaque>(&self, handle: *mut T) -> Outcome<()> {
        // SAFETY: the invariant of this module.
        unsafe { handle::free(handle) }
    }

    /// `count` elements of the caller.
    pub(crate) fn slice<'a, T>(&'a self, first: *const T, count: usize, what: &str) -> Outcome<&'a [T]> {
        match count {
            0 => Ok(&[]),
            _ if first.is_null() => Err(Failure::value(format!("{what} are null, but {count} are announced"))),
            // SAFETY: the invariant of this module.
            _ => Ok(unsafe { std::slice::from_raw_parts(first, count) }),
        }
    }

    /// A string of the caller.
    pub(crate) fn text<'a>(&'a self, text: *const c_char, what: &str) -> Outcome<&'a str> {
        if text.is_null() {
            return Err(Failure::value(format!("{what} is null")));
        }
        // SAFETY: the invariant of this module.
        let text = unsafe { CStr::from_ptr(text) };
        text.to_str().map_err(|_| Failure::value(format!("{what} is not UTF-8")))
    }

    /// Checks that a result can be written.
    #[inline]
    pub(crate) fn writable<T>(&self, place: *mut T) -> Outcome<()> {
        if place.is_null() { Err(Failure::value("the place of the result is null")) } else { Ok(()) }
    }

    /// Writes a result of the call.
    #[inline]
    pub(crate) fn put<T>(&self, place: *mut T, value: T) -> Outcome<()> {
        self.writable(place)?;
        // SAFETY: the invariant of this module.
        unsafe { place.write(value) };
        Ok(())
    }

    /// Writes `values` to the first of `capacity` places.
    pub(crate) fn put_all<T>(
        &self,
        first: *mut T,
        capacity: usize,
        values: impl ExactSizeIterator<Item = T>,
    ) -> Outcome<()> {
        let count = values.len();
        if count > capacity {
            return Err(Failure::value(format!("{count} results do not fit in {capacity} places")));
        }
        if count > 0 {
            self.writable(first)?;
        }
        for (k, value) in values.enumerate() {
            // SAFETY: the invariant of this module; there are at least `count` places.
            unsafe { first.add(k).write(value) };
        }
        Ok(())
    }

    /// Returns an array to the caller.
    #[inline]
    pub(crate) fn give(&self, place: *mut *mut forerun_array, made: forerun::Result<Array>) -> Outcome<()> {
        self.writable(place)?;
        self.put(place, give::<forerun_array>(made?))
    }

    /// Copies all elements of a snapshot to a buffer that is large enough.
    pub(crate) fn fill(&self, buffer: *mut u8, snapshot: &Snapshot) -> Outcome<()> {
        let (layout, size) = (snapshot.layout(), snapshot.dtype().size());
        let bytes = layout.shape.size() * size;
        if bytes == 0 {
            return Ok(());
        }
        self.writable(buffer)?;
        let (own, from) = match layout.is_dense() {
            true => (Vec::new(), snapshot.ptr()),
            false => {
                let own = snapshot.to_bytes();
                let from = own.as_ptr();
                (own, from)
            }
        };
        // SAFETY: the invariant of this module for the buffer; the snapshot or the vector has as many bytes.
        unsafe { std::ptr::copy_nonoverlapping(from, buffer, bytes) };
        drop(own);
        Ok(())
    }

    /// An argument of an op.
    #[inline]
    pub(crate) fn operand<'a>(&'a self, argument: &forerun_argument) -> Outcome<Operand<'a>> {
        let content = &argument.content;
        // SAFETY: the header demands the content of the kind; every field is plain data.
        let number = unsafe {
            match argument.kind {
                FORERUN_ARGUMENT_ARRAY => return self.get(content.array).map(Operand::Array),
                FORERUN_ARGUMENT_BOOL => Scalar::Bool(content.integer != 0),
                FORERUN_ARGUMENT_INT => Scalar::Int(content.integer),
                FORERUN_ARGUMENT_UINT => Scalar::from(content.natural),
                FORERUN_ARGUMENT_FLOAT => Scalar::Float(content.real[0]),
                FORERUN_ARGUMENT_COMPLEX => Scalar::Complex(content.real[0], content.real[1]),
                other => return Err(Failure::kind(format!("{other} is not the kind of an argument"))),
            }
        };
        Ok(Operand::Number(number))
    }

    /// A dtype; `None` for the default of a function.
    pub(crate) fn optional_dtype(&self, dtype: forerun_dtype) -> Outcome<Option<DType>> {
        if dtype == FORERUN_DEFAULT {
            return Ok(None);
        }
        let found = usize::try_from(dtype).ok().and_then(|number| DType::ALL.get(number));
        found.copied().map(Some).ok_or_else(|| Failure::kind(format!("{dtype} is not a dtype")))
    }

    /// A dtype, or the default float.
    pub(crate) fn dtype(&self, dtype: forerun_dtype) -> Outcome<DType> {
        Ok(self.optional_dtype(dtype)?.unwrap_or(DType::default_float()))
    }

    /// Extents.
    pub(crate) fn shape(&self, extents: *const i64, rank: usize) -> Outcome<Vec<usize>> {
        let extent = |extent: &i64| {
            usize::try_from(*extent)
                .map_err(|_| Failure::value(format!("an extent must not be negative, got {extent}")))
        };
        self.slice(extents, rank, "the extents")?.iter().map(extent).collect()
    }

    /// Axes, or extents of which one may be -1.
    pub(crate) fn places(&self, first: *const i64, count: usize) -> Outcome<Vec<isize>> {
        Ok(self.slice(first, count, "the axes")?.iter().map(|place| *place as isize).collect())
    }

    /// Axes; `None`, all of them, if the pointer is null.
    pub(crate) fn axes(&self, first: *const i64, count: usize) -> Outcome<Option<Vec<isize>>> {
        if first.is_null() && count == 0 { Ok(None) } else { self.places(first, count).map(Some) }
    }

    /// An index.
    pub(crate) fn index(&self, items: *const forerun_index, count: usize) -> Outcome<Vec<Index>> {
        let end = |place: i64| (place != FORERUN_END).then_some(place as isize);
        let item = |item: &forerun_index| match item.kind {
            FORERUN_INDEX_AT => Ok(Index::At(item.start as isize)),
            FORERUN_INDEX_SLICE => {
                Ok(Index::Slice { start: end(item.start), stop: end(item.stop), step: item.step as isize })
            }
            FORERUN_INDEX_NEW_AXIS => Ok(Index::NewAxis),
            FORERUN_INDEX_ELLIPSIS => Ok(Index::Ellipsis),
            other => Err(Failure::kind(format!("{other} is not the kind of an index item"))),
        };
        self.slice(items, count, "the items of the index")?.iter().map(item).collect()
    }

    /// A device.
    pub(crate) fn device(&self, device: forerun_device) -> Outcome<Device> {
        let number = u8::try_from(device.number);
        match (device.kind, number) {
            (FORERUN_CPU, Ok(number)) => Ok(Device::Cpu(number)),
            (FORERUN_GPU, Ok(number)) => Ok(Device::Gpu(number)),
            (kind, _) => Err(Failure::value(format!("there is no device {} of kind {kind}", device.number))),
        }
    }
}
