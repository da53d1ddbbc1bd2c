//! The CUDA array interface, version 3: `__cuda_array_interface__` of arrays on NVIDIA devices.
//!
//! A consumer keeps the array object, not the exported buffer, and the array may point at another value by then.
//! Invariant: an exported buffer lives as long as the array object that exported it.

use crate::array::PyArray;
use crate::dlpack::keep;
use forerun::DType;
use forerun::frontend::dlpack::Kept;
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

/// Whether any array was ever exported; checked when an array is dropped.
static ANY: AtomicBool = AtomicBool::new(false);

/// Exported buffers by the address of the array object.
fn shown() -> MutexGuard<'static, HashMap<usize, Vec<Kept>>> {
    static SHOWN: OnceLock<Mutex<HashMap<usize, Vec<Kept>>>> = OnceLock::new();
    SHOWN.get_or_init(Default::default).lock().unwrap_or_else(|e| e.into_inner())
}

/// Frees the exported buffers of the array.
impl Drop for PyArray {
    #[inline]
    fn drop(&mut self) {
        if ANY.load(Ordering::Relaxed) {
            forget(self);
        }
    }
}

#[cold]
fn forget(array: &PyArray) {
    // The lock is released before the bytes are freed, which may take a while.
    let kept = shown().remove(&std::ptr::from_ref(array).addr());
    drop(kept);
}

/// The interface of an array on an NVIDIA device; an `AttributeError` for others. Waits for the value.
pub(crate) fn describe<'py>(slf: &Bound<'py, PyArray>) -> PyResult<Bound<'py, PyDict>> {
    let (py, array) = (slf.py(), &slf.get().0);
    let absent = |text: String| PyAttributeError::new_err(format!("__cuda_array_interface__: {text}"));
    if forerun::frontend::cuda_number(array.device()).is_none() {
        return Err(absent(format!("the array is on {}, not on a device of CUDA", array.device())));
    }
    let Some(letter) = letter_of(array.dtype()) else {
        return Err(absent(format!("there is no name for {}", array.dtype())));
    };
    let kept = keep(py, array, "__cuda_array_interface__")?;
    let lent = kept.lent();
    let (layout, size) = (lent.layout(), lent.dtype().size());
    let address = if layout.shape.size() == 0 { 0 } else { lent.address().addr() };
    let interface = PyDict::new(py);
    interface.set_item("version", 3)?;
    interface.set_item("shape", PyTuple::new(py, layout.shape.iter())?)?;
    interface.set_item("typestr", format!("{}{letter}{size}", if size == 1 { '|' } else { '<' }))?;
    // Read-only.
    interface.set_item("data", (address, true))?;
    let strides = layout.strides().iter().map(|stride| stride * size as isize);
    interface.set_item("strides", PyTuple::new(py, strides.collect::<Vec<_>>())?)?;
    // The value is complete, so the consumer need not wait for a stream.
    interface.set_item("stream", py.None())?;
    ANY.store(true, Ordering::Relaxed);
    shown().entry(std::ptr::from_ref(slf.get()).addr()).or_default().push(kept);
    Ok(interface)
}

/// NumPy's character for the kind of a dtype; `None` for dtypes that NumPy lacks.
fn letter_of(dtype: DType) -> Option<char> {
    match dtype.name().trim_end_matches(|c: char| c.is_ascii_digit()) {
        "bool" => Some('b'),
        "int" => Some('i'),
        "uint" => Some('u'),
        "float" => Some('f'),
        "complex" => Some('c'),
        _ => None,
    }
}
