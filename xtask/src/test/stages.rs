//! The stages, in the order in which a mistake is cheapest to find.

use super::counts::{of_cargo, of_pytest};
use super::ledger::Ledger;
use super::new_row;
use crate::command::{cargo, program, run as run_command};
use crate::python::Environment;
use crate::wheel::{self, Profile};
use crate::{generated, sdist, supply, tidy, tree};
use std::process::Command;

/// How much to run.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Extent {
    /// While working: one engine mode, no model checking.
    Quick,
    /// Before anything lands.
    Normal,
    /// Overnight: adds the soak.
    Long,
}

/// Has no tests, but asks for features of what others use too. Cargo builds for those that are named, so wherever some are,
/// this one is among them: what they use is then built once for all stages.
const UNIFIER: &[&str] = &["--package", "forerun-python"];

/// The crates whose behaviour could differ between the engine's modes.
const TWO_MODES: &[&str] = &["--package", "forerun-array", "--package", "forerun"];

/// The tests that need fail points.
const FAULTS: &[&str] = &[
    "test",
    "--no-fail-fast",
    "--features",
    "faults",
    "--package",
    "forerun",
    "--test",
    "faults",
    "--test",
    "pressure",
];

pub(crate) const CUDA_12: &str = "nvidia-cuda-nvrtc-cu12==12.9.*";

/// The package of the assembler, and where it lies in it.
const ASSEMBLER: (&str, &str) = ("nvidia-cuda-nvcc-cu12==12.9.*", "nvidia/cuda_nvcc/bin/ptxas");

const RUST_TESTS: &[&str] = &["test", "--workspace", "--no-fail-fast"];

/// Runs the stages; fails when anything failed.
pub(crate) fn run(extent: Extent) -> Result<(), String> {
    let mut ledger = Ledger::default();
    rust(&mut ledger, extent);
    match ledger.check("venv", wheel::workshop) {
        Some(environment) => python(&mut ledger, extent, &environment),
        None => ledger.unreachable("python", "venv"),
    }
    ledger.close()
}

fn rust(ledger: &mut Ledger, extent: Extent) {
    ledger.check("fmt", || run_command(&mut cargo(&["fmt", "--all", "--check"])));
    ledger.check("tidy", tidy::run);
    ledger.check("generated files", || generated::check(&tree::root()));
    ledger.check("clippy", || {
        run_command(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]))
    });
    ledger.count("cargo test", with(cargo(RUST_TESTS), "FORERUN_ENGINE", "async"), of_cargo);
    if extent == Extent::Quick {
        return;
    }
    let mut sync = with(cargo(&["test", "--no-fail-fast"]), "FORERUN_ENGINE", "sync");
    sync.args(TWO_MODES).args(UNIFIER);
    ledger.count("cargo test, sync engine", sync, of_cargo);
    ledger.check("supply", supply::check);
    let marks = cargo(&["test", "--features", "faults", "--package", "forerun-base", "--lib"]);
    ledger.count("fail points, marks", marks, of_cargo);
    let mut faults = cargo(FAULTS);
    faults.args(UNIFIER);
    ledger.count("fail points", with_length(faults, extent), of_cargo);
    let mut devices = cargo(&["test", "--package", "forerun", "--test", "device_programs"]);
    devices.args(UNIFIER);
    ledger.count("programs over devices", with(devices, "FORERUN_TEST_DEVICE_PROGRAMS", "10000"), of_cargo);
    ledger.check("kernel texts, CUDA 12", || kernel_texts(CUDA_12));
    ledger.check("kernel texts, PTX", ptx_texts);
    ledger.check("a new row", || new_row::check(&kernel_compiler(CUDA_12)?));
    if extent == Extent::Long {
        ledger.check("kernel texts, CUDA 13", || kernel_texts("nvidia-cuda-nvrtc>=13,<14"));
    }
    // Another configuration would throw away what the other stages built, so it gets a folder of its own.
    let model =
        cargo(&["test", "--release", "--package", "forerun-engine", "--package", "forerun-array", "--test", "loom"]);
    let model = with(model, "CARGO_TARGET_DIR", &tree::target().join("loom").to_string_lossy());
    ledger.count("loom", with(model, "RUSTFLAGS", "--cfg loom"), of_cargo);
    if extent == Extent::Long {
        if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            ledger.check("thread sanitizer, core", || run_command(&mut sanitized_core()));
        }
        let mut soak = cargo(RUST_TESTS);
        soak.args(["--release", "--", "--include-ignored"]);
        let soak = with(with(soak, "FORERUN_TEST_TASKS", "1000000"), "FORERUN_TEST_PROGRAMS", "5000");
        ledger.count("soak", with_length(soak, extent), of_cargo);
        ledger.count("thread sanitizer", sanitized(), of_cargo);
    }
}

/// The engine's core under the thread sanitizer, without suppressions: any report fails it. The flags are not for a stable
/// compiler, but its runtime is there; the standard library is not instrumented, which the test knows.
fn sanitized_core() -> Command {
    let target = "x86_64-unknown-linux-gnu";
    let race = cargo(&["test", "--target", target, "--package", "forerun-engine", "--test", "race"]);
    let race = with(race, "CARGO_TARGET_DIR", &tree::target().join("tsan").to_string_lossy());
    let flags = "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer";
    with(with(race, "RUSTC_BOOTSTRAP", "1"), "RUSTFLAGS", flags)
}

/// The tests of threads under the thread sanitizer. The standard library is built with it too, so nothing need be
/// suppressed; that takes a nightly toolchain with its sources.
fn sanitized() -> Command {
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let mut command = program("rustup", &["run", "nightly", "cargo", "test", "-Zbuild-std", "--no-fail-fast"]);
    command.args(["--target", &target, "--package", "forerun", "--package", "forerun-engine"]);
    command.args(["--test", "threads", "--test", "resize", "--test", "race"]);
    let folder = tree::target().join("sanitizer");
    with(with(command, "RUSTFLAGS", "-Zsanitizer=thread"), "CARGO_TARGET_DIR", &folder.to_string_lossy())
}

/// Installs the compiler of the device's texts and says where.
pub(crate) fn kernel_compiler(package: &str) -> Result<String, String> {
    let release = if package.contains("cu12") { "nvrtc-12" } else { "nvrtc-13" };
    Environment::with(release, &[package])?.packages()
}

/// Compiles every text of the device room by the compiler of this package; that takes no device.
fn kernel_texts(package: &str) -> Result<(), String> {
    let packages = kernel_compiler(package)?;
    let texts = cargo(&["run", "--quiet", "--package", "forerun-cuda", "--example", "texts", "--", "sm_90"]);
    run_command(&mut with(texts, "FORERUN_CUDA_PATH", &packages))
}

/// Assembles every text in PTX; that takes no device either.
fn ptx_texts() -> Result<(), String> {
    let (package, place) = ASSEMBLER;
    let assembler = format!("{}/{place}", Environment::with("ptxas-12", &[package])?.packages()?);
    let texts = ["run", "--quiet", "--package", "forerun-cuda", "--example", "ptx", "--", &assembler, "sm_90"];
    run_command(&mut cargo(&texts))
}

fn python(ledger: &mut Ledger, extent: Extent, environment: &Environment) {
    let pages = ["python", "tests/python", "benches"];
    ledger.check("ruff check", || run_command(environment.tool("ruff", &["check", "--quiet"]).args(pages)));
    ledger
        .check("ruff format", || run_command(environment.tool("ruff", &["format", "--quiet", "--check"]).args(pages)));
    ledger.check("mypy", || run_command(&mut environment.tool("mypy", &["--strict", "python/forerun"])));
    ledger.check("sdist", sdist::build);

    let profile = if extent == Extent::Quick { Profile::Dev } else { Profile::Release };
    if ledger.check("wheel", || environment.install_wheel(&wheel::build(profile)?)).is_none() {
        ledger.unreachable("pytest", "wheel");
        return;
    }
    let suite = || environment.python(&["-m", "pytest", "--quiet", "tests/python"]);
    ledger.count("pytest", with(suite(), "FORERUN_ENGINE", "async"), of_pytest);
    if extent != Extent::Quick {
        ledger.count("pytest, sync engine", with(suite(), "FORERUN_ENGINE", "sync"), of_pytest);
        ledger.count("pytest, nothing dropped", with(suite(), "FORERUN_DROP_DEAD", "0"), of_pytest);
    }
    if extent == Extent::Long {
        ledger.count("pytest, long fuzzing", with(suite(), "FORERUN_TEST_LONG", "1"), of_pytest);
    }
    if extent != Extent::Quick {
        match ledger.check("wheel with fail points", || wheel::build_with_faults(environment)) {
            Some(folder) => {
                let suites = ["tests/python/test_faults.py", "tests/python/test_pressure.py"];
                let mut faults = environment.python(&["-m", "pytest", "--quiet"]);
                faults.args(suites).env("PYTHONPATH", folder);
                ledger.count("pytest, fail points", with_length(faults, extent), of_pytest);
            }
            None => ledger.unreachable("pytest, fail points", "wheel with fail points"),
        }
    }
    let doctest = ["-m", "pytest", "--quiet", "--doctest-modules", "--pyargs", "forerun"];
    ledger.count("doctest", environment.python(&doctest), of_pytest);
}

/// Tests that draw or inject know by a variable how much of it they are asked for.
fn with_length(command: Command, extent: Extent) -> Command {
    with(command, "FORERUN_TEST_LONG", if extent == Extent::Long { "1" } else { "0" })
}

fn with(mut command: Command, name: &str, value: &str) -> Command {
    command.env(name, value);
    command
}
