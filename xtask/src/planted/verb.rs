//! `cargo xtask planted`: plants the faults of the table one by one and reports which are detected.
//!
//! Invariant: a fault counts as detected only if the command succeeds without it and the test runs: a test that does
//! not build has not failed.

use super::copy::Copy;
use super::table::{Fault, TABLE, faults, invariants};
use crate::test::{CUDA_12, kernel_compiler};
use crate::tidy::INVARIANTS;
use crate::tree;
use crate::wheel;
use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Time limit of a check; a longer one counts as hanging.
const LIMIT: Duration = Duration::from_secs(90);

/// Time limit of a build, including the first from scratch.
const BUILD_LIMIT: Duration = Duration::from_secs(3600);

enum Outcome {
    Passed,
    /// The first line that gives the reason.
    Failed(String),
    Hangs,
}

/// Plants the faults whose invariant, file or command contains `part`; fails if one is not detected.
pub(crate) fn run(part: &str) -> Result<(), String> {
    let copy = Copy::fresh()?;
    // With the fault in place the table no longer matches, which is not an error here.
    copy.write(TABLE, b"")?;
    let all = faults(&tree::read(&tree::root().join(TABLE))?)?;
    let has_part =
        |fault: &&Fault| [&fault.invariant, &fault.file, &fault.command].iter().any(|text| text.contains(part));
    let wanted: Vec<&Fault> = all.iter().filter(has_part).collect();
    // A command that fails without a fault detects nothing.
    let commands: BTreeSet<&str> = wanted.iter().map(|fault| fault.command.as_str()).collect();
    for command in commands {
        if let Some(problem) = problem(build(&copy, command)?).or(problem(check(&copy, command)?)) {
            return Err(format!("{command}: without a fault: {problem}"));
        }
    }
    let mut unseen = 0;
    for fault in &wanted {
        let seen = plant(&copy, fault)?;
        let (word, line) = match &seen {
            Ok(line) => ("seen", line),
            Err(line) => ("NOT SEEN", line),
        };
        unseen += usize::from(seen.is_err());
        println!("{word}: {} ({TABLE}:{})\n    {}\n    {line}", fault.invariant, fault.line, fault.command);
    }
    let page = tree::read(&tree::root().join(INVARIANTS))?;
    let rows = invariants(&page);
    let broken = rows.iter().filter(|row| all.iter().any(|fault| row.contains(&fault.invariant))).count();
    println!(
        "{} faults planted, {} seen, {unseen} not seen; the table has faults for {broken} of {} invariants",
        wanted.len(),
        wanted.len() - unseen,
        rows.len()
    );
    if unseen == 0 { Ok(()) } else { Err(String::new()) }
}

/// `Ok` with the output of the check, or `Err` with why the fault was not detected.
fn plant(copy: &Copy, fault: &Fault) -> Result<Result<String, String>, String> {
    let path = copy.folder().join(&fault.file);
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    copy.write(&fault.file, fault.planted_in(&text)?.as_bytes())?;
    let outcome = match problem(build(copy, &fault.command)?) {
        Some(problem) => Ok(Err(format!("does not build: {problem}"))),
        None => check(copy, &fault.command).map(|outcome| match outcome {
            Outcome::Passed => Err("the check passes".to_owned()),
            outcome => Ok(problem(outcome).unwrap_or_default()),
        }),
    };
    copy.write(&fault.file, text.as_bytes())?;
    outcome
}

fn problem(outcome: Outcome) -> Option<String> {
    match outcome {
        Outcome::Passed => None,
        Outcome::Failed(line) => Some(line),
        Outcome::Hangs => Some(format!("it hangs: nothing after {} s", LIMIT.as_secs())),
    }
}

/// Builds what a command runs. A check that is itself a build needs no build before.
fn build(copy: &Copy, command: &str) -> Result<Outcome, String> {
    if let Some((before, after)) = command.split_once("cargo test ") {
        let words = after.split(" -- ").next().unwrap_or(after);
        return in_copy(copy, &unified(&format!("{before}cargo test --no-run {words}")), BUILD_LIMIT);
    }
    if let Some((program, _)) = command.strip_prefix("cargo run ").and_then(|words| words.split_once(" -- ")) {
        return in_copy(copy, &format!("cargo build {program}"), BUILD_LIMIT);
    }
    if command == "cargo xtask gen --check" {
        // The generators; without them nothing is left to build.
        return in_copy(
            copy,
            "cargo build -p forerun-ops --examples && cargo build -p forerun-cuda --examples",
            BUILD_LIMIT,
        );
    }
    if command.starts_with("pytest ") {
        let library = "cp target/debug/lib_forerun.so python/forerun/_forerun.abi3.so";
        return in_copy(copy, &format!("cargo build -p forerun-python && {library}"), BUILD_LIMIT);
    }
    Ok(Outcome::Passed)
}

fn check(copy: &Copy, command: &str) -> Result<Outcome, String> {
    if let Some(tests) = command.strip_prefix("pytest ") {
        let python = wheel::workshop()?.python(&[]).get_program().to_string_lossy().into_owned();
        // Python identifies bytecode by a second and a size, which a fault may keep.
        let settings = format!("PYTHONDONTWRITEBYTECODE=1 PYTHONPATH={}", copy.folder().join("python").display());
        return in_copy(copy, &format!("{settings} {python} -m pytest --quiet -p no:cacheprovider {tests}"), LIMIT);
    }
    if command.contains("--example texts ") {
        let compiler = format!("FORERUN_CUDA_PATH={}", kernel_compiler(CUDA_12)?);
        return in_copy(copy, &format!("{compiler} {command}"), LIMIT);
    }
    // The first `cargo check` in a fresh copy compiles everything that the crate depends on.
    // The first installs its tools before it begins, and the second builds.
    let is_long = ["cargo xtask docs", "cargo check "].iter().any(|start| command.starts_with(start));
    let limit = if is_long { BUILD_LIMIT } else { LIMIT };
    in_copy(copy, &unified(command), limit)
}

/// As in the stages of `cargo xtask test`, `forerun-python`, which enables features of shared dependencies, is added to
/// the packages, so that those are built once. It has no tests, so it cannot be combined with `--lib`; models do not
/// use it.
fn unified(command: &str) -> String {
    let has = |words: [&str; 2]| words.iter().any(|word| command.contains(word));
    if has([" --test ", " --example "]) && !has(["loom", "sanitizer"]) {
        command.replace("cargo test ", "cargo test -p forerun-python ")
    } else {
        command.to_owned()
    }
}

/// Runs a line in the copy, with its output in a file, because children of a hanging test may keep a pipe open.
fn in_copy(copy: &Copy, line: &str, limit: Duration) -> Result<Outcome, String> {
    eprintln!("$ {line}");
    let told = |e: std::io::Error| format!("{line}: {e}");
    fs::create_dir_all(copy.folder().join("target")).map_err(told)?;
    let place = copy.folder().join("target/output.txt");
    let output = fs::File::create(&place).map_err(told)?;
    let mut command = std::process::Command::new("sh");
    command.args(["-c", line]).current_dir(copy.folder()).stdin(Stdio::null());
    command.stdout(output.try_clone().map_err(told)?).stderr(output);
    // The copy has its own target folder, so that nothing built with a fault is used elsewhere.
    command.env_remove("CARGO_TARGET_DIR").env_remove("CARGO_MANIFEST_DIR").env("PYO3_BUILD_EXTENSION_MODULE", "1");
    // These builds are never debugged, and link faster without debug info. A fault changes a line or two, so most of a
    // crate need not be compiled again.
    command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "1").env("CARGO_TERM_COLOR", "never");
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().map_err(told)?;
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(told)? {
            break status;
        }
        if start.elapsed() > limit {
            // Kill the process group, so that the children of cargo end too.
            let group = format!("-{}", child.id());
            let _ = std::process::Command::new("kill").args(["-KILL", "--", &group]).status();
            let _ = child.kill();
            child.wait().map_err(told)?;
            return Ok(Outcome::Hangs);
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let text = String::from_utf8_lossy(&fs::read(&place).map_err(told)?).into_owned();
    Ok(if status.success() { Outcome::Passed } else { Outcome::Failed(reason(&text)) })
}

/// The line of an output that says what failed.
fn reason(output: &str) -> String {
    let lines = || output.lines().map(str::trim);
    // The message of a panic is on the line after its location.
    let panic = lines().skip_while(|line| !line.contains(" panicked at ")).skip(1).find(|line| !line.is_empty());
    let named =
        || lines().find(|line| ["error", "E  ", "tidy: ", "xtask: "].iter().any(|start| line.starts_with(start)));
    let killed = || lines().find(|line| ["(signal: ", "ThreadSanitizer: "].iter().any(|part| line.contains(part)));
    let found = panic.or_else(killed).or_else(named).or_else(|| lines().rfind(|line| !line.is_empty())).unwrap_or("");
    found.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_failure_is_found() {
        let test =
            "running 1 test\n\nthread 'a' (1) panicked at a.rs:1:2:\nassertion failed: b\nnote: c\nerror: test failed";
        assert_eq!(reason(test), "assertion failed: b");
        assert_eq!(reason("   Compiling a\nerror[E0308]: types\nerror: could not compile"), "error[E0308]: types");
        assert_eq!(reason("F\n>   assert x\nE   assert 1 == 2\n1 failed"), "E   assert 1 == 2");
        assert_eq!(reason("tidy: arrows: a.rs\nxtask: tidy: 1 violations"), "tidy: arrows: a.rs");
        assert_eq!(reason("error: test failed\nCaused by:\n  process (signal: 11)\n"), "process (signal: 11)");
        assert_eq!(reason("a\nlast\n\n"), "last");
    }
}
