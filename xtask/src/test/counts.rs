//! Parses passed and failed tests from the output of test programs. Tests are identified by name, so that one that runs
//! in several modes counts once.

use std::collections::BTreeMap;

/// Individual tests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Counts {
    /// Tests that passed.
    pub(super) passed: usize,
    /// Tests that failed or could not be started.
    pub(super) failed: usize,
}

/// Tests by name, and whether each passed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Outcomes(BTreeMap<String, bool>);

impl Outcomes {
    /// One test.
    pub(super) fn one(name: impl Into<String>, passed: bool) -> Outcomes {
        Outcomes(BTreeMap::from([(name.into(), passed)]))
    }

    /// Adds a test; one that failed once has failed.
    pub(super) fn enter(&mut self, name: impl Into<String>, passed: bool) {
        *self.0.entry(name.into()).or_insert(true) &= passed;
    }

    /// Adds all tests of `others`.
    pub(super) fn extend(&mut self, others: &Outcomes) {
        others.0.iter().for_each(|(name, passed)| self.enter(name, *passed));
    }

    /// The number of tests.
    pub(super) fn counts(&self) -> Counts {
        let passed = self.0.values().filter(|passed| **passed).count();
        Counts { passed, failed: self.0.len() - passed }
    }

    /// The number of tests that `others` lack.
    pub(super) fn beside(&self, others: &Outcomes) -> usize {
        self.0.keys().filter(|name| !others.0.contains_key(*name)).count()
    }
}

/// Reads the lines `test name ... ok` of one of Rust's test programs or of its doctests.
///
/// Output of a test's own threads may interrupt such a line. The closing line has the totals; tests whose names could
/// not be parsed are numbered.
pub(super) fn of_cargo(program: &str, output: &str) -> Outcomes {
    let mut found = Outcomes::default();
    for line in output.lines() {
        let Some((name, rest)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ")) else { continue };
        // `ok` or `ok <0.1s>`; other lines are ignored tests or interrupted lines.
        match rest.split_whitespace().next() {
            Some("ok") => found.enter(format!("{program} {name}"), true),
            Some("FAILED") => found.enter(format!("{program} {name}"), false),
            _ => {}
        }
    }
    let closing = output.lines().filter_map(|line| line.trim().strip_prefix("test result:"));
    let told = sum(closing.flat_map(|result| result.split([';', '.'])));
    let read = found.counts();
    (read.passed..told.passed).for_each(|number| found.enter(format!("{program} passed {number}"), true));
    (read.failed..told.failed).for_each(|number| found.enter(format!("{program} failed {number}"), false));
    found
}

/// Parses pytest's JUnit report: one element per test, empty if it passed.
pub(super) fn of_pytest(report: &str) -> Outcomes {
    let mut found = Outcomes::default();
    for case in report.split("<testcase").skip(1) {
        let attribute =
            |name: &str| case.split_once(&format!(" {name}=\"")).and_then(|(_, rest)| rest.split('"').next());
        let name = format!("{}::{}", attribute("classname").unwrap_or(""), attribute("name").unwrap_or(""));
        // The output of a test is escaped, so these are elements.
        if !case.contains("<skipped") {
            found.enter(name, !case.contains("<failure") && !case.contains("<error"));
        }
    }
    found
}

fn sum<'a>(parts: impl Iterator<Item = &'a str>) -> Counts {
    let mut counts = Counts::default();
    for part in parts {
        let mut words = part.split_whitespace();
        let (Some(number), Some(what)) = (words.next().and_then(|word| word.parse::<usize>().ok()), words.next())
        else {
            continue;
        };
        match what {
            "passed" => counts.passed += number,
            "failed" => counts.failed += number,
            _ => {}
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_and_interrupted_lines_counted() {
        let output = "running 4 tests\ntest a ... ok\ntest b - should panic ... ok\ntest c ... forerun: 3 lost\nok\ntest d ... ignored\n\
                      test e ... FAILED\ntest result: FAILED. 3 passed; 1 failed; 1 ignored; 0 measured; finished in 0.00s\n";
        let found = of_cargo("p", output);
        assert_eq!(found.counts(), Counts { passed: 3, failed: 1 });
        assert_eq!(found.0.keys().next().map(String::as_str), Some("p a"));
    }

    #[test]
    fn pytest_reports_are_parsed() {
        let report = "<testsuite errors=\"0\"><testcase classname=\"t.a\" name=\"x[1]\" time=\"0.1\" /><testcase classname=\"t.a\" \
                      name=\"y\" time=\"0\"><failure message=\"&lt;skipped\">E</failure></testcase><testcase classname=\"t.a\" name=\"z\">\
                      <skipped type=\"s\" /></testcase><testcase classname=\"t\" name=\"w\"><system-out>a</system-out></testcase></testsuite>";
        assert_eq!(of_pytest(report).counts(), Counts { passed: 2, failed: 1 });
        assert_eq!(of_pytest(""), Outcomes::default());
    }

    #[test]
    fn a_test_in_two_modes_is_one_and_fails_if_it_fails_in_one() {
        let mut all = of_cargo("p", "test a ... ok\ntest b ... ok\n");
        let other = of_cargo("p", "test a ... FAILED\ntest c ... ok\n");
        assert_eq!(other.beside(&all), 1);
        all.extend(&other);
        assert_eq!(all.counts(), Counts { passed: 2, failed: 1 });
    }
}
