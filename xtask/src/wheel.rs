//! The Python package: builds and installs the wheel, and runs the tour.

use crate::command::{run, say};
use crate::python::{Environment, interpreter};
use crate::tree;
use std::fs;
use std::path::{Path, PathBuf};

/// Packages in the working environment besides Forerun.
const WORKSHOP: &[&str] = &[
    "numpy>=2",
    "ml_dtypes>=0.5",
    "pytest>=9,<10",
    "pytest-xdist==3.8.0",
    "hypothesis>=6,<7",
    "ipython>=8,<10",
    "ruff==0.17.4",
    "mypy==2.4.1",
];

/// The build tool of the package.
pub(crate) const MATURIN: &str = "maturin>=1.9.4,<2";

/// How the extension module is compiled.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Profile {
    /// Cargo's profile `dev`: shares everything with the tests' build; used by the tests.
    Dev,
    /// Cargo's profile `release`, for this machine: optimised, with a short link time. `cargo xtask wheel` builds it
    /// without options, as do the tour and the benchmarks.
    Local,
    /// Cargo's profile `wheel`, as published: link-time optimisation of everything, with a long link time. This is
    /// `cargo xtask wheel --release`.
    Published,
}

impl Profile {
    fn name(self) -> &'static str {
        match self {
            Profile::Dev => "dev",
            Profile::Local => "release",
            Profile::Published => "wheel",
        }
    }
}

/// Builds the wheel into `target/wheels` and returns its path.
pub(crate) fn build(profile: Profile) -> Result<PathBuf, String> {
    build_into("wheels", profile, &interpreter(), &[], &[])
}

/// Builds the wheel of the tests with the address sanitizer, in a folder of its own. The flags are not for a stable compiler,
/// but it knows them; build scripts, which are not for `--target`, go without.
pub(crate) fn build_sanitized() -> Result<PathBuf, String> {
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let folder = tree::target().join("asan").to_string_lossy().into_owned();
    let flags = "-Zsanitizer=address -Cunsafe-allow-abi-mismatch=sanitizer --cfg asan";
    let variables = [("CARGO_TARGET_DIR", folder.as_str()), ("RUSTC_BOOTSTRAP", "1"), ("RUSTFLAGS", flags)];
    build_into("wheels-asan", Profile::Dev, &interpreter(), &["--target", &target], &variables)
}

/// Builds the published wheel for one interpreter only: CPython 3.10, whose stable ABI lacks buffers.
pub(crate) fn build_only_for(python: &str) -> Result<PathBuf, String> {
    build_into("wheels-one", Profile::Published, python, &["--no-default-features"], &[])
}

fn build_into(
    folder: &str,
    profile: Profile,
    python: &str,
    options: &[&str],
    variables: &[(&str, &str)],
) -> Result<PathBuf, String> {
    let builder = Environment::with("tools", &[MATURIN])?;
    let folder = tree::target().join(folder);
    // An older wheel must not be mistaken for the new one.
    for old in wheels(&folder) {
        fs::remove_file(&old).map_err(|e| format!("{}: {e}", old.display()))?;
    }
    let out = folder.to_string_lossy().into_owned();
    let command = ["build", "--quiet", "--profile", profile.name(), "--interpreter", python, "--out", &out];
    run(builder.tool("maturin", &command).args(options).envs(variables.iter().copied()))?;
    let built = wheels(&folder).pop().ok_or("maturin built no wheel")?;
    say!("{}", built.display());
    Ok(built)
}

/// The environment `target/venv` with everything that the package's tests and checks need.
pub(crate) fn workshop() -> Result<Environment, String> {
    Environment::with("venv", WORKSHOP)
}

/// Builds and installs the package and runs the tour. Its report is written to the user's current folder, not the root.
pub(crate) fn tour(args: &[&str]) -> Result<(), String> {
    let here = std::env::current_dir().map_err(|e| e.to_string())?;
    let environment = workshop()?;
    environment.install_wheel(&build(Profile::Local)?)?;
    run(environment.python(&["-m", "tour"]).args(args).current_dir(here).env("PYTHONPATH", tree::root()))
}

/// The wheels in a folder.
pub(crate) fn wheels(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|end| end == "whl")).collect()
}
