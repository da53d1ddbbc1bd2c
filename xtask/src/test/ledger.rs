//! The results of each stage: the closing table and the closing line.
//!
//! Invariant: a stage that did not succeed counts at least one failure, whatever it printed. A test counts once,
//! however many stages it ran in.

use super::counts::{Counts, Outcomes};
use crate::command::{kept, say, tell};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The stages that have run. Threads may add theirs concurrently.
#[derive(Default)]
pub(super) struct Ledger {
    rows: Mutex<Vec<Row>>,
}

struct Row {
    stage: String,
    took: Duration,
    outcomes: Outcomes,
    /// A note of a stage that succeeded, for example how much work it found.
    note: String,
    problem: Option<String>,
}

impl Ledger {
    /// Runs a stage that counts as one test, and returns its result.
    pub(super) fn check<T>(&self, stage: &str, work: impl FnOnce() -> Result<T, String>) -> Option<T> {
        say!("\n== {stage}");
        let start = Instant::now();
        let outcome = work();
        let outcomes = Outcomes::one(stage, outcome.is_ok());
        let (made, problem) = match outcome {
            Ok(made) => (Some(made), None),
            Err(problem) => (None, Some(problem)),
        };
        self.enter(Row { stage: stage.to_owned(), took: start.elapsed(), outcomes, note: String::new(), problem });
        made
    }

    /// As [`check`](Ledger::check), for a stage that returns a note.
    pub(super) fn check_and_note(&self, stage: &str, work: impl FnOnce() -> Result<String, String>) {
        if let Some(note) = self.check(stage, work)
            && let Some(row) = self.rows().iter_mut().rfind(|row| row.stage == stage)
        {
            row.note = note;
        }
    }

    /// Runs a stage with many tests; it returns whether it succeeded, and the outcome of each test.
    pub(super) fn count(&self, stage: &str, work: impl FnOnce() -> Result<(bool, Outcomes), String>) {
        say!("\n== {stage}");
        let start = Instant::now();
        let (outcomes, problem) = match work() {
            Ok((good, outcomes)) => judged(stage, good, outcomes),
            Err(problem) => (Outcomes::one(stage, false), Some(problem)),
        };
        self.enter(Row { stage: stage.to_owned(), took: start.elapsed(), outcomes, note: String::new(), problem });
    }

    /// Adds a stage that could not run because an earlier one failed.
    pub(super) fn unreachable(&self, stage: &str, because: &str) {
        let problem = Some(format!("not run: {because} failed"));
        let outcomes = Outcomes::one(stage, false);
        self.enter(Row { stage: stage.to_owned(), took: Duration::ZERO, outcomes, note: String::new(), problem });
    }

    /// Prints the table and the closing line, which is the last; fails if anything failed.
    pub(super) fn close(&self) -> Result<(), String> {
        let mut all = Outcomes::default();
        println!("\n{:<28} {:>9} {:>8} {:>8} {:>8}  result", "stage", "seconds", "passed", "failed", "new");
        for Row { stage, took, outcomes, note, problem } in &*self.rows() {
            let (Counts { passed, failed }, new) = (outcomes.counts(), outcomes.beside(&all));
            all.extend(outcomes);
            let good = if note.is_empty() { "ok" } else { note };
            let result = if failed == 0 { good } else { problem.as_deref().unwrap_or("failed") };
            println!("{stage:<28} {:>9.1} {passed:>8} {failed:>8} {new:>8}  {result}", took.as_secs_f64());
        }
        let Counts { passed, failed } = all.counts();
        println!("{passed} passed, {failed} failed");
        if failed == 0 { Ok(()) } else { Err(String::new()) }
    }

    fn enter(&self, row: Row) {
        if let Some(problem) = &row.problem {
            say!("{}: {problem}", row.stage);
        }
        self.rows().push(row);
    }

    fn rows(&self) -> std::sync::MutexGuard<'_, Vec<Row>> {
        self.rows.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// Runs stages whose output is printed when they are done, because others run in parallel.
pub(super) fn in_background<T>(stages: impl FnOnce() -> T) -> T {
    let (made, said) = kept(stages);
    tell(&said);
    made
}

/// A stage that failed without a failing test, or passed without any test, counts one failure.
fn judged(stage: &str, good: bool, mut outcomes: Outcomes) -> (Outcomes, Option<String>) {
    let counts = outcomes.counts();
    if good && counts.failed == 0 && counts.passed > 0 {
        return (outcomes, None);
    }
    if counts.failed == 0 {
        outcomes.enter(stage, false);
    }
    (outcomes, Some(if good && counts.passed == 0 { "no test ran" } else { "failed" }.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::super::counts::of_cargo;
    use super::*;

    #[test]
    fn failures_are_never_lost() {
        let three = of_cargo("p", "test result: ok. 3 passed; 0 failed");
        let two_of_five = of_cargo("p", "test result: ok. 3 passed; 2 failed");
        let after = |good, outcomes| judged("s", good, outcomes).0.counts();
        assert_eq!(after(true, three.clone()), Counts { passed: 3, failed: 0 });
        assert_eq!(after(false, two_of_five.clone()), Counts { passed: 3, failed: 2 });
        assert!(judged("s", true, two_of_five).1.is_some());
        assert_eq!(after(false, three), Counts { passed: 3, failed: 1 });
        assert_eq!(after(true, Outcomes::default()), Counts { passed: 0, failed: 1 });
    }

    #[test]
    fn the_ledger_adds_up() {
        let ledger = Ledger::default();
        assert_eq!(ledger.check("good", || Ok(7)), Some(7));
        let three = || of_cargo("p", "test a ... ok\ntest b ... ok\ntest c ... ok\n");
        ledger.count("three", || Ok((true, three())));
        ledger.count("three again", || Ok((true, three())));
        ledger.check_and_note("noted", || Ok("2 of 3".to_owned()));
        assert_eq!(ledger.rows().last().map(|row| row.note.clone()).as_deref(), Some("2 of 3"));
        assert!(ledger.close().is_ok());
        assert_eq!(ledger.check::<()>("bad", || Err("why".to_owned())), None);
        ledger.unreachable("after", "bad");
        assert!(ledger.close().is_err());
        let mut all = Outcomes::default();
        ledger.rows().iter().for_each(|row| all.extend(&row.outcomes));
        assert_eq!(all.counts(), Counts { passed: 5, failed: 2 });
    }
}
