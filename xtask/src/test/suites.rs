//! The stages of the Python package. The suite runs on as many processes as there are cores, against the package from
//! the shared build, with debug assertions and fail points. The long tests also run it against a release build.

use super::counts::{Outcomes, of_pytest};
use super::ledger::Ledger;
use super::modes;
use super::page;
use super::record::Covered;
use super::stages::{Extent, unless_passed};
use crate::command::{execute, program, run as run_command, run_and_read, say, shown};
use crate::python::Environment;
use crate::tree;
use crate::wheel::{self, Profile};
use std::fs;

/// The folders that ruff checks.
const PAGES: &[&str] = &["python", "tests/python", "benches", "examples", "tour"];

/// Python itself leaks, and tests ask for more memory than there is.
const ASAN_OPTIONS: (&str, &str) = ("ASAN_OPTIONS", "detect_leaks=0:allocator_may_return_null=1");

/// The sanitizer watches Python's objects too.
const PYTHON_MALLOC: (&str, &str) = ("PYTHONMALLOC", "malloc");

/// Checks that need no build.
pub(super) fn lint(ledger: &Ledger, environment: &Environment) {
    ledger.check("ruff check", || run_command(environment.tool("ruff", &["check", "--quiet"]).args(PAGES)));
    ledger
        .check("ruff format", || run_command(environment.tool("ruff", &["format", "--quiet", "--check"]).args(PAGES)));
    ledger.check("mypy", || run_command(&mut environment.tool("mypy", &["--strict", "python/forerun", "tour"])));
}

/// Runs the suite, its modes, and the examples of the documentation.
pub(super) fn run(ledger: &Ledger, extent: Extent, environment: &Environment) {
    if ledger.check("wheel", || environment.install_wheel(&wheel::build(Profile::Dev)?)).is_none() {
        ledger.unreachable("pytest", "wheel");
        return;
    }
    let suite = |stage: &str, tests: &[&str], variables: &[(&str, &str)]| {
        ledger.count(stage, || pytest(environment, stage, tests, variables));
    };
    let (everything, alone) = (["tests/python", "-m", "not alone"], ["tests/python", "-m", "alone", "-n", "0"]);
    let brief = ["tests/python", "-m", "not alone and not slow"];
    suite("pytest", if extent == Extent::Quick { &brief } else { &everything }, &[("FORERUN_ENGINE", "async")]);
    suite("doctest", &["--doctest-modules", "--pyargs", "forerun"], &[]);
    if extent == Extent::Quick {
        return;
    }
    ledger.check_and_note("page", || {
        let covered = Covered::new("page", &page::covered()?)?;
        let lacking = page::lacking();
        // The record tells whether the page was tested as it is; a machine without a browser cannot do it again.
        if extent != Extent::Long && !covered.has_passed() && !lacking.is_empty() {
            return Ok(format!("changed and not tested: install {}", lacking.join(" and ")));
        }
        unless_passed(extent, covered, || page::check(extent, environment))
    });
    suite("pytest, one at a time", &alone, &[("FORERUN_ENGINE", "async")]);
    match ledger.check("modes", || modes::files(&tree::read(&tree::root().join(modes::LIST))?)) {
        Some(files) => {
            let files: Vec<&str> = files.iter().map(String::as_str).chain(["-m", "not alone"]).collect();
            for (stage, variable, value) in modes::MODES {
                suite(stage, &files, &[(variable, value)]);
            }
        }
        None => ledger.unreachable("pytest, modes", "modes"),
    }
    if extent != Extent::Long {
        return;
    }
    suite("pytest, long fuzzing", &everything, &[extent.variable()]);
    suite("pytest, long, one at a time", &alone, &[extent.variable()]);
    if ledger.check("wheel, release", || environment.install_wheel(&wheel::build(Profile::Local)?)).is_some() {
        suite("pytest, release build", &everything, &[]);
        for (stage, variable, value) in modes::MODES {
            suite(&format!("{stage}, everything"), &everything, &[(variable, value)]);
        }
    }
    if cfg!(target_os = "linux") {
        let runtime = ledger.check("wheel, address sanitizer", || {
            environment.install_wheel(&wheel::build_sanitized()?)?;
            let (_, runtime) = run_and_read(&mut program("cc", &["-print-file-name=libasan.so"]))?;
            Ok(runtime.trim().to_owned())
        });
        if let Some(runtime) = runtime {
            // Where memory or stack is limited, the sanitizer itself finds none.
            let tests = ["tests/python", "-m", "not alone", "--ignore", "tests/python/test_pressure.py"];
            suite("pytest, address sanitizer", &tests, &[("LD_PRELOAD", &runtime), ASAN_OPTIONS, PYTHON_MALLOC]);
        }
    }
}

/// Runs pytest, and parses its report.
///
/// Tests are assigned to idle processes, since a few of them take most of the time.
fn pytest(
    environment: &Environment,
    stage: &str,
    tests: &[&str],
    variables: &[(&str, &str)],
) -> Result<(bool, Outcomes), String> {
    let report = tree::target().join("reports").join(stage.replace([',', ' '], "-") + ".xml");
    // An older report must not be mistaken for the new one.
    let _ = fs::remove_file(&report);
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get()).to_string();
    let mut command = environment.python(&["-m", "pytest", "--quiet", "-n", &cores, "--dist", "worksteal"]);
    command.args(tests).arg(format!("--junit-xml={}", report.display())).envs(variables.iter().copied());
    say!("$ {}", shown(&command));
    let (status, ..) = execute(&mut command, true).map_err(|e| e.to_string())?;
    Ok((status.success(), of_pytest(&fs::read_to_string(&report).unwrap_or_default())))
}
