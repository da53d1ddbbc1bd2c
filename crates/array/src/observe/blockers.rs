//! Blockers: which lines of the program waited, for how long, and for what.
//!
//! Noted always, but only when a call really waited: what was there, or could be made on the spot, is no wait. So the
//! lock around the table costs nothing next to the wait itself.

use crate::observe::origin::Origin;
use crate::observe::trace;
use crate::runtime::fork;
use crate::runtime::memory::HoldCounter;
use crate::runtime::runtime;
use forerun_base::{Loc, Result, WordHash};
use forerun_engine::{WaitOptions, WaitTarget, Waited};
use parking_lot::Mutex;
use std::any::Any;
use std::cell::Cell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// What a wait for everything is called.
pub(crate) const EVERYTHING: &str = "wait_all";
/// What a hold for room in the window is called.
pub(crate) const HELD_BY_WINDOW: &str = "hold: window full";
/// What a hold for queued host data is called.
pub(crate) const HELD_BY_HOST: &str = "hold: host data queued";

/// Lines that are remembered; a program that is compiled line by line may have any number.
const MOST_LINES: usize = 8192;

/// One wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The line that waited.
    pub loc: Loc,
    /// What it called.
    pub call: &'static str,
    /// The op whose value it waited for, and its line. Unknown for a wait for everything, and for a hold.
    pub origin: Origin,
    /// How long it did nothing.
    pub parked: Duration,
    /// How long it ran tasks and pieces of tasks.
    pub helped: Duration,
    /// How long it took, planning included.
    pub time: Duration,
}

/// All waits of one call at one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocker {
    /// How often it waited.
    pub count: u64,
    /// How long it did nothing, altogether.
    pub parked: Duration,
    /// How long it ran tasks and pieces of tasks, altogether.
    pub helped: Duration,
    /// How long it took altogether, planning included.
    pub time: Duration,
    /// The longest wait: its line and its call are those of all.
    pub longest: Waiting,
}

impl Blocker {
    fn add(&mut self, other: &Blocker) {
        self.count += other.count;
        self.parked += other.parked;
        self.helped += other.helped;
        self.time += other.time;
        if other.longest.time > self.longest.time {
            self.longest = other.longest;
        }
    }
}

/// The table of all blockers.
#[derive(Default)]
pub(crate) struct Blockers(Mutex<HashMap<(Loc, &'static str), Blocker, WordHash>>);

thread_local! {
    static LAST: Cell<Option<Waiting>> = const { Cell::new(None) };
}

impl Blockers {
    /// The lock, held for a fork.
    pub(crate) fn lock_for_fork(&'static self) -> Box<dyn Any> {
        Box::new(self.0.lock())
    }

    fn note(&self, wait: Waiting) {
        let Waiting { parked, helped, time, .. } = wait;
        let one = Blocker { count: 1, parked, helped, time, longest: wait };
        let mut all = self.0.lock();
        if all.len() >= MOST_LINES && !all.contains_key(&(wait.loc, wait.call)) {
            forget_short(&mut all);
        }
        all.entry((wait.loc, wait.call)).and_modify(|known| known.add(&one)).or_insert(one);
    }
}

/// Forgets the half of the lines that waited least.
fn forget_short(all: &mut HashMap<(Loc, &'static str), Blocker, WordHash>) {
    let mut times: Vec<Duration> = all.values().map(|blocker| blocker.time).collect();
    let middle = times.len() / 2;
    let (_, median, _) = times.select_nth_unstable(middle);
    let (least, mut more) = (*median, MOST_LINES / 2);
    all.retain(|_, blocker| {
        let keep = blocker.time >= least && more > 0;
        more -= keep as usize;
        keep
    });
}

/// Waits in the engine, and notes it if it comes to that. A wait that was interrupted is not noted: it has no end.
pub(crate) fn wait(
    target: &dyn WaitTarget,
    options: WaitOptions<'_>,
    call: &'static str,
    origin: impl FnOnce() -> Origin,
) -> Result<()> {
    if target.done() {
        return Ok(());
    }
    fork::check().map_err(|error| error.read_at(options.loc))?;
    let start = Instant::now();
    let Waited { helped, parked } = runtime().engine.wait(target, options)?;
    let time = start.elapsed();
    let waiting = Waiting { loc: options.loc, call, origin: origin(), parked, helped, time };
    LAST.set(Some(waiting));
    runtime().blockers.note(waiting);
    if trace::is_on() {
        trace::waited(&waiting, start);
    }
    Ok(())
}

/// The same for a hold of a submitter, which is counted too.
pub(crate) fn hold(
    target: &dyn WaitTarget,
    options: WaitOptions<'_>,
    call: &'static str,
    counter: &HoldCounter,
) -> Result<()> {
    counter.during(|| wait(target, options, call, Origin::default))
}

/// Every line that waited so far, on any thread, the one that took longest altogether first.
pub fn blockers() -> Vec<Blocker> {
    // A line of a frontend may have several locs.
    let mut lines: HashMap<(String, &'static str), Blocker> = HashMap::new();
    let all: Vec<Blocker> = runtime().blockers.0.lock().values().copied().collect();
    for blocker in &all {
        let key = (blocker.longest.loc.text().to_string(), blocker.longest.call);
        lines.entry(key).and_modify(|known| known.add(blocker)).or_insert(*blocker);
    }
    let mut lines: Vec<((String, &'static str), Blocker)> = lines.into_iter().collect();
    lines.sort_unstable_by(|(a, x), (b, y)| y.time.cmp(&x.time).then_with(|| a.cmp(b)));
    lines.into_iter().map(|(_, blocker)| blocker).collect()
}

/// Forgets the waits so far.
pub fn reset_blockers() {
    runtime().blockers.0.lock().clear();
}

/// The last wait of the calling thread.
pub fn last_wait() -> Option<Waiting> {
    LAST.get()
}
