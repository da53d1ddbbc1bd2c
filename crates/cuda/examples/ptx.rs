//! Assembles all generated PTX without a device: `cargo run --example ptx <assembler> [arch] [part of a name] [--record
//! FILE]`. The assembler is NVIDIA's `ptxas`. Sources in the record file are not assembled again.

#[path = "record/known.rs"]
mod record;

use forerun_cuda::ptx_texts;
use record::Record;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

fn main() -> ExitCode {
    let (args, file) = Record::arguments();
    let mut args = args.into_iter();
    let Some(assembler) = args.next().map(PathBuf::from) else {
        eprintln!("ptx: where is ptxas?");
        return ExitCode::FAILURE;
    };
    let (arch, part) = (args.next().unwrap_or("sm_90".to_owned()), args.next().unwrap_or_default());
    let wanted: Vec<_> = ptx_texts().into_iter().filter(|(name, _)| name.contains(&part)).collect();
    // A part of the texts says nothing about the others.
    let record = Record::open(file.filter(|_| part.is_empty()), &format!("{} {arch}", release(&assembler)));
    let all: Vec<_> = wanted.iter().filter(|(_, text)| !record.has(text)).collect();
    let folder = std::env::temp_dir().join(format!("forerun-ptx-{}", std::process::id()));
    if let Err(error) = std::fs::create_dir_all(&folder) {
        eprintln!("ptx: {}: {error}", folder.display());
        return ExitCode::FAILURE;
    }
    let begun = Instant::now();
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some((name, text)) = all.get(number) else { return };
            if let Err(log) = assemble(&assembler, &arch, text, &folder.join(format!("{number}.ptx"))) {
                failed.fetch_add(1, Ordering::Relaxed);
                println!("{name}: {log}");
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    // A failure leaves files in the temporary folder, which is harmless.
    let _ = std::fs::remove_dir_all(&folder);
    let failed = failed.into_inner();
    println!("{} texts for {arch} in {:.1} s", all.len(), begun.elapsed().as_secs_f64());
    println!("{} assembled, {failed} failed, {} in the record", all.len() - failed, wanted.len() - all.len());
    if failed > 0 || wanted.is_empty() {
        return ExitCode::FAILURE;
    }
    if let Err(error) = record.write(&wanted) {
        eprintln!("ptx: the record cannot be written: {error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// The name and version of the assembler, such as `ptxas V12.9.86`.
fn release(assembler: &Path) -> String {
    let output = Command::new(assembler).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    format!("ptxas {}", text.split_whitespace().find(|word| word.starts_with('V')).unwrap_or("of an unknown release"))
}

/// Assembles one source and discards the code; the assembler's output is the error.
fn assemble(assembler: &Path, arch: &str, text: &str, file: &Path) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| error.to_string())?;
    let mut command = Command::new(assembler);
    command.args(["-arch", arch, "-o"]).arg(file.with_extension("cubin")).arg(file);
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}
