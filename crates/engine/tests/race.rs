//! All parts at once, on plain memory, for a thread sanitizer: several threads spawn graphs and wait for them, with
//! splits, bytes, a ring with a feeder, sleeping and waking. It fails on a wrong value or, under the sanitizer, on any
//! report.
//!
//! The standard library is not instrumented, so its channels, joins and last drops of `Arc` look like races. This
//! program avoids them: it ends its threads by exiting, and leaks what they share.

#![cfg_attr(loom, allow(unused))]

#[cfg(not(loom))]
mod common;

#[cfg(loom)]
fn main() {}

#[cfg(not(loom))]
fn main() {
    if std::env::args().any(|argument| argument == "--list") {
        return;
    }
    run::main();
}

#[cfg(not(loom))]
mod run {
    use crate::common::*;
    use forerun_base::{BytesLedger, Error, Team};
    use forerun_engine::{
        Config, Engine, Fed, Feeder, Mode, Ring, Status, TaskRef, TaskSpec, WaitOptions, WaitTarget, Work,
    };
    use parking_lot::{Condvar, Mutex};
    use std::mem::forget;
    use std::sync::Arc;
    use std::time::Duration;

    const THREADS: usize = 4;
    const PIECES: usize = 8;

    /// Counts finished threads.
    #[derive(Default)]
    struct Finished(Mutex<usize>, Condvar);

    impl Finished {
        fn one_more(&self) {
            *self.0.lock() += 1;
            self.1.notify_all();
        }

        fn wait_for(&self, count: usize) {
            let mut finished = self.0.lock();
            while *finished < count {
                self.1.wait(&mut finished);
            }
        }
    }

    fn leak<T>(value: T) -> &'static T {
        Box::leak(Box::new(value))
    }

    pub(crate) fn main() {
        let tasks = many_tasks() / 50;
        for workers in [1, 2, 4] {
            for budget in [1 << 40, 10_000] {
                graphs(workers, budget, tasks);
            }
            window(workers, tasks);
        }
        println!("race: every value was right");
    }

    /// Several threads spawn graphs, wait in between, and run splitting and allocating tasks.
    fn graphs(workers: usize, budget: usize, tasks: usize) {
        let config = Config { workers, budget: Some(budget), ..Config::default() };
        let engine: &'static Arc<Engine> = leak(engine_with(config));
        let finished: &'static Finished = leak(Finished::default());
        for thread in 0..THREADS {
            forget(std::thread::spawn(move || {
                let graph = Arc::new(random_graph(tasks, 7 + thread as u64));
                forget(Arc::clone(&graph));
                let expected = serial(&graph);
                let mut random = Random(thread as u64);
                let mut last: Option<(TaskRef, &'static Pieces)> = None;
                let values = spawn_graph(engine, &graph, |task, spawned, values| {
                    match random.below(40) {
                        0 => {
                            wait_value(engine, &values[task], spawned.age());
                            assert_eq!(values[task].read(), expected[task]);
                        }
                        1 => {
                            let pieces = leak(Pieces::new(engine.ledger()));
                            let before: Vec<TaskRef> = last.take().map(|(task, _)| task).into_iter().collect();
                            let spec = TaskSpec { work: Box::new(pieces), source: false };
                            last = Some((engine.spawn(spec, &before), pieces));
                        }
                        _ => {}
                    }
                    if random.below(300) == 0 {
                        // Long enough for workers to fall asleep.
                        std::thread::sleep(Duration::from_micros(300));
                    }
                });
                wait_all(engine);
                if let Some((task, pieces)) = last {
                    assert!(task.is_done());
                    assert!((0..PIECES).all(|piece| pieces.cells[piece].read() == piece as u64 + 1));
                }
                forget(Arc::clone(&values));
                assert_same(&values, &expected);
                finished.one_more();
                // The thread's own last drops are not part of this test.
                std::thread::sleep(Duration::MAX);
            }));
        }
        finished.wait_for(THREADS);
    }

    /// Writes one cell per piece, on all threads that join.
    struct Pieces {
        cells: Vec<Value>,
        ledger: Arc<dyn BytesLedger>,
    }

    impl Pieces {
        fn new(ledger: Arc<dyn BytesLedger>) -> Pieces {
            Pieces { cells: (0..PIECES).map(|_| Value::default()).collect(), ledger }
        }
    }

    impl Work for &'static Pieces {
        fn bytes(&self) -> usize {
            5000
        }

        fn run(&self, team: &dyn Team) {
            self.ledger.charge(5000);
            team.split(PIECES, &|piece| self.cells[piece].write(piece as u64 + 1));
            assert!((0..PIECES).all(|piece| self.cells[piece].read() == piece as u64 + 1));
            self.ledger.release(5000);
        }

        fn fail(&self, error: Error) {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }

    /// A frontend's window: a ring of numbers, each of which becomes the successor of the previous one.
    struct Window {
        ring: Ring<usize>,
        /// The consumers' lock, and the last task planned.
        planner: Mutex<Option<TaskRef>>,
        values: &'static [Value],
    }

    struct Link {
        values: &'static [Value],
        index: usize,
    }

    impl Work for Link {
        fn bytes(&self) -> usize {
            0
        }

        fn run(&self, _team: &dyn Team) {
            let before = if self.index == 0 { 0 } else { self.values[self.index - 1].read() };
            self.values[self.index].write(before + self.index as u64);
            self.values[self.index].publish(Status::Ready);
        }

        fn fail(&self, error: Error) {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }

    impl Feeder for Window {
        fn feed(&self, engine: &Engine) -> Fed {
            let Some(mut last) = self.planner.try_lock() else { return Fed::Empty };
            let (head, tail) = (self.ring.head(), self.ring.tail());
            for at in head..tail {
                // SAFETY: the lock is held and the index is between head and tail.
                let index = unsafe { self.ring.get(at) };
                let before: Vec<TaskRef> = last.take().into_iter().collect();
                let work = Link { values: self.values, index };
                *last = Some(engine.spawn(TaskSpec { work: Box::new(work), source: false }, &before));
            }
            // SAFETY: as above; the slots were read.
            unsafe { self.ring.advance(tail) };
            if head == tail { Fed::Empty } else { Fed::Progress }
        }

        fn has_work(&self) -> bool {
            !self.ring.is_empty()
        }
    }

    struct Read<'a>(&'a Window, usize);

    impl WaitTarget for Read<'_> {
        fn done(&self) -> bool {
            self.0.values[self.1].state.is_settled(1)
        }

        fn age_limit(&self) -> u64 {
            u64::MAX
        }

        fn feed(&self, engine: &Engine) -> Fed {
            self.0.feed(engine)
        }
    }

    fn window(workers: usize, tasks: usize) {
        let values: &'static [Value] = leak((0..tasks).map(|_| Value::default()).collect::<Vec<_>>());
        let window = Arc::new(Window { ring: Ring::new(64), planner: Mutex::new(None), values });
        forget(Arc::clone(&window));
        let feeder: Arc<dyn Feeder> = window.clone();
        let engine: &'static Arc<Engine> =
            leak(Engine::new(Config { workers, mode: Mode::Async, ..Config::default() }, feeder));
        let mut random = Random(workers as u64);
        for (index, value) in values.iter().enumerate() {
            // SAFETY: this thread is the only producer.
            while unsafe { window.ring.push(index) }.is_err() {
                window.feed(engine);
            }
            engine.submitted();
            match random.below(200) {
                0 => std::thread::sleep(Duration::from_micros(400)),
                1..10 => {
                    engine.wait(&Read(&window, index), WaitOptions::default()).unwrap();
                    assert_eq!(value.read(), (0..=index as u64).sum());
                }
                _ => {}
            }
        }
        engine.wait(&Read(&window, tasks - 1), WaitOptions::default()).unwrap();
        assert_eq!(values[tasks - 1].read(), (0..tasks as u64).sum());
    }
}
