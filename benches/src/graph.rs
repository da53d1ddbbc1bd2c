//! Task graphs shared by all schedulers: each task adds two earlier results of two float32 numbers each.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// A graph: the two earlier tasks that each task reads. Task 0 is the start.
pub struct Graph {
    /// Its name in tables.
    pub name: &'static str,
    /// The tasks that each task reads.
    pub reads: Vec<[u32; 2]>,
    successors: Vec<Vec<u32>>,
}

impl Graph {
    fn new(name: &'static str, reads: Vec<[u32; 2]>) -> Graph {
        let mut successors = vec![Vec::new(); reads.len()];
        for (task, reads) in reads.iter().enumerate().skip(1) {
            for &r in reads {
                successors[r as usize].push(task as u32);
            }
        }
        Graph { name, reads, successors }
    }

    /// Each task reads the previous one.
    pub fn chain(tasks: usize) -> Graph {
        Graph::new("chain", (0..tasks as u32).map(|i| [i.saturating_sub(1), 0]).collect())
    }

    /// All tasks read the start; then pairs are joined until one is left.
    pub fn fan(width: usize) -> Graph {
        let mut reads = vec![[0, 0]; 1 + width];
        let mut level: Vec<u32> = (1..=width as u32).collect();
        while level.len() > 1 {
            level = level
                .chunks(2)
                .map(|pair| {
                    reads.push([pair[0], pair[pair.len() - 1]]);
                    reads.len() as u32 - 1
                })
                .collect();
        }
        Graph::new("fan-out, fan-in", reads)
    }

    /// Each task reads two among the last few hundred.
    pub fn random(tasks: usize) -> Graph {
        let mut state = 0x2545_f491_4f6c_dd1du64;
        let mut next = |below: u32| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % below as u64) as u32
        };
        let reads = (0..tasks as u32)
            .map(|i| {
                let span = i.clamp(1, 300);
                let mut pick = || i.saturating_sub(1 + next(span));
                [pick(), pick()]
            })
            .collect();
        Graph::new("random graph", reads)
    }
}

/// A graph being run with one atomic counter per task, for its inputs and its submission. The submitting thread visits
/// the tasks in order, like a program; the thread that decrements a counter to zero spawns the task.
struct Run {
    graph: Arc<Graph>,
    pending: Vec<AtomicU32>,
    values: Vec<AtomicU64>,
    left: AtomicUsize,
    done: (Mutex<bool>, Condvar),
}

impl Run {
    fn new(graph: &Arc<Graph>) -> Arc<Run> {
        let pending = graph.reads.iter().enumerate().map(|(i, _)| AtomicU32::new(if i == 0 { 1 } else { 3 })).collect();
        Arc::new(Run {
            graph: graph.clone(),
            pending,
            values: graph.reads.iter().map(|_| AtomicU64::new(0)).collect(),
            left: AtomicUsize::new(graph.reads.len()),
            done: (Mutex::new(false), Condvar::new()),
        })
    }

    fn run(self: &Arc<Run>, task: u32, spawn: &(impl Fn(&Arc<Run>, u32) + ?Sized)) {
        let pair = |i: u32| {
            let bits = self.values[i as usize].load(Ordering::Relaxed);
            [f32::from_bits(bits as u32), f32::from_bits((bits >> 32) as u32)]
        };
        let [a, b] = self.graph.reads[task as usize].map(pair);
        let sum = [a[0] + b[0] * 0.5, a[1] + b[1] * 0.5];
        let bits = sum[0].to_bits() as u64 | (sum[1].to_bits() as u64) << 32;
        self.values[task as usize].store(bits, Ordering::Relaxed);
        for &successor in &self.graph.successors[task as usize] {
            self.arrive(successor, spawn);
        }
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            *self.done.0.lock().expect("nobody panics") = true;
            self.done.1.notify_all();
        }
    }

    fn arrive(self: &Arc<Run>, task: u32, spawn: &(impl Fn(&Arc<Run>, u32) + ?Sized)) {
        if self.pending[task as usize].fetch_sub(1, Ordering::AcqRel) == 1 {
            spawn(self, task);
        }
    }

    fn submit_all(self: &Arc<Run>, spawn: &(impl Fn(&Arc<Run>, u32) + ?Sized)) {
        for task in 0..self.graph.reads.len() as u32 {
            self.arrive(task, spawn);
        }
    }

    fn wait(&self) {
        let mut done = self.done.0.lock().expect("nobody panics");
        while !*done {
            done = self.done.1.wait(done).expect("nobody panics");
        }
    }
}

/// Runs a graph on rayon, from outside its pool.
pub fn run_rayon(graph: &Arc<Graph>) {
    fn spawn(run: &Arc<Run>, task: u32) {
        let run = run.clone();
        rayon::spawn(move || run.run(task, &spawn));
    }
    let run = Run::new(graph);
    run.submit_all(&spawn);
    run.wait();
}

/// Runs a graph on tokio, from outside its runtime.
pub fn run_tokio(runtime: &tokio::runtime::Runtime, graph: &Arc<Graph>) {
    fn spawn(run: &Arc<Run>, task: u32) {
        let run = run.clone();
        tokio::spawn(async move { run.run(task, &spawn) });
    }
    let run = Run::new(graph);
    let inside = runtime.enter();
    run.submit_all(&spawn);
    drop(inside);
    run.wait();
}
