//! Rust's test programs: cargo builds them, the stages run them. They run in parallel on all cores, where `cargo test`
//! runs one after the other, and in any engine mode without cargo checking the sources again.

use super::counts::{Outcomes, of_cargo};
use crate::command::{cargo, execute, say, shown, tell};
use crate::tree;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Packages of programs without tests; clippy checks that they compile.
const WITHOUT_TESTS: &[&str] = &["--exclude", "forerun-benches", "--exclude", "forerun-gpu-tests"];

/// One test program.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TestProgram {
    /// The folder of its package, which is its working directory.
    folder: PathBuf,
    /// `lib`, `test`, `bin` or `example`, and its name.
    target: String,
    file: PathBuf,
}

impl TestProgram {
    /// The last part of its package's folder.
    pub(super) fn package(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn name(&self) -> String {
        format!("{} {}", self.package(), self.target)
    }

    fn command(&self, variables: &[(&str, &str)], args: &[&str]) -> Command {
        let mut command = Command::new(&self.file);
        command.args(args).current_dir(&self.folder).envs(variables.iter().copied());
        // As cargo does.
        command.env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }
}

/// Builds the tests with these options: every package that has some, each crate once, with the features of the
/// workspace.
pub(super) fn build(options: &[&str]) -> Result<Vec<TestProgram>, String> {
    let mut command = cargo(&["test", "--workspace", "--no-run", "--message-format", "json-render-diagnostics"]);
    command.args(WITHOUT_TESTS).args(options);
    say!("$ {}", shown(&command));
    // The messages are parsed; only errors are printed.
    let (status, messages, both) = execute(&mut command, false).map_err(|e| e.to_string())?;
    if !status.success() {
        both.lines().filter(|line| !line.starts_with("{\"")).for_each(|line| say!("{line}"));
        return Err(format!("{}: {status}", shown(&command)));
    }
    let programs: Vec<TestProgram> = messages.lines().filter_map(read).collect();
    say!("{} test programs", programs.len());
    Ok(programs)
}

/// Parses a test program from a message of cargo; `None` for other messages.
fn read(message: &str) -> Option<TestProgram> {
    let profile = message.split_once("\"profile\":{")?.1.split_once('}')?.0;
    let target = message.split_once("\"target\":{")?.1;
    let text = |from: &str, key: &str| {
        let value = from.split_once(&format!("\"{key}\":\""))?.1.split_once('"')?.0;
        Some(value.replace("\\\\", "\\"))
    };
    if !profile.contains("\"test\":true") {
        return None;
    }
    let kind = target.split_once("\"kind\":[\"")?.1.split_once('"')?.0;
    Some(TestProgram {
        folder: Path::new(&text(message, "manifest_path")?).parent()?.to_path_buf(),
        target: format!("{kind} {}", text(target, "name")?),
        file: PathBuf::from(text(message, "executable")?),
    })
}

/// Runs test programs, as many at a time as there are cores; returns whether all succeeded, and the outcome of every
/// test.
pub(super) fn run(
    programs: &[TestProgram],
    variables: &[(&str, &str)],
    args: &[&str],
) -> Result<(bool, Outcomes), String> {
    let next = AtomicUsize::new(0);
    let all = Mutex::new((true, Outcomes::default()));
    let work = || {
        while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut command = program.command(variables, args);
            let line = format!("$ {}\n", shown(&command));
            let (good, output) = match execute(&mut command, false) {
                Ok((status, _, both)) => (status.success(), both),
                Err(error) => (false, format!("{error}\n")),
            };
            let found = outcomes(&program.name(), good, &output);
            let mut all = all.lock().unwrap_or_else(|e| e.into_inner());
            all.0 &= good;
            all.1.extend(&found);
            // For a program that passed, its closing line is enough.
            let closing = output.lines().rfind(|said| said.starts_with("test result:")).unwrap_or("ok");
            tell(&if good { format!("{line}{closing}\n") } else { format!("{line}{output}") });
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        (1..threads).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    Ok(all.into_inner().unwrap_or_else(|e| e.into_inner()))
}

/// The outcomes of a program; for one without a harness, its status.
fn outcomes(name: &str, good: bool, output: &str) -> Outcomes {
    let mut found = of_cargo(name, output);
    let has_harness = output.contains("test result:");
    if !good && found.counts().failed == 0 || good && !has_harness {
        found.enter(name, good);
    }
    found
}

/// Runs the examples of the crates' documentation. Cargo builds and runs them in one command.
pub(super) fn doctests() -> Result<(bool, Outcomes), String> {
    let mut command = cargo(&["test", "--workspace", "--doc", "--no-fail-fast"]);
    command.args(WITHOUT_TESTS);
    say!("$ {}", shown(&command));
    let (status, output, _) = execute(&mut command, true).map_err(|e| e.to_string())?;
    Ok((status.success(), of_cargo("doc", &output)))
}

/// An example that [`build`] has built.
pub(super) fn example(name: &str, args: &[&str]) -> Command {
    crate::command::program(tree::target().join("debug/examples").join(name), args)
}

#[cfg(test)]
mod tests {
    use super::super::counts::Counts;
    use super::*;

    #[test]
    fn test_programs_are_found_among_messages() {
        let target = r#""target":{"kind":["test"],"crate_types":["bin"],"name":"rows","test":true}"#;
        let message = |test: &str, file: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/w/crates/cpu/Cargo.toml",{target},"profile":{{"test":{test}}},"executable":{file}}}"#
            )
        };
        let found = read(&message("true", "\"/w/target/debug/deps/rows-1\"")).unwrap();
        assert_eq!((found.name().as_str(), found.package().as_str()), ("cpu test rows", "cpu"));
        assert_eq!(found.folder, Path::new("/w/crates/cpu"));
        assert_eq!(read(&message("false", "\"/w/x\"")), None);
        assert_eq!(read(&message("true", "null")), None);
        assert_eq!(read(r#"{"reason":"build-finished","success":true}"#), None);
    }

    #[test]
    fn programs_run_and_a_crash_is_a_failure() {
        let shell = |script: &str| {
            let file = PathBuf::from("/bin/sh");
            let program = TestProgram { folder: std::env::temp_dir(), target: script.to_owned(), file };
            run(&[program], &[("X", "1")], &["-c", script]).unwrap()
        };
        let (good, found) = shell("echo 'test a ... ok'; echo 'test result: ok. 1 passed; 0 failed'");
        assert_eq!((good, found.counts()), (true, Counts { passed: 1, failed: 0 }));
        let (good, found) = shell("echo 'test a ... ok'; test $X = 2");
        assert_eq!((good, found.counts()), (false, Counts { passed: 1, failed: 1 }));
        let (good, found) = shell("true");
        assert_eq!((good, found.counts()), (true, Counts { passed: 1, failed: 0 }));
    }
}
