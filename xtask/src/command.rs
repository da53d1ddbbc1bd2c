//! Running other programs: cargo, Python, whatever they start.
//!
//! Invariant: every command is shown before it runs, so that a failure can be repeated by hand.

use crate::tree;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// A program about to run in the root of the workspace.
pub(crate) fn program(name: impl AsRef<OsStr>, args: &[&str]) -> Command {
    let mut command = Command::new(name);
    command.args(args).current_dir(tree::root());
    command
}

/// The cargo that started us.
///
/// PyO3 reads the variable in its build script; setting it always keeps cargo from building PyO3 twice.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = program(std::env::var_os("CARGO").unwrap_or("cargo".into()), args);
    command.env("PYO3_BUILD_EXTENSION_MODULE", "1");
    command
}

/// Runs a command whose output goes straight to the terminal.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let line = shown(command);
    eprintln!("$ {line}");
    let status = command.status().map_err(|e| format!("{line}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{line}: {status}")) }
}

/// Runs a command, passes its standard output on line by line, and returns it with whether the command succeeded.
pub(crate) fn run_and_read(command: &mut Command) -> Result<(bool, String), String> {
    let line = shown(command);
    eprintln!("$ {line}");
    let failed = |e| format!("{line}: {e}");
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut text = String::new();
    if let Some(stdout) = child.stdout.take() {
        let mut lines = BufReader::new(stdout);
        let mut bytes = Vec::new();
        while lines.read_until(b'\n', &mut bytes).map_err(failed)? > 0 {
            let part = String::from_utf8_lossy(&bytes);
            print!("{part}");
            std::io::stdout().flush().map_err(failed)?;
            text.push_str(&part);
            bytes.clear();
        }
    }
    let status = child.wait().map_err(failed)?;
    Ok((status.success(), text))
}

/// The command as one would type it in the root, its variables first.
fn shown(command: &Command) -> String {
    let root = format!("{}/", tree::root().display());
    let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let ours = variables.filter(|(name, _)| *name != "PYO3_BUILD_EXTENSION_MODULE");
    let variables = ours.map(|(name, value)| format!("{}='{}' ", name.to_string_lossy(), value.to_string_lossy()));
    // The cargo that started us is given by its full path, which says nothing to a reader.
    let name = Path::new(command.get_program());
    let name = if name.ends_with("cargo") { OsStr::new("cargo") } else { name.as_os_str() };
    let words = std::iter::once(name).chain(command.get_args());
    let words: Vec<String> = words.map(|word| word.to_string_lossy().replace(&root, "")).collect();
    variables.collect::<String>() + &words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_read_and_failure_seen() {
        let (good, text) = run_and_read(&mut program("sh", &["-c", "echo a; echo b; exit 3"])).unwrap();
        assert!(!good);
        assert_eq!(text, "a\nb\n");
        assert!(run(&mut program("sh", &["-c", "exit 1"])).unwrap_err().contains("exit"));
    }
}
