//! The repository as text: sources, documents, and the lists of exceptions in `docs/internals/invariants.md`.
//!
//! Invariant: exceptions to a check are listed there and nowhere else.

use crate::planted::TABLE;
use crate::rust_text;
use crate::test::MODES;
use crate::tree::{self, Source};
use std::collections::BTreeSet;
use std::path::Path;

/// The folder of the pages about hard parts.
const INTERNALS: &str = "docs/internals";

/// The folder of the pages about layers.
const LAYERS: &str = "docs/layers";

/// The page with the table of invariants and the lists of exceptions.
pub(crate) const INVARIANTS: &str = "docs/internals/invariants.md";

/// The input of all checks.
pub(crate) struct Repository {
    /// Rust, Python and manifests.
    pub(crate) sources: Vec<Source>,
    /// The Markdown pages, licences and settings of the root, the pages under `docs/internals` and `docs/layers`, the
    /// table of planted faults and the list of modes.
    pub(crate) documents: Vec<Source>,
    /// Paths, from the root, that a link in a document may lead to.
    pub(crate) paths: BTreeSet<String>,
    test_files: BTreeSet<String>,
}

impl Repository {
    /// Reads the repository at `root`.
    pub(crate) fn read(root: &Path) -> Result<Repository, String> {
        let sources = tree::sources(root)?;
        let mut documents = Vec::new();
        let mut paths: BTreeSet<String> = sources.iter().flat_map(|source| with_parents(&source.path)).collect();
        for entry in std::fs::read_dir(root).map_err(|e| e.to_string())?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".md") || name.ends_with(".toml") || name.starts_with("LICENSE") {
                documents.push(Source::new(name.clone(), tree::read(&entry.path())?));
            }
            paths.insert(name);
        }
        for table in [TABLE, MODES] {
            if let Ok(text) = tree::read(&root.join(table)) {
                documents.push(Source::new(table, text));
                paths.insert(table.to_owned());
            }
        }
        for folder in ["docs", "docs/benchmarks", "docs/conformance", "docs/plots", "page", LAYERS, INTERNALS] {
            for entry in std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten() {
                let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
                if folder == INTERNALS || folder == LAYERS {
                    documents.push(Source::new(path.clone(), tree::read(&entry.path())?));
                }
                paths.insert(path);
            }
        }
        Ok(Repository::new(sources, documents, paths))
    }

    /// Creates a repository from its parts.
    pub(crate) fn new(sources: Vec<Source>, documents: Vec<Source>, paths: BTreeSet<String>) -> Repository {
        let mut test_files = BTreeSet::new();
        for source in sources.iter().filter(|source| source.is_rust()) {
            let code = rust_text::code(&source.text);
            let folder = module_folder(&source.path);
            for name in rust_text::test_modules(&code) {
                test_files.extend([format!("{folder}/{name}.rs"), format!("{folder}/{name}/mod.rs")]);
            }
        }
        Repository { sources, documents, paths, test_files }
    }

    /// The Rust files.
    pub(crate) fn rust(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter().filter(|source| source.is_rust())
    }

    /// The Rust files that ship, each with its code without tests.
    pub(crate) fn shipped(&self) -> impl Iterator<Item = (&Source, String)> {
        let shipped = self.rust().filter(|source| {
            source.path.starts_with("crates/")
                && source.path.contains("/src/")
                && !self.test_files.contains(&source.path)
        });
        shipped.map(|source| (source, rust_text::shipped(&rust_text::code(&source.text))))
    }

    /// The document of that name.
    pub(crate) fn document(&self, name: &str) -> Option<&Source> {
        self.documents.iter().find(|document| document.path == name)
    }

    /// The paths that [`INVARIANTS`] lists, one bullet each, between `<!-- name:begin -->` and `<!-- name:end -->`.
    pub(crate) fn listed(&self, name: &str) -> Result<Vec<String>, String> {
        let page = self.document(INVARIANTS).ok_or(format!("{INVARIANTS} does not exist"))?;
        let (begin, end) = (format!("<!-- {name}:begin -->"), format!("<!-- {name}:end -->"));
        let after = page.text.split_once(&begin).ok_or(format!("{INVARIANTS} has no marker {begin}"))?.1;
        let list = after.split_once(&end).ok_or(format!("{INVARIANTS} has no marker {end}"))?.0;
        let bullets = list.lines().filter_map(|line| line.trim().strip_prefix("- "));
        Ok(bullets.filter_map(bullet_path).collect())
    }

    /// Compares findings (path, line, what) with the files that a list of [`INVARIANTS`] allows.
    ///
    /// Both directions are violations: a finding outside the list, and an unneeded entry.
    pub(crate) fn only_in_listed(&self, name: &str, places: &[(String, usize, String)]) -> Vec<String> {
        let listed = match self.listed(name) {
            Ok(listed) => listed,
            Err(message) => return vec![message],
        };
        let outside = places.iter().filter(|(path, ..)| !listed.iter().any(|entry| covers(entry, path)));
        let mut found: Vec<String> = outside
            .map(|(path, line, what)| {
                format!("{path}:{line}: {what}, but {INVARIANTS} does not list the file under `{name}`")
            })
            .collect();
        let unused = listed.iter().filter(|entry| !places.iter().any(|(path, ..)| covers(entry, path)));
        found.extend(
            unused.map(|entry| format!("{INVARIANTS} lists {entry} under `{name}`, but nothing there needs it")),
        );
        found
    }
}

/// Whether a listed path is this file or a folder above it.
fn covers(entry: &str, path: &str) -> bool {
    let entry = entry.trim_end_matches('/');
    path == entry || path.strip_prefix(entry).is_some_and(|rest| rest.starts_with('/'))
}

/// The path at the start of a bullet, in backquotes or bare.
fn bullet_path(bullet: &str) -> Option<String> {
    let bullet = bullet.trim();
    let path = match bullet.strip_prefix('`') {
        Some(quoted) => quoted.split('`').next()?,
        None => bullet.split([' ', ':', ',']).next()?,
    };
    (!path.is_empty()).then(|| path.to_owned())
}

/// The folder of the modules that a file declares.
fn module_folder(path: &str) -> String {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    match file {
        "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
        _ => path.trim_end_matches(".rs").to_owned(),
    }
}

fn with_parents(path: &str) -> Vec<String> {
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    ends.map(|end| path[..end].to_owned()).collect()
}

/// A repository for the tests of the checks, with these files and documents.
#[cfg(test)]
pub(crate) fn planted(sources: &[(&str, &str)], documents: &[(&str, &str)]) -> Repository {
    let sources: Vec<Source> = sources.iter().map(|(path, text)| Source::new(*path, *text)).collect();
    let documents: Vec<Source> = documents.iter().map(|(path, text)| Source::new(*path, *text)).collect();
    let paths = sources.iter().chain(&documents).flat_map(|source| with_parents(&source.path)).collect();
    Repository::new(sources, documents, paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_from_between_their_markers() {
        let page = "x\n<!-- a:begin -->\n- `crates/a/src/b.rs`: why\n- crates/c/\ntext\n<!-- a:end -->\n- `d`";
        let repository = planted(&[], &[(INVARIANTS, page)]);
        assert_eq!(repository.listed("a").unwrap(), ["crates/a/src/b.rs", "crates/c/"]);
        assert!(repository.listed("b").unwrap_err().contains("no marker"));
        assert!(planted(&[], &[]).listed("a").unwrap_err().contains("does not exist"));
    }

    #[test]
    fn a_folder_covers_its_files_and_no_sibling() {
        assert!(covers("crates/c/", "crates/c/src/x.rs") && covers("crates/c", "crates/c/src/x.rs"));
        assert!(!covers("crates/c", "crates/cpu/src/x.rs"));
    }

    #[test]
    fn files_of_test_modules_are_not_shipped() {
        let lib = ("crates/a/src/lib.rs", "//! x\n#[cfg(test)]\nmod checks;\nmod used;");
        let repository = planted(&[lib, ("crates/a/src/checks.rs", ""), ("crates/a/src/used.rs", "")], &[]);
        let shipped: Vec<_> = repository.shipped().map(|(source, _)| source.path.clone()).collect();
        assert_eq!(shipped, ["crates/a/src/lib.rs", "crates/a/src/used.rs"]);
    }
}
