//! Batches of launches: launches are collected briefly and submitted together, as a CUDA graph if the same sequence
//! occurred before.
//!
//! A single launch costs the host a few microseconds, a graph node a fraction of that. A batch is submitted at the end
//! of a period of the [`PeriodDetector`], when the device is about to run out of work, or when a thread waits for it.
//! Each launch has a ticket; all tickets of a batch complete together.
//!
//! A sequence of launches becomes a graph at its second occurrence. If addresses and scalars are unchanged, the graph
//! is replayed as it is; otherwise the sequence is captured again (which does not run it) and the graph is updated. The
//! memory pool reuses blocks, so a few argument sets recur, and each of these gets its own graph.

use crate::gpu::{DeviceIo, Gpu};
use crate::graph::{Captured, Graph};
use crate::period::PeriodDetector;
use crate::run::LaunchableKernel;
use crate::streams::MarkWord;
use forerun_base::{Error, Result, WordHash};
use forerun_plan::Launches;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The maximum number of launches in a batch.
const MOST_LAUNCHES: usize = 512;
/// Batches with fewer launches are enqueued one by one.
const FEWEST: usize = 4;
/// The maximum number of known sequences; the least recently used is evicted.
const MOST_KNOWN: usize = 128;
/// The maximum number of fixed graphs per sequence; one that was not replayed recently is evicted.
const MOST_FIXED: usize = 6;
/// The number of recent argument sets of a sequence that are recognised.
const REMEMBERED: usize = 16;
/// How long to wait for the end of a period while the device is idle.
const PATIENCE: Duration = Duration::from_micros(25);

/// A launch that is not yet submitted. Its addresses and scalars are in the batch's `words`.
struct PendingLaunch {
    kernel: Arc<LaunchableKernel>,
    words: usize,
    inputs: usize,
    outputs: usize,
    scalars: usize,
}

/// The pending launches and the known sequences.
#[derive(Default)]
pub(crate) struct Batch {
    held: Vec<PendingLaunch>,
    words: Vec<u64>,
    /// The last ticket issued, and the last one submitted.
    given: u64,
    pub(crate) submitted: u64,
    /// Marks of the compute stream that are not known to have passed: the mark, and the last ticket submitted before
    /// it.
    marks: VecDeque<(u64, u64)>,
    passed: u64,
    period: PeriodDetector,
    known: HashMap<Vec<usize>, KnownSequence>,
    last: Option<Instant>,
    pub(crate) counts: Launches,
}

/// A sequence of launches that occurred before.
struct KnownSequence {
    /// The graph that is updated for new arguments.
    changing: Option<BoundGraph>,
    /// Graphs for recurring arguments.
    fixed: Vec<BoundGraph>,
    /// Hashes of recent arguments.
    seen: VecDeque<u64>,
    /// The number of times the sequence was submitted as a graph.
    turns: u64,
    /// The last ticket issued when the sequence was last submitted.
    last: u64,
    /// Kept alive, because their addresses are the key of the sequence.
    _launches: Vec<Arc<LaunchableKernel>>,
}

/// A graph, and the addresses and scalars of its last update.
struct BoundGraph {
    graph: Graph,
    words: Vec<u64>,
    /// The value of `turns` when it was last replayed.
    last: u64,
}

impl Batch {
    /// Adds a launch; returns its ticket, and whether the batch should be submitted now.
    pub(crate) fn push(&mut self, kernel: &Arc<LaunchableKernel>, io: DeviceIo<'_>) -> (u64, bool) {
        let words = self.words.len();
        self.words.extend_from_slice(io.inputs);
        self.words.extend_from_slice(io.outputs);
        self.words.extend_from_slice(io.scalars);
        // The status address is an argument like the others: a graph is replayed unchanged only if it is equal.
        self.words.push(io.status);
        self.held.push(PendingLaunch {
            kernel: kernel.clone(),
            words,
            inputs: io.inputs.len(),
            outputs: io.outputs.len(),
            scalars: io.scalars.len(),
        });
        self.given += 1;
        self.last = Some(Instant::now());
        let period_ends = self.period.observe(Arc::as_ptr(kernel).addr());
        (self.given, period_ends || self.held.len() >= MOST_LAUNCHES)
    }

    /// Takes a ticket for a command that was enqueued after everything in the batch was submitted.
    pub(crate) fn take_ticket(&mut self, gpu: &Gpu) -> Result<u64> {
        self.given += 1;
        self.mark_after(gpu, |_| false)?;
        Ok(self.given)
    }

    /// Records a mark after all enqueued work, including that of `last`, which returns whether its kernel writes the
    /// mark itself.
    fn mark_after(&mut self, gpu: &Gpu, last: impl FnOnce(Option<MarkWord>) -> bool) -> Result<()> {
        let mark = gpu.record_after(last)?.0;
        self.submitted = self.given;
        self.marks.push_back((mark, self.submitted));
        Ok(())
    }

    /// Whether the batch should be submitted even though more launches may follow: the device is about to run out of
    /// work.
    pub(crate) fn is_due(&self) -> bool {
        let soon = || self.period.is_periodic() && self.last.is_some_and(|last| last.elapsed() < PATIENCE);
        !self.held.is_empty() && self.marks.len() <= 1 && !soon()
    }

    /// The last completed ticket, given that the stream has passed this mark.
    pub(crate) fn pass(&mut self, mark: u64) -> u64 {
        while let Some(&(_, ticket)) = self.marks.front().filter(|(number, _)| *number <= mark) {
            self.passed = ticket;
            self.marks.pop_front();
        }
        self.passed
    }

    /// The mark with which a ticket completes; 0 if it has completed.
    pub(crate) fn mark_of(&self, ticket: u64) -> u64 {
        self.marks.iter().find(|(_, last)| *last >= ticket).map_or(0, |(number, _)| *number)
    }

    /// Submits all launches. Returns the launches that failed, by ticket.
    ///
    /// # Safety
    /// The guarantees of the callers for each launch must still hold.
    pub(crate) unsafe fn submit(&mut self, gpu: &Arc<Gpu>) -> Result<Vec<(u64, Error)>> {
        if self.held.is_empty() {
            return Ok(Vec::new());
        }
        let (held, words) = (std::mem::take(&mut self.held), std::mem::take(&mut self.words));
        let mut failed = Vec::new();
        // SAFETY: the caller guarantees the arguments of each launch.
        if unsafe { self.submit_graph(gpu, &held, &words) } {
            self.mark_after(gpu, |_| false)?;
        } else {
            let first = self.given - held.len() as u64 + 1;
            let mut enqueue = |n: usize, mark| {
                // SAFETY: the caller guarantees the arguments of each launch.
                let enqueued = unsafe { held[n].enqueue(&words, mark) };
                enqueued.unwrap_or_else(|error| {
                    failed.push((first + n as u64, error));
                    false
                })
            };
            let last = held.len() - 1;
            for n in 0..last {
                enqueue(n, None);
            }
            self.mark_after(gpu, |mark| enqueue(last, mark))?;
            self.counts.alone += held.len() as u64;
        }
        // Keep the allocations of both lists.
        (self.held, self.words) = (held, words);
        self.held.clear();
        self.words.clear();
        Ok(failed)
    }

    /// Submits the launches as a graph. Returns false if that is not worthwhile, or if the driver fails.
    ///
    /// # Safety
    /// As for [`Batch::submit`].
    unsafe fn submit_graph(&mut self, gpu: &Arc<Gpu>, held: &[PendingLaunch], words: &[u64]) -> bool {
        if held.len() < FEWEST || !self.period.is_periodic() || !held.iter().all(|h| h.kernel.is_ready()) {
            return false;
        }
        let key: Vec<usize> = held.iter().map(|h| Arc::as_ptr(&h.kernel).addr()).collect();
        let Some(known) = self.known.get_mut(&key) else {
            self.remember(key, held);
            return false;
        };
        known.last = self.given;
        let Some((bound, same)) = known.bind(gpu, held, words) else { return false };
        // SAFETY: the caller guarantees the arguments of each launch in the graph.
        if unsafe { bound.graph.replay() }.is_err() {
            self.known.remove(&key);
            return false;
        }
        self.counts.in_graphs += held.len() as u64;
        self.counts.graphs += 1;
        self.counts.unchanged += same as u64;
        true
    }

    /// Drops all graphs, because a setting they were captured under changes.
    pub(crate) fn forget_graphs(&mut self) {
        for known in self.known.values_mut() {
            known.changing = None;
            known.fixed.clear();
        }
    }

    fn remember(&mut self, key: Vec<usize>, held: &[PendingLaunch]) {
        if self.known.len() >= MOST_KNOWN
            && let Some(oldest) = self.known.iter().min_by_key(|(_, known)| known.last).map(|(key, _)| key.clone())
        {
            self.known.remove(&oldest);
        }
        let launches = held.iter().map(|held| held.kernel.clone()).collect();
        let known = KnownSequence {
            changing: None,
            fixed: Vec::new(),
            seen: VecDeque::new(),
            turns: 0,
            last: self.given,
            _launches: launches,
        };
        self.known.insert(key, known);
    }
}

impl KnownSequence {
    /// A graph for these arguments, and whether it was already up to date.
    fn bind(&mut self, gpu: &Arc<Gpu>, held: &[PendingLaunch], words: &[u64]) -> Option<(&mut BoundGraph, bool)> {
        self.turns += 1;
        let turn = self.turns;
        // By index: the borrow checker does not accept a returned reference inside the search.
        if let Some(n) = self.fixed.iter().position(|bound| bound.words == words) {
            self.fixed[n].last = turn;
            return Some((&mut self.fixed[n], true));
        }
        if self.changing.as_ref().is_some_and(|bound| bound.words == words) {
            return self.changing.as_mut().map(|bound| (bound, true));
        }
        let captured = capture(gpu, held, words)?;
        let hash = WordHash::default().hash_one(words);
        if self.seen.contains(&hash) {
            // If more argument sets recur than there are slots, those with a graph keep it.
            self.fixed.retain(|bound| bound.last + REMEMBERED as u64 >= turn);
            if self.fixed.len() < MOST_FIXED {
                let graph = captured.instantiate().ok()?;
                self.fixed.push(BoundGraph { graph, words: words.to_vec(), last: turn });
                return self.fixed.last_mut().map(|bound| (bound, false));
            }
        } else {
            self.seen.push_back(hash);
            if self.seen.len() > REMEMBERED {
                self.seen.pop_front();
            }
        }
        let mut former = self.changing.take().map(|bound| bound.graph);
        let graph = match former.take_if(|graph| graph.update(&captured)) {
            Some(graph) => graph,
            None => captured.instantiate().ok()?,
        };
        let bound = self.changing.insert(BoundGraph { graph, words: words.to_vec(), last: turn });
        Some((bound, false))
    }
}

/// Captures the launches with these arguments.
fn capture(gpu: &Arc<Gpu>, held: &[PendingLaunch], words: &[u64]) -> Option<Captured> {
    gpu.memory.seal(true);
    let captured = Graph::record(gpu, || {
        // SAFETY: a capture runs nothing; the caller that replays the graph guarantees the arguments.
        held.iter().try_for_each(|launch| unsafe { launch.enqueue(words, None) }.map(drop))
    });
    gpu.memory.seal(false);
    captured.ok()
}

impl PendingLaunch {
    /// Enqueues the launch; `mark` is the mark after it, if any. Returns whether its kernel writes the mark itself.
    ///
    /// # Safety
    /// As for [`LaunchableKernel::launch`].
    unsafe fn enqueue(&self, words: &[u64], mark: Option<MarkWord>) -> Result<bool> {
        let (inputs, rest) = words[self.words..].split_at(self.inputs);
        let (outputs, rest) = rest.split_at(self.outputs);
        let io = DeviceIo { inputs, outputs, scalars: &rest[..self.scalars], status: rest[self.scalars] };
        // SAFETY: the caller guarantees the arguments.
        unsafe {
            match mark {
                Some(mark) => self.kernel.enqueue_marked(io, mark),
                None => self.kernel.enqueue(io).map(|()| false),
            }
        }
    }
}
