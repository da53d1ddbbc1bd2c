//! The cost of tracing: the same tiny ops with and without a trace; the difference divided by the number of events.

use forerun::profile::{start_trace, stop_trace};
use forerun::runtime::set_drop_dead;
use forerun::{Array, array, wait_all};
use forerun_benches::{Contender, interleave, time};
use std::cell::Cell;
use std::time::Duration;

const OPS: usize = 5_000;
const ROUNDS: usize = 41;
/// The target cost of an event, in nanoseconds.
const AIM: f64 = 60.0;

fn main() {
    set_drop_dead(false);
    let x = array(&[1.0, 2.0], [1, 2]);
    println!("trace: {OPS} ops a round, best of {ROUNDS} rounds\n");
    for (name, run) in [("submit and wait each", wait_each as fn(&Array)), ("submit and finish", finish)] {
        let events = Cell::new(0);
        let mut contenders: Vec<Contender<'_>> =
            vec![("off", Box::new(|| time(|| run(&x)))), ("on", Box::new(|| traced(|| run(&x), &events)))];
        let samples = interleave(ROUNDS, &mut contenders);
        drop(contenders);
        let [off, on] = [&samples[0], &samples[1]].map(|sample| sample.minimum());
        let (an_op, an_event) = (OPS as f64, (on - off) / events.get() as f64);
        println!(
            "{name:22} off {:6.1} ns an op   on {:6.1} ns an op   {:.2} x   {an_event:5.1} ns an event   aim {AIM:.0}",
            off / an_op,
            on / an_op,
            on / off,
        );
    }
}

/// The time of a run while a trace is active; sets the number of its events.
fn traced(run: impl FnOnce(), events: &Cell<usize>) -> Duration {
    start_trace(1 << 16).expect("no trace is on");
    let took = time(run);
    let lanes = stop_trace().expect("one is on");
    events.set(lanes.iter().map(|lane| lane.events.len()).sum());
    took
}

fn wait_each(x: &Array) {
    for _ in 0..OPS {
        let y = x + 1.0;
        y.wait_to_read().expect("nothing fails");
    }
}

fn finish(x: &Array) {
    for _ in 0..OPS {
        let _y = x + 1.0;
    }
    wait_all().expect("nothing fails");
}
