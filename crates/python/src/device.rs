//! Devices as Python objects.

use crate::array::PyArray;
use crate::error::raise;
use forerun::Device;
use forerun::device::{check_device, device_stats, on_device, set_current_device};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};
use std::cell::RefCell;

thread_local! {
    /// What was current before each ``with`` that this thread is in.
    static BEFORE: RefCell<Vec<Device>> = const { RefCell::new(Vec::new()) };
}

/// A place where arrays live: ``cpu(0)``, ``gpu(1)``. In a ``with`` statement, where its thread makes new arrays.
#[pyclass(frozen, eq, hash, name = "Device", module = "forerun.npx")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PyDevice(pub(crate) Device);

#[pymethods]
impl PyDevice {
    #[new]
    #[pyo3(signature = (device_type, device_id = 0))]
    fn new(device_type: &str, device_id: u8) -> PyResult<PyDevice> {
        match device_type {
            // Copies are asynchronous from any memory of the host, so none of it is special.
            "cpu" | "cpu_pinned" => Ok(PyDevice(Device::Cpu(device_id))),
            "gpu" => Ok(PyDevice(Device::Gpu(device_id))),
            other => Err(PyValueError::new_err(format!("device {other} is not known; there are cpu, gpu"))),
        }
    }

    /// The kind of device: ``"cpu"`` or ``"gpu"``.
    #[getter]
    fn device_type(&self) -> &'static str {
        match self.0 {
            Device::Cpu(_) => "cpu",
            Device::Gpu(_) => "gpu",
        }
    }

    /// The number among its kind.
    #[getter]
    fn device_id(&self) -> u8 {
        match self.0 {
            Device::Cpu(number) | Device::Gpu(number) => number,
        }
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        let before = set_current_device(slf.get().0).map_err(raise)?;
        BEFORE.with_borrow_mut(|stack| stack.push(before));
        Ok(slf)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        if let Some(before) = BEFORE.with_borrow_mut(Vec::pop) {
            set_current_device(before).map_err(raise)?;
        }
        Ok(())
    }

    /// Gives the bytes that the device keeps for reuse back.
    fn empty_cache(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| forerun::device::empty_device_cache(self.0)).map_err(raise)
    }

    fn __repr__(&self) -> String {
        self.0.to_string()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (&'static str, u8)) {
        (py.get_type::<PyDevice>(), (self.device_type(), self.device_id()))
    }
}

/// The interpreter ends: devices compile nothing more.
#[pyfunction]
pub(crate) fn end_background(py: Python<'_>) {
    py.detach(forerun::frontend::end_background);
}

/// The device that a string names: its kind, and after a colon its number, `"gpu:1"`.
#[pyfunction]
pub(crate) fn named_device(name: &str) -> PyResult<PyDevice> {
    let (kind, number) = name.split_once(':').unwrap_or((name, "0"));
    match number.parse() {
        Ok(number) => PyDevice::new(kind, number),
        Err(_) => Err(PyValueError::new_err(format!("device {name} is not known; there are cpu, cpu:0, gpu, gpu:0"))),
    }
}

/// A device as an argument: itself, or its name.
pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<PyDevice> {
    if let Ok(name) = object.cast::<PyString>() {
        return named_device(&name.to_string());
    }
    Ok(*object.cast::<PyDevice>()?.get())
}

/// How many accelerators there are.
#[pyfunction]
pub(crate) fn num_gpus() -> usize {
    forerun::device::accelerator_count()
}

/// Where this thread makes new arrays.
#[pyfunction]
pub(crate) fn current_device() -> PyDevice {
    PyDevice(forerun::device::current_device())
}

/// Makes a device the current one of this thread, for good; returns the former.
#[pyfunction]
pub(crate) fn set_device(device: &PyDevice) -> PyResult<PyDevice> {
    set_current_device(device.0).map(PyDevice).map_err(raise)
}

/// Makes arrays on a device, or on the current one.
pub(crate) fn on<R>(device: Option<&Bound<'_, PyDevice>>, make: impl FnOnce() -> R) -> PyResult<R> {
    match device {
        None => Ok(make()),
        Some(device) => on_device(device.get().0, make).map_err(raise),
    }
}

/// The device of the first array among arguments, unless it is the current one.
#[pyfunction]
pub(crate) fn elsewhere(inputs: &Bound<'_, PyTuple>) -> Option<PyDevice> {
    let found = inputs.iter_borrowed().find_map(|input| input.cast::<PyArray>().ok().map(|x| x.get().0.device()))?;
    (found != forerun::device::current_device()).then_some(PyDevice(found))
}

/// Bytes of an accelerator: free for arrays, and altogether.
#[pyfunction]
pub(crate) fn gpu_memory_info(device: &PyDevice) -> PyResult<(usize, usize)> {
    let stats = device_stats(device.0).map_err(raise)?;
    Ok((stats.capacity.saturating_sub(stats.budget.live), stats.capacity))
}

/// What an accelerator is and what it did.
#[pyfunction]
pub(crate) fn gpu_stats<'py>(py: Python<'py>, device: &PyDevice) -> PyResult<Bound<'py, PyDict>> {
    let stats = device_stats(device.0).map_err(raise)?;
    let entries = PyDict::new(py);
    entries.set_item("description", stats.description)?;
    entries.set_item("live_bytes", stats.budget.live)?;
    entries.set_item("peak_bytes", stats.budget.peak)?;
    entries.set_item("budget", stats.budget.limit)?;
    entries.set_item("cached_bytes", stats.cached)?;
    entries.set_item("waits", stats.waits)?;
    entries.set_item("waits_skipped", stats.waits_skipped)?;
    entries.set_item("launched", stats.launches.alone)?;
    entries.set_item("launched_in_graphs", stats.launches.in_graphs)?;
    entries.set_item("graphs", stats.launches.graphs)?;
    entries.set_item("graphs_unchanged", stats.launches.unchanged)?;
    Ok(entries)
}

/// Lets the peak of an accelerator start again from what is live now.
#[pyfunction]
pub(crate) fn reset_gpu_peak(device: &PyDevice) -> PyResult<()> {
    forerun::device::reset_device_peak(device.0).map_err(raise)
}

/// Whether products of float32 may keep fewer bits of their factors.
#[pyfunction]
pub(crate) fn set_tf32(device: &PyDevice, on: bool) -> PyResult<()> {
    forerun::device::set_fast_products(device.0, on).map_err(raise)
}

/// Fails unless the device is there.
#[pyfunction]
pub(crate) fn require_device(device: &PyDevice) -> PyResult<()> {
    check_device(device.0).map_err(raise)
}

/// Folders in which pip's packages with CUDA's libraries may lie.
#[pyfunction]
pub(crate) fn search_cuda_in(folders: Vec<std::path::PathBuf>) {
    forerun::frontend::search_cuda_in(folders);
}
