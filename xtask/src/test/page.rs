//! The page of `forerun.profile`: its script compiles, the bundle in the package is up to date, and a headless browser
//! tests it. Needs npm and Chromium.

use super::stages::Extent;
use crate::command::{program, run as run_command};
use crate::python::Environment;
use crate::{sdist, tree};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The bundle, what writes its data, and the pages of the tests.
const BESIDE: &[&str] = &["python/forerun/_profile", "python/forerun/_tables.py", "tests/python/synthetic.py"];

const FOLDER: &str = "page";

/// The files that the stage depends on.
pub(super) fn covered() -> Result<BTreeSet<PathBuf>, String> {
    let mut found = BTreeSet::from([PathBuf::from("xtask/src/test/page.rs")]);
    for path in ["page/src", "page/test"].iter().chain(BESIDE) {
        if tree::root().join(path).is_dir() {
            sdist::walk(&tree::root(), Path::new(path), &mut found)?;
        } else {
            found.insert(PathBuf::from(path));
        }
    }
    for file in ["build.mjs", "package.json", "package-lock.json", "tsconfig.json"] {
        found.insert(Path::new(FOLDER).join(file));
    }
    Ok(found)
}

/// What the stage needs and this machine lacks.
pub(super) fn lacking() -> Vec<&'static str> {
    let chromium = std::env::var("CHROMIUM").unwrap_or("/usr/bin/chromium".to_owned());
    let npm = Command::new("npm").arg("--version").output().is_ok_and(|output| output.status.success());
    let found = [("npm", npm), ("chromium", Path::new(&chromium).is_file())];
    found.into_iter().filter(|(_, there)| !there).map(|(name, _)| name).collect()
}

/// Checks the page, with the package that is installed in the environment.
pub(super) fn check(extent: Extent, environment: &Environment) -> Result<(), String> {
    let npm = |args: &[&str]| run_command(program("npm", args).current_dir(tree::root().join(FOLDER)));
    npm(&["ci", "--no-audit", "--no-fund"])?;
    npm(&["run", "check"])?;
    let pages = tree::target().join("pages");
    let pages = pages.to_string_lossy();
    run_command(environment.python(&["tests/python/synthetic.py"]).arg(&*pages))?;
    let shots = format!("{pages}/pictures");
    let mut arguments = vec!["run", "test", "--", &*pages, &*shots];
    if extent == Extent::Long {
        arguments.push("--times");
    }
    npm(&arguments)
}
