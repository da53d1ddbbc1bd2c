//! Waiting: the wait targets, and the fast path that runs tiny records inline. Only the engine parks.

use crate::array::Array;
use crate::observe::blockers;
use crate::observe::no_sync;
use crate::observe::nonfinite;
use crate::observe::observers;
use crate::observe::origin::{self, Origin};
use crate::observe::read_hooks;
use crate::runtime::node::Node;
use crate::runtime::planner::Until;
use crate::runtime::runtime;
use crate::runtime::window::{self, Window};
use forerun_base::{Error, ErrorKind, Loc, Result};
use forerun_engine::{Engine, Fed, Status, TaskRef, WaitOptions, WaitTarget};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Options of a wait: the waiting line, the call, and the interrupt function.
#[derive(Clone, Copy, Default)]
pub struct Wait<'a> {
    /// The user's line.
    pub loc: Loc,
    /// The user's call, for reports and messages.
    pub call: &'static str,
    /// Whether the caller has already checked the thread's [`sync_rule`](crate::sync_rule).
    pub allowed: bool,
    /// The origin to report, if it is not the op that produces the value: device elements are copied to be read.
    pub origin: Option<Origin>,
    /// Whether the caller has checked that no hook applies ([`reads_plainly`](crate::reads_plainly)).
    pub plain: bool,
    /// Called now and then, and right after a signal; true ends the wait.
    pub interrupt: Option<&'a dyn Fn() -> bool>,
}

impl Wait<'_> {
    /// An uninterruptible wait at this line in this call.
    pub fn at(loc: Loc, call: &'static str) -> Wait<'static> {
        Wait { loc, call, ..Wait::default() }
    }

    fn options(&self) -> WaitOptions<'_> {
        WaitOptions { interrupt: self.interrupt, loc: self.loc }
    }
}

/// How long to wait before trying the planner's lock again.
pub(crate) const LOCK_PATIENCE: Duration = Duration::from_micros(1);

/// Waits for one value.
///
/// The records of the value's window are planned up to the one that produces the value, all in one call. Planning does not
/// stop at the number of unfinished tasks at which workers stop: the value may depend on none of these tasks. Where one of
/// the records reads an unplanned value of another window, that window is planned up to the producer. Later records
/// are left. Tiny records run here; the others become tasks, and the segment that ends with the value may run here too.
///
/// The wait is over when the value is settled, whatever else was planned. Until then the thread also runs ready tasks that
/// are not younger than the value's task, including ones that the value does not depend on.
struct ValueTarget<'a> {
    node: &'a Node,
    age: AtomicU64,
    origin: OnceLock<Origin>,
}

impl WaitTarget for ValueTarget<'_> {
    fn done(&self) -> bool {
        self.node.is_settled()
    }

    fn age_limit(&self) -> u64 {
        self.age.load(Relaxed)
    }

    fn feed(&self, engine: &Engine) -> Fed {
        if self.age.load(Relaxed) != 0 {
            return Fed::Empty;
        }
        let Some(mut planner) = runtime().planner.try_lock() else { return Fed::Later(LOCK_PATIENCE) };
        // SAFETY: windows are never freed.
        let window: &'static Window = unsafe { &*self.node.window() };
        if self.origin.get().is_none()
            && let Some(origin) = origin::planned(&planner, self.node)
        {
            let _ = self.origin.set(origin);
        }
        let fed = planner.advance(window, Until::Index(self.node.born()), engine);
        if let Some(age) = planner.age_of(self.node) {
            self.age.store(age, Relaxed);
        }
        fed
    }
}

/// Waits until a window has room.
struct RoomTarget(&'static Window);

impl WaitTarget for RoomTarget {
    fn done(&self) -> bool {
        let ring = &self.0.ring;
        ring.tail() - ring.head() < ring.capacity() as u64 * 3 / 4
    }

    fn age_limit(&self) -> u64 {
        u64::MAX
    }

    fn feed(&self, engine: &Engine) -> Fed {
        match runtime().planner.try_lock() {
            Some(mut planner) => planner.advance(self.0, Until::Bounded(self.0.ring.tail()), engine),
            None => Fed::Later(LOCK_PATIENCE),
        }
    }
}

/// Waits for everything submitted so far, on every thread, but not for later submissions.
struct AllTarget {
    tails: Vec<(&'static Window, u64)>,
    /// The tasks that were unfinished when everything was planned.
    tasks: OnceLock<Vec<TaskRef>>,
}

impl AllTarget {
    fn is_planned(&self) -> bool {
        self.tails.iter().all(|(w, tail)| w.ring.head() >= *tail)
    }
}

impl WaitTarget for AllTarget {
    fn done(&self) -> bool {
        match self.tasks.get() {
            Some(tasks) => tasks.iter().all(|task| task.is_done()),
            None => self.is_planned() && runtime().engine.in_flight() == 0,
        }
    }

    fn age_limit(&self) -> u64 {
        u64::MAX
    }

    fn feed(&self, engine: &Engine) -> Fed {
        if self.tasks.get().is_some() {
            return Fed::Empty;
        }
        let Some(mut planner) = runtime().planner.try_lock() else { return Fed::Later(LOCK_PATIENCE) };
        let mut answer = Fed::Empty;
        for (window, tail) in &self.tails {
            if window.ring.head() < *tail && planner.advance(window, Until::Bounded(*tail), engine) == Fed::Progress {
                answer = Fed::Progress;
            }
        }
        if self.is_planned() {
            let _ = self.tasks.set(planner.flights.unfinished().map(|f| f.task.clone()).collect());
        }
        answer
    }
}

/// Runs the records that lead to the value inline if they are small; never blocks. Returns whether the value is settled
/// afterwards.
#[inline]
pub(crate) fn settle_now(node: &Node) -> bool {
    node.is_settled() || make_now(node)
}

#[inline(never)]
fn make_now(node: &Node) -> bool {
    if !node.meta().device.is_host() {
        // Nothing runs inline on an accelerator.
        return false;
    }
    // SAFETY: windows are never freed.
    let window: &'static Window = unsafe { &*node.window() };
    if let Some(mut planner) = runtime().planner.try_lock() {
        planner.advance(window, Until::Index(node.born()), &runtime().engine);
    }
    node.is_settled()
}

/// Waits until a value is settled, ready or failed.
fn wait_for(node: &Node, wait: &Wait<'_>) -> Result<()> {
    if settle_now(node) {
        return Ok(());
    }
    let origin = wait.origin.or_else(|| origin::own(node)).map_or_else(OnceLock::new, OnceLock::from);
    let target = ValueTarget { node, age: AtomicU64::new(0), origin };
    blockers::wait(&target, wait.options(), wait.call, Some(node), || target.origin.get().copied().unwrap_or_default())
}

/// In sync mode, runs the record just submitted before its submission returns.
pub(crate) fn run_now(node: &Node) {
    if settle_now(node) {
        return;
    }
    // Nothing interrupts this wait. A failure stays in the value and is raised when it is read.
    let target = ValueTarget { node, age: AtomicU64::new(0), origin: OnceLock::new() };
    let _ = runtime().engine.wait(&target, WaitOptions::default());
}

/// Records that a frontend keeps free in the window for its next op: more than any op submits.
const SPARE: usize = 256;

/// Whether the calling thread's window has room for any op, so that submitting one will not block.
#[inline]
pub fn has_room() -> bool {
    let window = window::current();
    // SAFETY: windows are never freed, and it is our own: we are its only producer.
    window.is_null() || unsafe { (*window).ring.has_room(SPARE) }
}

/// Blocks until the caller's window has room. Called between two submissions, where an interrupt can end the wait. A
/// submission that finds the window full blocks too, but cannot be undone halfway.
pub fn make_room_with(wait: &Wait<'_>) -> Result<()> {
    if has_room() {
        return Ok(());
    }
    wait_for_room(window::window(), wait.options())
}

fn wait_for_room(window: &'static Window, options: WaitOptions<'_>) -> Result<()> {
    blockers::hold(&RoomTarget(window), options, blockers::HELD_BY_WINDOW, &runtime().held.window)
}

/// Helps until the full window has room.
#[cold]
pub(crate) fn make_room(window: &'static Window) {
    // Nothing interrupts this wait, because half a submission cannot be undone.
    around(&|| drop(wait_for_room(window, WaitOptions::default())));
}

/// Waits inside a submission, with the frontend's lock released.
fn around(work: &(dyn Fn() + Sync)) {
    match AROUND_WAIT.get() {
        Some(around) => around(work),
        None => work(),
    }
}

static AROUND_WAIT: OnceLock<AroundWait> = OnceLock::new();

/// Calls its argument with the frontend's locks released.
pub type AroundWait = fn(&(dyn Fn() + Sync));

/// Installs a frontend's wrapper for waits inside a submission, such as one that releases a global lock. The first one
/// stays.
pub fn set_around_wait(around: AroundWait) {
    let _ = AROUND_WAIT.set(around);
}

impl Array {
    /// Runs the records that lead to this array inline if they are small; never blocks. Returns whether the array is
    /// settled afterwards, so that reading it will not block.
    #[inline]
    pub fn settled_now(&self) -> bool {
        if self.cell().is_shared() { self.pin(settle_now) } else { settle_now(self.cell().current()) }
    }

    /// Waits until the array can be read. Fails with the cause if the op that produces it failed.
    #[inline]
    pub fn wait_to_read_with(&self, wait: &Wait<'_>) -> Result<()> {
        self.read(wait, |_| ())
    }

    /// Waits, then runs `f` on the ready value while it cannot be closed. If another thread points the cell at a newer
    /// value meanwhile, waits for that one.
    pub(crate) fn read<R>(&self, wait: &Wait<'_>, f: impl FnOnce(&Node) -> R) -> Result<R> {
        let mut f = Some(f);
        if !wait.plain {
            self.run_read_hooks(wait)?;
        }
        loop {
            let seen = self.cell().with_current(|value| match value.status() {
                Status::Failed => Some(Err(value.error())),
                Status::Ready => f.take().map(|f| Ok(f(value))),
                Status::Pending | Status::Enqueued { .. } => None,
            });
            match seen {
                Some(Ok(read)) => return Ok(read),
                Some(Err(error)) => {
                    runtime().observe_failure(&error);
                    return Err(error.read_at(wait.loc));
                }
                None => {
                    if !self.settled_now() {
                        self.pin(|value| wait_for(value, wait))?;
                    }
                }
            }
        }
    }

    /// Runs the thread's hooks for reads.
    #[inline(never)]
    fn run_read_hooks(&self, wait: &Wait<'_>) -> Result<()> {
        if read_hooks::reads_plainly() {
            return Ok(());
        }
        no_sync::check(wait, Some(self))?;
        nonfinite::check(wait)?;
        observers::note_unrepeatable();
        Ok(())
    }

    /// Runs `f` on the value, which cannot be reclaimed meanwhile even if the cell is pointed at another.
    pub(crate) fn pin<R>(&self, f: impl FnOnce(&Node) -> R) -> R {
        let value = self.cell().with_current(|value| {
            value.use_by_other();
            value as *const Node
        });
        // SAFETY: nodes are never freed, and the use announced above keeps this generation alive.
        let value = unsafe { &*value };
        let result = f(value);
        value.done(value.is_large(), 1, 1);
        result
    }
}

/// Waits until everything submitted so far is settled.
pub(crate) fn finish_all() {
    around(&|| {
        let target = AllTarget { tails: runtime().windows.tails(), tasks: OnceLock::new() };
        // A wait inside a task fails; the caller checks the outcome itself.
        let _ = runtime().engine.wait(&target, WaitOptions::default());
    });
}

/// Waits until everything submitted so far is settled, for a tool that must not change what it observes: the wait is not
/// recorded, and failures stay unread.
pub fn drain(wait: &Wait<'_>) -> Result<()> {
    let target = AllTarget { tails: runtime().windows.tails(), tasks: OnceLock::new() };
    runtime().engine.wait(&target, wait.options()).map(drop)
}

/// Waits for everything submitted so far, on every thread. Fails with the errors that were not read yet. If there are
/// very many, the last error states how many were omitted.
pub fn wait_all_with(wait: &Wait<'_>) -> std::result::Result<(), Vec<Error>> {
    wait_all_counted(wait).map_err(|(mut errors, more)| {
        if more > 0 {
            errors.push(Error::new(ErrorKind::Runtime, format!("{more} more operations failed")).read_at(wait.loc));
        }
        errors
    })
}

/// The same; returns the number of omitted errors separately.
pub fn wait_all_counted(wait: &Wait<'_>) -> std::result::Result<(), (Vec<Error>, usize)> {
    let runtime = runtime();
    let one = |error: Error| (vec![error], 0);
    no_sync::check(wait, None).map_err(one)?;
    let target = AllTarget { tails: runtime.windows.tails(), tasks: OnceLock::new() };
    if let Err(error) = blockers::wait(&target, wait.options(), wait.call, None, Origin::default) {
        return Err(one(if error.kind() == ErrorKind::Interrupted { error } else { error.read_at(wait.loc) }));
    }
    nonfinite::check(wait).map_err(one)?;
    let (failures, more) = std::mem::take(&mut *runtime.failures.lock()).into_parts();
    if failures.is_empty() && more == 0 {
        return Ok(());
    }
    Err((failures.into_iter().map(|e| e.read_at(wait.loc)).collect(), more))
}

/// Waits for everything submitted so far, on every thread. Fails with all errors that were not read yet.
#[track_caller]
pub fn wait_all() -> std::result::Result<(), Vec<Error>> {
    wait_all_with(&Wait::at(Loc::caller(), blockers::EVERYTHING))
}
