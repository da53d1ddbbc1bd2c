//! The licences of the Rust crates inside the wheel: `THIRD-PARTY.txt`, which `cargo xtask gen` writes and the wheel
//! contains.
//!
//! The crates are those that a build for x86-64 Linux links; their texts come from cargo's copies of their packages.
//! Invariant: each crate is listed with a text or with the reason why its package has none; no licence is guessed.

use crate::command::cargo;
use crate::supply::{Package, packages};
use crate::tree;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The generated file.
pub(crate) const NOTICES: &str = "THIRD-PARTY.txt";

const TARGET: &str = "x86_64-unknown-linux-gnu";
const RULE: &str = "--------------------------------------------------------------------------------";
const OPENING: &str = "\
Third-party software in the binary wheel of Forerun

`cargo xtask gen` writes this file; do not edit it. It lists the crates that are linked into the wheel for x86-64 Linux, with the
licence that each names in its manifest, and then the texts. Of a crate with a choice that includes MIT, the text is MIT's.

The source of each crate, in exactly this version, is in Rust's public package registry. The wheel also contains Rust's standard
library, copyright The Rust Project Contributors, licensed MIT OR Apache-2.0.
";

/// Beginnings of the names of files that hold licences.
const NAMES: &[&str] = &["licen", "copying", "notice", "unlicense"];

/// Returns the file's content.
pub(crate) fn print(root: &Path) -> Result<String, String> {
    let list = ["tree", "--package", "forerun-python", "--locked", "--edges", "normal,no-proc-macro"];
    let format = ["--target", TARGET, "--prefix", "none", "--format", "{p}|{l}"];
    let output = cargo(&list).args(format).current_dir(root).output().map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(format!("cargo tree: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let all = packages(&String::from_utf8_lossy(&output.stdout), &root.to_string_lossy());
    let foreign: Vec<Package> = all.into_iter().filter(|package| !package.name.starts_with("forerun")).collect();
    let mut crates = Vec::new();
    for package in foreign {
        let folder = folder(&package)?;
        crates.push((package, texts(&folder)?));
    }
    let mit = tree::read(&root.join("LICENSE-MIT"))?;
    Ok(page(&crates, terms_of_mit(&mit)))
}

/// The conditions of MIT's licence, which follow the copyright line and are the same for every holder.
fn terms_of_mit(text: &str) -> &str {
    text.find("Permission is hereby").map_or(text, |start| &text[start..])
}

/// Cargo's copy of a package.
fn folder(package: &Package) -> Result<PathBuf, String> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")));
    let sources = home.ok_or("neither CARGO_HOME nor HOME is set")?.join("registry/src");
    let name = format!("{}-{}", package.name, package.version);
    let registries = fs::read_dir(&sources).map_err(|e| format!("{}: {e}", sources.display()))?.flatten();
    let mut folders = registries.map(|registry| registry.path().join(&name));
    folders.find(|folder| folder.is_dir()).ok_or(format!("{name} is not in {}: run `cargo fetch`", sources.display()))
}

/// The files of a package that hold licences: names and texts.
fn texts(folder: &Path) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let lower = name.to_lowercase();
        if NAMES.iter().any(|start| lower.starts_with(start)) && entry.path().is_file() {
            found.push((name, tree::read(&entry.path())?));
        }
    }
    found.sort();
    Ok(found)
}

/// The file: the list of crates, then each text once, with the crates that it covers.
fn page(crates: &[(Package, Vec<(String, String)>)], mit: &str) -> String {
    let mut made = format!("{OPENING}\n");
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (package, files) in crates {
        let name = format!("{} {}", package.name, package.version);
        made += &format!("{name}: {}\n", package.licence);
        let chosen = chosen(&package.licence, files);
        for (file, text) in &chosen {
            let text: Vec<&str> = text.lines().map(str::trim_end).collect();
            texts.entry(text.join("\n").trim().to_owned()).or_default().push(format!("{name} ({file})"));
        }
        // A file such as COPYING.X covers a part that comes from elsewhere, not the crate.
        if chosen.iter().all(|(file, _)| file.contains('.') && !file.to_lowercase().starts_with("licen")) {
            let text = format!("Copyright (c) the authors of each of these crates\n\n{}", mit.trim());
            texts.entry(text).or_default().push(format!("{name} (named in its manifest; its package has no text)"));
        }
    }
    for (text, names) in texts {
        made += &format!("\n{RULE}\n{}\n{RULE}\n\n{text}\n", names.join("\n"));
    }
    made
}

/// The files to reproduce: where the licence offers MIT and the package has its text, that one and the notices.
fn chosen<'a>(licence: &str, files: &'a [(String, String)]) -> Vec<&'a (String, String)> {
    let is_mit = |file: &&(String, String)| file.0.to_uppercase().contains("MIT");
    let words: Vec<&str> = licence.split([' ', '/', '(', ')']).collect();
    if words.contains(&"MIT") && !words.contains(&"AND") && files.iter().any(|file| is_mit(&file)) {
        return files.iter().filter(|file| is_mit(file) || file.0.to_lowercase().starts_with("notice")).collect();
    }
    files.iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, licence: &str) -> Package {
        Package { name: name.to_owned(), version: "1.0.0".to_owned(), source: None, licence: licence.to_owned() }
    }

    fn file(name: &str, text: &str) -> (String, String) {
        (name.to_owned(), text.to_owned())
    }

    #[test]
    fn a_text_is_printed_once_and_a_missing_one_is_said() {
        let both = vec![file("LICENSE-APACHE", "apache"), file("LICENSE-MIT", "mit of a"), file("NOTICE", "note")];
        let part = vec![file("COPYING.PART.BSD", "bsd of a part")];
        let made = page(
            &[
                (package("a", "MIT OR Apache-2.0"), both),
                (package("b", "Zlib"), vec![file("LICENSE", "zlib")]),
                (package("c", "Zlib"), vec![file("LICENSE", "zlib \n")]),
                (package("d", "MIT"), Vec::new()),
                (package("e", "MIT"), part),
            ],
            "terms",
        );
        assert!(made.contains("\na 1.0.0: MIT OR Apache-2.0\n"), "{made}");
        assert!(!made.contains("apache\n") && made.contains("\nmit of a\n") && made.contains("\nnote\n"), "{made}");
        assert!(made.contains("b 1.0.0 (LICENSE)\nc 1.0.0 (LICENSE)\n"), "{made}");
        assert!(made.contains("d 1.0.0 (named") && made.contains("e 1.0.0 (named"), "{made}");
        assert!(made.contains("bsd of a part") && made.matches("terms").count() == 1, "{made}");
    }

    #[test]
    fn terms_that_all_apply_are_all_printed() {
        let files = [file("LICENSE-MIT", "m"), file("LICENSE-BSD", "b")];
        assert_eq!(chosen("MIT AND BSD-3-Clause", &files).len(), 2);
        assert_eq!(chosen("MIT/BSD-3-Clause", &files).len(), 1);
        assert_eq!(terms_of_mit("MIT License\nPermission is hereby granted"), "Permission is hereby granted");
    }
}
