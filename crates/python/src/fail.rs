//! Fail points, for the tests of the Python face. Builds with debug assertions or the feature `faults` have them.

use crate::error::raise;
use crate::loc::here;
use forerun::fail::{self, How};
use forerun::{Error, ErrorKind};
use pyo3::prelude::*;

/// Every site: its name, and what can go wrong there.
#[pyfunction]
pub(crate) fn fail_sites() -> Vec<(&'static str, Vec<&'static str>)> {
    fail::SITES.iter().map(|site| (site.name, site.hows.iter().map(|how| how.name()).collect())).collect()
}

/// The nth hit of a site from now on goes wrong.
#[pyfunction]
pub(crate) fn fail_arm(site: &str, nth: u64, how: &str) -> PyResult<()> {
    let found = How::ALL.into_iter().find(|h| h.name() == how);
    let found = found.ok_or_else(|| raise(Error::new(ErrorKind::Value, format!("nothing goes wrong by `{how}`"))))?;
    fail::arm(site, nth, found).map_err(raise)
}

/// No site is armed any more. Gives those that were.
#[pyfunction]
pub(crate) fn fail_disarm() -> Vec<&'static str> {
    fail::disarm()
}

/// How often a site was reached.
#[pyfunction]
pub(crate) fn fail_hits(site: &str) -> u64 {
    fail::hits(site)
}

/// A site of the Python face is reached.
#[pyfunction]
pub(crate) fn fail_point(py: Python<'_>, site: &str) -> PyResult<()> {
    match fail::hit(site) {
        Some(_) => Err(raise(fail::error(site).read_at(here(py)))),
        None => Ok(()),
    }
}
