//! The invariants of `docs/internals/invariants.md` that can be checked in the text of the sources, one function each.
//!
//! A check takes the whole repository as text and returns its findings, one line each, so that its own test can plant a
//! violation. No check builds or runs anything.

mod absences;
mod arrows;
mod documents;
mod fail_points;
mod homonyms;
mod leftovers;
mod listing;
mod mode_files;
mod module_docs;
mod parking;
mod planted_faults;
mod pycalls;
mod repository;
mod run;
mod settings;
mod sizes;
mod unsafe_places;
mod vocabulary;

pub(crate) use repository::INVARIANTS;
pub(crate) use run::run;
