//! Compiles all generated CUDA sources without a device: `cargo run --example texts [arch] [part of a name] [--record
//! FILE]`. NVRTC is also searched in `FORERUN_CUDA_PATH`. Sources in the record file are not compiled again.

#[path = "record/known.rs"]
mod record;

use forerun_cuda::{TextCompiler, texts};
use record::Record;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

fn main() -> ExitCode {
    let (args, file) = Record::arguments();
    let arch = args.first().cloned().unwrap_or("sm_90".to_owned());
    let compiler = match TextCompiler::open(12, &arch) {
        Ok(compiler) => compiler,
        Err(text) => {
            eprintln!("texts: {text}");
            return ExitCode::FAILURE;
        }
    };
    let part = args.get(1).cloned().unwrap_or_default();
    let wanted: Vec<_> = texts().into_iter().filter(|(name, _)| name.contains(&part)).collect();
    // A filtered run must not change the record of the other sources.
    let record = Record::open(file.filter(|_| part.is_empty()), &format!("NVRTC {}", compiler.stamp()));
    let all: Vec<_> = wanted.iter().filter(|(_, text)| !record.has(text)).collect();
    let begun = Instant::now();
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let slowest = Mutex::new((0.0, ""));
    let work = || {
        while let Some((name, text)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            let start = Instant::now();
            if let Err(log) = compiler.compile(text) {
                failed.fetch_add(1, Ordering::Relaxed);
                println!("{name}: {log}");
            }
            let took = start.elapsed().as_secs_f64();
            let mut slowest = slowest.lock().unwrap_or_else(|e| e.into_inner());
            if took > slowest.0 {
                *slowest = (took, name);
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    let (failed, slowest) = (failed.into_inner(), slowest.into_inner().unwrap_or_else(|e| e.into_inner()));
    let (major, minor) = compiler.version();
    println!(
        "{} texts for {arch} by NVRTC {major}.{minor} in {:.1} s; slowest: {} in {:.2} s",
        all.len(),
        begun.elapsed().as_secs_f64(),
        slowest.1,
        slowest.0
    );
    println!("{} compiled, {failed} failed, {} in the record", all.len() - failed, wanted.len() - all.len());
    if failed > 0 || wanted.is_empty() {
        return ExitCode::FAILURE;
    }
    if let Err(error) = record.write(&wanted) {
        eprintln!("texts: the record cannot be written: {error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
