//! Device tasks: when they are enqueued, when they settle, and what happens without memory. The device is a table that
//! the test advances by hand.

mod common;

use common::{call, engine};
use forerun_base::{Error, Team};
use forerun_engine::{
    Driver, Engine, Enqueued, Fed, LaneTicket, Mode, Need, TaskRef, TaskSpec, WaitOptions, WaitTarget, Work,
};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Two lanes: the last ticket of each, and how far it has come.
#[derive(Default)]
struct Table {
    state: Mutex<([u64; 2], [u64; 2], bool)>,
    moved: Condvar,
}

impl Table {
    fn tell(&self, lane: usize) -> LaneTicket {
        let mut state = self.state.lock();
        state.0[lane] += 1;
        LaneTicket { lane, number: state.0[lane] }
    }

    fn last_ticket(&self) -> [u64; 2] {
        self.state.lock().0
    }

    fn pass(&self, lane: usize, number: u64) {
        self.state.lock().1[lane] = number;
        self.moved.notify_all();
    }
}

impl Driver for Table {
    fn lanes(&self) -> usize {
        2
    }

    fn passed(&self, lane: usize) -> u64 {
        self.state.lock().1[lane]
    }

    fn block(&self, tickets: &[u64], at_most: Duration) {
        let deadline = Instant::now() + at_most;
        let mut state = self.state.lock();
        while !state.2 && !(0..2).any(|lane| tickets[lane] > 0 && state.1[lane] >= tickets[lane]) {
            if self.moved.wait_until(&mut state, deadline).timed_out() {
                break;
            }
        }
        state.2 = false;
    }

    fn nudge(&self) {
        self.state.lock().2 = true;
        self.moved.notify_all();
    }
}

/// The observed outcome of a task.
#[derive(Default)]
struct Fate {
    enqueued: AtomicUsize,
    settled: AtomicBool,
    failed: Mutex<Option<String>>,
}

struct OnLane {
    table: Arc<Table>,
    lane: usize,
    fate: Arc<Fate>,
    /// Number of times it finds no memory.
    hungry: AtomicUsize,
}

impl Work for OnLane {
    fn bytes(&self) -> usize {
        16
    }

    fn run(&self, _team: &dyn Team) {
        panic!("tasks of devices are enqueued");
    }

    fn fail(&self, error: Error) {
        *self.fate.failed.lock() = Some(error.to_string());
    }

    fn enqueue(&self) -> Enqueued {
        if self.hungry.load(Ordering::Relaxed) > 0 {
            self.hungry.fetch_sub(1, Ordering::Relaxed);
            return Enqueued::NoMemory;
        }
        self.fate.enqueued.fetch_add(1, Ordering::Relaxed);
        Enqueued::Ticket(self.table.tell(self.lane))
    }

    fn settle(&self) {
        self.fate.settled.store(true, Ordering::Release);
    }
}

struct Bench {
    engine: Arc<Engine>,
    table: Arc<Table>,
}

impl Bench {
    fn new(mode: Mode) -> Bench {
        let engine = engine(mode, 2);
        let table = Arc::new(Table::default());
        engine.add_device(0, table.clone(), 1 << 20);
        Bench { engine, table }
    }

    fn spawn(&self, lane: usize, hungry: usize, after: &[(TaskRef, Need)]) -> (TaskRef, Arc<Fate>) {
        let fate = Arc::new(Fate::default());
        let hungry = AtomicUsize::new(hungry);
        let work = OnLane { table: self.table.clone(), lane, fate: fate.clone(), hungry };
        (self.engine.spawn_on(0, TaskSpec { work: Box::new(work), source: false }, after), fate)
    }
}

/// Polls with a timeout: the expected event happens on another thread.
#[track_caller]
fn soon(what: &str, mut happened: impl FnMut() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::yield_now();
    }
}

fn a_little_later() {
    std::thread::sleep(Duration::from_millis(20));
}

#[test]
fn followers_are_enqueued_before_anything_has_passed() {
    let bench = Bench::new(Mode::Async);
    let (first, one) = bench.spawn(0, 0, &[]);
    let (second, two) = bench.spawn(1, 0, &[(first.clone(), Need::Enqueued)]);
    let ran = Arc::new(AtomicBool::new(false));
    let seen = ran.clone();
    let host = bench.engine.spawn(call(move |_| seen.store(true, Ordering::Release)), std::slice::from_ref(&second));
    let (late, three) = bench.spawn(0, 0, &[(host.clone(), Need::Settled)]);
    soon("both are enqueued", || bench.table.last_ticket() == [1, 1]);
    // The second lane is faster, but its task follows one that may still fail.
    bench.table.pass(1, 1);
    a_little_later();
    assert!(!one.settled.load(Ordering::Acquire) && !two.settled.load(Ordering::Acquire));
    assert!(!ran.load(Ordering::Acquire) && three.enqueued.load(Ordering::Relaxed) == 0);
    bench.table.pass(0, 1);
    soon("the last is enqueued", || bench.table.last_ticket() == [2, 1]);
    assert!(two.settled.load(Ordering::Acquire) && ran.load(Ordering::Acquire) && first.is_done() && host.is_done());
    bench.table.pass(0, 2);
    soon("the last settles", || late.is_done());
    assert_eq!(bench.engine.in_flight(), 0);
}

#[test]
fn a_task_without_memory_waits_for_outstanding_tasks() {
    let bench = Bench::new(Mode::Async);
    let (_first, _) = bench.spawn(0, 0, &[]);
    soon("the first is enqueued", || bench.table.last_ticket() == [1, 0]);
    let (second, two) = bench.spawn(0, 1, &[]);
    a_little_later();
    assert_eq!(two.enqueued.load(Ordering::Relaxed), 0, "nothing is given back yet");
    bench.table.pass(0, 1);
    soon("the second is enqueued", || bench.table.last_ticket() == [2, 0]);
    bench.table.pass(0, 2);
    soon("the second settles", || second.is_done());
    assert!(two.failed.lock().is_none());
    let (third, three) = bench.spawn(0, usize::MAX, &[]);
    soon("the third fails", || third.is_done());
    assert!(three.failed.lock().as_ref().unwrap().contains("out of memory"));
}

struct Done(TaskRef);

impl WaitTarget for Done {
    fn done(&self) -> bool {
        self.0.is_done()
    }

    fn age_limit(&self) -> u64 {
        self.0.age()
    }

    fn feed(&self, _engine: &Engine) -> Fed {
        Fed::Empty
    }
}

/// Without threads the waiter enqueues, and notices what has passed.
#[test]
fn a_waiter_does_everything_in_modes_without_threads() {
    for mode in [Mode::Sync, Mode::Seeded(3)] {
        let bench = Bench::new(mode);
        let (first, _) = bench.spawn(0, 0, &[]);
        let (second, two) = bench.spawn(1, 0, &[(first, Need::Enqueued)]);
        let table = bench.table.clone();
        let device = std::thread::spawn(move || {
            soon("both are enqueued", || table.last_ticket() == [1, 1]);
            table.pass(0, 1);
            a_little_later();
            table.pass(1, 1);
        });
        bench.engine.wait(&Done(second), WaitOptions::default()).unwrap();
        assert!(two.settled.load(Ordering::Acquire));
        device.join().unwrap();
    }
}
