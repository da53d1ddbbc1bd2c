//! The documentation site: MkDocs builds it from the pages under `docs/` and those in the root, joined by `site/hooks.py`.
//!
//! Invariants: the build is strict, so a page outside the navigation or a link that leads nowhere fails it; and the
//! site is complete in itself, so no page loads anything from another host.

use crate::command::{run, say};
use crate::python::Environment;
use crate::sdist::walk;
use crate::tree;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The generator, its theme, and the packages that determine how pages look.
const TOOLS: &[&str] =
    &["mkdocs==1.6.1", "mkdocs-material==9.8.1", "markdown==3.11.3", "pygments==2.21.0", "pymdown-extensions==13.1"];
const SETTINGS: &str = "site/mkdocs.yml";

/// What the pages are made of.
const FOLDERS: &[&str] = &["docs", "site"];

/// What makes a browser load a file.
const LOADS: &[&str] = &["src=\"", "<link ", "@import", "url("];

/// Builds the site into `target/site`.
pub(crate) fn build() -> Result<(), String> {
    let folder = tree::target().join("site");
    mkdocs("build", &["--strict", "--site-dir", &folder.to_string_lossy()])?;
    let mut pages = BTreeSet::new();
    walk(&folder, Path::new(""), &mut pages)?;
    pages.retain(|page| page.extension().is_some_and(|end| end == "html" || end == "css"));
    for page in &pages {
        if let Some(loaded) = foreign(&tree::read(&folder.join(page))?) {
            return Err(format!("{}: loads from another host: {loaded}", page.display()));
        }
    }
    say!("{}: {} pages", folder.join("index.html").display(), pages.len());
    Ok(())
}

/// Serves the site on this machine, and builds it again when a page changes. The search needs a server.
pub(crate) fn serve() -> Result<(), String> {
    mkdocs("serve", &["--strict", "--open"])
}

fn mkdocs(verb: &str, args: &[&str]) -> Result<(), String> {
    let environment = Environment::with("docs", TOOLS)?;
    let mut command = environment.tool("mkdocs", &[verb, "--config-file", SETTINGS]);
    // The theme's advertisement of its successor is not about the pages.
    run(command.args(args).env("NO_MKDOCS_2_WARNING", "1"))
}

/// The files that determine whether the site can be built.
pub(crate) fn covered() -> Result<BTreeSet<PathBuf>, String> {
    let root = tree::root();
    let mut files = BTreeSet::from([PathBuf::from("xtask/src/site.rs")]);
    for folder in FOLDERS {
        walk(&root, Path::new(folder), &mut files)?;
    }
    for entry in fs::read_dir(&root).map_err(|e| e.to_string())?.flatten() {
        let name = PathBuf::from(entry.file_name());
        if name.extension().is_some_and(|end| end == "md") {
            files.insert(name);
        }
    }
    Ok(files)
}

/// The first thing that a page loads from another host. Links that a reader follows are none.
fn foreign(text: &str) -> Option<&str> {
    let tails = LOADS.iter().flat_map(|mark| text.match_indices(mark).map(|(at, _)| &text[at..]));
    let loads = tails.map(|tail| &tail[..tail.find(['>', ')', ';', '\n']).unwrap_or(tail.len())]);
    // A canonical address names the page itself.
    loads.into_iter().find(|load| load.contains("//") && !load.contains("data:") && !load.contains("canonical"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loads_from_other_hosts_are_found() {
        assert_eq!(foreign("<a href=\"https://example.org\">a</a><img src=\"a.svg\"><link href=\"a.css\">"), None);
        assert_eq!(foreign("<p><script src=\"https://a.org/b.js\">"), Some("src=\"https://a.org/b.js\""));
        assert_eq!(foreign("<link rel=\"x\" href=\"//a.org/b.css\">"), Some("<link rel=\"x\" href=\"//a.org/b.css\""));
        assert_eq!(foreign("a { background: url(https://a.org/b.png) }"), Some("url(https://a.org/b.png"));
    }

    #[test]
    fn the_site_depends_on_pages_settings_and_hooks() {
        let files = covered().unwrap();
        for file in ["README.md", "docs/layers/dense.md", "docs/benchmarks/lines.txt", "site/hooks.py", SETTINGS] {
            assert!(files.contains(Path::new(file)), "{file}");
        }
        assert!(!files.iter().any(|file| file.starts_with("crates")));
    }
}
