//! The prelude of a source: only the parts of the number traits that it uses, to shorten compilation.

use std::collections::HashSet;
use std::sync::OnceLock;

/// The number traits in CUDA C; each paragraph is a part.
const TRAITS: &str = include_str!("../kernels/prelude.cuh");

/// A paragraph of the traits.
struct Part {
    text: &'static str,
    /// The functions, types and macros that it defines.
    names: HashSet<&'static str>,
    words: HashSet<&'static str>,
}

/// A source, preceded by the parts of the traits that it uses.
pub(super) fn open(text: &str) -> String {
    let (first, parts) = parts();
    let mut used: HashSet<&str> = words(text).collect();
    let mut chosen = Vec::new();
    // From last to first, because a part uses earlier ones only.
    for part in parts.iter().rev() {
        if !part.names.is_disjoint(&used) {
            used.extend(&part.words);
            chosen.push(part.text);
        }
    }
    let mut opened = (*first).to_owned();
    for part in chosen.iter().rev() {
        opened.push_str("\n\n");
        opened.push_str(part);
    }
    opened.push('\n');
    opened.push_str(text);
    opened
}

/// The part that every source begins with, and the others.
fn parts() -> &'static (&'static str, Vec<Part>) {
    static PARTS: OnceLock<(&str, Vec<Part>)> = OnceLock::new();
    PARTS.get_or_init(|| {
        let mut paragraphs = TRAITS.trim_end().split("\n\n");
        let first = paragraphs.next().unwrap_or_default();
        let part = |text| Part { text, names: names(text), words: words(text).collect() };
        (first, paragraphs.map(part).collect())
    })
}

/// The names that a text defines: the last word before the bracket after `DEV` or `struct`, and the word after
/// `#define`.
fn names(text: &str) -> HashSet<&str> {
    let before =
        |mark, bracket| text.split(mark).skip(1).filter_map(move |after| words(after.split(bracket).next()?).last());
    let macros = text.split("#define ").skip(1).filter_map(|after| words(after).next());
    before("DEV ", '(').chain(before("struct ", '{')).chain(macros).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use forerun_ops::turn::{SINGLE_EXPONENTS, SINGLE_FIRST_EXPONENT, SINGLE_TURNS};

    #[test]
    fn a_text_opens_with_what_it_uses_and_what_that_uses() {
        let opened = open("n_power(1, 2)\n");
        assert!(opened.starts_with("// The number traits") && opened.ends_with("}\nn_power(1, 2)\n"));
        let place = |name: &str| opened.find(&format!(" {name}("));
        assert!(place("n_add") < place("n_power") && place("n_add").is_some(), "a part before what uses it");
        assert_eq!((place("n_gcd"), place("to_f32"), place("load")), (None, None, None));
    }

    #[test]
    fn singles_are_turned_by_the_host_s_table_and_without_whole_numbers() {
        let opened = open("turns_f32(1)\n");
        assert!(!opened.contains("far_turns") && !open("turns_f64(1)\n").contains("single_turns"));
        let row = |row: &[f64; 3]| row.map(|part| format!("0x{:016x}", part.to_bits())).join(", ");
        let rows: Vec<String> = SINGLE_TURNS.iter().map(row).collect();
        let table = format!("single_turns[{}][3] = {{\n    {{{}}}}};", rows.len(), rows.join("},\n    {"));
        assert!(opened.contains(&table), "{table}");
        assert!(opened.contains(&format!("- {SINGLE_FIRST_EXPONENT}) / {SINGLE_EXPONENTS}]")));
    }

    #[test]
    fn every_part_makes_something_known() {
        let (_, parts) = parts();
        assert!(parts.len() > 20 && parts.iter().all(|part| !part.names.is_empty()));
        let with = |name: &str| parts.iter().filter(|part| part.names.contains(name)).count();
        for name in ["n_add", "n_select", "turns_f32", "turns_f64", "to_c128", "scalar", "Pack", "load", "BY_PARTS"] {
            assert_eq!(with(name), 1, "{name}");
        }
    }
}
