//! Checks licences, sources and versions of dependencies against `deny.toml`.
//!
//! The rules are those of cargo-deny, which also runs if it is installed; it is not required, so the check works on a
//! bare machine. Invariant: a package whose licence cannot be parsed is a violation and is never skipped.

use crate::command::{cargo, run, say};
use crate::tree;
use std::collections::{BTreeMap, BTreeSet};

/// A dependency.
#[derive(Debug, PartialEq)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Its source, unless that is the public registry.
    pub(crate) source: Option<String>,
    pub(crate) licence: String,
}

/// Fails when a dependency breaks a rule of `deny.toml`.
pub(crate) fn check() -> Result<(), String> {
    let root = tree::root();
    let rules = tree::read(&root.join("deny.toml"))?;
    let list = ["tree", "--workspace", "--locked", "--edges", "normal,build,dev", "--target", "all"];
    let output = cargo(&list).args(["--prefix", "none", "--format", "{p}|{l}"]).output().map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(format!("cargo tree: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let packages = packages(&String::from_utf8_lossy(&output.stdout), &root.to_string_lossy());
    let (mut wrong, doubles) = (violations(&packages, &allowed(&rules)), doubles(&packages));
    let manifests = tree::sources(&root)?.into_iter().filter(|source| source.path.ends_with("Cargo.toml"));
    wrong.extend(manifests.flat_map(|manifest| wildcards(&manifest.path, &manifest.text)));
    for double in doubles {
        say!("supply: {double}");
    }
    for violation in &wrong {
        say!("supply: {violation}");
    }
    if !wrong.is_empty() {
        return Err(format!("supply: {} violations", wrong.len()));
    }
    say!("supply: {} packages, nothing found", packages.len());
    let installed = cargo(&["deny", "--version"]).output().is_ok_and(|output| output.status.success());
    if installed { run(&mut cargo(&["deny", "check", "licenses", "bans", "sources"])) } else { Ok(()) }
}

/// Parses the lines of `cargo tree` into packages, each once.
pub(crate) fn packages(text: &str, root: &str) -> Vec<Package> {
    let lines: BTreeSet<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let mut found: Vec<Package> = Vec::new();
    for line in lines {
        let (package, licence) = line.split_once('|').unwrap_or((line, ""));
        // A repeated package has a mark after its licence.
        let licence = licence.trim_end_matches(" (*)").to_owned();
        let mut parts = package.splitn(3, ' ');
        let name = parts.next().unwrap_or_default().to_owned();
        let version = parts.next().unwrap_or_default().trim_start_matches('v').to_owned();
        let source = parts.next().map(|source| source.replace("(proc-macro)", "").trim().to_owned());
        let ours = |source: &String| source.starts_with(&format!("({root}"));
        let source = source.filter(|source| !source.is_empty() && !ours(source));
        let package = Package { name, version, source, licence };
        if !found.contains(&package) {
            found.push(package);
        }
    }
    found
}

/// The licences that `deny.toml` allows.
fn allowed(rules: &str) -> Vec<String> {
    let list = rules.split_once("allow = [").and_then(|(_, rest)| rest.split_once(']')).map_or("", |(list, _)| list);
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

fn violations(packages: &[Package], allowed: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for Package { name, version, source, licence } in packages {
        if let Some(source) = source {
            found.push(format!("{name} {version} comes from {source}, not from the registry"));
        }
        if !Terms::of(licence).satisfied(allowed) {
            found.push(format!("{name} {version}: licence `{licence}` is not allowed"));
        }
    }
    found
}

/// Packages that occur in several versions: not an error, but worth a look.
fn doubles(packages: &[Package]) -> Vec<String> {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages {
        versions.entry(&package.name).or_default().insert(&package.version);
    }
    let several = versions.into_iter().filter(|(_, versions)| versions.len() > 1);
    several.map(|(name, versions)| format!("{name} occurs in {} versions: {versions:?}", versions.len())).collect()
}

/// Dependencies that accept any version.
fn wildcards(path: &str, manifest: &str) -> Vec<String> {
    let lines = manifest.lines().enumerate().filter(|(_, line)| line.contains("= \"*\""));
    lines.map(|(index, _)| format!("{path}:{}: a dependency accepts any version", index + 1)).collect()
}

/// A licence expression as a list of words.
struct Terms<'a>(Vec<&'a str>);

impl<'a> Terms<'a> {
    fn of(expression: &'a str) -> Terms<'a> {
        let mut words = Vec::new();
        let mut rest = expression;
        while let Some(start) = rest.find(|c: char| !c.is_whitespace()) {
            rest = &rest[start..];
            let mark = rest.starts_with(['(', ')', '/']);
            let end = if mark { 1 } else { rest.find([' ', '(', ')', '/']).unwrap_or(rest.len()) };
            let (word, tail) = rest.split_at(end);
            words.push(word);
            rest = tail;
        }
        Terms(words)
    }

    /// Whether the allowed licences satisfy the expression; false if it cannot be parsed.
    fn satisfied(&self, allowed: &[String]) -> bool {
        let mut at = 0;
        self.any(&mut at, allowed) == Some(true) && at == self.0.len()
    }

    /// Alternatives. (A slash is an old way to write them.)
    fn any(&self, at: &mut usize, allowed: &[String]) -> Option<bool> {
        let mut good = self.all(at, allowed)?;
        while matches!(self.0.get(*at), Some(&("OR" | "/"))) {
            *at += 1;
            good |= self.all(at, allowed)?;
        }
        Some(good)
    }

    fn all(&self, at: &mut usize, allowed: &[String]) -> Option<bool> {
        let mut good = self.one(at, allowed)?;
        while self.0.get(*at) == Some(&"AND") {
            *at += 1;
            good &= self.one(at, allowed)?;
        }
        Some(good)
    }

    fn one(&self, at: &mut usize, allowed: &[String]) -> Option<bool> {
        let word = *self.0.get(*at)?;
        *at += 1;
        if word == "(" {
            let good = self.any(at, allowed)?;
            let closed = self.0.get(*at) == Some(&")");
            *at += 1;
            return closed.then_some(good);
        }
        let mut name = word.to_owned();
        if self.0.get(*at) == Some(&"WITH") {
            name = format!("{word} WITH {}", self.0.get(*at + 1)?);
            *at += 2;
        }
        Some(allowed.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_allowed(licence: &str) -> bool {
        let allowed = allowed("[licenses]\nallow = [\"MIT\", \"Zlib\",\n \"Apache-2.0 WITH LLVM-exception\"]\n");
        Terms::of(licence).satisfied(&allowed)
    }

    #[test]
    fn expressions_are_read() {
        for good in
            ["MIT", "MIT OR GPL-3.0", "GPL-3.0/MIT", "(MIT OR GPL-3.0) AND Zlib", "Apache-2.0 WITH LLVM-exception"]
        {
            assert!(is_allowed(good), "{good}");
        }
        for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0", "(MIT", "MIT)", "MIT OR", "MIT MIT"] {
            assert!(!is_allowed(bad), "{bad}");
        }
    }

    #[test]
    fn violations_are_found() {
        let text = "ours v0.1.0 (/home/x/crates/ours)|MIT\nsyn v2.0.1 (proc-macro)|MIT\nsyn v3.0.0|MIT (*)\n\
                    odd v1.0.0|GPL-3.0\nfar v1.0.0 (https://example.org/far)|MIT\n";
        let packages = packages(text, "/home/x");
        let found = violations(&packages, &["MIT".to_owned()]);
        assert_eq!(packages.len(), 5);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.iter().any(|line| line == "odd 1.0.0: licence `GPL-3.0` is not allowed"));
        assert!(found.iter().any(|line| line.starts_with("far 1.0.0 comes from (https://example.org/far)")));
        assert_eq!(doubles(&packages).len(), 1);
        assert_eq!(wildcards("a/Cargo.toml", "[dependencies]\nx = \"*\"\ny = \"1\"").len(), 1);
    }
}
