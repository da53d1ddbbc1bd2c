//! Waiting: helping, age limits, panics, interrupts, feeders, waking, shutdown.
#![cfg(not(loom))]

mod common;

use common::*;
use forerun_base::{Error, ErrorKind, Loc, Team};
use forerun_engine::{Config, Engine, Fed, Feeder, Mode, Status, TaskSpec, WaitOptions, WaitTarget, Work};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[test]
fn waiting_for_an_intermediate_runs_nothing_younger() {
    let engine = engine(Mode::Sync, 1);
    let ran = Arc::new(AtomicUsize::new(0));
    let values: Arc<Vec<Value>> = Arc::new((0..10).map(|_| Value::default()).collect());
    let tasks: Vec<_> = (0..10)
        .map(|i| {
            let (ran, values) = (Arc::clone(&ran), Arc::clone(&values));
            let run = move |_: &dyn Team| {
                ran.fetch_add(1, Ordering::Relaxed);
                values[i].publish(Status::Ready);
            };
            engine.spawn(call(run), &[])
        })
        .collect();
    wait_value(&engine, &values[3], tasks[3].age());
    assert_eq!(ran.load(Ordering::Relaxed), 4);
    assert!(tasks[3].is_done() && !tasks[4].is_done());
    wait_all(&engine);
    assert_eq!(ran.load(Ordering::Relaxed), 10);
}

#[test]
fn a_task_must_not_wait() {
    let engine = engine(Mode::Async, 1);
    let kind = Arc::new(forerun_base::Mutex::new(None));
    let (inner, seen) = (Arc::clone(&engine), Arc::clone(&kind));
    let first = engine.spawn(
        call(move |_| {
            let never = Value::default();
            let result = inner.wait(&ValueTarget(&never, 0), WaitOptions::default());
            *seen.lock() = result.err().map(|error| error.kind());
        }),
        &[],
    );
    wait_all(&engine);
    assert!(first.is_done());
    assert_eq!(*kind.lock(), Some(ErrorKind::Runtime));
}

struct Panics(Arc<Value>);

impl Work for Panics {
    fn bytes(&self) -> usize {
        0
    }

    fn run(&self, _team: &dyn Team) {
        panic!("index {} out of range", 7);
    }

    fn fail(&self, error: Error) {
        // SAFETY: this is the value's only writer, before it is published.
        unsafe { *self.0.error.get() = Some(error) };
        self.0.publish(Status::Failed);
    }
}

#[test]
fn a_panic_fails_the_task_and_the_next_one_runs() {
    for mode in [Mode::Async, Mode::Sync] {
        let engine = engine(mode, 2);
        let value = Arc::new(Value::default());
        let task = engine.spawn(TaskSpec { work: Box::new(Panics(Arc::clone(&value))), source: false }, &[]);
        let after = Arc::new(AtomicBool::new(false));
        let ran = Arc::clone(&after);
        engine.spawn(call(move |_| ran.store(true, Ordering::Relaxed)), std::slice::from_ref(&task));
        wait_value(&engine, &value, task.age());
        assert_eq!(value.status(), Status::Failed);
        // SAFETY: published above.
        let error = unsafe { (*value.error.get()).clone() }.unwrap();
        assert_eq!(error.kind(), ErrorKind::Runtime);
        assert_eq!(error.to_string(), "kernel panicked: index 7 out of range");
        wait_all(&engine);
        assert!(after.load(Ordering::Relaxed));
    }
}

#[test]
fn pieces_are_each_run_once_and_panics_reach_the_owner() {
    let engine = engine(Mode::Async, 4);
    for pieces in [0, 1, 2, 7, 100] {
        let counts: Arc<Vec<AtomicUsize>> = Arc::new((0..pieces).map(|_| AtomicUsize::new(0)).collect());
        let seen = Arc::clone(&counts);
        engine.spawn(
            call(move |team| {
                team.split(seen.len(), &|i| {
                    // A nested split.
                    team.split(3, &|_| {
                        seen[i].fetch_add(1, Ordering::Relaxed);
                    });
                });
            }),
            &[],
        );
        wait_all(&engine);
        assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 3));
    }
    let done = Arc::new(AtomicUsize::new(0));
    let caught = Arc::new(AtomicBool::new(false));
    let (count, flag) = (Arc::clone(&done), Arc::clone(&caught));
    engine.spawn(
        call(move |team| {
            let split = std::panic::AssertUnwindSafe(|| {
                team.split(20, &|i| {
                    if i == 5 {
                        panic!("piece 5");
                    }
                    count.fetch_add(1, Ordering::Relaxed);
                });
            });
            flag.store(std::panic::catch_unwind(split).is_err(), Ordering::Relaxed);
        }),
        &[],
    );
    wait_all(&engine);
    assert_eq!(done.load(Ordering::Relaxed), 19);
    assert!(caught.load(Ordering::Relaxed));
}

#[test]
fn pieces_run_on_several_threads_but_never_on_more_than_there_are_slots() {
    let engine = engine(Mode::Async, 2);
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let ids = Arc::new(forerun_base::Mutex::new(std::collections::HashSet::new()));
    for _ in 0..20 {
        let (running, most, ids) = (Arc::clone(&running), Arc::clone(&most), Arc::clone(&ids));
        engine.spawn(
            call(move |team| {
                assert_eq!(team.width(), 2);
                team.split(8, &|_| {
                    most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    ids.lock().insert(std::thread::current().id());
                    std::thread::sleep(Duration::from_millis(1));
                    running.fetch_sub(1, Ordering::SeqCst);
                });
            }),
            &[],
        );
    }
    wait_all(&engine);
    assert_eq!(most.load(Ordering::SeqCst), 2);
    assert!(ids.lock().len() >= 2);
}

#[test]
fn idle_threads_join_a_split() {
    let engine = engine(Mode::Async, 2);
    engine.spawn(call(|team| team.split(40, &|_| std::thread::sleep(Duration::from_millis(1)))), &[]);
    wait_all(&engine);
    let pieces = engine.stats().pieces;
    assert!(0 < pieces && pieces < 40, "{pieces} pieces were run by others than the owner");
}

#[test]
fn without_intra_op_the_team_is_one() {
    let engine = engine_with(Config { workers: 4, intra_op: false, ..Config::default() });
    let (sum, width) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (s, w) = (Arc::clone(&sum), Arc::clone(&width));
    engine.spawn(
        call(move |team| {
            w.store(team.width(), Ordering::Relaxed);
            team.split(10, &|i| {
                s.fetch_add(i, Ordering::Relaxed);
            });
        }),
        &[],
    );
    wait_all(&engine);
    assert_eq!((sum.load(Ordering::Relaxed), width.load(Ordering::Relaxed)), (45, 1));
}

#[test]
fn an_interrupt_ends_the_wait_and_leaves_the_engine_usable() {
    let engine = engine(Mode::Async, 1);
    let (value, go) = (Arc::new(Value::default()), Arc::new(AtomicBool::new(false)));
    let started = Arc::new(AtomicBool::new(false));
    let (v, g, s) = (Arc::clone(&value), Arc::clone(&go), Arc::clone(&started));
    let task = engine.spawn(
        call(move |_| {
            s.store(true, Ordering::Relaxed);
            while !g.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
            v.publish(Status::Ready);
        }),
        &[],
    );
    until(|| started.load(Ordering::Relaxed));
    let asked = AtomicUsize::new(0);
    let interrupt = || asked.fetch_add(1, Ordering::Relaxed) >= 1;
    let options = WaitOptions { interrupt: Some(&interrupt), loc: Loc::caller() };
    let start = Instant::now();
    let error = engine.wait(&ValueTarget(&value, task.age()), options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted);
    assert!(start.elapsed() < Duration::from_secs(1));
    go.store(true, Ordering::Relaxed);
    wait_value(&engine, &value, task.age());
    assert_eq!(value.status(), Status::Ready);
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_interrupts_the_wait_immediately() {
    static SIGNALS: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn note(_signal: libc::c_int) {
        SIGNALS.fetch_add(1, Ordering::SeqCst);
    }
    // SAFETY: installs a handler that only increments a counter.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = note as extern "C" fn(libc::c_int) as usize;
        libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut());
    }
    let engine = engine(Mode::Async, 1);
    let value = Value::default();
    // SAFETY: returns the id of the calling thread.
    let waiter = unsafe { libc::pthread_self() } as usize;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(75));
            // SAFETY: the waiter is alive, because it waits for this signal.
            unsafe { libc::pthread_kill(waiter as libc::pthread_t, libc::SIGUSR1) };
        });
        let interrupt = || SIGNALS.load(Ordering::SeqCst) > 0;
        let options = WaitOptions { interrupt: Some(&interrupt), loc: Loc::UNKNOWN };
        assert!(engine.wait(&ValueTarget(&value, 0), options).is_err());
    });
    assert_eq!(SIGNALS.load(Ordering::SeqCst), 1);
}

/// Spawns one task per submission.
struct Counting {
    submitted: AtomicUsize,
    planned: AtomicUsize,
    ran: Arc<AtomicUsize>,
    too_early: AtomicBool,
}

impl Feeder for Counting {
    fn feed(&self, engine: &Engine) -> Fed {
        if self.too_early.swap(false, Ordering::AcqRel) {
            return Fed::Later(Duration::from_millis(3));
        }
        let planned = self.planned.load(Ordering::Acquire);
        if planned == self.submitted.load(Ordering::Acquire)
            || self.planned.compare_exchange(planned, planned + 1, Ordering::AcqRel, Ordering::Relaxed).is_err()
        {
            return Fed::Empty;
        }
        let ran = Arc::clone(&self.ran);
        engine.spawn(
            call(move |_| {
                ran.fetch_add(1, Ordering::Release);
            }),
            &[],
        );
        Fed::Progress
    }

    fn has_work(&self) -> bool {
        self.planned.load(Ordering::Acquire) != self.submitted.load(Ordering::Acquire)
    }
}

fn until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(20), "it never came to this");
        std::thread::sleep(Duration::from_micros(50));
    }
}

#[test]
fn submissions_wake_sleeping_workers_without_a_waiter() {
    let ran = Arc::new(AtomicUsize::new(0));
    let feeder = Arc::new(Counting {
        submitted: AtomicUsize::new(0),
        planned: AtomicUsize::new(0),
        ran: Arc::clone(&ran),
        too_early: AtomicBool::new(false),
    });
    let engine = Engine::new(Config { workers: 3, ..Config::default() }, feeder.clone());
    let mut random = Random(1);
    for n in 1..=400 {
        feeder.too_early.store(n % 10 == 0, Ordering::Release);
        feeder.submitted.store(n, Ordering::Release);
        engine.submitted();
        if random.below(3) > 0 {
            until(|| ran.load(Ordering::Acquire) == n);
        }
        if n % 20 == 0 {
            // Long enough for all to fall asleep.
            std::thread::sleep(Duration::from_millis(2));
        }
        let pause = Instant::now();
        while pause.elapsed() < Duration::from_micros(random.below(400)) {
            std::hint::spin_loop();
        }
    }
    until(|| ran.load(Ordering::Acquire) == 400);
    assert!(engine.stats().parks > 0 && engine.stats().wakes > 0);
}

/// Planned work is done inline, without a task.
#[derive(Default)]
struct OnTheSpot {
    submitted: AtomicUsize,
    done: AtomicUsize,
}

impl Feeder for OnTheSpot {
    fn feed(&self, _engine: &Engine) -> Fed {
        let submitted = self.submitted.load(Ordering::Acquire);
        if self.done.swap(submitted, Ordering::AcqRel) == submitted { Fed::Empty } else { Fed::Progress }
    }

    fn has_work(&self) -> bool {
        self.done.load(Ordering::Acquire) != self.submitted.load(Ordering::Acquire)
    }
}

/// Waits until this much is done, and plans it itself.
struct Done<'a>(&'a OnTheSpot, usize);

impl WaitTarget for Done<'_> {
    fn done(&self) -> bool {
        self.0.done.load(Ordering::Acquire) >= self.1
    }

    fn age_limit(&self) -> u64 {
        u64::MAX
    }

    fn feed(&self, engine: &Engine) -> Fed {
        self.0.feed(engine)
    }
}

#[test]
fn a_worker_naps_while_waiters_plan_and_still_runs_other_work() {
    for workers in [1, 3] {
        let feeder = Arc::new(OnTheSpot::default());
        let engine = Engine::new(Config { workers, ..Config::default() }, feeder.clone());
        let submit = || {
            let n = feeder.submitted.load(Ordering::Relaxed) + 1;
            feeder.submitted.store(n, Ordering::Release);
            engine.submitted();
            n
        };
        for _ in 0..5 {
            // With several workers, all of them wake.
            engine.split(8, &|_| std::thread::sleep(Duration::from_micros(200)));
            let (start, before) = (Instant::now(), engine.stats());
            let naps = || {
                let now = engine.stats();
                // A nap ends by itself; a sleep ends with a wake.
                (now.parks - before.parks).saturating_sub(now.wakes - before.wakes)
            };
            while naps() < 10 {
                let n = submit();
                engine.wait(&Done(&feeder, n), WaitOptions::default()).unwrap();
                assert!(start.elapsed() < Duration::from_secs(20), "the worker never naps");
            }
            let n = submit();
            until(|| feeder.done.load(Ordering::Acquire) == n);
            let ran = Arc::new(AtomicBool::new(false));
            let runs = Arc::clone(&ran);
            engine.spawn(call(move |_| runs.store(true, Ordering::Release)), &[]);
            until(|| ran.load(Ordering::Acquire));
        }
    }
}

#[test]
fn submitting_to_awake_workers_makes_no_system_call() {
    let ran = Arc::new(AtomicUsize::new(0));
    let feeder = Arc::new(Counting {
        submitted: AtomicUsize::new(0),
        planned: AtomicUsize::new(0),
        ran: Arc::clone(&ran),
        too_early: AtomicBool::new(false),
    });
    let engine = Engine::new(Config { workers: 1, ..Config::default() }, feeder.clone());
    for n in 1..=20_000 {
        feeder.submitted.store(n, Ordering::Release);
        engine.submitted();
    }
    until(|| ran.load(Ordering::Acquire) == 20_000);
    // The submitter may lose its core for longer than the idle time of workers, so a few wakes are allowed.
    assert!(engine.stats().wakes < 200, "{:?}", engine.stats());
}

/// A value that becomes ready outside any task.
struct Flag(AtomicBool);

impl WaitTarget for Flag {
    fn done(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    fn age_limit(&self) -> u64 {
        0
    }

    fn feed(&self, _engine: &Engine) -> Fed {
        Fed::Empty
    }
}

#[test]
fn published_wakes_waiters() {
    let engine = engine(Mode::Async, 1);
    for _ in 0..200 {
        let flag = Flag(AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let waited = engine.wait(&flag, WaitOptions::default()).unwrap();
                assert_eq!(waited.helped, Duration::ZERO);
            });
            std::thread::sleep(Duration::from_micros(60));
            flag.0.store(true, Ordering::Release);
            engine.published();
        });
    }
}

#[test]
fn the_number_of_workers_can_change_while_they_work() {
    let graph = Arc::new(random_graph(20_000, 9));
    let expected = serial(&graph);
    let engine = engine(Mode::Async, 4);
    let values = spawn_graph(&engine, &graph, |task, _, _| {
        if task % 1000 == 0 {
            engine.set_workers(1 + task / 1000 % 4);
        }
    });
    engine.set_workers(1);
    wait_all(&engine);
    assert_same(&values, &expected);
    assert_eq!(engine.workers(), 1);
}

#[test]
fn after_a_shutdown_waiters_run_the_remaining_tasks() {
    let engine = engine(Mode::Async, 2);
    let before = engine.spawn(call(|_| ()), &[]);
    engine.shutdown();
    let graph = Arc::new(random_graph(500, 10));
    let values = spawn_graph(&engine, &graph, |_, _, _| ());
    wait_all(&engine);
    assert!(before.is_done());
    assert_same(&values, &serial(&graph));
}

#[test]
fn dropping_the_engine_fails_unstarted_tasks() {
    let value = Arc::new(Value::default());
    let engine = engine(Mode::Sync, 1);
    let first = engine.spawn(TaskSpec { work: Box::new(Panics(Arc::clone(&value))), source: false }, &[]);
    let second = engine.spawn(call(|_| ()), std::slice::from_ref(&first));
    drop(engine);
    assert_eq!(value.status(), Status::Failed);
    assert!(first.is_done() && second.is_done());
    // SAFETY: published above.
    let error = unsafe { (*value.error.get()).clone() }.unwrap();
    assert!(error.to_string().contains("shut down"));
}
