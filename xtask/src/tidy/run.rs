//! The table of checks, and the verb that runs it.

use super::repository::Repository;
use super::{
    absences, arrows, documents, fail_points, homonyms, leftovers, listing, mode_files, module_docs, parking,
    planted_faults, pycalls, settings, sizes, unsafe_places, vocabulary,
};
use crate::command::say;
use crate::tree;

type Check = fn(&Repository) -> Vec<String>;

const CHECKS: &[(&str, Check)] = &[
    ("arrows", arrows::check),
    ("absences", absences::check),
    ("homonyms", homonyms::check),
    ("unsafe", unsafe_places::check),
    ("parking", parking::check),
    ("pycalls", pycalls::check),
    ("sizes", sizes::check),
    ("vocabulary", vocabulary::check),
    ("leftovers", leftovers::check),
    ("module docs", module_docs::check),
    ("listing", listing::check),
    ("documents", documents::check),
    ("settings", settings::check),
    ("fail points", fail_points::check),
    ("planted faults", planted_faults::check),
    ("modes", mode_files::check),
];

/// Runs every check; fails if any of them found something.
pub(crate) fn run() -> Result<(), String> {
    let repository = Repository::read(&tree::root())?;
    let mut total = 0;
    for (name, check) in CHECKS {
        let found = check(&repository);
        for violation in &found {
            say!("tidy: {name}: {violation}");
        }
        total += found.len();
    }
    if total == 0 {
        say!("tidy: {} checks, nothing found", CHECKS.len());
        Ok(())
    } else {
        Err(format!("tidy: {total} violations"))
    }
}
