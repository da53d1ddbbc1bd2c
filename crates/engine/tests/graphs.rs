//! Random graphs give the same bits as their serial computation, with any threads and in any order.
#![cfg(not(loom))]

mod common;

use common::*;
use forerun_engine::Mode;
use std::sync::Arc;

#[test]
fn a_random_graph_equals_the_serial_run_with_any_number_of_workers() {
    let graph = Arc::new(random_graph(many_tasks(), 1));
    let expected = serial(&graph);
    for workers in [1, 2, 4, 8] {
        let engine = engine(Mode::Async, workers);
        let start = std::time::Instant::now();
        let values = spawn_graph(&engine, &graph, |_, _, _| ());
        wait_all(&engine);
        println!("{} tasks, {workers} workers: {:?}, {:?}", graph.len(), start.elapsed(), engine.stats());
        assert_same(&values, &expected);
        assert_eq!(engine.in_flight(), 0);
    }
}

#[test]
fn waits_in_between_change_nothing() {
    let graph = Arc::new(random_graph(many_tasks() / 5, 2));
    let expected = serial(&graph);
    for (mode, workers) in [(Mode::Async, 1), (Mode::Async, 3), (Mode::Sync, 1)] {
        let engine = engine(mode, workers);
        let mut random = Random(3);
        let values = spawn_graph(&engine, &graph, |task, spawned, values| {
            if random.below(10) == 0 {
                wait_value(&engine, &values[task], spawned.age());
                assert_eq!(values[task].read(), expected[task]);
            }
        });
        wait_all(&engine);
        assert_same(&values, &expected);
    }
}

#[test]
fn the_sync_mode_starts_no_thread_and_runs_in_the_wait() {
    let graph = Arc::new(random_graph(2000, 4));
    let expected = serial(&graph);
    let engine = engine(Mode::Sync, 4);
    let values = spawn_graph(&engine, &graph, |task, spawned, values| {
        assert!(!spawned.is_done());
        wait_value(&engine, &values[task], spawned.age());
    });
    assert_same(&values, &expected);
    assert_eq!((engine.stats().tasks, engine.stats().helped, engine.workers()), (2000, 2000, 0));
}

#[test]
fn ten_thousand_seeded_schedules() {
    let graph = Arc::new(random_graph(24, 5));
    let expected = serial(&graph);
    let mut different = std::collections::HashSet::new();
    for seed in 0..10_000 {
        let engine = engine(Mode::Seeded(seed), 1);
        let values = spawn_graph(&engine, &graph, |_, _, _| ());
        wait_all(&engine);
        assert_same(&values, &expected);
        different.insert(engine.schedule());
    }
    assert!(different.len() > 5000, "only {} different schedules", different.len());
}

#[test]
fn a_schedule_can_be_replayed() {
    let graph = Arc::new(random_graph(300, 6));
    for seed in 0..20 {
        let run = |mode| {
            let engine = engine(mode, 1);
            spawn_graph(&engine, &graph, |task, spawned, values| {
                if task % 50 == 49 {
                    wait_value(&engine, &values[task], spawned.age());
                }
            });
            wait_all(&engine);
            engine.schedule()
        };
        let schedule = run(Mode::Seeded(seed));
        assert_eq!(schedule.len(), 300);
        assert_eq!(run(Mode::Seeded(seed)), schedule, "the same seed gives the same schedule");
        assert_eq!(run(Mode::Replay(schedule.clone())), schedule);
    }
}

#[test]
fn eight_threads_spawn_and_wait() {
    for (mode, workers) in [(Mode::Async, 2), (Mode::Sync, 2), (Mode::Seeded(1), 1)] {
        let engine = engine(mode, workers);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let engine = &engine;
                scope.spawn(move || {
                    let graph = Arc::new(random_graph(many_tasks() / 50, 100 + thread));
                    let expected = serial(&graph);
                    let mut last = 0;
                    let mut random = Random(thread);
                    let values = spawn_graph(engine, &graph, |task, spawned, values| {
                        last = spawned.age();
                        if random.below(50) == 0 {
                            wait_value(engine, &values[task], spawned.age());
                        }
                    });
                    for value in values.iter() {
                        wait_value(engine, value, last);
                    }
                    assert_same(&values, &expected);
                });
            }
        });
        wait_all(&engine);
    }
}
