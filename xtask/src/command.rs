//! Runs other programs: cargo, Python and their children.
//!
//! Invariants: every command is printed before it runs, so that a failure can be repeated by hand. Stages that run in
//! parallel do not mix their output: a background thread's output is collected and printed as a whole.

use crate::tree;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;

thread_local! {
    /// The output of this thread, if it runs in the background.
    static KEPT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Prints a line, on the terminal or into [`kept`].
macro_rules! say {
    ($($text:tt)*) => { $crate::command::tell(&format!("{}\n", format_args!($($text)*))) };
}
pub(crate) use say;

/// Runs some work and returns its output instead of printing it.
pub(crate) fn kept<T>(work: impl FnOnce() -> T) -> (T, String) {
    let before = KEPT.replace(Some(String::new()));
    let done = work();
    (done, KEPT.replace(before).unwrap_or_default())
}

/// Prints a text unchanged.
pub(crate) fn tell(text: &str) {
    let shown = KEPT.with_borrow_mut(|kept| match kept {
        Some(kept) => {
            kept.push_str(text);
            false
        }
        None => true,
    });
    if shown {
        // If the terminal is gone, there is no reader left to inform.
        let _ = std::io::stdout().write_all(text.as_bytes()).and_then(|()| std::io::stdout().flush());
    }
}

/// A program that will run in the root of the workspace.
pub(crate) fn program(name: impl AsRef<OsStr>, args: &[&str]) -> Command {
    let mut command = Command::new(name);
    command.args(args).current_dir(tree::root());
    command
}

/// The cargo that started this program.
///
/// PyO3 reads the variable in its build script; setting it always keeps cargo from building PyO3 twice.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = program(std::env::var_os("CARGO").unwrap_or("cargo".into()), args);
    command.env("PYO3_BUILD_EXTENSION_MODULE", "1");
    command
}

/// Runs a command whose output goes to the terminal, or into [`kept`].
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let line = shown(command);
    say!("$ {line}");
    let is_kept = KEPT.with_borrow(Option::is_some);
    let status = if is_kept { execute(command, true).map(|(status, ..)| status) } else { command.status() };
    let status = status.map_err(|e| format!("{line}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{line}: {status}")) }
}

/// Runs a command, prints its output, and returns its standard output and whether it succeeded.
pub(crate) fn run_and_read(command: &mut Command) -> Result<(bool, String), String> {
    let line = shown(command);
    say!("$ {line}");
    let (status, output, _) = execute(command, true).map_err(|e| format!("{line}: {e}"))?;
    Ok((status.success(), output))
}

/// Runs a command. Returns its status, its standard output, and both outputs in the order of their lines. With `show`,
/// lines are printed as they arrive, or together into [`kept`].
pub(crate) fn execute(command: &mut Command, show: bool) -> std::io::Result<(ExitStatus, String, String)> {
    let is_live = show && KEPT.with_borrow(Option::is_none);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn()?;
    let (output, both) = (Mutex::new(String::new()), Mutex::new(String::new()));
    let take = |part: &str, own: Option<&Mutex<String>>| {
        for text in own.into_iter().chain([&both]) {
            text.lock().unwrap_or_else(|e| e.into_inner()).push_str(part);
        }
        if is_live {
            tell(part);
        }
    };
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        scope.spawn(|| stderr.map(|pipe| each_line(pipe, |line| take(line, None))));
        if let Some(pipe) = stdout {
            each_line(pipe, |line| take(line, Some(&output)));
        }
    });
    let plain = |text: Mutex<String>| text.into_inner().unwrap_or_else(|e| e.into_inner());
    let (status, both) = (child.wait()?, plain(both));
    if show && !is_live {
        tell(&both);
    }
    Ok((status, plain(output), both))
}

fn each_line(pipe: impl Read, mut take: impl FnMut(&str)) {
    let mut lines = BufReader::new(pipe);
    let mut bytes = Vec::new();
    // A pipe that cannot be read has ended; the command's status tells whether it succeeded.
    while lines.read_until(b'\n', &mut bytes).is_ok_and(|count| count > 0) {
        take(&String::from_utf8_lossy(&bytes));
        bytes.clear();
    }
}

/// The command as typed in the root, with its variables first.
pub(crate) fn shown(command: &Command) -> String {
    let root = format!("{}/", tree::root().display());
    let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let ours = variables.filter(|(name, _)| *name != "PYO3_BUILD_EXTENSION_MODULE" && *name != "CARGO_MANIFEST_DIR");
    let variables = ours.map(|(name, value)| format!("{}='{}' ", name.to_string_lossy(), value.to_string_lossy()));
    // Cargo is given by its full path, which is of no use to a reader.
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
    fn output_and_failure_are_returned() {
        let (good, text) = run_and_read(&mut program("sh", &["-c", "echo a; echo b; exit 3"])).unwrap();
        assert!(!good);
        assert_eq!(text, "a\nb\n");
        assert!(run(&mut program("sh", &["-c", "exit 1"])).unwrap_err().contains("exit"));
    }

    #[test]
    fn background_output_is_collected_with_that_of_programs() {
        let (done, said) = kept(|| {
            say!("one");
            run(&mut program("sh", &["-c", "echo two; sleep 0.1; echo three >&2"]))
        });
        assert_eq!(done, Ok(()));
        assert_eq!(said, "one\n$ sh -c echo two; sleep 0.1; echo three >&2\ntwo\nthree\n");
    }
}
