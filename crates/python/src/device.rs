//! Devices as Python objects.

use forerun::Device;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A place where arrays live: ``cpu(0)``, ``gpu(1)``.
#[pyclass(frozen, eq, hash, name = "Device", module = "forerun.npx")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PyDevice(pub(crate) Device);

#[pymethods]
impl PyDevice {
    #[new]
    #[pyo3(signature = (device_type, device_id = 0))]
    fn new(device_type: &str, device_id: u8) -> PyResult<PyDevice> {
        match device_type {
            "cpu" => Ok(PyDevice(Device::Cpu(device_id))),
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

    fn __repr__(&self) -> String {
        self.0.to_string()
    }
}
