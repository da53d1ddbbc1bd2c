//! What a room must not know although no manifest could tell: pure rooms name no thread, clock or file.

use super::house::House;
use crate::rust_text;

/// Room, path that must not be named there, and why.
const ABSENT: &[(&str, &str, &str)] = &[
    ("base", "std::thread", "the words every room shares know no threads"),
    ("ops", "std::thread", "the catalogue is pure"),
    ("ops", "std::time", "the catalogue is pure"),
    ("ops", "std::fs", "the catalogue is pure"),
    ("ops", "std::env", "the catalogue is pure"),
    ("plan", "std::thread", "planning is tested with no thread running"),
    ("plan", "std::time", "timing may not change a plan"),
    ("plan", "std::fs", "planning is pure"),
    ("cpu", "std::thread", "kernels get their threads as a team"),
];

/// Every forbidden path that shipped code names.
pub(super) fn check(house: &House) -> Vec<String> {
    let mut found = Vec::new();
    for (source, code) in house.shipped() {
        for (room, path, reason) in ABSENT.iter().filter(|(room, ..)| source.room() == Some(room)) {
            for (index, line) in code.lines().enumerate() {
                if names(line, path) {
                    found.push(format!("{}:{}: `{room}` names {path}: {reason}", source.path, index + 1));
                }
            }
        }
    }
    found
}

/// Whether a line of code names the path, also as one of a braced group.
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
    use super::super::house::planted;
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
    fn tests_comments_and_other_rooms_may() {
        assert_eq!(
            found("crates/plan/src/a.rs", "// std::time\n#[cfg(test)]\nmod tests { use std::time::Instant; }"),
            0
        );
        assert_eq!(found("crates/engine/src/a.rs", "use std::time::Instant;"), 0);
    }
}
