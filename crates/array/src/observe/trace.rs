//! Traces: what was submitted, planned, run and waited for, with times, for a timeline.
//!
//! Every thread notes its events in a ring of its own, the newest in the place of the oldest. A ring has a lock that
//! only its thread takes, but for whoever starts or stops the trace. Its room is taken once, at the thread's first
//! event. While no trace is on, all it costs is one look at a flag.
//!
//! What an accelerator ran is noted by the thread that finds it complete, and booked on the accelerator's lane when the trace
//! stops.

use crate::observe::blockers::Waiting;
use crate::observe::origin::Origin;
use crate::runtime::node::Node;
use crate::runtime::recipe::Recipe;
use crate::runtime::record::Record;
use crate::runtime::runtime;
use crate::runtime::segment::Submitted;
use forerun_base::{Device, Error, ErrorKind, Loc, Result};
use forerun_plan::{Lane, Meta};
use parking_lot::Mutex;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// An op was submitted.
    Submitted,
    /// A record became part of a task.
    Planned {
        /// The number of the task.
        task: u64,
        /// Its age: older ones go first; 0 if a waiter ran it at once.
        age: u64,
    },
    /// A task, or a record on the spot, was run, from its start to its end.
    Ran {
        /// The number of the task: that of its first value.
        task: u64,
        /// How many records it computed.
        records: u32,
        /// The accelerator and its lane; none on the host.
        on: Option<(usize, Lane)>,
    },
    /// A thread waited, from the beginning to the end.
    Waited {
        /// What it called.
        call: &'static str,
        /// The line that waited.
        loc: Loc,
        /// How long it did nothing.
        parked: Duration,
        /// How long it ran tasks.
        helped: Duration,
    },
}

/// Something that happened on a thread.
#[derive(Clone, Debug)]
pub struct TraceEvent {
    /// What happened.
    pub what: EventKind,
    /// When it began, since the trace was started.
    pub start: Duration,
    /// When it ended.
    pub end: Duration,
    /// The op and its line; of a task, those of its last record; of a wait, what it waited for.
    pub origin: Origin,
    /// A number for the value that the op makes.
    pub value: u64,
    /// Dtype and layout of that value.
    pub meta: Option<Arc<Meta>>,
    /// Bytes of what is made.
    pub bytes: usize,
}

/// The events of a thread, or of a lane of an accelerator.
#[derive(Clone, Debug)]
pub struct Track {
    /// The name of the thread, or of accelerator and lane.
    pub thread: String,
    /// What happened there, in the order in which it ended. If there was too much, the oldest is missing.
    pub events: Vec<TraceEvent>,
}

/// An event as its thread notes it: nothing is worked out yet.
struct RawEvent {
    start: Instant,
    end: Instant,
    what: RawKind,
}

/// What happened, by the record that it happened to.
enum RawKind {
    Submitted { record: RecordRef },
    Planned { record: RecordRef, task: u64, age: u64 },
    Ran { record: RecordRef, task: u64, records: u32, bytes: usize, on: Option<(usize, Lane)> },
    Waited(Box<Waiting>),
}

/// What an event keeps of a record.
struct RecordRef {
    recipe: Arc<Recipe>,
    value: u64,
    loc: u32,
}

impl RecordRef {
    fn of(record: &Record) -> RecordRef {
        RecordRef { recipe: record.recipe.share(), value: number_of(record), loc: record.loc }
    }
}

impl RawEvent {
    /// The event, its times counted from the start of the trace.
    fn event(self, trace_start: Instant) -> TraceEvent {
        let [start, end] = [self.start, self.end].map(|at| at.saturating_duration_since(trace_start));
        let of = |what: EventKind, record: RecordRef, bytes: Option<usize>| {
            let meta = record.recipe.signature.out.clone();
            let origin = Origin { op: record.recipe.op().name(), loc: Loc::from_id(record.loc) };
            let bytes = bytes.unwrap_or(meta.bytes);
            TraceEvent { what, start, end, origin, value: record.value, meta: Some(meta), bytes }
        };
        match self.what {
            RawKind::Submitted { record } => of(EventKind::Submitted, record, None),
            RawKind::Planned { record, task, age } => of(EventKind::Planned { task, age }, record, None),
            RawKind::Ran { record, task, records, bytes, on } => {
                of(EventKind::Ran { task, records, on }, record, Some(bytes))
            }
            RawKind::Waited(wait) => {
                let Waiting { loc, call, origin, parked, helped, .. } = *wait;
                let what = EventKind::Waited { call, loc, parked, helped };
                TraceEvent { what, start, end, origin, value: 0, meta: None, bytes: 0 }
            }
        }
    }
}

/// The newest events of a thread.
#[derive(Default)]
struct Ring {
    events: Vec<RawEvent>,
    /// Where the next one goes once the ring is full.
    next: usize,
    /// How many there may be.
    most: usize,
}

impl Ring {
    #[inline]
    fn push(&mut self, event: RawEvent) {
        if self.events.len() < self.most {
            // Free unless it is the first.
            self.events.reserve_exact(self.most - self.events.len());
            return self.events.push(event);
        }
        if let Some(oldest) = self.events.get_mut(self.next) {
            *oldest = event;
            self.next = (self.next + 1) % self.most;
        }
    }

    fn empty(&mut self, most: usize) -> Vec<RawEvent> {
        let next = std::mem::take(&mut self.next);
        self.most = most;
        let mut events = std::mem::take(&mut self.events);
        events.rotate_left(next);
        events
    }
}

struct Rings {
    /// When the trace that is on was started.
    start: Option<Instant>,
    most: usize,
    threads: Vec<(String, Arc<Mutex<Ring>>)>,
    /// How many threads had a ring so far.
    count: usize,
}

static ON: AtomicBool = AtomicBool::new(false);
static RINGS: Mutex<Rings> = Mutex::new(Rings { start: None, most: 0, threads: Vec::new(), count: 0 });

/// The lock of the rings, held for a fork.
pub(crate) fn lock_for_fork() -> Box<dyn std::any::Any> {
    Box::new(RINGS.lock())
}

thread_local! {
    static RING: OnceCell<Arc<Mutex<Ring>>> = const { OnceCell::new() };
}

#[cold]
fn open_ring() -> Arc<Mutex<Ring>> {
    let mut rings = RINGS.lock();
    let ring = Arc::new(Mutex::new(Ring { most: rings.most, ..Ring::default() }));
    let name = match std::thread::current().name() {
        Some(name) if rings.threads.iter().all(|(taken, _)| taken != name) => name.to_owned(),
        name => format!("{} {}", name.unwrap_or("thread"), rings.count),
    };
    rings.count += 1;
    rings.threads.push((name, ring.clone()));
    ring
}

/// Starts noting events, at most so many a thread.
pub fn start_trace(most: usize) -> Result<()> {
    let mut rings = RINGS.lock();
    if rings.start.is_some() {
        return Err(Error::new(ErrorKind::Runtime, "a trace is on already").in_op("start_trace"));
    }
    rings.most = most;
    // Threads that ended have only the list's own reference left.
    rings.threads.retain(|(_, ring)| Arc::strong_count(ring) > 1);
    for (_, ring) in &rings.threads {
        ring.lock().empty(most);
    }
    rings.start = Some(Instant::now());
    ON.store(true, Relaxed);
    Ok(())
}

/// Stops noting events and gives them, thread by thread.
pub fn stop_trace() -> Result<Vec<Track>> {
    let Some(start) = RINGS.lock().start.take() else {
        return Err(Error::new(ErrorKind::Runtime, "no trace is on").in_op("stop_trace"));
    };
    // Whoever is planning notes it before it lets the planner go, though what it planned may have run by then; its thread may
    // need its first ring for that, so the rings are not held meanwhile.
    let planner = loop {
        match runtime().planner.try_lock() {
            Some(planner) => break planner,
            None => std::thread::yield_now(),
        }
    };
    ON.store(false, Relaxed);
    drop(planner);
    let rings = RINGS.lock();
    let (mut lanes, mut told) = (Vec::new(), BTreeMap::new());
    for (thread, ring) in &rings.threads {
        // Whoever is just noting an event finds no room for it.
        let noted = ring.lock().empty(0);
        // What began before the trace did is not part of it.
        let noted = noted.into_iter().filter(|noted| noted.start >= start);
        let mut own = Vec::new();
        for event in noted.map(|noted| noted.event(start)) {
            match event.what {
                EventKind::Ran { on: Some((number, lane)), .. } => {
                    told.entry((number, lane as usize)).or_insert_with(Vec::new).push(event);
                }
                _ => own.push(event),
            }
        }
        if !own.is_empty() {
            lanes.push(Track { thread: thread.clone(), events: own });
        }
    }
    lanes.extend(told.into_iter().map(|((number, lane), events)| of_lane(number, Lane::ALL[lane], events)));
    Ok(lanes)
}

/// The kernels that ran on a lane, in order: each from when it was enqueued, or from the end of the one before.
fn of_lane(number: usize, lane: Lane, mut events: Vec<TraceEvent>) -> Track {
    events.sort_by_key(|event| event.end);
    let mut free = Duration::ZERO;
    for event in &mut events {
        event.start = event.start.max(free);
        free = event.end;
    }
    Track { thread: format!("{} {}", Device::Gpu(number as u8), lane.name()), events }
}

/// Whether events are noted.
#[inline]
pub(crate) fn is_on() -> bool {
    ON.load(Relaxed)
}

/// The time, if events are noted.
#[inline]
pub(crate) fn clock() -> Option<Instant> {
    if is_on() { Some(Instant::now()) } else { None }
}

/// A number for a life of a node.
pub(crate) fn number(node: &Node, generation: u32) -> u64 {
    (node as *const Node as u64) << 16 ^ generation as u64
}

#[inline]
fn note(start: Instant, end: Instant, what: RawKind) {
    // A thread that is already ending has no ring any more.
    let _ = RING.try_with(|ring| ring.get_or_init(open_ring).lock().push(RawEvent { start, end, what }));
}

/// A number for the value that a record makes.
fn number_of(record: &Record) -> u64 {
    // SAFETY: nodes are never freed, and only records with a result are noted.
    number(unsafe { &*record.out }, record.generation)
}

/// An op is submitted.
#[cold]
pub(crate) fn submitted(record: &Record) {
    let now = Instant::now();
    note(now, now, RawKind::Submitted { record: RecordRef::of(record) });
}

/// Records became a task.
#[cold]
pub(crate) fn planned(segment: &[Submitted], members: &[u16], age: u64) {
    let task = members.first().map_or(0, |r| number_of(&segment[*r as usize].record));
    let now = Instant::now();
    for r in members {
        note(now, now, RawKind::Planned { record: RecordRef::of(&segment[*r as usize].record), task, age });
    }
}

/// A record was run on the spot.
#[cold]
pub(crate) fn ran_inline(record: &Record, start: Instant) {
    let (bytes, record) = (record.recipe.signature.out.bytes, RecordRef::of(record));
    note(start, Instant::now(), RawKind::Ran { task: record.value, record, records: 1, bytes, on: None });
}

/// A task was run, on the host or on a lane. Its last record names it: the one that the others lead to.
#[cold]
pub(crate) fn ran(segment: &[Submitted], members: &[u16], bytes: usize, start: Instant, on: Option<(usize, Lane)>) {
    if let (Some(first), Some(last)) = (members.first(), members.last()) {
        let task = number_of(&segment[*first as usize].record);
        let record = RecordRef::of(&segment[*last as usize].record);
        note(start, Instant::now(), RawKind::Ran { record, task, records: members.len() as u32, bytes, on });
    }
}

/// A thread waited.
#[cold]
pub(crate) fn waited(wait: &Waiting, start: Instant) {
    note(start, Instant::now(), RawKind::Waited(Box::new(*wait)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_win() {
        let now = Instant::now();
        let wait = |age: u64| {
            let (parked, helped, time) = (Duration::from_nanos(age), Duration::ZERO, Duration::ZERO);
            let wait = Waiting { loc: Loc::UNKNOWN, call: "wait", origin: Origin::default(), parked, helped, time };
            RawEvent { start: now, end: now, what: RawKind::Waited(Box::new(wait)) }
        };
        let mut ring = Ring { most: 3, ..Ring::default() };
        for age in 0..5 {
            ring.push(wait(age));
        }
        let kept: Vec<u64> = ring
            .empty(0)
            .into_iter()
            .map(|noted| match noted.event(now).what {
                EventKind::Waited { parked, .. } => parked.as_nanos() as u64,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(kept, [2, 3, 4]);
        ring.push(wait(9));
        assert!(ring.empty(0).is_empty(), "no trace, no room");
    }
}
