//! The memory budget: peak <= max(budget, peak of the sync run), in any order; sources start early only within their
//! allowance.
#![cfg(not(loom))]

mod common;

use common::*;
use forerun_base::Mutex;
use forerun_base::{BytesLedger, Error, Team};
use forerun_engine::{Config, Engine, Mode, Status, TaskRef, TaskSpec, Work};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that are charged while they live, and actually allocated.
struct Buffer {
    bytes: Vec<u8>,
    ledger: Arc<dyn BytesLedger>,
}

impl Buffer {
    fn new(size: usize, ledger: &Arc<dyn BytesLedger>) -> Buffer {
        ledger.charge(size);
        Buffer { bytes: vec![0; size], ledger: Arc::clone(ledger) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.ledger.release(self.bytes.len());
    }
}

/// A value's buffer, freed by its last reader.
struct Output {
    buffer: Mutex<Option<Buffer>>,
    readers: AtomicUsize,
}

struct Node {
    size: usize,
    inputs: Vec<Arc<Output>>,
    output: Arc<Output>,
    done: Arc<Vec<Value>>,
    index: usize,
    ledger: Arc<dyn BytesLedger>,
}

impl Work for Node {
    fn bytes(&self) -> usize {
        self.size
    }

    fn run(&self, _team: &dyn Team) {
        let mut buffer = Buffer::new(self.size, &self.ledger);
        buffer.bytes.fill(self.index as u8);
        *self.output.buffer.lock() = Some(buffer);
        for input in &self.inputs {
            assert!(input.buffer.lock().is_some());
            if input.readers.fetch_sub(1, Ordering::AcqRel) == 1 {
                input.buffer.lock().take();
            }
        }
        if self.output.readers.load(Ordering::Acquire) == 0 {
            self.output.buffer.lock().take();
        }
        self.done[self.index].publish(Status::Ready);
    }

    fn fail(&self, error: Error) {
        panic!("{error}");
    }
}

/// Sizes, and which task reads which.
struct Graph {
    sizes: Vec<usize>,
    inputs: Vec<Vec<u32>>,
    readers: Vec<usize>,
}

fn wide_graph(tasks: usize, seed: u64) -> Graph {
    let mut random = Random(seed);
    let mut inputs = Vec::new();
    for task in 0..tasks as u64 {
        // Mostly independent pairs and triples, so that nearly everything is ready at once.
        let count = if task < 2 { 0 } else { random.below(3) };
        let mut from: Vec<u32> = (0..count).map(|_| (task - 1 - random.below(task.min(30))) as u32).collect();
        from.sort_unstable();
        from.dedup();
        inputs.push(from);
    }
    let mut readers = vec![0; tasks];
    inputs.iter().flatten().for_each(|&input| readers[input as usize] += 1);
    let sizes = (0..tasks).map(|_| [0, 100, 1000, 5000, 20_000][random.below(5) as usize]).collect();
    Graph { sizes, inputs, readers }
}

/// Runs the graph and returns the peak; with `sync`, waits after each task as the sync mode does.
fn peak(engine: &Engine, graph: &Graph, sync: bool) -> usize {
    let ledger = engine.ledger();
    let done: Arc<Vec<Value>> = Arc::new(graph.sizes.iter().map(|_| Value::default()).collect());
    let output = |&readers: &usize| Arc::new(Output { buffer: Mutex::new(None), readers: AtomicUsize::new(readers) });
    let outputs: Vec<Arc<Output>> = graph.readers.iter().map(output).collect();
    let mut recent: VecDeque<TaskRef> = VecDeque::new();
    for (index, inputs) in graph.inputs.iter().enumerate() {
        let first = index - recent.len();
        let predecessors: Vec<TaskRef> = inputs.iter().map(|&p| recent[p as usize - first].clone()).collect();
        let work = Node {
            size: graph.sizes[index],
            inputs: inputs.iter().map(|&input| Arc::clone(&outputs[input as usize])).collect(),
            output: Arc::clone(&outputs[index]),
            done: Arc::clone(&done),
            index,
            ledger: Arc::clone(&ledger),
        };
        let spec = TaskSpec { work: Box::new(work), source: inputs.is_empty() };
        let task = engine.spawn(spec, &predecessors);
        if sync {
            wait_value(engine, &done[index], task.age());
        }
        recent.push_back(task);
        if recent.len() > 30 {
            recent.pop_front();
        }
    }
    wait_all(engine);
    assert_eq!(engine.budget().live, 0);
    engine.budget().peak
}

#[test]
fn the_peak_is_bounded_by_the_budget_or_the_sync_run() {
    for seed in 0..6 {
        let graph = wide_graph(500, seed);
        let sync = peak(&engine_with(Config { mode: Mode::Sync, ..Config::default() }), &graph, true);
        let unlimited = Config { prefetch: usize::MAX, ..Config::default() };
        let free = peak(&engine_with(Config { mode: Mode::Seeded(seed), ..unlimited.clone() }), &graph, false);
        assert!(free > sync, "the graph must be wide enough to show something: {free} <= {sync}");
        for budget in [0, sync / 4, sync, 2 * sync] {
            let budgeted = Config { budget: Some(budget), ..unlimited.clone() };
            let bound = budget.max(sync);
            for mode in [Mode::Seeded(seed), Mode::Async] {
                for workers in [1, 4] {
                    let engine = engine_with(Config { mode: mode.clone(), workers, ..budgeted.clone() });
                    let peak = peak(&engine, &graph, false);
                    assert!(peak <= bound, "{mode:?}, budget {budget}, sync {sync}: peak {peak}");
                    if budget == 2 * sync {
                        assert!(peak > 0);
                    }
                }
            }
        }
    }
}

#[test]
fn a_large_budget_defers_no_task() {
    let graph = wide_graph(2000, 77);
    let engine = engine_with(Config { workers: 2, budget: Some(1 << 40), prefetch: usize::MAX, ..Config::default() });
    peak(&engine, &graph, false);
    assert_eq!(engine.stats().deferred, 0);
}

#[test]
fn sources_start_early_only_within_the_allowance() {
    // A first task that the random order defers, then many sources.
    let config = Config { mode: Mode::Seeded(3), prefetch: 3000, budget: Some(1 << 40), ..Config::default() };
    let engine = engine_with(config);
    let (started, first_ran) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
    let flag = Arc::clone(&first_ran);
    let first = engine.spawn(
        call(move |_| {
            flag.store(1, Ordering::Relaxed);
        }),
        &[],
    );
    for index in 0..50 {
        let (started, first_ran) = (Arc::clone(&started), Arc::clone(&first_ran));
        let run = move |_: &dyn Team| started.lock().push((index, first_ran.load(Ordering::Relaxed)));
        engine.spawn(TaskSpec { work: Box::new(Call(1000, run)), source: true }, &[]);
    }
    wait_all(&engine);
    let before = started.lock().iter().filter(|(_, first)| *first == 0).count();
    assert!(before <= 3, "{before} sources started before the oldest task");
    assert!(first.is_done());
    assert_eq!(started.lock().len(), 50);
}

/// A source of some line.
struct Source<F: Fn() + Send + Sync> {
    size: usize,
    line: u32,
    run: F,
}

impl<F: Fn() + Send + Sync> Work for Source<F> {
    fn bytes(&self) -> usize {
        self.size
    }

    fn run(&self, _team: &dyn Team) {
        (self.run)();
    }

    fn fail(&self, error: Error) {
        panic!("{error}");
    }

    fn line(&self) -> u32 {
        self.line
    }
}

/// Sources of lines 1 and 2, spawned alternately: exactly `expected` of each start while an older task is unfinished.
fn start_ahead(size: usize, expected: [usize; 2]) {
    let config = Config { workers: 2, prefetch: usize::MAX, budget: Some(1 << 40), ..Config::default() };
    let engine = engine_with(config);
    let started = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let go = Arc::new(AtomicUsize::new(0));
    let wait_for = Arc::clone(&go);
    engine.spawn(
        call(move |_| {
            while wait_for.load(Ordering::Acquire) == 0 {
                std::thread::yield_now();
            }
        }),
        &[],
    );
    for index in 0..40 {
        let started = Arc::clone(&started);
        let run = move || {
            started[index % 2].fetch_add(1, Ordering::Release);
        };
        let work = Source { size, line: 1 + (index % 2) as u32, run };
        engine.spawn(TaskSpec { work: Box::new(work), source: true }, &[]);
    }
    let counts = || [started[0].load(Ordering::Acquire), started[1].load(Ordering::Acquire)];
    let start = std::time::Instant::now();
    while counts() != expected && start.elapsed().as_secs() < 10 {
        std::thread::yield_now();
    }
    std::thread::sleep(std::time::Duration::from_millis(30));
    assert_eq!(counts(), expected);
    go.store(1, Ordering::Release);
    wait_all(&engine);
    assert_eq!(counts(), [20, 20]);
}

#[test]
fn a_loop_draws_one_iteration_ahead_unless_draws_are_small() {
    start_ahead(3 << 20, [1, 1]);
    start_ahead(1000, [20, 20]);
}

#[test]
fn raising_the_limit_starts_deferred_tasks() {
    let engine = engine_with(Config { workers: 2, budget: Some(10), ..Config::default() });
    let (go, ran) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (wait_for, count) = (Arc::clone(&go), Arc::clone(&ran));
    engine.spawn(
        call(move |_| {
            while wait_for.load(Ordering::Acquire) == 0 {
                std::thread::yield_now();
            }
        }),
        &[],
    );
    let run = move |_: &dyn Team| {
        count.fetch_add(1, Ordering::Release);
    };
    engine.spawn(TaskSpec { work: Box::new(Call(1000, run)), source: false }, &[]);
    std::thread::sleep(std::time::Duration::from_millis(30));
    assert_eq!(ran.load(Ordering::Acquire), 0);
    engine.set_budget(2000);
    let start = std::time::Instant::now();
    while ran.load(Ordering::Acquire) == 0 {
        assert!(start.elapsed().as_secs() < 10);
        std::thread::yield_now();
    }
    go.store(1, Ordering::Release);
    wait_all(&engine);
}
