//! What passed and what did not, by group.

use std::collections::BTreeMap;
use std::process::ExitCode;

/// Counts a group: passed, failed, and the worst distance that was let pass.
#[derive(Default)]
pub(crate) struct Ledger {
    groups: BTreeMap<String, (usize, usize, f64)>,
    shown: usize,
}

/// Failures that are shown whole.
const SHOWN: usize = 60;

impl Ledger {
    /// Notes one case; `Ok` has the distance that was let pass.
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

    /// The table, and whether all passed.
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
