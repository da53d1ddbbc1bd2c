//! Builds with other configurations, in separate folders: the model checker and, in the long tests, sanitizers and the
//! soak test. In the shared folder they would discard what the other stages built.

use super::counts::{Outcomes, of_cargo};
use super::ledger::Ledger;
use super::programs;
use super::record::Covered;
use super::stages::Extent;
use crate::command::{cargo, execute, program, run as run_command, say, shown};
use crate::sdist::included;
use crate::tree;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The tests that the model checker runs. They include the shipped sources of the lock-free modules and depend on
/// nothing else.
const MODELS: &[&str] = &["crates/array/tests/loom.rs", "crates/engine/tests/loom.rs"];

/// Runs the stages.
pub(super) fn run(ledger: &Ledger, extent: Extent) {
    match modelled().and_then(|files| Covered::new("loom", &files)) {
        Ok(covered) if extent != Extent::Long && covered.has_passed() => {
            ledger.check_and_note("loom", || Ok("in the record".to_owned()));
        }
        Ok(covered) => ledger.count("loom", || {
            let (good, found) = counted("loom", &mut loom())?;
            if good {
                covered.passed()?;
            }
            Ok((good, found))
        }),
        Err(problem) => drop(ledger.check::<()>("loom", || Err(problem))),
    }
    if extent != Extent::Long {
        return;
    }
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        ledger.check("thread sanitizer, core", || run_command(&mut sanitized_core()));
    }
    ledger.count("soak", || {
        let soak = programs::build(&["--release"])?;
        let variables = [("FORERUN_TEST_TASKS", "1000000"), ("FORERUN_TEST_PROGRAMS", "5000"), extent.variable()];
        programs::run(&soak, &variables, &["--include-ignored"])
    });
    ledger.count("thread sanitizer", || counted("thread sanitizer", &mut sanitized()));
}

/// The tests of the model checker and all files they include, from the root.
fn modelled() -> Result<BTreeSet<PathBuf>, String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<PathBuf> = MODELS.iter().map(PathBuf::from).collect();
    while let Some(path) = open.pop() {
        open.extend(included(&path, &tree::read(&tree::root().join(&path))?));
        found.insert(path);
    }
    // The release of the model checker.
    found.insert(Path::new("Cargo.lock").to_path_buf());
    Ok(found)
}

fn counted(name: &str, command: &mut Command) -> Result<(bool, Outcomes), String> {
    say!("$ {}", shown(command));
    let (status, output, _) = execute(command, true).map_err(|e| e.to_string())?;
    Ok((status.success(), of_cargo(name, &output)))
}

fn loom() -> Command {
    let mut model =
        cargo(&["test", "--release", "--package", "forerun-engine", "--package", "forerun-array", "--test", "loom"]);
    model.env("CARGO_TARGET_DIR", tree::target().join("loom")).env("RUSTFLAGS", "--cfg loom");
    model
}

/// The engine's core under the thread sanitizer, without suppressions: any report fails it. The flags are unstable, but
/// the runtime ships with the stable compiler; the standard library is not instrumented, which the test takes into
/// account.
fn sanitized_core() -> Command {
    let target = "x86_64-unknown-linux-gnu";
    let mut race = cargo(&["test", "--target", target, "--package", "forerun-engine", "--test", "race"]);
    race.env("CARGO_TARGET_DIR", tree::target().join("tsan")).env("RUSTC_BOOTSTRAP", "1");
    race.env("RUSTFLAGS", "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer");
    race
}

/// The tests of threads under the thread sanitizer. The standard library is instrumented too, so no suppressions are
/// needed; this requires a nightly toolchain with its sources.
fn sanitized() -> Command {
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let mut command = program("rustup", &["run", "nightly", "cargo", "test", "-Zbuild-std", "--no-fail-fast"]);
    command.args(["--target", &target, "--package", "forerun", "--package", "forerun-engine"]);
    command.args(["--test", "threads", "--test", "resize", "--test", "race"]);
    command.env("RUSTFLAGS", "-Zsanitizer=thread").env("CARGO_TARGET_DIR", tree::target().join("sanitizer"));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_found_with_the_sources_that_they_include() {
        let found = modelled().unwrap();
        let has = |path: &str| found.contains(Path::new(path));
        assert!(
            has("crates/engine/src/ring.rs") && has("crates/array/src/runtime/sync.rs") && has(MODELS[0]),
            "{found:?}"
        );
        assert!(!has("crates/engine/src/lib.rs"));
    }
}
