//! Which crate may depend on which: the arrows of ARCHITECTURE.md, checked against the manifests.
//!
//! Dependencies for tests and build scripts count too: a test that needs another crate belongs in that crate.

use super::repository::Repository;

/// For each folder in `crates/`, the crates it may use.
const CRATES: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("engine", &["base"]),
    ("ops", &["base"]),
    ("plan", &["base", "ops"]),
    ("linear", &[]),
    ("image", &[]),
    ("cpu", &["base", "ops", "plan", "linear"]),
    ("cuda", &["base", "ops", "plan"]),
    ("sim", &["base", "plan", "cpu"]),
    ("array", &["base", "engine", "ops", "plan", "cpu", "cuda", "sim"]),
    ("grad", &["base", "ops", "array"]),
    ("nn", &["base", "ops", "array", "grad"]),
    ("forerun", &["base", "engine", "ops", "plan", "array", "grad", "nn", "image"]),
    // A frontend uses the catalogue for its functions, and `forerun` for the rest.
    ("python", &["base", "ops", "forerun"]),
    ("capi", &["forerun"]),
];

/// Every dependency that is not allowed.
pub(super) fn check(repository: &Repository) -> Vec<String> {
    let manifests = repository.sources.iter().filter(|source| source.file_name() == "Cargo.toml");
    let mut found = Vec::new();
    for manifest in manifests {
        let Some(crate_name) = manifest.crate_name() else { continue };
        let Some((_, allowed)) = CRATES.iter().find(|(name, _)| *name == crate_name) else {
            found.push(format!("{}: the crate `{crate_name}` has no row in the table of arrows", manifest.path));
            continue;
        };
        for (line, used) in crates_used(&manifest.text) {
            if used != crate_name && !allowed.contains(&used.as_str()) {
                found.push(format!("{}:{line}: `{crate_name}` must not know `{used}`", manifest.path));
            }
        }
    }
    found
}

/// The crates that a manifest depends on, under any name and in any table of dependencies.
fn crates_used(manifest: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_dependencies = false;
    for (index, line) in manifest.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let name = if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end_matches(']');
            in_dependencies = header.split('.').any(|part| part.ends_with("dependencies"));
            // `[dependencies.name]` is a dependency by itself.
            header.split_once("dependencies.").map(|(_, name)| name)
        } else if in_dependencies {
            line.split(['=', '.', ' ']).next()
        } else {
            None
        };
        let renamed =
            line.split_once("package").filter(|_| in_dependencies).and_then(|(_, rest)| rest.split('"').nth(1));
        found.extend(renamed.or(name).and_then(crate_of).map(|crate_name| (index + 1, crate_name)));
    }
    found
}

fn crate_of(package: &str) -> Option<String> {
    let package = package.trim().trim_matches('"');
    if package == "forerun" {
        return Some(package.to_owned());
    }
    package.strip_prefix("forerun-").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::repository::planted;
    use super::*;

    fn found(crate_name: &str, manifest: &str) -> Vec<String> {
        check(&planted(&[(&format!("crates/{crate_name}/Cargo.toml"), manifest)], &[]))
    }

    #[test]
    fn allowed_arrows_pass() {
        assert_eq!(
            found("plan", "[dependencies]\nforerun-base.workspace = true\nforerun-ops.workspace = true"),
            [""; 0]
        );
    }

    #[test]
    fn forbidden_arrows_are_found_in_every_form() {
        for manifest in [
            "[dependencies]\nforerun-engine.workspace = true",
            "[dependencies]\nforerun-engine = { path = \"../engine\" }",
            "[dependencies.forerun-engine]\npath = \"../engine\"",
            "[dev-dependencies]\nforerun-engine.workspace = true",
            "[target.'cfg(unix)'.dependencies]\nforerun-engine.workspace = true",
            "[dependencies]\nother = { package = \"forerun-engine\", path = \"../engine\" }",
            "[dependencies.other]\npackage = \"forerun-engine\"",
        ] {
            let found = found("plan", manifest);
            assert_eq!(found.len(), 1, "{manifest}");
            assert!(found[0].contains("`plan` must not know `engine`"), "{found:?}");
        }
    }

    #[test]
    fn a_crate_without_a_row_is_found() {
        assert_eq!(found("attic", "").len(), 1);
    }

    #[test]
    fn the_table_points_to_the_left_only() {
        for (index, (crate_name, allowed)) in CRATES.iter().enumerate() {
            for used in *allowed {
                assert!(CRATES[..index].iter().any(|(left, _)| left == used), "{crate_name} uses {used}");
            }
        }
    }
}
