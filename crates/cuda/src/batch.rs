//! Batches: launches are held back for a moment and told to the device together, as a graph where they came before.
//!
//! A launch alone costs the host some microseconds, a node of a graph a fraction of that. What is held goes out when a turn of the
//! program's [`Rhythm`] ends, when the device would soon have nothing to do, and whenever somebody needs it. Each launch has a ticket;
//! all tickets of a batch pass together.
//!
//! A sequence of launches that comes for the second time is made a graph. With the same addresses and scalars the graph is launched
//! as it is; else the sequence is captured again, which does not run it, and the graph is brought up to date. Memory goes round: the same
//! few sets of addresses come again and again, and each that does gets a graph that stays as it is.

use crate::gpu::{Gpu, Io};
use crate::graph::{Captured, Graph};
use crate::lanes::Mark;
use crate::rhythm::Rhythm;
use crate::run::Launch;
use forerun_base::{Error, Result, WordHash};
use forerun_plan::Launches;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Launches held at the most.
const MOST: usize = 512;
/// Fewer launches than this are told one by one.
const FEWEST: usize = 4;
/// Sequences remembered; the one that came least lately goes.
const MOST_KNOWN: usize = 128;
/// Graphs of a sequence that stay as they are; one that was not launched in the last turns goes.
const MOST_FIXED: usize = 6;
/// So many of the last sets of words are known again.
const REMEMBERED: usize = 16;
/// How long the end of a turn is waited for while the device is idle.
const PATIENCE: Duration = Duration::from_micros(25);

/// A launch that was not told yet: its words lie in the batch.
struct Held {
    launch: Arc<Launch>,
    words: usize,
    inputs: usize,
    outputs: usize,
    scalars: usize,
}

/// Launches on their way to the device.
#[derive(Default)]
pub(crate) struct Batch {
    held: Vec<Held>,
    words: Vec<u64>,
    /// Tickets given so far, and those of launches that were told.
    given: u64,
    pub(crate) told: u64,
    /// The last ticket of what was told up to each mark of the lane that is not known to have passed.
    marks: VecDeque<(u64, u64)>,
    passed: u64,
    rhythm: Rhythm,
    known: HashMap<Vec<usize>, Known>,
    last: Option<Instant>,
    pub(crate) counts: Launches,
}

/// A sequence that came before: what comes a single time is not worth a graph.
struct Known {
    /// Brought up to date for words that are new.
    changing: Option<Bound>,
    /// For words that came before.
    fixed: Vec<Bound>,
    /// Hashes of the last sets of words.
    seen: VecDeque<u64>,
    /// How often it came as a graph.
    turns: u64,
    /// When it came last: the tickets given by then.
    last: u64,
    /// Kept, so that no other launch has the address of one of these.
    _launches: Vec<Arc<Launch>>,
}

/// A graph, and the addresses and scalars that it is up to date for.
struct Bound {
    graph: Graph,
    words: Vec<u64>,
    /// The turn in which it was launched last.
    last: u64,
}

impl Batch {
    /// Holds a launch; gives its ticket, and whether the batch is to be told now.
    pub(crate) fn hold(&mut self, launch: &Arc<Launch>, io: Io<'_>) -> (u64, bool) {
        let words = self.words.len();
        self.words.extend_from_slice(io.inputs);
        self.words.extend_from_slice(io.outputs);
        self.words.extend_from_slice(io.scalars);
        // Part of what must be the same for a graph to be launched as it is.
        self.words.push(io.status);
        self.held.push(Held {
            launch: launch.clone(),
            words,
            inputs: io.inputs.len(),
            outputs: io.outputs.len(),
            scalars: io.scalars.len(),
        });
        self.given += 1;
        self.last = Some(Instant::now());
        let ends = self.rhythm.note(Arc::as_ptr(launch).addr());
        (self.given, ends || self.held.len() >= MOST)
    }

    /// Notes that something else was told, after everything that is held: its ticket.
    pub(crate) fn take_ticket(&mut self, gpu: &Gpu) -> Result<u64> {
        self.given += 1;
        self.mark_after(gpu, |_| false)?;
        Ok(self.given)
    }

    /// Marks the end of what was told, and of what `last` tells; it says whether that writes the mark itself.
    fn mark_after(&mut self, gpu: &Gpu, last: impl FnOnce(Option<Mark>) -> bool) -> Result<()> {
        let mark = gpu.record_after(last)?.0;
        self.told = self.given;
        self.marks.push_back((mark, self.told));
        Ok(())
    }

    /// Whether what is held should go out although more may come: the device has nearly nothing to do.
    pub(crate) fn is_due(&self) -> bool {
        let soon = || self.rhythm.is_known() && self.last.is_some_and(|last| last.elapsed() < PATIENCE);
        !self.held.is_empty() && self.marks.len() <= 1 && !soon()
    }

    /// The last ticket passed, when the lane has passed this mark.
    pub(crate) fn pass(&mut self, mark: u64) -> u64 {
        while let Some(&(_, ticket)) = self.marks.front().filter(|(number, _)| *number <= mark) {
            self.passed = ticket;
            self.marks.pop_front();
        }
        self.passed
    }

    /// The mark with which a ticket passes; 0 if it has.
    pub(crate) fn mark_of(&self, ticket: u64) -> u64 {
        self.marks.iter().find(|(_, last)| *last >= ticket).map_or(0, |(number, _)| *number)
    }

    /// Tells everything that is held. What went wrong in a launch comes back with its ticket.
    ///
    /// # Safety
    /// What was promised for each launch holds now.
    pub(crate) unsafe fn tell(&mut self, gpu: &Arc<Gpu>) -> Result<Vec<(u64, Error)>> {
        if self.held.is_empty() {
            return Ok(Vec::new());
        }
        let (held, words) = (std::mem::take(&mut self.held), std::mem::take(&mut self.words));
        let mut failed = Vec::new();
        // SAFETY: the caller's promise.
        if unsafe { self.tell_graph(gpu, &held, &words) } {
            self.mark_after(gpu, |_| false)?;
        } else {
            let first = self.given - held.len() as u64 + 1;
            let mut launch = |n: usize, mark| {
                // SAFETY: as above.
                let launched = unsafe { held[n].launch(&words, mark) };
                launched.unwrap_or_else(|error| {
                    failed.push((first + n as u64, error));
                    false
                })
            };
            let last = held.len() - 1;
            for n in 0..last {
                launch(n, None);
            }
            self.mark_after(gpu, |mark| launch(last, mark))?;
            self.counts.alone += held.len() as u64;
        }
        // Both lists are used again.
        (self.held, self.words) = (held, words);
        self.held.clear();
        self.words.clear();
        Ok(failed)
    }

    /// Tells what is held as a graph, if that is worth while and goes.
    ///
    /// # Safety
    /// As for [`Batch::tell`].
    unsafe fn tell_graph(&mut self, gpu: &Arc<Gpu>, held: &[Held], words: &[u64]) -> bool {
        if held.len() < FEWEST || !self.rhythm.is_known() || !held.iter().all(|h| h.launch.is_ready()) {
            return false;
        }
        let key: Vec<usize> = held.iter().map(|h| Arc::as_ptr(&h.launch).addr()).collect();
        let Some(known) = self.known.get_mut(&key) else {
            self.remember(key, held);
            return false;
        };
        known.last = self.given;
        let Some((bound, same)) = known.bind(gpu, held, words) else { return false };
        // SAFETY: the caller's promise, for every launch in it.
        if unsafe { bound.graph.launch() }.is_err() {
            self.known.remove(&key);
            return false;
        }
        self.counts.in_graphs += held.len() as u64;
        self.counts.graphs += 1;
        self.counts.unchanged += same as u64;
        true
    }

    /// Something changes that graphs were captured under.
    pub(crate) fn forget_graphs(&mut self) {
        for known in self.known.values_mut() {
            known.changing = None;
            known.fixed.clear();
        }
    }

    fn remember(&mut self, key: Vec<usize>, held: &[Held]) {
        if self.known.len() >= MOST_KNOWN
            && let Some(oldest) = self.known.iter().min_by_key(|(_, known)| known.last).map(|(key, _)| key.clone())
        {
            self.known.remove(&oldest);
        }
        let launches = held.iter().map(|held| held.launch.clone()).collect();
        let known = Known {
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

impl Known {
    /// A graph that is up to date for these words, and whether it was before.
    fn bind(&mut self, gpu: &Arc<Gpu>, held: &[Held], words: &[u64]) -> Option<(&mut Bound, bool)> {
        self.turns += 1;
        let turn = self.turns;
        // (By place: one that is found cannot be given away in the middle of looking.)
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
            // More sets that come round than there is room for: those that have a graph keep it.
            self.fixed.retain(|bound| bound.last + REMEMBERED as u64 >= turn);
            if self.fixed.len() < MOST_FIXED {
                let graph = captured.instantiate().ok()?;
                self.fixed.push(Bound { graph, words: words.to_vec(), last: turn });
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
        let bound = self.changing.insert(Bound { graph, words: words.to_vec(), last: turn });
        Some((bound, false))
    }
}

/// Captures the launches with these words.
fn capture(gpu: &Arc<Gpu>, held: &[Held], words: &[u64]) -> Option<Captured> {
    gpu.memory.seal(true);
    let captured = Graph::record(gpu, || {
        // SAFETY: nothing runs while it is captured; whoever launches the graph makes the promise.
        held.iter().try_for_each(|launch| unsafe { launch.launch(words, None) }.map(drop))
    });
    gpu.memory.seal(false);
    captured.ok()
}

impl Held {
    /// Launches it, the last one before a mark if there is one. True if its kernel writes the mark itself.
    ///
    /// # Safety
    /// As for [`Launch::launch`].
    unsafe fn launch(&self, words: &[u64], mark: Option<Mark>) -> Result<bool> {
        let (inputs, rest) = words[self.words..].split_at(self.inputs);
        let (outputs, rest) = rest.split_at(self.outputs);
        let io = Io { inputs, outputs, scalars: &rest[..self.scalars], status: rest[self.scalars] };
        // SAFETY: the caller's promise.
        unsafe {
            match mark {
                Some(mark) => self.launch.launch_to(io, mark),
                None => self.launch.launch(io).map(|()| false),
            }
        }
    }
}
