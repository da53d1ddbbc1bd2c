//! Paths that a crate must not name although its manifest would allow them: threads, clocks, files, devices.

use super::repository::Repository;
use crate::rust_text;

/// Crate, path that must not be named there, and why.
const ABSENT: &[(&str, &str, &str)] = &[
    ("base", "std::thread", "the types that every crate shares know no threads"),
    ("base", "std::time", "the types that every crate shares know no clock"),
    ("base", "std::fs", "the types that every crate shares know no files"),
    ("ops", "std::thread", "the catalogue is pure"),
    ("ops", "std::time", "the catalogue is pure"),
    ("ops", "std::fs", "the catalogue is pure"),
    ("ops", "std::env", "the catalogue is pure"),
    ("plan", "std::thread", "planning is tested with no thread running"),
    ("plan", "std::time", "timing may not change a plan"),
    ("plan", "std::fs", "planning is pure"),
    ("plan", "std::env", "planning is pure"),
    ("linear", "std::thread", "a factorisation runs on the thread that calls it"),
    ("linear", "std::time", "a factorisation is a function of its input"),
    ("linear", "std::env", "a factorisation is a function of its input"),
    ("image", "std::thread", "a decoder runs on the thread that calls it"),
    ("image", "std::fs", "frontends read and write files"),
    ("cpu", "std::thread", "kernels get their threads as a team"),
    ("cpu", "std::time", "timing may not change a kernel"),
    ("sim", "std::fs", "a simulated device lives in memory"),
    ("array", "std::fs", "arrays are saved by their users: nn and frontends"),
    ("array", "std::env", "settings are read through `forerun_base::Settings`, which names them"),
    ("grad", "std::thread", "the walk back submits ops; the runtime has the threads"),
    ("grad", "std::time", "gradients do not depend on time"),
    ("grad", "std::fs", "the tape lives in memory"),
    ("grad", "current_device", "a gradient is computed on the device of its array, never on the thread's choice"),
    ("grad", "Device::Gpu", "rules are the same on every device"),
    ("nn", "std::thread", "layers submit ops; the runtime has the threads"),
    ("nn", "std::time", "training does not depend on time"),
    ("nn", "current_device", "parameters stay on the device of their arrays"),
    ("nn", "Device::Gpu", "layers are the same on every device"),
    ("forerun", "std::thread", "the facade re-exports"),
    ("forerun", "std::fs", "the facade re-exports"),
    ("capi", "std::fs", "files are read and written by nn"),
    ("capi", "std::time", "the interface converts"),
    ("python", "std::fs", "files are read and written in Python"),
];

/// Every forbidden path that shipped code names.
pub(super) fn check(repository: &Repository) -> Vec<String> {
    let mut found = Vec::new();
    for (source, code) in repository.shipped() {
        for (crate_name, path, reason) in
            ABSENT.iter().filter(|(crate_name, ..)| source.crate_name() == Some(crate_name))
        {
            for (index, line) in code.lines().enumerate() {
                if names(line, path) {
                    found.push(format!("{}:{}: `{crate_name}` names {path}: {reason}", source.path, index + 1));
                }
            }
        }
    }
    found
}

/// Whether a line of code names the path, also as part of a braced group.
fn names(line: &str, path: &str) -> bool {
    let (crate_name, module) = path.split_once("::").unwrap_or(("", path));
    let grouped = line
        .split_once(&format!("use {crate_name}::{{"))
        .is_some_and(|(_, group)| rust_text::words(group).any(|(_, word, _)| word == module));
    grouped
        || line
            .match_indices(path)
            .any(|(at, _)| !line[at + path.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::super::repository::planted;
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        check(&planted(&[(path, text)], &[])).len()
    }

    #[test]
    fn a_clock_in_the_planner_is_found() {
        assert_eq!(found("crates/plan/src/a.rs", "//! x\nuse std::time::Instant;"), 1);
        assert_eq!(found("crates/plan/src/a.rs", "use std::{fmt, time::Instant};"), 1);
        assert_eq!(found("crates/ops/src/a.rs", "fn f() { std::thread::yield_now() }"), 1);
    }

    #[test]
    fn tests_comments_and_other_crates_may() {
        assert_eq!(
            found("crates/plan/src/a.rs", "// std::time\n#[cfg(test)]\nmod tests { use std::time::Instant; }"),
            0
        );
        assert_eq!(found("crates/engine/src/a.rs", "use std::time::Instant;"), 0);
    }

    #[test]
    fn gradients_and_layers_choose_no_device() {
        assert_eq!(found("crates/grad/src/a.rs", "use forerun_array::{Array, current_device};"), 1);
        assert_eq!(found("crates/nn/src/a.rs", "fn f() { set(Device::Gpu(0)) }"), 1);
        assert_eq!(found("crates/grad/src/a.rs", "fn f() { on_device(x.device(), || g()) }"), 0);
    }
}
