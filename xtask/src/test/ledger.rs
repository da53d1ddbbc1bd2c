//! What each stage took and brought: the closing table and the closing line.
//!
//! Invariant: a stage that did not succeed counts at least one failure, whatever it printed.

use super::counts::Counts;
use crate::command::run_and_read;
use std::process::Command;
use std::time::{Duration, Instant};

/// The stages that have run.
#[derive(Default)]
pub(super) struct Ledger {
    rows: Vec<Row>,
}

struct Row {
    stage: String,
    took: Duration,
    counts: Counts,
    problem: Option<String>,
}

impl Ledger {
    /// Runs a stage that counts as one test, and hands on what it made.
    pub(super) fn check<T>(&mut self, stage: &str, work: impl FnOnce() -> Result<T, String>) -> Option<T> {
        println!("\n== {stage}");
        let start = Instant::now();
        let outcome = work();
        let good = outcome.is_ok();
        let counts = Counts { passed: usize::from(good), failed: usize::from(!good) };
        let (made, problem) = match outcome {
            Ok(made) => (Some(made), None),
            Err(problem) => (None, Some(problem)),
        };
        self.enter(stage, start.elapsed(), counts, problem);
        made
    }

    /// Runs a stage whose output says how many tests it holds.
    pub(super) fn count(&mut self, stage: &str, mut command: Command, read: fn(&str) -> Counts) {
        println!("\n== {stage}");
        let start = Instant::now();
        let (counts, problem) = match run_and_read(&mut command) {
            Ok((good, output)) => judged(good, read(&output)),
            Err(problem) => (Counts { passed: 0, failed: 1 }, Some(problem)),
        };
        self.enter(stage, start.elapsed(), counts, problem);
    }

    /// Enters a stage that could not run because an earlier one failed.
    pub(super) fn unreachable(&mut self, stage: &str, because: &str) {
        let counts = Counts { passed: 0, failed: 1 };
        self.enter(stage, Duration::ZERO, counts, Some(format!("not run: {because} failed")));
    }

    /// Prints the table and the closing line, which stays the last; fails when anything failed.
    pub(super) fn close(&self) -> Result<(), String> {
        let total = self.rows.iter().fold(Counts::default(), |sum, row| Counts {
            passed: sum.passed + row.counts.passed,
            failed: sum.failed + row.counts.failed,
        });
        println!("\n{:<28} {:>9} {:>8} {:>8}  result", "stage", "seconds", "passed", "failed");
        for Row { stage, took, counts: Counts { passed, failed }, problem } in &self.rows {
            let result = if *failed == 0 { "ok" } else { problem.as_deref().unwrap_or("failed") };
            println!("{stage:<28} {:>9.1} {passed:>8} {failed:>8}  {result}", took.as_secs_f64());
        }
        println!("{} passed, {} failed", total.passed, total.failed);
        if total.failed == 0 { Ok(()) } else { Err(String::new()) }
    }

    fn enter(&mut self, stage: &str, took: Duration, counts: Counts, problem: Option<String>) {
        if let Some(problem) = &problem {
            println!("{stage}: {problem}");
        }
        self.rows.push(Row { stage: stage.to_owned(), took, counts, problem });
    }
}

/// A stage that failed without a failing test, or passed without any test, has failed once.
fn judged(good: bool, counts: Counts) -> (Counts, Option<String>) {
    if good && counts.passed == 0 {
        return (Counts { failed: counts.failed.max(1), ..counts }, Some("no test ran".to_owned()));
    }
    if !good {
        return (Counts { failed: counts.failed.max(1), ..counts }, Some("failed".to_owned()));
    }
    (counts, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::program;

    #[test]
    fn failures_are_never_lost() {
        assert_eq!(judged(true, Counts { passed: 3, failed: 0 }).0, Counts { passed: 3, failed: 0 });
        assert_eq!(judged(false, Counts { passed: 3, failed: 2 }).0, Counts { passed: 3, failed: 2 });
        assert_eq!(judged(false, Counts { passed: 3, failed: 0 }).0, Counts { passed: 3, failed: 1 });
        assert_eq!(judged(true, Counts::default()).0, Counts { passed: 0, failed: 1 });
    }

    #[test]
    fn the_ledger_adds_up() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.check("good", || Ok(7)), Some(7));
        ledger.count("three", program("echo", &["3 passed in 1s"]), super::super::counts::of_pytest);
        assert!(ledger.close().is_ok());
        assert_eq!(ledger.check::<()>("bad", || Err("why".to_owned())), None);
        ledger.unreachable("after", "bad");
        assert!(ledger.close().is_err());
        let total: usize = ledger.rows.iter().map(|row| row.counts.passed * 100 + row.counts.failed).sum();
        assert_eq!(total, 402);
    }
}
