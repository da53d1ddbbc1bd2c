//! Blockers: which lines of the program waited, for how long, and for what.
//!
//! Waits are always recorded, but only if a call really waited: a value that was ready, or that ran inline, is no wait.
//! The lock around the table is therefore cheap compared to the wait itself.

use crate::observe::origin::Origin;
use crate::observe::trace;
use crate::runtime::fork;
use crate::runtime::memory::HoldCounter;
use crate::runtime::node::Node;
use crate::runtime::runtime;
use forerun_base::Mutex;
use forerun_base::{Loc, Result, WordHash};
use forerun_engine::{WaitOptions, WaitTarget, Waited};
use std::any::Any;
use std::cell::Cell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The call name of a wait for everything.
pub(crate) const EVERYTHING: &str = "wait_all";
/// The call name of a submission that blocked on a full window.
pub(crate) const HELD_BY_WINDOW: &str = "submit: queue full";
/// The call name of a submission that blocked on queued host data.
pub(crate) const HELD_BY_HOST: &str = "submit: host copies queued";

/// Maximum number of lines kept; a program that compiles code line by line may have any number.
const MOST_LINES: usize = 8192;

/// One wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The line that waited.
    pub loc: Loc,
    /// The call that waited.
    pub call: &'static str,
    /// The op whose value it waited for, and its line. Unknown for a wait for everything and for a blocked submission.
    pub origin: Origin,
    /// Time spent idle.
    pub parked: Duration,
    /// Time spent running tasks and pieces of tasks.
    pub helped: Duration,
    /// Total time, including planning.
    pub time: Duration,
}

/// All waits of one call at one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocker {
    /// Number of waits.
    pub count: u64,
    /// Total time spent idle.
    pub parked: Duration,
    /// Total time spent running tasks and pieces of tasks.
    pub helped: Duration,
    /// Total time, including planning.
    pub time: Duration,
    /// The longest wait; all waits share its line and call.
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
    /// Takes the lock before a fork.
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

/// Drops the half of the lines that waited least.
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

/// Waits in the engine, and records the wait if it blocks, with the value that it waits for, if it is one. An
/// interrupted wait is not recorded.
pub(crate) fn wait(
    target: &dyn WaitTarget,
    options: WaitOptions<'_>,
    call: &'static str,
    value: Option<&Node>,
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
        trace::waited(&waiting, value, start);
    }
    Ok(())
}

/// The same for a submission that blocks, which is counted too.
pub(crate) fn hold(
    target: &dyn WaitTarget,
    options: WaitOptions<'_>,
    call: &'static str,
    counter: &HoldCounter,
) -> Result<()> {
    counter.during(|| wait(target, options, call, None, Origin::default))
}

/// Every line that waited so far, on any thread, by total time in descending order.
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

/// Clears the recorded waits.
pub fn reset_blockers() {
    runtime().blockers.0.lock().clear();
}

/// The last wait of the calling thread.
pub fn last_wait() -> Option<Waiting> {
    LAST.get()
}
