//! The cost of the memory bounds: a million ops submitted without a wait, with the default bounds, and with the limits
//! of window, budget and prefetch lifted. Each run is its own process, in turn; elimination of dead results is off.

use forerun::runtime::set_drop_dead;
use forerun::{Array, array, ones, wait_all};
use std::process::Command;
use std::time::Instant;

const OPS: usize = 1_000_000;
const ROUNDS: usize = 7;
/// The argument of a measuring process.
const MEASURE: &str = "--measure";
/// Settings that lift the limits.
const LIFTED: [(&str, &str); 3] =
    [("FORERUN_WINDOW", "2097152"), ("FORERUN_BUDGET", "1000000000000000"), ("FORERUN_PREFETCH", "1000000000000000")];

type Workload = (&'static str, fn());

const WORKLOADS: [Workload; 3] =
    [("y = x + 1, tiny", tiny), ("x = x + 1, tiny", chain), ("x = x + 1, 8192 elements", large)];

fn tiny() {
    let x = array(&[1.0, 2.0], [1, 2]);
    for _ in 0..OPS {
        let _y = &x + 1.0;
    }
}

fn chain() {
    repeat(array(&[1.0, 2.0], [1, 2]));
}

fn large() {
    repeat(ones([8192]));
}

fn repeat(mut x: Array) {
    for _ in 0..OPS {
        x = &x + 1.0;
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let [_, measure, number] = args.as_slice()
        && measure == MEASURE
    {
        let (_, run) = WORKLOADS[number.parse::<usize>().expect("a number")];
        set_drop_dead(false);
        let start = Instant::now();
        run();
        wait_all().expect("nothing fails");
        println!("{}", start.elapsed().as_nanos());
        return;
    }
    println!("bounds: {OPS} ops without a wait, best and median of {ROUNDS} runs in turn\n");
    println!("{:28} {:>14} {:>14}   throughput with bounds, aim at least 0.90", "ns an op", "bounded", "unbounded");
    for (number, (name, _)) in WORKLOADS.iter().enumerate() {
        let (mut bounded, mut lifted) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            bounded.push(measure(number, &[]));
            lifted.push(measure(number, &LIFTED));
        }
        let (bounded, lifted) = (summary(bounded), summary(lifted));
        println!(
            "{name:28} {:6.1} {:7.1} {:6.1} {:7.1}   best {:.2}, median {:.2}",
            bounded.0,
            bounded.1,
            lifted.0,
            lifted.1,
            lifted.0 / bounded.0,
            lifted.1 / bounded.1
        );
    }
}

/// Nanoseconds per op, measured in a separate process.
fn measure(number: usize, settings: &[(&str, &str)]) -> f64 {
    let program = std::env::current_exe().expect("this program has a path");
    let child = Command::new(program).args([MEASURE, &number.to_string()]).envs(settings.iter().copied()).output();
    let child = child.expect("this program can be started again");
    let text = String::from_utf8_lossy(&child.stdout);
    text.trim().parse::<f64>().unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&child.stderr))) / OPS as f64
}

/// The minimum and the median.
fn summary(mut runs: Vec<f64>) -> (f64, f64) {
    runs.sort_by(f64::total_cmp);
    (runs[0], runs[runs.len() / 2])
}
