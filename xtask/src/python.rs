//! Virtual environments under the target folder.
//!
//! Invariant: an environment whose stamp names its requirements has them installed, so a second run needs no network.

use crate::command::{program, run, run_and_read};
use crate::tree;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The Python to build for: `PYTHON`, or `python3`.
pub(crate) fn interpreter() -> String {
    std::env::var("PYTHON").unwrap_or("python3".to_owned())
}

/// A virtual environment.
pub(crate) struct Environment {
    folder: PathBuf,
}

impl Environment {
    /// The environment `target/<name>` with these requirements installed.
    pub(crate) fn with(name: &str, requirements: &[&str]) -> Result<Environment, String> {
        let folder = tree::target().join(name);
        let environment = Environment { folder };
        let stamp = environment.folder.join("requirements.stamp");
        let wanted = requirements.join("\n");
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(environment);
        }
        let folder = environment.folder.to_string_lossy().into_owned();
        run(&mut program(interpreter(), &["-m", "venv", &folder]))?;
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        run(environment.python(&install).args(requirements))?;
        fs::write(&stamp, wanted).map_err(|e| format!("{}: {e}", stamp.display()))?;
        Ok(environment)
    }

    /// The environment's Python, with arguments.
    pub(crate) fn python(&self, args: &[&str]) -> Command {
        program(self.program_path("python"), args)
    }

    /// Another program of the environment, with arguments.
    pub(crate) fn tool(&self, name: &str, args: &[&str]) -> Command {
        program(self.program_path(name), args)
    }

    /// The folder of the environment's packages.
    pub(crate) fn packages(&self) -> Result<String, String> {
        let ask = "import sysconfig; print(sysconfig.get_path('purelib'))";
        let (good, text) = run_and_read(&mut self.python(&["-c", ask]))?;
        if good { Ok(text.trim().to_owned()) } else { Err("python does not say where its packages are".to_owned()) }
    }

    /// Replaces the installed package by a newly built wheel.
    pub(crate) fn install_wheel(&self, wheel: &Path) -> Result<(), String> {
        let wheel = wheel.to_string_lossy();
        let options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--force-reinstall"];
        run(self.python(&["-m", "pip", "install"]).args(options).arg(&*wheel))
    }

    fn program_path(&self, name: &str) -> PathBuf {
        let folder = if cfg!(windows) { "Scripts" } else { "bin" };
        self.folder.join(folder).join(name)
    }
}
