//! Parses the table of faults. It reads no files and runs nothing.

/// The path of the table.
pub(crate) const TABLE: &str = "tests/planted.txt";

/// One fault, and the check that must detect it.
#[derive(Debug, Default)]
pub(crate) struct Fault {
    /// Words of the invariant that it breaks, as in `docs/internals/invariants.md`.
    pub(crate) invariant: String,
    /// The file that is changed, from the root.
    pub(crate) file: String,
    /// The command that must fail.
    pub(crate) command: String,
    /// Whole lines that occur once in the file.
    find: String,
    /// Their replacement.
    put: String,
    /// The fault's line in the table.
    pub(crate) line: usize,
}

impl Fault {
    /// The text with the fault, if the lines to change occur exactly once.
    pub(crate) fn planted_in(&self, text: &str) -> Result<String, String> {
        let stands = text.match_indices(&self.find).map(|(at, _)| at);
        let places: Vec<usize> = stands.filter(|at| text[..*at].is_empty() || text[..*at].ends_with('\n')).collect();
        match places[..] {
            [at] => Ok(format!("{}{}{}", &text[..at], self.put, &text[at + self.find.len()..])),
            _ => Err(format!("{TABLE}:{}: its lines occur {} times in {}", self.line, places.len(), self.file)),
        }
    }
}

/// Parses a table; `Err` names an invalid line.
///
/// `= invariant` opens a fault, `in` names the file, `run` the command, `-` and `+` are lines of the file before and
/// after.
pub(crate) fn faults(text: &str) -> Result<Vec<Fault>, String> {
    let mut found: Vec<Fault> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(invariant) = line.strip_prefix("= ") {
            found.push(Fault { invariant: invariant.to_owned(), line: index + 1, ..Fault::default() });
            continue;
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = || format!("{TABLE}:{}: `{line}` says nothing", index + 1);
        let fault = found.last_mut().ok_or_else(wrong)?;
        if let Some(file) = line.strip_prefix("in ") {
            fault.file = file.to_owned();
        } else if let Some(command) = line.strip_prefix("run ") {
            fault.command = command.to_owned();
        } else if let Some(before) = line.strip_prefix('-') {
            fault.find += &format!("{before}\n");
        } else if let Some(after) = line.strip_prefix('+') {
            fault.put += &format!("{after}\n");
        } else {
            return Err(wrong());
        }
    }
    let unfinished = |fault: &&Fault| fault.file.is_empty() || fault.command.is_empty() || fault.find.is_empty();
    match found.iter().find(unfinished) {
        Some(fault) => Err(format!("{TABLE}:{}: a fault has a file, a command and lines to change", fault.line)),
        None => Ok(found),
    }
}

/// The invariants in `docs/internals/invariants.md`, one per row.
pub(crate) fn invariants(page: &str) -> Vec<&str> {
    let tables = page.split("| invariant | check |\n").skip(1);
    let rows = tables.flat_map(|table| table.lines().skip(1).map_while(|row| row.strip_prefix("| ")));
    rows.filter_map(|row| row.split(" | ").next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "# why\n= a holds\nin a.rs\nrun cargo test\n-    if b {\n+    if !b {\n";

    #[test]
    fn a_fault_changes_its_lines_and_nothing_else() {
        let faults = faults(ONE).unwrap();
        assert_eq!((faults.len(), faults[0].line, &*faults[0].command), (1, 2, "cargo test"));
        assert_eq!(faults[0].planted_in("x\n    if b {\ny\n").unwrap(), "x\n    if !b {\ny\n");
        assert_eq!(faults[0].planted_in("    if b {\n").unwrap(), "    if !b {\n");
    }

    #[test]
    fn missing_and_repeated_lines_are_reported() {
        let faults = faults(ONE).unwrap();
        for (text, count) in [("    else if b {\n", 0), ("    if b {\n    if b {\n", 2)] {
            assert!(
                faults[0].planted_in(text).unwrap_err().contains(&format!("occur {count} times in a.rs")),
                "{text}"
            );
        }
    }

    #[test]
    fn an_incomplete_fault_is_an_error() {
        for text in ["in a.rs\n", "= a\nin a.rs\nrun b\n", "= a\nrun b\n-c\n", "= a\nin a.rs\n-c\n", "= a\nwhat\n"] {
            assert!(faults(text).is_err(), "{text}");
        }
    }

    #[test]
    fn invariants_are_the_rows_of_their_tables() {
        let page = "| a | b |\n\n| invariant | check |\n|---|---|\n| x is y | `z` |\n| u | v |\n\n| no | more |\n\n\
                    | invariant | check |\n|---|---|\n| w | v |\n";
        assert_eq!(invariants(page), ["x is y", "u", "w"]);
    }
}
