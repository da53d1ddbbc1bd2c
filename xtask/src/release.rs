//! `cargo xtask release --dry-run`: everything that a release needs, without publishing anything.
//!
//! Invariant: all problems are reported, not only the first one.

use crate::command::{cargo, run, run_and_read, say};
use crate::python::Environment;
use crate::sdist::{self, included};
use crate::tree::{self, Source};
use crate::wheel::{self, Profile};
use crate::{generated, site, supply};
use std::path::Path;

const AUDITWHEEL: &str = "auditwheel==6.8.2";

/// Checks a release and reports every problem.
pub(crate) fn rehearse() -> Result<(), String> {
    let root = tree::root();
    let version = version(&tree::read(&root.join("Cargo.toml"))?)?;
    say!("release: version {version}");
    let mut problems = Vec::new();
    let mut check = |what: &str, outcome: Result<(), String>| match outcome {
        Ok(()) => say!("release: {what}: ok"),
        Err(problem) => {
            say!("release: {what}: {problem}");
            problems.push(what.to_owned());
        }
    };
    check("versions", nothing(versions(&tree::read(&root.join("Cargo.toml"))?, &version)));
    check("changelog", changes(&tree::read(&root.join("CHANGELOG.md"))?, &version));
    check("crates", nothing(outside(&tree::sources(&root)?)));
    check("dependencies", supply::check());
    check("generated files", generated::check(&root));
    check("site", site::build());
    check("packages", pack());
    check("source distribution", sdist::build());
    check("wheel", platform());
    match problems.as_slice() {
        [] => {
            say!("release: {version} is ready");
            Ok(())
        }
        problems => Err(format!("release: {version} is not ready: {}", problems.join(", "))),
    }
}

fn nothing(found: Vec<String>) -> Result<(), String> {
    if found.is_empty() { Ok(()) } else { Err(found.join("; ")) }
}

/// The version of the workspace.
fn version(manifest: &str) -> Result<String, String> {
    let version = manifest.split("\nversion = \"").nth(1).and_then(|rest| rest.split('"').next());
    version.map(str::to_owned).ok_or("Cargo.toml names no version".to_owned())
}

/// The crates of the workspace that others ask for in another version.
fn versions(manifest: &str, version: &str) -> Vec<String> {
    let ours = manifest.lines().filter(|line| line.starts_with("forerun") && line.contains("path = "));
    let wanted = format!("version = \"{version}\"");
    ours.filter(|line| !line.contains(&wanted)).map(|line| format!("not {version}: {line}")).collect()
}

/// The changelog has entries for the version: in its own section, or in the one that will be renamed.
fn changes(changelog: &str, version: &str) -> Result<(), String> {
    for title in [format!("## [{version}]"), "## [Unreleased]".to_owned()] {
        let section = changelog.split_once(&title).map(|(_, rest)| rest.split("\n## ").next().unwrap_or_default());
        if section.is_some_and(|section| section.contains("\n- ")) {
            say!("release: the entries of {version} are under `{title}`");
            return Ok(());
        }
    }
    Err(format!("CHANGELOG.md has no entries for {version}"))
}

/// Files that a crate includes from outside its folder, which its package would lack.
fn outside(sources: &[Source]) -> Vec<String> {
    let crates = sources.iter().filter(|source| source.is_rust());
    let files = crates.filter_map(|source| {
        let folder = Path::new("crates").join(source.crate_name()?);
        Some(included(Path::new(&source.path), &source.text).into_iter().filter_map(move |file| {
            (!file.starts_with(&folder)).then(|| format!("{} includes {}", source.path, file.display()))
        }))
    });
    files.flatten().collect()
}

/// Packs every crate that can be published, in the order of their dependencies. Compiling each package again would take as
/// long as all builds together; that a package is complete follows from [`outside`].
fn pack() -> Result<(), String> {
    let mut command = cargo(&["package", "--workspace", "--no-verify", "--allow-dirty", "--quiet"]);
    command.args(["--exclude", "xtask", "--exclude", "forerun-benches", "--exclude", "forerun-gpu-tests"]);
    run(&mut command)
}

/// Reports where the wheel runs: that in `target/wheels`, or a new one.
fn platform() -> Result<(), String> {
    let wheel = match wheel::wheels(&tree::target().join("wheels")).pop() {
        Some(wheel) => wheel,
        None => wheel::build(Profile::Published)?,
    };
    let name = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let glibc = glibc(&name).ok_or(format!("{name} has no manylinux tag"))?;
    let environment = Environment::with("auditwheel", &[AUDITWHEEL])?;
    let (good, report) = run_and_read(&mut environment.tool("auditwheel", &["show", &wheel.to_string_lossy()]))?;
    if !good || !report.contains("manylinux") {
        return Err(format!("{name}: auditwheel does not accept it"));
    }
    say!("release: {name} needs glibc {glibc} or later");
    contains(&environment, &wheel, &["licenses/THIRD-PARTY.txt", "licenses/LICENSE-MIT", ".cyclonedx.json"])
}

/// The oldest glibc that a wheel's name promises.
fn glibc(name: &str) -> Option<String> {
    let mut parts = name.split("manylinux_").nth(1)?.split('_');
    Some(format!("{}.{}", parts.next()?, parts.next()?))
}

/// Checks that a wheel has files whose names end like these.
fn contains(environment: &Environment, wheel: &Path, ends: &[&str]) -> Result<(), String> {
    let list = ["-m", "zipfile", "--list", &wheel.to_string_lossy()].map(str::to_owned);
    let list: Vec<&str> = list.iter().map(String::as_str).collect();
    let output = environment.python(&list).output().map_err(|e| e.to_string())?;
    let names = String::from_utf8_lossy(&output.stdout).into_owned();
    let names: Vec<&str> = names.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let lacking = ends.iter().filter(|end| !names.iter().any(|name| name.ends_with(**end)));
    nothing(lacking.map(|end| format!("the wheel has no {end}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_differ_are_named() {
        let manifest = "[workspace.package]\nversion = \"1.2.3\"\n\n[workspace.dependencies]\n\
                        forerun = { path = \"a\", version = \"1.2.3\" }\n\
                        forerun-ops = { path = \"b\", version = \"1.2.2\" }\nlibc = \"0.2\"\n";
        assert_eq!(version(manifest).unwrap(), "1.2.3");
        assert_eq!(versions(manifest, "1.2.3"), ["not 1.2.3: forerun-ops = { path = \"b\", version = \"1.2.2\" }"]);
        assert!(version("[workspace]").is_err());
    }

    #[test]
    fn a_release_has_entries_in_the_changelog() {
        assert!(changes("## [Unreleased]\n\n- a\n", "1.0.0").is_ok());
        assert!(changes("## [Unreleased]\n\n## [1.0.0] - 2027-01-01\n\n- a\n", "1.0.0").is_ok());
        assert!(changes("## [Unreleased]\n\n## [0.9.0]\n\n- a\n", "1.0.0").is_err());
    }

    #[test]
    fn files_from_outside_a_crate_are_named() {
        let inside = Source::new("crates/a/src/b/c.rs", "include_str!(\"../../d.txt\")");
        let beyond = Source::new("crates/a/src/c.rs", "include_str!(\"../../../docs/d.txt\")");
        assert_eq!(outside(&[inside, beyond]), ["crates/a/src/c.rs includes docs/d.txt"]);
    }

    #[test]
    fn a_wheels_name_tells_its_glibc() {
        assert_eq!(glibc("forerun-0.1.0-cp311-abi3-manylinux_2_35_x86_64.whl").as_deref(), Some("2.35"));
        assert_eq!(glibc("forerun-0.1.0-cp311-abi3-linux_x86_64.whl"), None);
    }
}
