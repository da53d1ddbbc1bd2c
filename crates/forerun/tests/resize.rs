//! Changing the number of threads while they work: from any thread, with the same bits, and never more threads than
//! requested.

use forerun::runtime::{Mode, engine, num_threads, set_num_threads};
use forerun::{Array, normal, seed, wait_all};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The number of threads is process-wide, so one test runs at a time.
static ONE: Mutex<()> = Mutex::new(());

fn is_async() -> bool {
    *engine().mode() == Mode::Async
}

/// Products, reductions and pointwise chains, large enough to be split, and small ones.
fn program() -> Vec<u64> {
    seed(7);
    let x = normal([300, 300]);
    let mut y = x.clone();
    let mut sums: Vec<Array> = Vec::new();
    for _ in 0..12 {
        y = (y.matmul(&x) * 0.01).tanh() + &x;
        sums.push(y.sum());
        sums.push((&y.sum() * 2.0) - 1.0);
    }
    let large = normal([1 << 20]).exp();
    sums.push((&large * &large).sum());
    sums.iter().map(|sum| sum.item::<f64>().unwrap().to_bits()).collect()
}

/// The engine's threads, by their names.
#[cfg(target_os = "linux")]
fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.starts_with("forerun-")).count()
}

#[test]
fn values_do_not_depend_on_the_number_of_threads() {
    let _one = ONE.lock().unwrap();
    let before = set_num_threads(1).unwrap();
    let expected = program();
    for count in [4, 2, 1, 3] {
        set_num_threads(count).unwrap();
        assert_eq!(num_threads(), if is_async() { count } else { 1 });
        assert_eq!(program(), expected, "{count} threads");
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Under load, from another thread.
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for count in [1, 4, 2] {
                    set_num_threads(count).unwrap();
                    std::thread::sleep(Duration::from_micros(300));
                }
            }
        });
        for _ in 0..6 {
            assert_eq!(program(), expected);
        }
        stop.store(true, Ordering::Relaxed);
    });
    set_num_threads(before).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn threads_come_and_go() {
    let _one = ONE.lock().unwrap();
    if !is_async() {
        return;
    }
    let before = num_threads();
    let x = normal([400, 400]);
    x.wait_to_read().unwrap();
    let patient = |what: &dyn Fn() -> bool| {
        for _ in 0..2000 {
            if what() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        false
    };
    for count in [1, 4, 2, 5, 1] {
        set_num_threads(count).unwrap();
        // Surplus threads may be busy at first.
        assert!(patient(&|| threads() <= count), "{} threads are there, {count} were asked for", threads());
        let kept: Vec<Array> = (0..200).map(|_| x.matmul(&x)).collect();
        assert!(patient(&|| threads() == count), "{} threads are there, {count} were asked for", threads());
        wait_all().unwrap();
        assert!(threads() <= count);
        drop(kept);
    }
    set_num_threads(before).unwrap();
}

#[test]
fn at_least_one_thread_is_required() {
    let error = set_num_threads(0).unwrap_err();
    assert_eq!(error.to_string(), "set_num_threads: threads must be at least 1, got 0");
}
