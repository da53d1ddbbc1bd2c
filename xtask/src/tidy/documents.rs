//! Documents: required pages exist, README.md opens with its two commands, no link is broken, and every source file
//! that a page about the architecture names exists.

use super::repository::Repository;

const PAGES: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "ROADMAP.md",
    "SECURITY.md",
];
const COMMANDS: &[&str] = &["cargo xtask tour", "cargo xtask test"];

/// Every missing page, missing command of README.md, broken link and missing source file.
pub(super) fn check(repository: &Repository) -> Vec<String> {
    let missing = PAGES.iter().filter(|page| repository.document(page).is_none());
    let mut found: Vec<String> = missing.map(|page| format!("{page} does not exist")).collect();
    if let Some(front) = repository.document("README.md") {
        let lacking = COMMANDS.iter().filter(|command| !front.text.contains(**command));
        found.extend(lacking.map(|command| format!("README.md does not show `{command}`")));
    }
    for page in &repository.documents {
        for (index, line) in page.text.lines().enumerate() {
            let links = links(line).filter(|link| !repository.paths.contains(&resolved(&page.path, link)));
            let files = files(line).filter(|file| names_files(&page.path) && !repository.paths.contains(*file));
            for target in links.chain(files) {
                found.push(format!("{}:{}: `{target}` leads nowhere", page.path, index + 1));
            }
        }
    }
    found
}

/// The targets of a line's links that are paths of the repository.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let paths = targets.filter(|target| !target.contains("://") && !target.starts_with('#'));
    paths.map(|target| target.split('#').next().unwrap_or(target).trim_end_matches('/'))
}

/// A link's target from the root; links are relative to the folder of their page.
fn resolved(page: &str, link: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

/// Whether the files that a page names must exist. Other pages may mention past and future files.
fn names_files(page: &str) -> bool {
    page == "ARCHITECTURE.md" || page.starts_with("docs/")
}

/// The source files and folders that a line names in backquotes, by their paths from the root.
fn files(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').skip(1).step_by(2);
    quoted.filter(|text| {
        let is_path = text.starts_with("crates/") || text.starts_with("python/") || text.starts_with("xtask/");
        is_path && !text.contains([' ', '*', '{']) && (text.ends_with(".rs") || text.ends_with(".py"))
    })
}

#[cfg(test)]
mod tests {
    use super::super::repository::planted;
    use super::*;

    fn pages(readme: &str) -> Vec<(&'static str, String)> {
        PAGES.iter().map(|page| (*page, if *page == "README.md" { readme.to_owned() } else { String::new() })).collect()
    }

    fn found(pages: &[(&str, String)]) -> Vec<String> {
        let pages: Vec<_> = pages.iter().map(|(name, text)| (*name, text.as_str())).collect();
        check(&planted(&[("crates/a/src/a.rs", "")], &pages))
    }

    #[test]
    fn a_complete_repository_passes() {
        assert_eq!(found(&pages("cargo xtask tour cargo xtask test [a](crates/a/#x) [b](https://b)")), [""; 0]);
    }

    #[test]
    fn missing_pages_commands_and_targets_are_found() {
        assert_eq!(found(&pages("cargo xtask tour cargo xtask test")[1..]), ["ARCHITECTURE.md does not exist"]);
        assert_eq!(found(&pages("cargo xtask tour")).len(), 1);
        let broken = found(&pages("cargo xtask tour cargo xtask test\n[a](crates/b)"));
        assert_eq!(broken, ["README.md:2: `crates/b` leads nowhere"]);
        let mut named = pages("cargo xtask tour cargo xtask test");
        named.push(("docs/internals/a.md", "[a](../../crates/a) `crates/a/src/a.rs` `crates/a/src/b.rs`".to_owned()));
        assert_eq!(found(&named), ["docs/internals/a.md:1: `crates/a/src/b.rs` leads nowhere"]);
    }
}
