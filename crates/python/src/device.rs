//! Devices as Python objects.

use crate::array::PyArray;
use crate::error::raise;
use forerun::Device;
use forerun::device::{check_device, device_stats, on_device, set_current_device};
use forerun::frontend::{Isa, KernelSource, cuda_driver_version, cuda_libraries};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};
use std::cell::RefCell;

thread_local! {
    /// The previous device of each enclosing ``with`` statement of this thread.
    static BEFORE: RefCell<Vec<Device>> = const { RefCell::new(Vec::new()) };
}

/// A device that holds arrays: ``cpu(0)``, ``gpu(1)``. In a ``with`` statement, the device of the thread's new arrays.
#[pyclass(frozen, eq, hash, name = "Device", module = "forerun.npx")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PyDevice(pub(crate) Device);

#[pymethods]
impl PyDevice {
    #[new]
    #[pyo3(signature = (device_type, device_id = 0))]
    fn new(device_type: &str, device_id: u8) -> PyResult<PyDevice> {
        match device_type {
            // Copies are asynchronous from any host memory, so pinned memory is not special.
            "cpu" | "cpu_pinned" => Ok(PyDevice(Device::Cpu(device_id))),
            "gpu" => Ok(PyDevice(Device::Gpu(device_id))),
            other => Err(PyValueError::new_err(format!("unknown device {other}; expected cpu or gpu"))),
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

    /// Releases the bytes that the device keeps for reuse.
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

/// Stops background compilation on devices, because the interpreter ends.
#[pyfunction]
pub(crate) fn end_background(py: Python<'_>) {
    py.detach(forerun::frontend::end_background);
}

/// Parses a device name: its kind, and after a colon its number, as in `"gpu:1"`.
#[pyfunction]
pub(crate) fn named_device(name: &str) -> PyResult<PyDevice> {
    let (kind, number) = name.split_once(':').unwrap_or((name, "0"));
    match number.parse() {
        Ok(number) => PyDevice::new(kind, number),
        Err(_) => Err(PyValueError::new_err(format!("unknown device {name}; expected cpu, cpu:0, gpu or gpu:0"))),
    }
}

/// A device argument: a device or its name.
pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<PyDevice> {
    if let Ok(name) = object.cast::<PyString>() {
        return named_device(&name.to_string());
    }
    Ok(*object.cast::<PyDevice>()?.get())
}

/// The number of accelerators.
#[pyfunction]
pub(crate) fn num_gpus() -> usize {
    forerun::device::accelerator_count()
}

/// Which instruction sets kernels may use, the one in use, and NVIDIA's driver and libraries: for reports. Of the driver its
/// version, of a library its path; or the reason why there is none.
#[pyfunction]
pub(crate) fn machine(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let sets: Vec<&str> = Isa::available().into_iter().map(Isa::name).collect();
    let (driver, libraries) = py.detach(|| (cuda_driver_version(), cuda_libraries()));
    let entries = PyDict::new(py);
    entries.set_item("isa", Isa::detect().name())?;
    entries.set_item("available", sets)?;
    entries.set_item("driver", (driver.as_ref().ok(), driver.as_ref().err()))?;
    let rows = libraries.iter().map(|(name, found)| (*name, found.as_ref().ok(), found.as_ref().err()));
    entries.set_item("libraries", rows.collect::<Vec<_>>())?;
    Ok(entries)
}

/// The device of this thread's new arrays.
#[pyfunction]
pub(crate) fn current_device() -> PyDevice {
    PyDevice(forerun::device::current_device())
}

/// Sets the current device of this thread; returns the previous one.
#[pyfunction]
pub(crate) fn set_device(device: &PyDevice) -> PyResult<PyDevice> {
    set_current_device(device.0).map(PyDevice).map_err(raise)
}

/// Runs `make` with a device, or with the current one.
pub(crate) fn on<R>(device: Option<&Bound<'_, PyDevice>>, make: impl FnOnce() -> R) -> PyResult<R> {
    match device {
        None => Ok(make()),
        Some(device) => on_device(device.get().0, make).map_err(raise),
    }
}

/// The device of the first array among the arguments, unless it is the current one.
#[pyfunction]
pub(crate) fn elsewhere(inputs: &Bound<'_, PyTuple>) -> Option<PyDevice> {
    let found = inputs.iter_borrowed().find_map(|input| input.cast::<PyArray>().ok().map(|x| x.get().0.device()))?;
    (found != forerun::device::current_device()).then_some(PyDevice(found))
}

/// Memory of an accelerator in bytes: free, and total.
#[pyfunction]
pub(crate) fn gpu_memory_info(device: &PyDevice) -> PyResult<(usize, usize)> {
    let stats = device_stats(device.0).map_err(raise)?;
    Ok((stats.capacity.saturating_sub(stats.budget.live), stats.capacity))
}

/// Compiles a kernel in CUDA C, and returns its number; without a function, it only checks the source.
#[pyfunction]
pub(crate) fn user_kernel(
    py: Python<'_>,
    text: String,
    options: Vec<String>,
    function: String,
    device: &PyDevice,
) -> PyResult<i64> {
    let source = KernelSource { text, options, function };
    py.detach(|| forerun::frontend::user_kernel(device.0, source)).map_err(raise)
}

/// Description and counters of an accelerator.
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

/// Resets the peak of an accelerator to its live bytes.
#[pyfunction]
pub(crate) fn reset_gpu_peak(device: &PyDevice) -> PyResult<()> {
    forerun::device::reset_device_peak(device.0).map_err(raise)
}

/// Sets whether float32 products may round their factors to fewer bits.
#[pyfunction]
pub(crate) fn set_tf32(device: &PyDevice, on: bool) -> PyResult<()> {
    forerun::device::set_fast_products(device.0, on).map_err(raise)
}

/// Fails unless the device exists.
#[pyfunction]
pub(crate) fn require_device(device: &PyDevice) -> PyResult<()> {
    check_device(device.0).map_err(raise)
}

/// Sets the folders in which pip packages may have installed the CUDA libraries.
#[pyfunction]
pub(crate) fn search_cuda_in(folders: Vec<std::path::PathBuf>) {
    forerun::frontend::search_cuda_in(folders);
}
