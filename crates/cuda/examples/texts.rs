//! Compiles every text that the room prints, without a device: `cargo run --example texts [arch] [part of a name]`. The compiler's library is
//! looked for in `FORERUN_CUDA_PATH` too.

use forerun_cuda::{TextCompiler, texts};
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let arch = std::env::args().nth(1).unwrap_or("sm_90".to_owned());
    let compiler = match TextCompiler::open(12, &arch) {
        Ok(compiler) => compiler,
        Err(text) => {
            eprintln!("texts: {text}");
            return ExitCode::FAILURE;
        }
    };
    let (mut failed, mut bytes) = (0, 0);
    let part = std::env::args().nth(2).unwrap_or_default();
    let all: Vec<_> = texts().into_iter().filter(|(name, _)| name.contains(&part)).collect();
    let begun = Instant::now();
    let mut slowest = (0.0, "");
    for (name, text) in &all {
        let start = Instant::now();
        match compiler.compile(text) {
            Ok(image) => bytes += image.len(),
            Err(log) => {
                failed += 1;
                println!("{name}: {log}");
            }
        }
        let took = start.elapsed().as_secs_f64();
        if took > slowest.0 {
            slowest = (took, name);
        }
    }
    let (major, minor) = compiler.version();
    println!(
        "{} texts for {arch} by NVRTC {major}.{minor} in {:.1} s, {bytes} bytes; slowest: {} in {:.2} s",
        all.len(),
        begun.elapsed().as_secs_f64(),
        slowest.1,
        slowest.0
    );
    println!("{} compiled, {failed} failed", all.len() - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
