//! Every kernel of the device room against the host's, on a machine with a device: `cargo run -p forerun-gpu-tests [check]
//! [part of a routine's name]`. Ends with `N passed, N failed`.

mod case;
mod checks;
mod data;
mod ledger;

use forerun_cuda::Gpu;
use ledger::Ledger;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let gpu = match Gpu::open(0) {
        Ok(gpu) => gpu,
        Err(error) => {
            eprintln!("gpu: {error}");
            return ExitCode::FAILURE;
        }
    };
    println!("{}, compute capability {:?}, {} multiprocessors", gpu.name(), gpu.arch(), gpu.processors());
    let only = std::env::args().nth(1);
    let mut ledger = Ledger::default();
    for (name, check) in checks::ALL {
        if only.as_deref().is_none_or(|only| only == *name) {
            let begun = Instant::now();
            check(&gpu, &mut ledger);
            println!("{name}: {:.1} s", begun.elapsed().as_secs_f64());
        }
    }
    println!("{:?}\n{:?}", gpu.counts(), gpu.memory_info());
    gpu.stop();
    ledger.close()
}
