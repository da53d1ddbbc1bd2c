//! The engine's counters and switches, for tests and benchmarks.

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The engine's counters since the start.
#[pyfunction]
pub(crate) fn stats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let stats = forerun::runtime::stats();
    let counters = [
        ("records", stats.records),
        ("inlined", stats.inlined),
        ("tasks", stats.tasks),
        ("segments", stats.segments),
        ("plan_hits", stats.plan_hits),
        ("plan_misses", stats.plan_misses),
        ("dropped", stats.dropped),
        ("donated", stats.donated),
        ("system_calls", stats.system_calls),
        ("live_bytes", stats.live_bytes),
        ("peak_bytes", stats.peak_bytes),
        ("cached_bytes", stats.cached_bytes),
    ];
    let dict = PyDict::new(py);
    for (name, counter) in counters {
        dict.set_item(name, counter)?;
    }
    Ok(dict)
}

/// Waits for everything submitted so far; raises all errors that were not read.
#[pyfunction]
pub(crate) fn wait_all(py: Python<'_>) -> PyResult<()> {
    crate::wait::everything(py)
}

/// Waits for everything submitted so far; the wait is not recorded, and failures stay unread.
#[pyfunction]
pub(crate) fn drain(py: Python<'_>) -> PyResult<()> {
    crate::wait::drain(py)
}

/// Starts the detection of ops that produce a NaN or an infinity from finite numbers, on the calling thread.
#[pyfunction]
pub(crate) fn start_detecting() -> PyResult<()> {
    forerun::frontend::start_detecting().map_err(crate::error::raise)
}

/// Ends the detection on the calling thread. With `ask`, raises what was found and not reported.
#[pyfunction]
pub(crate) fn stop_detecting(py: Python<'_>, ask: bool) -> PyResult<()> {
    crate::wait::stop_detecting(py, ask)
}

/// Fails records that have not started; waits for running pieces, without the GIL.
#[pyfunction]
pub(crate) fn cancel_pending(py: Python<'_>) {
    py.detach(forerun::runtime::cancel_pending);
}

/// Restarts the random streams from a seed.
#[pyfunction]
pub(crate) fn seed(seed: u64) {
    forerun::seed(seed);
}

/// The stream of a seed: its key and first block.
#[pyfunction]
pub(crate) fn stream_of(seed: u64) -> (u64, u64) {
    let [key, next] = forerun::frontend::stream_of(seed);
    (key, next)
}

/// Makes this thread draw from a stream, or from its own with `None`; returns the previous one.
#[pyfunction]
pub(crate) fn swap_stream(stream: Option<(u64, u64)>) -> Option<(u64, u64)> {
    forerun::frontend::swap_stream(stream.map(|(key, next)| [key, next])).map(|[key, next]| (key, next))
}

/// Sets whether dead results are dropped. Returns the previous setting.
#[pyfunction]
pub(crate) fn set_drop_dead(on: bool) -> bool {
    forerun::runtime::set_drop_dead(on)
}

/// Sets whether pointwise chains are fused. Returns the previous setting.
#[pyfunction]
pub(crate) fn set_fuse(on: bool) -> bool {
    forerun::runtime::set_fuse(on)
}

/// Sets the number of elements up to which an op may run inline. Returns the previous setting.
#[pyfunction]
pub(crate) fn set_tiny_limit(elements: usize) -> usize {
    forerun::runtime::set_tiny_limit(elements)
}

/// The number of compute threads.
#[pyfunction]
pub(crate) fn num_threads() -> usize {
    forerun::runtime::num_threads()
}

/// Sets the number of compute threads. Returns the previous number.
#[pyfunction]
pub(crate) fn set_num_threads(py: Python<'_>, threads: usize) -> PyResult<usize> {
    py.detach(|| forerun::runtime::set_num_threads(threads)).map_err(crate::error::raise)
}

/// Names the folders whose lines are not a user's: the package's root and Python's own library.
#[pyfunction]
pub(crate) fn pass_over(root: String, library: String) {
    crate::loc::pass_over(root, library);
}

/// Op, value, inputs, shape, file and line of a submission.
type Noted = (&'static str, u64, Vec<u64>, Vec<usize>, String, u32);

/// Starts or stops recording submissions; returns those recorded.
#[pyfunction]
pub(crate) fn note_submissions(on: bool) -> Vec<Noted> {
    forerun::profile::note_submissions(on)
        .into_iter()
        .map(|s| {
            let line = s.loc.resolve();
            let (file, line) = line.map_or_else(|| (String::new(), 0), |l| (l.file, l.line));
            (s.op, s.value, s.inputs, s.shape.to_vec(), file, line)
        })
        .collect()
}
