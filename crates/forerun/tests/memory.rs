//! Memory: its holders, the cost of running ahead, and backpressure on host data.

use forerun::frontend::{has_host_room, has_room, make_host_room, make_room_with};
use forerun::memory::{Holder, empty_cache, memory_stats, reset_peak};
use forerun::runtime::{Mode, engine};
use forerun::{Array, DType, ErrorKind, Wait, array, full, normal, ones, wait_all, zeros};
use std::sync::{Mutex, MutexGuard};

const MIB: usize = 1 << 20;

/// The statistics are process-wide, so one test runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let guard = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    wait_all().unwrap();
    guard
}

/// The holders at a line of this file.
fn at(line: u32) -> Vec<Holder> {
    let here = |holder: &Holder| {
        holder.loc.resolve().is_some_and(|source| source.line == line && source.file.ends_with("memory.rs"))
    };
    memory_stats().holders.into_iter().filter(here).collect()
}

/// A chain of products that takes a while.
fn slow(products: usize) -> Array {
    let x = full([700, 700], 1e-3, DType::F32);
    (0..products).fold(x.clone(), |y, _| y.matmul(&x))
}

#[test]
fn holders_are_reported_by_line() {
    let _alone = alone();
    let (kept, line): (Vec<Array>, u32) = ((0..3).map(|_| ones([1024, 1024])).collect(), line!());
    let small = ones([16]);
    kept.iter().for_each(|x| x.wait_to_read().unwrap());
    small.wait_to_read().unwrap();
    let held = at(line);
    assert_eq!(held.len(), 1);
    assert_eq!((held[0].op, held[0].bytes, held[0].arrays), ("full", 12 * MIB, 3));
    assert_eq!(memory_stats().holders[0], held[0], "the largest comes first");
    drop(kept);
    wait_all().unwrap();
    assert_eq!(at(line), []);
}

#[test]
fn donated_buffers_are_charged_to_the_new_line() {
    let _alone = alone();
    let (mut x, made) = (ones([1024, 1024]), line!());
    x.wait_to_read().unwrap();
    assert_eq!(at(made)[0].bytes, 4 * MIB);
    let before = memory_stats();
    x += 1.0;
    let taken = line!() - 1;
    x.wait_to_read().unwrap();
    let after = memory_stats();
    assert_eq!((at(made).len(), at(taken)[0].bytes, at(taken)[0].op), (0, 4 * MIB, "add"));
    assert_eq!(before.live, after.live);
    assert_eq!(before.allocations, after.allocations, "a donated buffer is not allocated");
}

#[test]
fn allocations_are_counted() {
    let _alone = alone();
    let before = memory_stats();
    let x: Vec<Array> = (0..10).map(|_| ones([1024, 1024])).collect();
    wait_all().unwrap();
    drop(x);
    let after = memory_stats();
    assert_eq!(after.allocations - before.allocations, 10);
    assert_eq!(after.allocated_bytes - before.allocated_bytes, 40 * MIB as u64);
    assert_eq!(after.live, before.live);
    assert!(after.peak >= before.live + 40 * MIB);
    reset_peak();
    assert_eq!(memory_stats().peak, after.live);
    assert_eq!((after.promised, after.queued_records, after.prefetched), (0, 0, 0));
    assert!(after.cached >= 40 * MIB);
    empty_cache();
    assert!(memory_stats().cached < 20 * MIB);
}

#[test]
fn a_loop_that_feeds_host_data_stays_bounded() {
    let _alone = alone();
    let before = memory_stats();
    // Every step needs this first: the loop ends long before the first step can run.
    let gate = slow(30).sum() * 0.0 + 1.0;
    let mut w = zeros([1]);
    reset_peak();
    let batch = vec![1.0f32; MIB];
    for _ in 0..64 {
        let x = array(&batch, [1024, 1024]);
        w = &w + (&x * &gate).mean();
        // Held arrays are not queued: the bound is about data without handles.
        drop(x);
        let stats = memory_stats();
        assert!(stats.queued_host <= stats.prefetch, "{stats:?}");
    }
    assert_eq!(w.item::<f64>().unwrap(), 64.0);
    let after = memory_stats();
    if !matches!(engine().mode(), Mode::Seeded(_)) {
        // The allowance, the current batch, and what the products need; in a random order also results deferred for
        // later.
        assert!(after.peak <= before.live + after.prefetch + 16 * MIB, "{after:?}");
    }
    assert_eq!(after.queued_host, 0);
    let held = after.held_by_host.times - before.held_by_host.times;
    match engine().mode() {
        Mode::Sync => assert_eq!(held, 0, "there every step runs before the next begins"),
        _ => assert!(held > 0 && after.held_by_host.time > before.held_by_host.time),
    }
}

#[test]
fn arrays_that_the_program_holds_do_not_block() {
    let _alone = alone();
    let before = memory_stats().held_by_host.times;
    let batch = vec![1.0f32; MIB];
    let data: Vec<Array> = (0..20).map(|_| array(&batch, [1024, 1024])).collect();
    let sums: Vec<Array> = data.iter().map(|x| x.sum()).collect();
    assert_eq!(memory_stats().queued_host, 0);
    assert_eq!(memory_stats().held_by_host.times, before);
    assert!(sums.iter().all(|sum| sum.item::<f64>().unwrap() == MIB as f64));
    drop(data);
    assert_eq!(memory_stats().queued_host, 0);
}

#[test]
fn a_blocked_copy_can_be_interrupted() {
    let _alone = alone();
    if *engine().mode() != Mode::Async {
        return;
    }
    let gate = slow(30).sum();
    let batch = vec![1.0f32; MIB];
    let mut sum = zeros([1]);
    while has_host_room(4 * MIB) {
        sum = &sum + (array(&batch, [1024, 1024]) * &gate).mean();
    }
    let error = make_host_room(4 * MIB, &Wait { interrupt: Some(&|| true), ..Wait::default() }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted);
    sum.wait_to_read().unwrap();
    make_host_room(4 * MIB, &Wait { interrupt: Some(&|| true), ..Wait::default() }).unwrap();
}

#[test]
fn a_full_window_blocks_and_can_be_interrupted() {
    let _alone = alone();
    if *engine().mode() != Mode::Async {
        return;
    }
    let before = memory_stats().held_by_window.times;
    let mut y = zeros([64, 128]) + slow(30).sum() * 0.0;
    // More than fit into the window, all of which wait for the products.
    let submitted = (0..20_000).take_while(|_| has_room()).map(|_| y = &y + 1.0).count();
    assert!(submitted > 4000, "{submitted}");
    assert!(memory_stats().queued_records > 4000);
    let error = make_room_with(&Wait { interrupt: Some(&|| true), ..Wait::default() }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted);
    assert_eq!(memory_stats().held_by_window.times, before + 1);
    // A submission that finds the window full waits: nothing is lost.
    let more = 2000;
    for _ in 0..more {
        y = &y + 1.0;
    }
    assert!(memory_stats().held_by_window.times > before + 1);
    let expected = (submitted + more) as f64;
    assert!(y.to_vec::<f64>().unwrap().into_iter().all(|grown| grown == expected));
}

/// Runs steps of a training loop; returns the peak of live bytes beyond those before.
fn train(steps: usize, wait: bool) -> usize {
    let mut w = normal([512, 128]) * 0.01;
    wait_all().unwrap();
    reset_peak();
    let before = memory_stats().live;
    for _ in 0..steps {
        let x = normal([1024, 512]);
        let y = x.matmul(&w);
        w = &w - &(x.t().matmul(&y) * 1e-6);
        if wait {
            w.wait_to_read().unwrap();
        }
    }
    wait_all().unwrap();
    memory_stats().peak - before
}

#[test]
fn running_ahead_costs_no_memory() {
    let _alone = alone();
    let workers = engine().workers();
    for count in [2, 4] {
        engine().set_workers(count);
        let (waiting, ahead) = (train(20, true), train(200, false));
        // The draws of two steps, of 2 MiB each, and a margin.
        assert!(ahead <= waiting + 5 * MIB, "{count} workers: {ahead} bytes ahead, {waiting} waiting");
    }
    engine().set_workers(workers);
}

#[test]
fn a_failed_allocation_names_the_largest_holder() {
    let _alone = alone();
    let (kept, line) = (ones([4096, 1024]), line!());
    kept.wait_to_read().unwrap();
    let error = zeros([1 << 44]).wait_to_read().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory);
    let text = error.to_string();
    assert!(text.starts_with("full: cannot allocate 70368744177664 bytes; of "), "{text}");
    assert!(text.contains("16777216 are held by 1 array of full at"), "{text}");
    assert!(text.contains(&format!("memory.rs:{line}")), "{text}");
    assert!(wait_all().is_ok(), "the failure was seen");
}
