//! The stages, ordered so that errors are found early. All of them share one build: see [`programs`].

use super::ledger::{Ledger, in_background};
use super::new_op::{family, row};
use super::programs::{self, TestProgram, example};
use super::record::Covered;
use super::{capi, models, suites};
use crate::command::{cargo, execute, run as run_command, say, shown, tell};
use crate::python::Environment;
use crate::wheel;
use crate::{generated, sdist, site, supply, tidy, tree};

/// How much to run.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Extent {
    /// While working: one engine mode, no model checking, no test that takes long.
    Quick,
    /// Before a change lands.
    Normal,
    /// Overnight: everything, ignoring the records, and longer.
    Long,
}

impl Extent {
    /// The variable that tells tests how many examples or faults to run.
    pub(super) fn variable(self) -> (&'static str, &'static str) {
        ("FORERUN_TEST_LONG", if self == Extent::Long { "1" } else { "0" })
    }
}

/// The packages whose behaviour could differ between the engine's modes.
const TWO_MODES: &[&str] = &["array", "forerun"];

/// Number of random programs over devices: in a normal run and in a long one.
const DEVICE_PROGRAMS: (&str, &str) = ("2000", "20000");

pub(crate) const CUDA_12: &str = "nvidia-cuda-nvrtc-cu12==12.9.*";
const CUDA_13: &str = "nvidia-cuda-nvrtc>=13,<14";

/// The package of the assembler, and the path in it.
const ASSEMBLER: (&str, &str) = ("nvidia-cuda-nvcc-cu12==12.9.*", "nvidia/cuda_nvcc/bin/ptxas");

/// The hashes of device sources that have compiled.
const TEXTS: &str = "docs/conformance/texts.txt";

/// Runs the stages; fails if anything failed.
pub(crate) fn run(extent: Extent) -> Result<(), String> {
    let ledger = Ledger::default();
    ledger.check("fmt", || run_command(&mut cargo(&["fmt", "--all", "--check"])));
    ledger.check("tidy", tidy::run);
    // While a compiler waits for one crate, or pip for the network, the other uses the core.
    let (programs, environment) = std::thread::scope(|scope| {
        let beside = scope.spawn(|| in_background(|| without_build(&ledger, extent)));
        ledger.check("clippy", || {
            run_command(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]))
        });
        let programs = ledger.check("build", || programs::build(&[]));
        (programs, beside.join().unwrap_or_default())
    });
    match programs {
        Some(programs) => rust(&ledger, extent, &programs),
        None => ledger.unreachable("cargo test", "build"),
    }
    match environment {
        Some(environment) => suites::run(&ledger, extent, &environment),
        None => ledger.unreachable("python", "venv"),
    }
    ledger.close()
}

/// Runs stages that need no build; creates the environment of the package's tests.
fn without_build(ledger: &Ledger, extent: Extent) -> Option<Environment> {
    let environment = ledger.check("venv", wheel::workshop);
    if let Some(environment) = &environment {
        suites::lint(ledger, environment);
    }
    if extent != Extent::Quick {
        ledger.check("sdist", sdist::build);
        ledger.check("supply", supply::check);
        ledger.check_and_note("site", || unless_passed(extent, Covered::new("site", &site::covered()?)?, site::build));
        // Downloads run while others compile; the stages that need them report errors.
        let _ = (kernel_compiler(CUDA_12), assembler());
    }
    environment
}

fn rust(ledger: &Ledger, extent: Extent, programs: &[TestProgram]) {
    let (day, night) = DEVICE_PROGRAMS;
    let length = match extent {
        Extent::Quick => "100",
        Extent::Normal => day,
        Extent::Long => night,
    };
    let variables = [("FORERUN_ENGINE", "async"), ("FORERUN_TEST_DEVICE_PROGRAMS", length), extent.variable()];
    ledger.count("cargo test", || programs::run(programs, &variables, &[]));
    ledger.check("generated files", || generated::check(&tree::root()));
    if extent == Extent::Quick {
        return;
    }
    ledger.count("cargo test, documentation", programs::doctests);
    let two_modes = programs.iter().filter(|program| TWO_MODES.contains(&program.package().as_str()));
    let two_modes: Vec<TestProgram> = two_modes.cloned().collect();
    let sync = [("FORERUN_ENGINE", "sync"), extent.variable()];
    ledger.count("cargo test, sync engine", || programs::run(&two_modes, &sync, &[]));
    ledger.check_and_note("kernel texts, CUDA 12", || kernel_texts(CUDA_12, extent));
    ledger.check_and_note("kernel texts, PTX", || ptx_texts(extent));
    if extent == Extent::Long {
        ledger.check_and_note("kernel texts, CUDA 13", || kernel_texts(CUDA_13, extent));
        let ndarray = ["test", "--package", "forerun", "--features", "ndarray", "--test", "ndarray"];
        ledger.check("cargo test, feature ndarray", || run_command(&mut cargo(&ndarray)));
    }
    ledger.check_and_note("a new row", || {
        unless_passed(extent, Covered::new("a new row", &row::covered()?)?, || {
            row::check(&kernel_compiler(CUDA_12)?, &assembler()?)
        })
    });
    ledger.check_and_note("a new family", || {
        unless_passed(extent, Covered::new("a new family", &family::covered()?)?, || {
            family::check(&kernel_compiler(CUDA_12)?, &wheel::workshop()?)
        })
    });
    if cfg!(target_os = "linux") {
        ledger.check_and_note("C and C++", || {
            unless_passed(extent, Covered::new("C and C++", &capi::covered()?)?, || capi::check(extent))
        });
    }
    models::run(ledger, extent);
}

/// Runs a stage unless the record says that it passed with the current content.
pub(super) fn unless_passed(
    extent: Extent,
    covered: Covered,
    stage: impl FnOnce() -> Result<(), String>,
) -> Result<String, String> {
    if extent != Extent::Long && covered.has_passed() {
        return Ok("in the record".to_owned());
    }
    stage()?;
    covered.passed()?;
    Ok("ok".to_owned())
}

/// Installs the compiler of device sources and returns its path.
pub(crate) fn kernel_compiler(package: &str) -> Result<String, String> {
    let release = if package.contains("cu12") { "nvrtc-12" } else { "nvrtc-13" };
    Environment::with(release, &[package])?.packages()
}

/// Installs the PTX assembler and returns its path.
fn assembler() -> Result<String, String> {
    let (package, place) = ASSEMBLER;
    Ok(format!("{}/{place}", Environment::with("ptxas-12", &[package])?.packages()?))
}

/// Compiles the device sources with the compiler of this package; needs no device.
fn kernel_texts(package: &str, extent: Extent) -> Result<String, String> {
    texts("texts", &["sm_90"], extent, ("FORERUN_CUDA_PATH", &kernel_compiler(package)?))
}

/// Assembles the PTX sources; needs no device.
fn ptx_texts(extent: Extent) -> Result<String, String> {
    texts("ptx", &[&assembler()?, "sm_90"], extent, ("FORERUN_CUDA_PATH", ""))
}

/// Runs a program that compiles device sources, and reports how many it compiled. The long tests compile all of them.
fn texts(name: &str, args: &[&str], extent: Extent, variable: (&str, &str)) -> Result<String, String> {
    let mut command = example(name, args);
    command.env(variable.0, variable.1);
    if extent != Extent::Long {
        command.args(["--record", TEXTS]);
    }
    say!("$ {}", shown(&command));
    let (status, output, both) = execute(&mut command, false).map_err(|e| e.to_string())?;
    tell(&both);
    if !status.success() {
        return Err(format!("{}: {status}", shown(&command)));
    }
    Ok(output.lines().next_back().unwrap_or("ok").to_owned())
}
