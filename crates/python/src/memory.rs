//! Memory statistics as plain dicts and lists.

use crate::device::PyDevice;
use crate::error::raise;
use forerun::memory::{Holder, Holds, MemoryStats};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Memory statistics of the host, with the `holders` largest holders.
#[pyfunction]
pub(crate) fn memory_stats(py: Python<'_>, holders: usize) -> PyResult<Bound<'_, PyDict>> {
    let stats: MemoryStats = forerun::memory::memory_stats();
    let dict = PyDict::new(py);
    dict.set_item("live", stats.live)?;
    dict.set_item("peak", stats.peak)?;
    dict.set_item("cached", stats.cached)?;
    dict.set_item("promised", stats.promised)?;
    dict.set_item("budget", stats.budget)?;
    let prefetch = PyDict::new(py);
    prefetch.set_item("allowance", stats.prefetch)?;
    prefetch.set_item("used", stats.prefetched)?;
    dict.set_item("prefetch", prefetch)?;
    dict.set_item("queued_records", stats.queued_records)?;
    dict.set_item("queued_host", stats.queued_host)?;
    let held = PyDict::new(py);
    held.set_item("window", holds(py, stats.held_by_window)?)?;
    held.set_item("host", holds(py, stats.held_by_host)?)?;
    dict.set_item("held", held)?;
    let allocated = PyDict::new(py);
    allocated.set_item("bytes", stats.allocated_bytes)?;
    allocated.set_item("count", stats.allocations)?;
    dict.set_item("allocated", allocated)?;
    dict.set_item("holders", lines(py, &stats.holders, holders)?)?;
    Ok(dict)
}

/// Memory statistics of an accelerator, with the `holders` largest holders.
#[pyfunction]
pub(crate) fn gpu_memory_stats<'py>(
    py: Python<'py>,
    device: &Bound<'py, PyDevice>,
    holders: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let stats = forerun::device::device_stats(device.get().0).map_err(raise)?;
    let dict = PyDict::new(py);
    dict.set_item("live", stats.budget.live)?;
    dict.set_item("peak", stats.budget.peak)?;
    dict.set_item("cached", stats.cached)?;
    dict.set_item("promised", stats.budget.unstarted)?;
    dict.set_item("budget", stats.budget.limit)?;
    dict.set_item("holders", lines(py, &stats.holders, holders)?)?;
    dict.set_item("capacity", stats.capacity)?;
    dict.set_item("description", stats.description)?;
    Ok(dict)
}

/// The `most` largest holders.
fn lines<'py>(py: Python<'py>, holders: &[Holder], most: usize) -> PyResult<Bound<'py, PyList>> {
    let lines = PyList::empty(py);
    for held in holders.iter().take(most) {
        lines.append(holder(py, held)?)?;
    }
    Ok(lines)
}

fn holds(py: Python<'_>, holds: Holds) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("times", holds.times)?;
    dict.set_item("seconds", holds.time.as_secs_f64())?;
    Ok(dict)
}

fn holder<'py>(py: Python<'py>, holder: &Holder) -> PyResult<Bound<'py, PyDict>> {
    let (file, line) = holder.loc.resolve().map_or_else(|| (String::new(), 0), |l| (l.file, l.line));
    let dict = PyDict::new(py);
    dict.set_item("file", file)?;
    dict.set_item("line", line)?;
    dict.set_item("op", holder.op)?;
    dict.set_item("bytes", holder.bytes)?;
    dict.set_item("arrays", holder.arrays)?;
    Ok(dict)
}

/// Resets the peak of the host, or of an accelerator, to the live bytes.
#[pyfunction]
#[pyo3(signature = (device = None))]
pub(crate) fn reset_peak(device: Option<&Bound<'_, PyDevice>>) -> PyResult<()> {
    match device.map(|device| device.get().0).filter(|device| !device.is_host()) {
        Some(device) => forerun::device::reset_device_peak(device).map_err(raise)?,
        None => forerun::memory::reset_peak(),
    }
    Ok(())
}

/// Sets the limit on live bytes for work that runs ahead; returns the previous setting.
#[pyfunction]
pub(crate) fn set_budget(bytes: usize) -> usize {
    forerun::memory::set_budget(bytes)
}

/// Releases the bytes that the pool keeps for reuse to the system.
#[pyfunction]
pub(crate) fn empty_cache(py: Python<'_>) {
    py.detach(forerun::memory::empty_cache);
}
