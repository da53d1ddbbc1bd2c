//! Counts of passed and failed cases by group.

use std::collections::BTreeMap;
use std::process::ExitCode;

/// The counts of a group: passed, failed, and the largest accepted distance.
#[derive(Default)]
pub(crate) struct Ledger {
    groups: BTreeMap<String, (usize, usize, f64)>,
    shown: usize,
}

/// The number of failures shown in full.
const SHOWN: usize = 60;

impl Ledger {
    /// Records one case; `Ok` has its distance.
    pub(crate) fn note(&mut self, group: &str, name: &str, outcome: Result<f64, String>) {
        let row = self.groups.entry(group.to_owned()).or_default();
        match outcome {
            Ok(distance) => {
                row.0 += 1;
                row.2 = row.2.max(distance);
            }
            Err(text) => {
                row.1 += 1;
                self.shown += 1;
                if self.shown <= SHOWN {
                    println!("FAILED {group}: {name}: {text}");
                }
            }
        }
    }

    /// Prints the table; fails if any case failed.
    pub(crate) fn close(&self) -> ExitCode {
        let (mut passed, mut failed) = (0, 0);
        println!("{:<28} {:>7} {:>7}  worst", "group", "passed", "failed");
        for (group, (good, bad, worst)) in &self.groups {
            println!("{group:<28} {good:>7} {bad:>7}  {worst:.3}");
            passed += good;
            failed += bad;
        }
        println!("{passed} passed, {failed} failed");
        if failed == 0 && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}
