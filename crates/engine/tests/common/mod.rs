//! Shared by the tests: values computed by tasks, random graphs of them, and their serial computation.
#![allow(dead_code, missing_docs, unreachable_pub, reason = "shared by test files, each of which uses its part")]

use forerun_base::{Error, Team};
use forerun_engine::{
    Config, Engine, Fed, Feeder, Mode, Status, TaskRef, TaskSpec, ValueState, WaitOptions, WaitTarget, Work,
};
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::sync::Arc;

/// Feeds nothing: tests spawn directly.
pub struct NoFeeder;

impl Feeder for NoFeeder {
    fn feed(&self, _engine: &Engine) -> Fed {
        Fed::Empty
    }

    fn has_work(&self) -> bool {
        false
    }
}

pub fn engine(mode: Mode, workers: usize) -> Arc<Engine> {
    engine_with(Config { mode, workers, ..Config::default() })
}

pub fn engine_with(config: Config) -> Arc<Engine> {
    Engine::new(config, Arc::new(NoFeeder))
}

/// A value as plain memory beside its state word: missing ordering between tasks is a data race that sanitizers detect.
#[derive(Default)]
pub struct Value {
    pub state: ValueState,
    number: UnsafeCell<u64>,
    pub error: UnsafeCell<Option<Error>>,
}

// SAFETY: one task writes it before the word is published, and it is read after the word or an edge says so.
unsafe impl Sync for Value {}

impl Value {
    pub fn read(&self) -> u64 {
        // SAFETY: readers come after the writer (see above), which is what the tests check.
        unsafe { *self.number.get() }
    }

    pub fn write(&self, number: u64) {
        // SAFETY: one task writes, before any thread reads.
        unsafe { *self.number.get() = number };
    }

    pub fn publish(&self, status: Status) {
        self.state.publish(1, status);
    }

    pub fn status(&self) -> Status {
        self.state.load(1)
    }
}

/// Waits for one value, whose task has this age.
pub struct ValueTarget<'a>(pub &'a Value, pub u64);

impl WaitTarget for ValueTarget<'_> {
    fn done(&self) -> bool {
        self.0.state.is_settled(1)
    }

    fn age_limit(&self) -> u64 {
        self.1
    }

    fn feed(&self, _engine: &Engine) -> Fed {
        Fed::Empty
    }
}

/// Waits until nothing is in flight.
pub struct All<'a>(pub &'a Engine);

impl WaitTarget for All<'_> {
    fn done(&self) -> bool {
        self.0.in_flight() == 0
    }

    fn age_limit(&self) -> u64 {
        u64::MAX
    }

    fn feed(&self, _engine: &Engine) -> Fed {
        Fed::Empty
    }
}

pub fn wait_all(engine: &Engine) {
    engine.wait(&All(engine), WaitOptions::default()).unwrap();
}

pub fn wait_value(engine: &Engine, value: &Value, age: u64) {
    engine.wait(&ValueTarget(value, age), WaitOptions::default()).unwrap();
}

/// Work that calls a closure.
pub struct Call<F: Fn(&dyn Team) + Send + Sync>(pub usize, pub F);

impl<F: Fn(&dyn Team) + Send + Sync> Work for Call<F> {
    fn bytes(&self) -> usize {
        self.0
    }

    fn run(&self, team: &dyn Team) {
        (self.1)(team);
    }

    fn fail(&self, _error: Error) {}
}

pub fn call(run: impl Fn(&dyn Team) + Send + Sync + 'static) -> TaskSpec {
    TaskSpec { work: Box::new(Call(0, run)), source: false }
}

pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The predecessors of each task: up to six among the few hundred before it, mostly close.
pub fn random_graph(tasks: usize, seed: u64) -> Vec<Vec<u32>> {
    let mut random = Random(seed);
    (0..tasks)
        .map(|task| {
            let count = [0, 1, 1, 2, 2, 3, 6][random.below(7) as usize];
            let reach = if random.below(8) == 0 { 400 } else { 12 };
            (0..count.min(task)).map(|_| (task as u64 - 1 - random.below(reach.min(task as u64))) as u32).collect()
        })
        .collect()
}

pub fn combine(task: usize, inputs: impl Iterator<Item = u64>) -> u64 {
    inputs.fold(mix(task as u64), |sum, input| mix(sum ^ input))
}

/// Computes the graph serially.
pub fn serial(graph: &[Vec<u32>]) -> Vec<u64> {
    let mut values = Vec::with_capacity(graph.len());
    for (task, inputs) in graph.iter().enumerate() {
        let value = combine(task, inputs.iter().map(|&input| values[input as usize]));
        values.push(value);
    }
    values
}

struct Node {
    graph: Arc<Vec<Vec<u32>>>,
    values: Arc<Vec<Value>>,
    task: usize,
}

impl Work for Node {
    fn bytes(&self) -> usize {
        0
    }

    fn run(&self, _team: &dyn Team) {
        let inputs = self.graph[self.task].iter().map(|&input| self.values[input as usize].read());
        self.values[self.task].write(combine(self.task, inputs));
        self.values[self.task].publish(Status::Ready);
    }

    fn fail(&self, error: Error) {
        panic!("{error}");
    }
}

/// Spawns the whole graph; `after` is called after each task with its index and reference.
pub fn spawn_graph(
    engine: &Engine,
    graph: &Arc<Vec<Vec<u32>>>,
    mut after: impl FnMut(usize, &TaskRef, &[Value]),
) -> Arc<Vec<Value>> {
    let values: Arc<Vec<Value>> = Arc::new((0..graph.len()).map(|_| Value::default()).collect());
    let mut recent: VecDeque<TaskRef> = VecDeque::new();
    for task in 0..graph.len() {
        let first = task - recent.len();
        let predecessors: Vec<TaskRef> = graph[task].iter().map(|&p| recent[p as usize - first].clone()).collect();
        let work = Node { graph: Arc::clone(graph), values: Arc::clone(&values), task };
        let spawned = engine.spawn(TaskSpec { work: Box::new(work), source: false }, &predecessors);
        after(task, &spawned, &values);
        recent.push_back(spawned);
        if recent.len() > 400 {
            recent.pop_front();
        }
    }
    values
}

pub fn assert_same(values: &[Value], expected: &[u64]) {
    for (task, (value, &expected)) in values.iter().zip(expected).enumerate() {
        assert_eq!(value.status(), Status::Ready, "task {task}");
        assert_eq!(value.read(), expected, "task {task}");
    }
}

/// Number of tasks of the large graphs: `FORERUN_TEST_TASKS`, or a default.
pub fn many_tasks() -> usize {
    std::env::var("FORERUN_TEST_TASKS").ok().and_then(|text| text.parse().ok()).unwrap_or(100_000)
}
