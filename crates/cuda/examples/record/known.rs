//! The record of texts that have compiled: under a heading for each compiler, the hashes of its texts. What stands there need not be
//! compiled again; a text that changes is a text that does not.

use std::collections::BTreeSet;
use std::path::PathBuf;

/// One compiler's part of a record.
pub(crate) struct Record {
    file: Option<PathBuf>,
    heading: String,
    known: BTreeSet<String>,
}

impl Record {
    /// The arguments of the program less `--record FILE`, and that file.
    pub(crate) fn arguments() -> (Vec<String>, Option<PathBuf>) {
        let mut args: Vec<String> = std::env::args().skip(1).collect();
        let at = args.iter().position(|arg| arg == "--record").filter(|at| at + 1 < args.len());
        let file = at.map(|at| args.drain(at..at + 2).nth(1).map(PathBuf::from)).unwrap_or_default();
        (args, file)
    }

    /// What a file says about a compiler, which is named by all that its output depends on besides the text.
    pub(crate) fn open(file: Option<PathBuf>, compiler: &str) -> Record {
        let heading = format!("# {compiler}");
        let text = file.as_ref().and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
        let lines = text.lines().skip_while(|line| *line != heading).skip(1);
        let known = lines.take_while(|line| !line.starts_with('#')).map(str::to_owned).collect();
        Record { file, heading, known }
    }

    /// Whether a text has compiled before.
    pub(crate) fn has(&self, text: &str) -> bool {
        self.known.contains(&hash(text))
    }

    /// Writes that these texts compile, and forgets all others of this compiler.
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

/// FNV-1a: the same on every machine and in every release, which the standard library does not promise of its hash.
fn hash(text: &str) -> String {
    let sum = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{sum:016x}")
}
