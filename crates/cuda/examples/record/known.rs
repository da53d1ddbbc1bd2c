//! The record of sources that have compiled: their hashes, grouped by compiler. Recorded sources are not compiled
//! again; a changed source has a new hash.

use std::collections::BTreeSet;
use std::path::PathBuf;

/// The record of one compiler.
pub(crate) struct Record {
    file: Option<PathBuf>,
    heading: String,
    known: BTreeSet<String>,
}

impl Record {
    /// The program's arguments without `--record FILE`, and that file.
    pub(crate) fn arguments() -> (Vec<String>, Option<PathBuf>) {
        let mut args: Vec<String> = std::env::args().skip(1).collect();
        let at = args.iter().position(|arg| arg == "--record").filter(|at| at + 1 < args.len());
        let file = at.map(|at| args.drain(at..at + 2).nth(1).map(PathBuf::from)).unwrap_or_default();
        (args, file)
    }

    /// Reads the record of a compiler. Its name includes everything besides the source that the output depends on.
    pub(crate) fn open(file: Option<PathBuf>, compiler: &str) -> Record {
        let heading = format!("# {compiler}");
        let text = file.as_ref().and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
        let lines = text.lines().skip_while(|line| *line != heading).skip(1);
        let known = lines.take_while(|line| !line.starts_with('#')).map(str::to_owned).collect();
        Record { file, heading, known }
    }

    /// Whether a source has compiled before.
    pub(crate) fn has(&self, text: &str) -> bool {
        self.known.contains(&hash(text))
    }

    /// Records that these sources compile, and removes all others of this compiler.
    pub(crate) fn write(&self, texts: &[(String, String)]) -> std::io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let hashes: BTreeSet<String> = texts.iter().map(|(_, text)| hash(text)).collect();
        if hashes == self.known {
            return Ok(());
        }
        let before = std::fs::read_to_string(file).unwrap_or_default();
        let mut inside = false;
        let others = before.lines().filter(|line| {
            inside = if line.starts_with('#') { *line == self.heading } else { inside };
            !inside
        });
        let own = std::iter::once(self.heading.as_str()).chain(hashes.iter().map(String::as_str));
        let lines: Vec<&str> = others.chain(own).collect();
        std::fs::write(file, lines.join("\n") + "\n")
    }
}

/// FNV-1a: stable across machines and releases, unlike the standard library's hash.
fn hash(text: &str) -> String {
    let sum = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{sum:016x}")
}
