//! The pages of the house: they exist, the front page opens with its two commands, and no link is broken.

use super::house::House;

const PAGES: &[&str] =
    &["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "ROADMAP.md"];
const COMMANDS: &[&str] = &["cargo xtask tour", "cargo xtask test"];

/// Every page that is missing, command that the front page lacks, and link that leads nowhere.
pub(super) fn check(house: &House) -> Vec<String> {
    let missing = PAGES.iter().filter(|page| house.document(page).is_none());
    let mut found: Vec<String> = missing.map(|page| format!("{page} does not exist")).collect();
    if let Some(front) = house.document("README.md") {
        let lacking = COMMANDS.iter().filter(|command| !front.text.contains(**command));
        found.extend(lacking.map(|command| format!("README.md does not show `{command}`")));
    }
    for page in &house.documents {
        for (index, line) in page.text.lines().enumerate() {
            for link in links(line).filter(|link| !house.paths.contains(*link)) {
                found.push(format!("{}:{}: `{link}` leads nowhere", page.path, index + 1));
            }
        }
    }
    found
}

/// The targets of a line's links that are paths of the house.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let paths = targets.filter(|target| !target.contains("://") && !target.starts_with('#'));
    paths.map(|target| target.split('#').next().unwrap_or(target).trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::super::house::planted;
    use super::*;

    fn pages(readme: &str) -> Vec<(&'static str, String)> {
        PAGES.iter().map(|page| (*page, if *page == "README.md" { readme.to_owned() } else { String::new() })).collect()
    }

    fn found(pages: &[(&str, String)]) -> Vec<String> {
        let pages: Vec<_> = pages.iter().map(|(name, text)| (*name, text.as_str())).collect();
        check(&planted(&[("crates/a/src/a.rs", "")], &pages))
    }

    #[test]
    fn a_whole_house_passes() {
        assert_eq!(found(&pages("cargo xtask tour cargo xtask test [a](crates/a/#x) [b](https://b)")), [""; 0]);
    }

    #[test]
    fn missing_pages_commands_and_targets_are_found() {
        assert_eq!(found(&pages("cargo xtask tour cargo xtask test")[1..]), ["ARCHITECTURE.md does not exist"]);
        assert_eq!(found(&pages("cargo xtask tour")).len(), 1);
        let broken = found(&pages("cargo xtask tour cargo xtask test\n[a](crates/b)"));
        assert_eq!(broken, ["README.md:2: `crates/b` leads nowhere"]);
    }
}
