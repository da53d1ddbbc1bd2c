//! Fail points, for the Python tests. Builds with debug assertions or the feature `faults` contain them.

use crate::error::raise;
use crate::loc::here;
use forerun::fail::{self, How};
use forerun::{Error, ErrorKind};
use pyo3::prelude::*;

/// Every site: its name, and the kinds of failure it supports.
#[pyfunction]
pub(crate) fn fail_sites() -> Vec<(&'static str, Vec<&'static str>)> {
    fail::SITES.iter().map(|site| (site.name, site.hows.iter().map(|how| how.name()).collect())).collect()
}

/// Makes the nth hit of a site from now on fail.
#[pyfunction]
pub(crate) fn fail_arm(site: &str, nth: u64, how: &str) -> PyResult<()> {
    let found = How::ALL.into_iter().find(|h| h.name() == how);
    let found = found.ok_or_else(|| raise(Error::new(ErrorKind::Value, format!("unknown kind of failure `{how}`"))))?;
    fail::arm(site, nth, found).map_err(raise)
}

/// Disarms all sites. Returns those that were armed.
#[pyfunction]
pub(crate) fn fail_disarm() -> Vec<&'static str> {
    fail::disarm()
}

/// The number of times a site was reached.
#[pyfunction]
pub(crate) fn fail_hits(site: &str) -> u64 {
    fail::hits(site)
}

/// Notes that a site in Python code was reached.
#[pyfunction]
pub(crate) fn fail_point(py: Python<'_>, site: &str) -> PyResult<()> {
    match fail::hit(site) {
        Some(_) => Err(raise(fail::error(site).read_at(here(py)))),
        None => Ok(()),
    }
}
