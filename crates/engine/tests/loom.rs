//! The lock-free modules under the model checker: every interleaving, and every value that a relaxed load may return.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p forerun-engine --test loom --release`. The modules are the shipped
//! sources.
#![cfg(loom)]
#![allow(dead_code, unused_imports, missing_docs, unreachable_pub)]

#[path = "../src/asymmetric.rs"]
mod asymmetric;
#[path = "../src/edges.rs"]
mod edges;
#[path = "../src/job.rs"]
mod job;
#[path = "../src/parker.rs"]
mod parker;
#[path = "../src/ring.rs"]
mod ring;
#[path = "../src/sleep.rs"]
mod sleep;
#[path = "../src/state.rs"]
mod state;
#[path = "../src/stats.rs"]
mod stats;
#[path = "../src/sync.rs"]
mod sync;
#[path = "../src/waiters.rs"]
mod waiters;

use edges::{Edge, Join, Successors};
use job::Jobs;
use loom::thread;
use parker::Parker;
use ring::{Full, Ring};
use sleep::Sleep;
use state::{Status, ValueState};
use stats::{Counter, ParkCounters};
use sync::{Arc, AtomicUsize, Ordering, UnsafeCell};
use waiters::Waiters;

/// Plain memory whose races the model checker detects.
struct Plain(UnsafeCell<u32>);

// SAFETY: the tests check whether accesses are ordered; loom fails the test if they are not.
unsafe impl Sync for Plain {}
// SAFETY: a number may move between threads.
unsafe impl Send for Plain {}

impl Plain {
    fn new() -> Plain {
        Plain(UnsafeCell::new(0))
    }

    fn write(&self, value: u32) {
        // SAFETY: checked by loom.
        self.0.with_mut(|p| unsafe { *p = value });
    }

    fn read(&self) -> u32 {
        // SAFETY: checked by loom.
        self.0.with(|p| unsafe { *p })
    }
}

/// A model with at most this many preemptions: two find nearly all bugs, and keep larger models feasible.
fn bounded(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

#[test]
fn a_published_value_carries_its_buffer() {
    loom::model(|| {
        let shared = Arc::new((ValueState::new(), Plain::new()));
        let writer = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            writer.1.write(7);
            writer.0.publish(1, Status::Ready);
        });
        assert_eq!(shared.0.load(2), Status::Pending);
        if shared.0.load(1) == Status::Ready {
            assert_eq!(shared.1.read(), 7);
        }
        thread.join().unwrap();
        assert_eq!(shared.0.load(1), Status::Ready);
    });
}

#[test]
fn the_ring_transfers_slots_in_both_directions() {
    bounded(3, || {
        let ring = Arc::new(Ring::<u64>::new(2));
        let producer = Arc::clone(&ring);
        let thread = thread::spawn(move || {
            for item in 0..3 {
                // SAFETY: this is the only producer.
                while unsafe { producer.push(item) } == Err(Full) {
                    thread::yield_now();
                }
            }
        });
        let mut seen = 0;
        while seen < 3 {
            let (head, tail) = (ring.head(), ring.tail());
            assert!(head <= tail && tail - head <= 2);
            for index in head..tail {
                // SAFETY: the only consumer, between head and tail.
                assert_eq!(unsafe { ring.get(index) }, index);
            }
            // SAFETY: as above; the slots were read.
            unsafe { ring.advance(tail) };
            seen = tail;
            if head == tail {
                thread::yield_now();
            }
        }
        thread.join().unwrap();
    });
}

/// A task reduced to its edges.
struct Node {
    join: Join,
    edges: [Edge<Node>; 2],
    successors: Successors<Node>,
    value: Plain,
    ready: AtomicUsize,
}

// SAFETY: edges follow the rules of their module, which loom checks.
unsafe impl Sync for Node {}
// SAFETY: a node may move between threads while it has no edges.
unsafe impl Send for Node {}

impl Node {
    fn new(predecessors: u32) -> Node {
        Node {
            join: Join::new(predecessors + 1),
            edges: [Edge::new(), Edge::new()],
            successors: Successors::new(),
            value: Plain::new(),
            ready: AtomicUsize::new(0),
        }
    }

    fn arrive(&self, count: u32, inputs: &[&Node]) {
        if self.join.arrive(count) {
            assert_eq!(self.ready.fetch_add(1, Ordering::Relaxed), 0, "made ready twice");
            assert_eq!(inputs.iter().map(|input| input.value.read()).sum::<u32>(), 10 * inputs.len() as u32);
        }
    }
}

#[test]
fn a_successor_becomes_ready_once_and_sees_all_its_inputs() {
    loom::model(|| {
        let nodes = Arc::new([Node::new(0), Node::new(0), Node::new(2)]);
        let finishers: Vec<_> = (0..2)
            .map(|index| {
                let nodes = Arc::clone(&nodes);
                thread::spawn(move || {
                    nodes[index].value.write(10);
                    let visit = |successor: *const Node, _late: bool| {
                        // SAFETY: the nodes live until the end of the model.
                        unsafe { (*successor).arrive(1, &[&nodes[0], &nodes[1]]) };
                    };
                    // SAFETY: each node is closed by one thread.
                    unsafe { nodes[index].successors.close(visit) };
                })
            })
            .collect();
        let mut arrived = 1;
        for index in 0..2 {
            // SAFETY: each edge is used once, and the nodes live until the end of the model.
            if !unsafe { nodes[index].successors.push(&nodes[2].edges[index], &nodes[2], false) } {
                arrived += 1;
            }
        }
        nodes[2].arrive(arrived, &[&nodes[0], &nodes[1]]);
        for finisher in finishers {
            finisher.join().unwrap();
        }
        assert_eq!(nodes[2].ready.load(Ordering::Relaxed), 1);
        assert!(nodes[0].successors.is_closed());
    });
}

/// A device task follows another while two threads enqueue and settle that one: it is enqueued once, and settled once,
/// after the other.
#[test]
fn a_follower_is_enqueued_and_settled_once() {
    loom::model(|| {
        let (before, after) = (Arc::new([Node::new(0), Node::new(0)]), Arc::new([Node::new(1), Node::new(1)]));
        // In each pair, the first node stands for enqueuing, the second for settling.
        let device = {
            let before = Arc::clone(&before);
            thread::spawn(move || {
                before[0].value.write(10);
                // SAFETY: each list is closed once; the nodes live until the end of the model.
                unsafe { before[0].successors.close(|to, late| visit(to, late, false, &before[0])) };
                before[1].value.write(10);
                // SAFETY: each list is closed once; the nodes live until the end of the model.
                unsafe { before[1].successors.close(|to, late| visit(to, late, true, &before[1])) };
            })
        };
        fn visit(to: *const Node, late: bool, settles: bool, from: &Node) {
            assert_eq!(late, settles, "an edge keeps what it stands for");
            // SAFETY: the nodes live until the end of the model.
            unsafe { (*to).arrive(1, &[from]) };
        }
        let mut arrived = [1, 1];
        for stage in 0..2 {
            let edge = &after[stage].edges[0];
            // SAFETY: each edge is used once, and the nodes live until the end of the model.
            arrived[stage] += !unsafe { before[stage].successors.push(edge, &after[stage], stage == 1) } as u32;
        }
        after[0].arrive(arrived[0], &[&before[0]]);
        after[1].arrive(arrived[1], &[&before[1]]);
        device.join().unwrap();
        assert!((0..2).all(|stage| after[stage].ready.load(Ordering::Relaxed) == 1));
    });
}

#[test]
fn two_spawners_push_onto_one_task_while_it_finishes() {
    loom::model(|| {
        let nodes = Arc::new([Node::new(0), Node::new(1), Node::new(1)]);
        let spawner = |index: usize| {
            let nodes = Arc::clone(&nodes);
            thread::spawn(move || {
                // SAFETY: each edge is used once, and the nodes live until the end of the model.
                let pushed = unsafe { nodes[0].successors.push(&nodes[index].edges[0], &nodes[index], false) };
                nodes[index].arrive(if pushed { 1 } else { 2 }, &[&nodes[0]]);
            })
        };
        let spawners = [spawner(1), spawner(2)];
        nodes[0].value.write(10);
        // SAFETY: closed once; the nodes live until the end of the model.
        unsafe { nodes[0].successors.close(|successor, _| (*successor).arrive(1, &[&nodes[0]])) };
        for spawner in spawners {
            spawner.join().unwrap();
        }
        assert!((1..3).all(|index| nodes[index].ready.load(Ordering::Relaxed) == 1));
    });
}

struct Bell {
    sleep: Sleep,
    tail: AtomicUsize,
    counters: ParkCounters,
}

/// A worker that takes submissions until it has seen `wanted`. It starts as searching.
fn serve(bell: &Bell, wanted: usize) {
    let parker = Arc::new(Parker::new());
    loop {
        let seen = bell.tail.load(Ordering::Relaxed);
        if seen >= wanted {
            break;
        }
        bell.sleep.sleep(&parker, None, &bell.counters, || bell.tail.load(Ordering::Relaxed) != seen);
    }
    bell.sleep.end_search(false);
}

fn submit(bell: &Bell) {
    // As a frontend does: a plain store, then the light fence.
    bell.tail.store(bell.tail.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    if bell.sleep.is_quiet() {
        bell.sleep.wake_one(&bell.counters);
    }
}

#[test]
fn a_submission_never_leaves_all_workers_asleep() {
    bounded(3, || {
        let bell =
            Arc::new(Bell { sleep: Sleep::new(false), tail: AtomicUsize::new(0), counters: ParkCounters::default() });
        bell.sleep.begin_search();
        let worker = Arc::clone(&bell);
        let thread = thread::spawn(move || serve(&worker, 2));
        submit(&bell);
        submit(&bell);
        thread.join().unwrap();
    });
}

#[test]
fn one_of_two_workers_notices_a_submission() {
    bounded(3, || {
        let bell =
            Arc::new(Bell { sleep: Sleep::new(false), tail: AtomicUsize::new(0), counters: ParkCounters::default() });
        bell.sleep.begin_search();
        bell.sleep.begin_search();
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let bell = Arc::clone(&bell);
                thread::spawn(move || {
                    serve(&bell, 1);
                    // A worker that has seen it wakes another, as one does that finds more than it can run.
                    bell.sleep.wake_one(&bell.counters);
                })
            })
            .collect();
        submit(&bell);
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

#[test]
fn a_completion_never_leaves_a_waiter_parked() {
    loom::model(|| {
        let shared = Arc::new((Waiters::new(), ValueState::new(), Plain::new(), ParkCounters::default()));
        let completer = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let (waiters, state, value, counters) = &*completer;
            value.write(3);
            state.publish(1, Status::Ready);
            waiters.notify(counters);
        });
        let (waiters, state, value, counters) = &*shared;
        let parker = Arc::new(Parker::new());
        while !state.is_settled(1) {
            waiters.park(&parker, &|| state.is_settled(1), None, counters);
        }
        assert_eq!(value.read(), 3);
        thread.join().unwrap();
    });
}

#[test]
fn two_waiters_wait_for_different_values() {
    bounded(2, || {
        let shared = Arc::new((Waiters::new(), [ValueState::new(), ValueState::new()], ParkCounters::default()));
        let waiters: Vec<_> = (0..2)
            .map(|index| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let (waiters, states, counters) = &*shared;
                    let parker = Arc::new(Parker::new());
                    while !states[index].is_settled(1) {
                        waiters.park(&parker, &|| states[index].is_settled(1), None, counters);
                    }
                })
            })
            .collect();
        for state in &shared.1 {
            state.publish(1, Status::Ready);
            shared.0.notify(&shared.2);
        }
        for waiter in waiters {
            waiter.join().unwrap();
        }
    });
}

#[test]
fn a_split_returns_when_every_piece_was_run_once() {
    bounded(3, || {
        let shared = Arc::new((Jobs::new(), Counter::default(), ParkCounters::default()));
        let helper = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            helper.0.help(usize::MAX, &helper.1, &helper.2, |_| ());
        });
        {
            // On the owner's stack: a helper that is too late would access a dead frame.
            let cells = [Plain::new(), Plain::new(), Plain::new()];
            let piece = |index: usize| cells[index].write(cells[index].read() + 1);
            shared.0.split(3, &piece, &Arc::new(Parker::new()), &shared.2, || ());
            assert!(cells.iter().all(|cell| cell.read() == 1));
        }
        thread.join().unwrap();
    });
}

#[test]
fn two_helpers_join_one_split() {
    bounded(2, || {
        let shared = Arc::new((Jobs::new(), Counter::default(), ParkCounters::default()));
        let helpers: Vec<_> = (0..2)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    shared.0.help(1, &shared.1, &shared.2, |_| ());
                })
            })
            .collect();
        {
            let cells = [Plain::new(), Plain::new()];
            let piece = |index: usize| cells[index].write(cells[index].read() + 1);
            shared.0.split(2, &piece, &Arc::new(Parker::new()), &shared.2, || ());
            assert!(cells.iter().all(|cell| cell.read() == 1));
        }
        for helper in helpers {
            helper.join().unwrap();
        }
    });
}
