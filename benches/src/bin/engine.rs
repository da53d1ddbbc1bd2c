//! The engine alone, through the record path that arrays use: the cost of a submission, a dependent task and a wait;
//! then the same task graphs on rayon and tokio. Elimination of dead results is off.

use forerun::runtime::{engine, set_drop_dead, stats};
use forerun::{Array, array, wait_all};
use forerun_benches::{Contender, Graph, Samples, interleave, run_rayon, run_tokio, time};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts the allocations of the submitting thread.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static COUNTED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

// SAFETY: forwards every call to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if COUNTED.try_with(|c| c.get()).unwrap_or(false) {
            ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: forwarded from the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: forwarded from the caller.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const OPS: usize = 5_000;
const ROUNDS: usize = 21;

fn main() {
    set_drop_dead(false);
    let x = array(&[1.0, 2.0], [1, 2]);
    println!("engine: {} workers, {OPS} ops a round, median of {ROUNDS} rounds\n", engine().workers());
    let mut contenders: Vec<Contender<'_>> = vec![
        ("submit, workers awake", Box::new(|| submit(&x))),
        (
            "submit and finish",
            Box::new(|| {
                time(|| {
                    submit(&x);
                })
            }),
        ),
        ("dependent chain, finished", Box::new(|| chain(&x))),
        ("submit and wait each", Box::new(|| wait_each(&x))),
    ];
    let limits = [60.0, f64::NAN, 120.0, 150.0];
    for (sample, limit) in interleave(ROUNDS, &mut contenders).iter().zip(limits) {
        let per_op = sample.median() / OPS as f64;
        let aim = if limit.is_nan() { String::new() } else { format!("aim {limit:>4.0}") };
        println!("{:28} {per_op:7.1} ns an op (best {:6.1})   {aim}", sample.name, sample.minimum() / OPS as f64);
    }
    drop(contenders);
    steady(&x);
    graphs();
}

/// The time to submit independent ops with workers awake; their execution is not counted.
fn submit(x: &Array) -> Duration {
    wake(x);
    let took = time(|| {
        for _ in 0..OPS {
            let _y = x + 1.0;
        }
    });
    wait_all().expect("nothing fails");
    took
}

fn chain(x: &Array) -> Duration {
    wake(x);
    time(|| {
        let mut y = x.clone();
        for _ in 0..OPS {
            y = &y + 1.0;
        }
        y.wait_to_read().expect("nothing fails");
    })
}

fn wait_each(x: &Array) -> Duration {
    wake(x);
    time(|| {
        for _ in 0..OPS {
            let y = x + 1.0;
            y.wait_to_read().expect("nothing fails");
        }
    })
}

fn wake(x: &Array) {
    for _ in 0..100 {
        let _y = x + 1.0;
    }
}

/// Allocations and system calls of the submitting thread in the steady state.
fn steady(x: &Array) {
    submit(x);
    let mut least = (u64::MAX, u64::MAX);
    for _ in 0..ROUNDS {
        wake(x);
        let calls = stats().system_calls;
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        COUNTED.set(true);
        for _ in 0..OPS {
            let _y = x + 1.0;
        }
        COUNTED.set(false);
        let seen = (ALLOCATIONS.load(Ordering::Relaxed) - before, stats().system_calls - calls);
        least = (least.0.min(seen.0), least.1.min(seen.1));
        wait_all().expect("nothing fails");
    }
    println!("\nsteady submit path, {OPS} ops: {} allocations, {} system calls to park or wake", least.0, least.1);
}

fn graphs() {
    let tokio = tokio::runtime::Builder::new_multi_thread().build().expect("a runtime");
    println!("\n{:18} {:>12} {:>12} {:>12}   ratio to the better peer", "ns a task", "forerun", "rayon", "tokio");
    for graph in [Graph::chain(20_000), Graph::fan(8_192), Graph::random(20_000)] {
        let graph = Arc::new(graph);
        let x = array(&[1.0, 2.0], [1, 2]);
        let mut contenders: Vec<Contender<'_>> = vec![
            ("forerun", Box::new(|| warm(|| run_forerun(&graph, &x)))),
            ("rayon", Box::new(|| warm(|| run_rayon(&graph)))),
            ("tokio", Box::new(|| warm(|| run_tokio(&tokio, &graph)))),
        ];
        let samples = interleave(11, &mut contenders);
        let per = |s: &Samples| s.median() / graph.reads.len() as f64;
        let [ours, rayon, tokio] = [per(&samples[0]), per(&samples[1]), per(&samples[2])];
        println!("{:18} {ours:12.1} {rayon:12.1} {tokio:12.1}   {:.2}", graph.name, ours / rayon.min(tokio));
    }
}

/// The time of a second run: the first wakes the threads of this pool and lets those of the previous one fall asleep.
fn warm(mut run: impl FnMut()) -> Duration {
    run();
    time(run)
}

fn run_forerun(graph: &Graph, x: &Array) {
    let mut values: Vec<Array> = Vec::with_capacity(graph.reads.len());
    values.push(x.clone());
    for [a, b] in &graph.reads[1..] {
        let next = &values[*a as usize] + &values[*b as usize];
        values.push(next);
    }
    wait_all().expect("nothing fails");
}
