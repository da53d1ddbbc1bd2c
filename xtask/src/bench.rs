//! Runs benchmarks by name: a Rust program of the bench crate, or a Python program with its peers.
//!
//! A Python benchmark names the packages it measures against in its first lines: `# peers: numpy torch`.

use crate::command::{cargo, run as run_command};
use crate::python::Environment;
use crate::tree;
use crate::wheel::{self, Profile};
use std::fs;
use std::path::Path;

const RUST: &str = "benches/src/bin";
const PYTHON: &str = "benches/python";

/// Prints the name of every benchmark, and its peers if it has any.
pub(crate) fn list() -> Result<(), String> {
    let root = tree::root();
    for name in names(&root.join(RUST), ".rs") {
        println!("{name}");
    }
    for name in names(&root.join(PYTHON), ".py") {
        let text = tree::read(&root.join(PYTHON).join(format!("{name}.py")))?;
        println!("{name}  (python, against {})", peers(&text).join(", "));
    }
    Ok(())
}

/// Runs one benchmark; `--release` among its arguments measures the wheel as it is published.
pub(crate) fn run(name: &str, args: &[&str]) -> Result<(), String> {
    let root = tree::root();
    if names(&root.join(RUST), ".rs").iter().any(|known| known == name) {
        let command = ["run", "--release", "--package", "forerun-benches", "--bin", name, "--"];
        return run_command(cargo(&command).args(args));
    }
    let script = root.join(PYTHON).join(format!("{name}.py"));
    if !script.is_file() {
        return Err(format!("no benchmark is called {name}; `cargo xtask bench` lists them"));
    }
    let profile = if args.contains(&"--release") { Profile::Published } else { Profile::Local };
    let args = args.iter().filter(|arg| **arg != "--release");
    let wheel = wheel::build(profile)?;
    let text = tree::read(&script)?;
    let mut requirements = vec!["numpy>=2"];
    requirements.extend(peers(&text).into_iter().filter(|peer| *peer != "numpy"));
    let folder = format!("bench-{}", requirements[1..].join("-")).trim_end_matches('-').to_owned();
    let environment = Environment::with(&folder, &requirements)?;
    environment.install_wheel(&wheel)?;
    run_command(environment.python(&[&script.to_string_lossy()]).args(args))
}

/// The benchmarks in a folder: files with this suffix, and folders with a `main.rs`.
fn names(folder: &Path, suffix: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let stems = entries.filter_map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        match entry.path().join("main.rs").is_file() {
            true => Some(name),
            false => name.strip_suffix(suffix).map(str::to_owned),
        }
    });
    // Files that several benchmarks share begin with an underscore.
    let mut names: Vec<String> = stems.filter(|stem| !stem.starts_with('_')).collect();
    names.sort();
    names
}

fn peers(text: &str) -> Vec<&str> {
    let declared = text.lines().take_while(|line| line.starts_with('#')).find_map(|line| line.strip_prefix("# peers:"));
    declared.map(|peers| peers.split_whitespace().collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_read_from_the_opening_comment() {
        assert_eq!(peers("#!/usr/bin/env python3\n# peers: numpy torch\n\"\"\"X.\"\"\"\n"), ["numpy", "torch"]);
        assert_eq!(peers("\"\"\"X.\"\"\"\n# peers: numpy\n"), [""; 0]);
    }

    #[test]
    fn a_benchmark_is_a_file_or_a_folder_with_a_main_file() {
        let root = tree::root();
        let rust = names(&root.join(RUST), ".rs");
        assert!(["cuda", "engine"].iter().all(|name| rust.iter().any(|known| known == name)), "{rust:?}");
        let python = names(&root.join(PYTHON), ".py");
        assert!(python.iter().any(|name| name == "tiny") && python.iter().all(|name| name != "_harness"), "{python:?}");
    }
}
