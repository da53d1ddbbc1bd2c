//! Traces: submissions, planning, execution, waits and memory with their times, for a timeline.
//!
//! Every thread records its events in a ring of its own, which overwrites the oldest event when it is full. The ring's
//! lock is taken by its thread only, except when a trace starts or stops. Its memory is allocated once, at the thread's
//! first event. While no trace is on, the cost is one test of a flag.
//!
//! Events of an accelerator are recorded by the thread that finds them complete, and assigned to the accelerator's lane
//! when the trace stops.

use crate::observe::blockers::Waiting;
use crate::observe::origin::Origin;
use crate::runtime::node::Node;
use crate::runtime::recipe::Recipe;
use crate::runtime::record::Record;
use crate::runtime::runtime;
use crate::runtime::segment::Submitted;
use crate::runtime::submit::SubmitInput;
use forerun_base::Mutex;
use forerun_base::{Device, Error, ErrorKind, Loc, Result};
use forerun_plan::{Lane, Signature};
use smallvec::SmallVec;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// An op was submitted.
    Submitted,
    /// A record became part of a task.
    Planned {
        /// The id of the task.
        task: u64,
        /// Its age: older tasks go first; 0 if a waiter ran it at once.
        age: u64,
    },
    /// A task, or a record inline, ran, from its start to its end.
    Ran {
        /// The id of the task: that of its first value.
        task: u64,
        /// Number of records it computed.
        records: u32,
        /// The accelerator and its lane; `None` on the host.
        on: Option<(usize, Lane)>,
    },
    /// A thread waited, from start to end.
    Waited {
        /// The call that waited.
        call: &'static str,
        /// The line that waited.
        loc: Loc,
        /// Time spent idle.
        parked: Duration,
        /// Time spent running tasks.
        helped: Duration,
    },
    /// Memory was allocated for the result of an op; small results are not recorded, as in the list of holders.
    Allocated(Device),
    /// That memory was freed, or given to another op, which then allocates it.
    Freed(Device),
}

/// An event on a thread.
#[derive(Clone, Debug)]
pub struct TraceEvent {
    /// The kind of the event.
    pub what: EventKind,
    /// Start time, relative to the start of the trace.
    pub start: Duration,
    /// End time.
    pub end: Duration,
    /// The op and its line; for a task, those of its last record; for a wait, those of the value it waited for.
    pub origin: Origin,
    /// The id of the value that the op produces, or that was waited for; 0 if there is none.
    pub value: u64,
    /// The op with its operands: of a task, its last record; `None` for waits and memory.
    pub signature: Option<Arc<Signature>>,
    /// The ids of the values that a submitted op reads.
    pub inputs: Vec<u64>,
    /// Bytes of the result, or of the memory.
    pub bytes: usize,
}

/// The events of a thread, or of a lane of an accelerator.
#[derive(Clone, Debug)]
pub struct Track {
    /// The name of the thread, or of the accelerator and lane.
    pub thread: String,
    /// The events in the order of their ends. If there were too many, the oldest are missing.
    pub events: Vec<TraceEvent>,
}

/// An event as its thread records it, not resolved yet.
struct RawEvent {
    start: Instant,
    end: Instant,
    what: RawKind,
}

/// The kind of a raw event, with the records it concerns.
enum RawKind {
    Submitted { record: RecordRef, inputs: SmallVec<[u64; 3]> },
    Planned { record: RecordRef, task: u64, age: u64 },
    Ran { record: RecordRef, task: u64, records: u32, bytes: usize, on: Option<(usize, Lane)> },
    Waited(Box<Waiting>, u64),
    Memory { origin: Origin, device: Device, bytes: usize, freed: bool },
}

/// The part of a record that an event keeps.
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
    /// Resolves the event, with times relative to the start of the trace.
    fn event(self, trace_start: Instant) -> TraceEvent {
        let [start, end] = [self.start, self.end].map(|at| at.saturating_duration_since(trace_start));
        let of = |what: EventKind, record: RecordRef, bytes: Option<usize>| {
            let signature = record.recipe.signature.clone();
            let origin = Origin { op: record.recipe.op().name(), loc: Loc::from_id(record.loc) };
            let bytes = bytes.unwrap_or(signature.out.bytes);
            let (value, inputs) = (record.value, Vec::new());
            TraceEvent { what, start, end, origin, value, signature: Some(signature), inputs, bytes }
        };
        let other = |what: EventKind, origin: Origin, value: u64, bytes: usize| {
            let (signature, inputs) = (None, Vec::new());
            TraceEvent { what, start, end, origin, value, signature, inputs, bytes }
        };
        match self.what {
            RawKind::Submitted { record, inputs } => {
                TraceEvent { inputs: inputs.into_vec(), ..of(EventKind::Submitted, record, None) }
            }
            RawKind::Planned { record, task, age } => of(EventKind::Planned { task, age }, record, None),
            RawKind::Ran { record, task, records, bytes, on } => {
                of(EventKind::Ran { task, records, on }, record, Some(bytes))
            }
            RawKind::Waited(wait, value) => {
                let Waiting { loc, call, origin, parked, helped, .. } = *wait;
                other(EventKind::Waited { call, loc, parked, helped }, origin, value, 0)
            }
            RawKind::Memory { origin, device, bytes, freed } => {
                let what = if freed { EventKind::Freed(device) } else { EventKind::Allocated(device) };
                other(what, origin, 0, bytes)
            }
        }
    }
}

/// The newest events of a thread.
#[derive(Default)]
struct Ring {
    events: Vec<RawEvent>,
    /// Position of the next event once the ring is full.
    next: usize,
    /// Maximum number of events.
    most: usize,
}

impl Ring {
    #[inline]
    fn push(&mut self, event: RawEvent) {
        if self.events.len() < self.most {
            // Allocates only for the first event.
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
    /// Start of the running trace.
    start: Option<Instant>,
    most: usize,
    threads: Vec<(String, Arc<Mutex<Ring>>)>,
    /// Number of threads that had a ring so far.
    count: usize,
}

static ON: AtomicBool = AtomicBool::new(false);
static RINGS: Mutex<Rings> = Mutex::new(Rings { start: None, most: 0, threads: Vec::new(), count: 0 });

/// Takes the lock of the rings before a fork.
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

/// Names the track of the calling thread, for a frontend that has names for its threads.
pub fn name_track(name: &str) {
    RING.with(|ring| {
        let ring = ring.get_or_init(open_ring);
        let mut rings = RINGS.lock();
        if let Some(track) = rings.threads.iter_mut().find(|(_, other)| Arc::ptr_eq(other, ring)) {
            track.0 = name.to_owned();
        }
    });
}

/// Starts a trace with at most `most` events per thread.
pub fn start_trace(most: usize) -> Result<()> {
    let mut rings = RINGS.lock();
    if rings.start.is_some() {
        return Err(Error::new(ErrorKind::Runtime, "a trace is already running").in_op("start_trace"));
    }
    rings.most = most;
    // Only the list refers to the rings of threads that have ended.
    rings.threads.retain(|(_, ring)| Arc::strong_count(ring) > 1);
    for (_, ring) in &rings.threads {
        ring.lock().empty(most);
    }
    rings.start = Some(Instant::now());
    ON.store(true, Relaxed);
    Ok(())
}

/// Stops the trace and returns its events by thread.
pub fn stop_trace() -> Result<Vec<Track>> {
    let Some(start) = RINGS.lock().start.take() else {
        return Err(Error::new(ErrorKind::Runtime, "no trace is running").in_op("stop_trace"));
    };
    // A planning thread records its events before it releases the planner, although what it planned may already have
    // run. It may need to open its first ring for that, so the rings are not locked meanwhile.
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
        // A thread that is recording an event right now finds no room for it.
        let noted = ring.lock().empty(0);
        // Events that began before the trace are not part of it.
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

/// The kernels that ran on a lane, in order: each starts when it was enqueued, or at the end of the previous one.
fn of_lane(number: usize, lane: Lane, mut events: Vec<TraceEvent>) -> Track {
    events.sort_by_key(|event| event.end);
    let mut free = Duration::ZERO;
    for event in &mut events {
        event.start = event.start.max(free);
        free = event.end;
    }
    Track { thread: format!("{} {}", Device::Gpu(number as u8), lane.name()), events }
}

/// Whether a trace is on.
#[inline]
pub(crate) fn is_on() -> bool {
    ON.load(Relaxed)
}

/// The time, if a trace is on.
#[inline]
pub(crate) fn clock() -> Option<Instant> {
    if is_on() { Some(Instant::now()) } else { None }
}

/// An id for one generation of a node.
pub(crate) fn number(node: &Node, generation: u32) -> u64 {
    (node as *const Node as u64) << 16 ^ generation as u64
}

#[inline]
fn note(start: Instant, end: Instant, what: RawKind) {
    // A thread that is already ending has no ring any more.
    let _ = RING.try_with(|ring| ring.get_or_init(open_ring).lock().push(RawEvent { start, end, what }));
}

/// The id of the value that a record produces.
fn number_of(record: &Record) -> u64 {
    // SAFETY: nodes are never freed, and only records with a result are traced.
    number(unsafe { &*record.out }, record.generation)
}

/// The id of a node's current value.
pub(crate) fn current(node: &Node) -> u64 {
    number(node, node.generation())
}

/// The id of the value that an op reads.
pub(crate) fn read_by(input: &SubmitInput<'_>) -> u64 {
    match input {
        SubmitInput::Array(array) | SubmitInput::Cell(array) => array.cell().with_current(current),
    }
}

/// Records the submission of an op.
#[cold]
pub(crate) fn submitted(record: &Record, inputs: &[SubmitInput<'_>]) {
    let now = Instant::now();
    let inputs = inputs.iter().map(read_by).collect();
    note(now, now, RawKind::Submitted { record: RecordRef::of(record), inputs });
}

/// Records that a task was planned.
#[cold]
pub(crate) fn planned(segment: &[Submitted], members: &[u16], age: u64) {
    let task = members.first().map_or(0, |r| number_of(&segment[*r as usize].record));
    let now = Instant::now();
    for r in members {
        note(now, now, RawKind::Planned { record: RecordRef::of(&segment[*r as usize].record), task, age });
    }
}

/// Records that a record ran inline.
#[cold]
pub(crate) fn ran_inline(record: &Record, start: Instant) {
    let (bytes, record) = (record.recipe.signature.out.bytes, RecordRef::of(record));
    note(start, Instant::now(), RawKind::Ran { task: record.value, record, records: 1, bytes, on: None });
}

/// Records that a task ran, on the host or on a lane. It is named after its last record, which the others lead to.
#[cold]
pub(crate) fn ran(segment: &[Submitted], members: &[u16], bytes: usize, start: Instant, on: Option<(usize, Lane)>) {
    if let (Some(first), Some(last)) = (members.first(), members.last()) {
        let task = number_of(&segment[*first as usize].record);
        let record = RecordRef::of(&segment[*last as usize].record);
        note(start, Instant::now(), RawKind::Ran { record, task, records: members.len() as u32, bytes, on });
    }
}

/// Records a wait, for a value or for everything.
#[cold]
pub(crate) fn waited(wait: &Waiting, value: Option<&Node>, start: Instant) {
    note(start, Instant::now(), RawKind::Waited(Box::new(*wait), value.map_or(0, current)));
}

/// Records that memory was charged to a line.
#[cold]
pub(crate) fn allocated(origin: Origin, device: Device, bytes: usize) {
    let now = Instant::now();
    note(now, now, RawKind::Memory { origin, device, bytes, freed: false });
}

/// Records that memory was credited to a line.
#[cold]
pub(crate) fn freed(origin: Origin, device: Device, bytes: usize) {
    let now = Instant::now();
    note(now, now, RawKind::Memory { origin, device, bytes, freed: true });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_events_are_kept() {
        let now = Instant::now();
        let wait = |age: u64| {
            let (parked, helped, time) = (Duration::from_nanos(age), Duration::ZERO, Duration::ZERO);
            let wait = Waiting { loc: Loc::UNKNOWN, call: "wait", origin: Origin::default(), parked, helped, time };
            RawEvent { start: now, end: now, what: RawKind::Waited(Box::new(wait), 0) }
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
        assert!(ring.empty(0).is_empty(), "without a trace there is no room");
    }
}
