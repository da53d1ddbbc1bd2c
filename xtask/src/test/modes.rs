//! The engine modes in which a part of the Python suite runs again, and that part.
//!
//! A mode changes when a kernel runs and which results are kept, but not which function is called or what NumPy
//! returns. Rust tests check that every op has the same bits in every mode, op by op and with random programs. So the
//! list contains the files whose tests depend on *when* something runs: waits, errors, aliasing and writes, gradients,
//! captures, memory, order of random numbers.

/// The list of files, each with its reason.
pub(crate) const LIST: &str = "tests/python/modes.txt";

/// A stage per mode, and the variable that sets it.
pub(super) const MODES: [(&str, &str, &str); 2] =
    [("pytest, sync engine", "FORERUN_ENGINE", "sync"), ("pytest, nothing dropped", "FORERUN_DROP_DEAD", "0")];

/// The files of a list, from the root; `Err` names a line without a reason.
pub(crate) fn files(list: &str) -> Result<Vec<String>, String> {
    let lines = list.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let rows = lines.map(|(index, line)| match line.split_once(": ") {
        Some((file, reason)) if !reason.trim().is_empty() => Ok(format!("tests/python/{file}")),
        _ => Err(format!("{LIST}:{}: `{line}` is not `file: reason`", index + 1)),
    });
    let files: Vec<String> = rows.collect::<Result<_, _>>()?;
    if files.is_empty() { Err(format!("{LIST} names no file")) } else { Ok(files) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_need_reasons() {
        assert_eq!(files("# why\n\na.py: waits\nb.py: writes\n").unwrap(), ["tests/python/a.py", "tests/python/b.py"]);
        assert!(files("a.py\n").is_err() && files("a.py: \n").is_err() && files("# nothing\n").is_err());
    }
}
