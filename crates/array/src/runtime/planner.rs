//! The planner: takes records out of windows, runs tiny ones inline, and spawns tasks for the rest.
//!
//! One thread plans at a time, under one lock for all windows. Records of one window are taken in order, and a record
//! that reads a value of another window first has that window planned up to the producer, so a record always sees all
//! its inputs. The lock is held for a bounded number of records.
//!
//! A segment ends before a second product or after [`MOST_RECORDS`], so that iterations of a loop are cut alike and
//! their plans are found in the cache. Timing may end it earlier: before a record that reads an unplanned value of
//! another window, after the record that a thread waits for, or, once no record has arrived for a while, at the end of
//! the window. `docs/internals/planning.md` has the list.

use crate::runtime::flights::Flights;
use crate::runtime::inline::{Attempt, run_inline};
use crate::runtime::inline_limit;
use crate::runtime::lower;
use crate::runtime::node::Node;
use crate::runtime::plan_cache::Plans;
use crate::runtime::record::{InputRef, InputWord, Record};
use crate::runtime::segment::{Lists, SegmentBuilder, Submitted};
use crate::runtime::window::Window;
use crate::runtime::{Runtime, count, runtime};
use forerun_base::{DType, Error};
use forerun_engine::{Engine, Fed, Feeder};
use forerun_ops::Op;
use std::time::{Duration, Instant};

/// Maximum number of records in a segment.
pub(crate) const MOST_RECORDS: usize = 64;
/// Number of unfinished tasks at which workers stop planning: records that are planned later are fused better.
const MOST_FLIGHTS: usize = 48;
/// Maximum number of records run inline in one call.
const MOST_INLINE: usize = 256;

/// How far to plan a window.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Until {
    /// As far as there is work and it is not too early to cut.
    Idle,
    /// All records before this index, now.
    Index(u64),
    /// Records before this index, while few enough tasks are unfinished.
    Bounded(u64),
    /// Records before this index, while they run inline; nothing is spawned.
    Inline(u64),
}

/// State of the planner between calls.
pub(crate) struct Planner {
    /// Planned tasks that are not known to be finished.
    pub(crate) flights: Flights,
    pub(crate) plans: Plans,
    pub(crate) key: Vec<u32>,
    lists: Lists,
    /// Where to start the search for a window with work; windows are served round-robin.
    next_window: usize,
}

/// An operand resolved to a value.
#[derive(Clone, Copy)]
pub(crate) struct ResolvedInput {
    pub(crate) node: &'static Node,
    /// Offset of a view in elements; `None` if the whole value is read.
    pub(crate) view: Option<u64>,
    pub(crate) foreign: bool,
}

impl ResolvedInput {
    /// The address of the first element seen, given that of the value. On a device, addresses are numbers.
    #[inline(always)]
    pub(crate) fn address(&self, base: *mut u8, dtype: DType) -> *const u8 {
        // The view was checked when it was made: the offset stays inside the value.
        base.wrapping_add(self.view.unwrap_or(0) as usize * dtype.size())
    }
}

/// Resolves an operand of the record at `index`.
#[inline(always)]
pub(crate) fn resolve(window: &Window, index: u64, word: InputWord) -> ResolvedInput {
    let (word, view) = match word.decode() {
        InputRef::Node(..) => (word, None),
        InputRef::View(back) => {
            // SAFETY: view records directly precede their reader and are taken together with it.
            let record = unsafe { window.ring.peek(index - back) };
            (record.inputs[0], Some(record.immediates[0]))
        }
    };
    match word.decode() {
        // SAFETY: nodes are never freed.
        InputRef::Node(node, foreign) => ResolvedInput { node: unsafe { &*node }, view, foreign },
        InputRef::View(_) => unreachable!("a view of a view is a view of the same node"),
    }
}

/// The operands of a record.
pub(crate) fn operands(record: &Record) -> &[InputWord] {
    let inputs = record.recipe.signature.inputs.len();
    if inputs > 3 {
        // SAFETY: more than three inputs are stored as a list, which is taken only when the record is lowered.
        unsafe { record.inputs[0].peek_list() }
    } else {
        &record.inputs[..inputs]
    }
}

impl Planner {
    pub(crate) fn new() -> Planner {
        Planner {
            flights: Flights::default(),
            plans: Plans::default(),
            key: Vec::new(),
            lists: Lists::default(),
            next_window: 0,
        }
    }

    /// Takes records out of a window. Returns `Progress` if something was run or spawned.
    pub(crate) fn advance(&mut self, window: &'static Window, until: Until, engine: &Engine) -> Fed {
        let runtime = runtime();
        let ring = &window.ring;
        let start = ring.head();
        let fed = self.take(runtime, window, until, engine);
        let head = ring.head();
        if head != start {
            self.note_completed(window);
            engine.published();
            return Fed::Progress;
        }
        fed
    }

    fn take(&mut self, runtime: &Runtime, window: &'static Window, until: Until, engine: &Engine) -> Fed {
        let ring = &window.ring;
        let mut head = ring.head();
        let Some(tail) = self.limit(window, head, until) else { return Fed::Empty };
        let (mut inlined, mut tiny) = (0, runtime.tiny_limit_here());
        // A waiter may run more than what is tiny.
        let mut waits = matches!(until, Until::Index(_) | Until::Inline(_));
        loop {
            // Tiny records whose inputs are ready run inline.
            while head < tail && inlined < MOST_INLINE {
                let index = self.reader(window, head);
                // SAFETY: between head and tail, under the planner's lock.
                let record = unsafe { ring.peek(index) };
                match run_inline(window, index, record, tiny) {
                    Attempt::Done => {
                        inlined += 1;
                        head = index + 1;
                    }
                    Attempt::Unplanned(node) => {
                        self.remove_inlined(runtime, window, head, &mut inlined);
                        self.take_foreign(node, engine);
                    }
                    Attempt::NotTiny if waits => {
                        waits = false;
                        let limit = inline_limit::limit(self, window, head, tail, tiny);
                        if limit > tiny && engine.runs_short_plan() {
                            tiny = limit;
                        }
                    }
                    Attempt::NotTiny => break,
                }
            }
            self.remove_inlined(runtime, window, head, &mut inlined);
            if head >= tail || matches!(until, Until::Inline(_)) {
                return Fed::Empty;
            }
            // The remaining records form one segment.
            if !matches!(until, Until::Index(_)) && engine.in_flight() >= MOST_FLIGHTS {
                return Fed::Empty;
            }
            let (end, natural) = self.segment_end(window, head, tail);
            if until == Until::Idle
                && !natural
                && let Some(patience) = self.too_early(window, head, end)
            {
                return Fed::Later(patience);
            }
            let draft = SegmentBuilder::collect(window, head, end, tiny, std::mem::take(&mut self.lists));
            head = draft.end;
            let unplanned = draft.unplanned;
            if !draft.is_empty() {
                // Only the segment of the value itself: earlier ones may be independent of it and run on other threads.
                let at_once = tiny > 0 && head >= tail && matches!(until, Until::Index(_));
                self.spawn_tasks(runtime, window, &draft, engine, at_once);
            }
            self.lists = draft.into_lists();
            // SAFETY: under the planner's lock; the records before `head` are run or spawned.
            unsafe { ring.advance(head) };
            if let Some(node) = unplanned {
                self.take_foreign(node, engine);
            }
            if until == Until::Idle || head >= tail {
                return Fed::Progress;
            }
        }
    }

    /// Removes the records before `head`, which ran inline, from the window, and counts them.
    fn remove_inlined(&mut self, runtime: &Runtime, window: &Window, head: u64, inlined: &mut usize) {
        if *inlined > 0 {
            // SAFETY: under the planner's lock; the records before `head` are run.
            unsafe { window.ring.advance(head) };
            count(&runtime.counters.inlined, *inlined as u64);
            *inlined = 0;
        }
    }

    /// One past the last record to plan, without trailing views: their reader is not published yet.
    fn limit(&self, window: &Window, head: u64, until: Until) -> Option<u64> {
        let mut tail = window.ring.tail();
        if let Until::Index(index) | Until::Bounded(index) | Until::Inline(index) = until {
            tail = tail.min(index);
        }
        // SAFETY: between head and tail, under the planner's lock.
        while tail > head && unsafe { window.ring.peek(tail - 1) }.is_view() {
            tail -= 1;
        }
        (tail > head).then_some(tail)
    }

    /// The record at `index`, or the one that reads through the views that start at `index`.
    pub(crate) fn reader(&self, window: &Window, mut index: u64) -> u64 {
        // SAFETY: below the limit, which is never directly after a view.
        while unsafe { window.ring.peek(index) }.is_view() {
            index += 1;
        }
        index
    }

    /// The end of the segment that starts at `head`, and whether the records determine it.
    fn segment_end(&self, window: &Window, head: u64, tail: u64) -> (u64, bool) {
        let (mut index, mut records, mut products) = (head, 0, 0);
        while index < tail {
            let reader = self.reader(window, index);
            // SAFETY: between head and tail, under the planner's lock.
            let record = unsafe { window.ring.peek(reader) };
            let product = record.recipe.op() == Op::Matmul;
            if records == MOST_RECORDS || (product && products == 1) {
                return (index, true);
            }
            products += product as usize;
            records += 1;
            index = reader + 1;
        }
        (tail, records == MOST_RECORDS)
    }

    /// How long to wait for more records before cutting here; `None` if none arrived for long enough.
    fn too_early(&mut self, window: &Window, head: u64, end: u64) -> Option<Duration> {
        // SAFETY: between head and tail, under the planner's lock.
        let cost: usize = (head..end).map(|i| unsafe { window.ring.peek(i) }.recipe.cost).sum();
        // An element costs about a nanosecond: wait up to 1/64 of the work for the chance to fuse.
        let patience = Duration::from_nanos((cost as u64 / 64).clamp(2_000, 250_000));
        let side = window.planner_side(self);
        let tail = window.ring.tail();
        let now = Instant::now();
        match side.seen_at {
            Some(at) if side.seen_tail == tail => {
                let unchanged = now.duration_since(at);
                (unchanged < patience).then(|| patience - unchanged)
            }
            _ => {
                side.seen_tail = tail;
                side.seen_at = Some(now);
                Some(patience)
            }
        }
    }

    /// Plans the window of another thread up to the record that produces the value.
    fn take_foreign(&mut self, node: &'static Node, engine: &Engine) {
        // SAFETY: windows are never freed.
        let window: &'static Window = unsafe { &*node.window() };
        while !node.is_planned() {
            self.advance(window, Until::Index(node.born()), engine);
        }
    }

    /// Fails every record of a window instead of planning it. Trailing views stay: their reader may be submitted soon.
    pub(crate) fn fail_records(&mut self, window: &'static Window, error: &Error) {
        let ring = &window.ring;
        let mut index = ring.head();
        let Some(tail) = self.limit(window, index, Until::Idle) else { return };
        while index < tail {
            let reader = self.reader(window, index);
            // SAFETY: between head and tail, under the planner's lock.
            let record = unsafe { ring.get(reader) };
            let resolved = operands(&record).iter().map(|w| resolve(window, reader, *w)).collect();
            let submitted = Submitted::take(record, resolved);
            lower::fail(&submitted, error.clone());
            index = reader + 1;
        }
        // SAFETY: under the planner's lock; the records before `tail` are settled.
        unsafe { ring.advance(tail) };
        self.note_completed(window);
    }

    /// Publishes the oldest record that is not done, which decides which slots the owner may reclaim.
    pub(crate) fn note_completed(&mut self, window: &'static Window) {
        self.flights.purge();
        let head = window.ring.head();
        window.set_completed(self.flights.first_of(window).map_or(head, |first| first.min(head)));
    }

    /// The age of the planned and unfinished task that produces a value.
    pub(crate) fn age_of(&self, node: &Node) -> Option<u64> {
        self.flights.maker(node).map(|task| task.age())
    }
}

/// Plans more records for idle workers.
pub(crate) struct WindowFeeder;

impl Feeder for WindowFeeder {
    fn feed(&self, engine: &Engine) -> Fed {
        let runtime = runtime();
        let Some(mut planner) = runtime.planner.try_lock() else { return Fed::Later(Duration::from_micros(1)) };
        let windows = runtime.windows.count();
        let mut soonest = None;
        for k in 0..windows {
            let place = (planner.next_window + k) % windows;
            let Some(window) = runtime.windows.get(place) else { continue };
            if window.ring.is_empty() {
                // Finished tasks of a quiet window free its slots.
                planner.note_completed(window);
                continue;
            }
            match planner.advance(window, Until::Idle, engine) {
                Fed::Progress => {
                    planner.next_window = place + 1;
                    return Fed::Progress;
                }
                Fed::Later(time) => soonest = Some(soonest.map_or(time, |s: Duration| s.min(time))),
                Fed::Empty => {}
            }
        }
        soonest.map_or(Fed::Empty, Fed::Later)
    }

    fn has_work(&self) -> bool {
        let runtime = runtime();
        runtime.windows.any_pending() && runtime.engine.in_flight() < MOST_FLIGHTS
    }
}
