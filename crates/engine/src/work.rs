//! The traits that the engine's users implement: work to run, feeders that plan more, targets to wait for.
//!
//! The engine knows nothing else about its users; it never sees what a task computes.

use crate::Engine;
use forerun_base::{Error, ErrorKind, Loc, Team};
use std::time::Duration;

/// The work of a task.
pub trait Work: Send + Sync {
    /// Bytes that the work allocates when it starts, charged to the ledger on the thread that runs it.
    fn bytes(&self) -> usize;

    /// Runs the work. Called once, on any thread. Publishes its values, ready or failed, before it returns.
    fn run(&self, team: &dyn Team);

    /// Publishes the values as failed. Called instead of `run`, or after a panic in it.
    fn fail(&self, error: Error);

    /// Submits the work of a device task to the device, instead of `run`, and publishes the values as enqueued. One
    /// task of a device is enqueued at a time. Never blocks; called again only after it returned `NoMemory`.
    fn enqueue(&self) -> Enqueued {
        self.fail(Error::new(ErrorKind::Runtime, "this task has no device"));
        Enqueued::Nothing
    }

    /// Publishes the values as failed, or enqueues those that fit one by one. Called when the device has no memory and
    /// no outstanding task could free any.
    fn fail_for_memory(&self) -> Enqueued {
        self.fail(Error::new(ErrorKind::Memory, "out of memory"));
        Enqueued::Nothing
    }

    /// Publishes the values as ready, or as failed if they or their inputs failed. Called once after `enqueue`, on any
    /// thread, when the lane has passed the ticket and all tasks that this one follows have settled.
    fn settle(&self) {}

    /// The source line of a source task, or 0 if unknown: tasks of one line are iterations of one loop.
    fn line(&self) -> u32 {
        0
    }

    /// Whether the work may run for longer than about 10 ms. An interruptible waiter leaves such tasks to the workers
    /// and only joins their pieces.
    fn is_heavy(&self) -> bool {
        self.bytes() >= 4 << 20
    }
}

/// A position in a lane: the lane has passed it once everything enqueued up to it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneTicket {
    /// The device's index of the lane.
    pub lane: usize,
    /// Counted from 1 on each lane.
    pub number: u64,
}

/// The outcome of enqueuing a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// The work was submitted to the device.
    Ticket(LaneTicket),
    /// The device has nothing to do: the values are published as failed.
    Nothing,
    /// There is no memory for it now; nothing was changed.
    NoMemory,
}

/// The engine's view of a device: in-order lanes that pass tickets.
pub trait Driver: Send + Sync {
    /// Number of lanes.
    fn lanes(&self) -> usize;

    /// The last ticket that a lane has passed. Never blocks.
    fn passed(&self, lane: usize) -> u64;

    /// Blocks until a lane has passed its ticket in `tickets` (0 for lanes to ignore), `nudge` is called, or the time
    /// is over.
    fn block(&self, tickets: &[u64], at_most: Duration);

    /// Ends the current call of `block`, or the next one.
    fn nudge(&self);

    /// Submits work that the device has batched, because a thread waits for it. With `more`, the device may keep it to
    /// batch it with work that is about to come.
    fn flush(&self, _more: bool) {}
}

/// What a device task needs from a predecessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It must have settled, because its values are elsewhere.
    Settled,
    /// It must be enqueued: both are on one device, which keeps the order.
    Enqueued,
}

/// A task to be spawned.
pub struct TaskSpec {
    /// The work it runs.
    pub work: Box<dyn Work>,
    /// Whether it has no task inputs (random numbers, host copies): it then starts early only within the prefetch
    /// allowance.
    pub source: bool,
}

/// The outcome of asking for more work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fed {
    /// Something was planned or run: poll again.
    Progress,
    /// There are records, but it is too early to cut a segment: poll again after this time.
    Later(Duration),
    /// There is nothing to plan.
    Empty,
}

/// Gives idle workers more work.
pub trait Feeder: Send + Sync {
    /// Plans more: may spawn tasks or run tiny records inline. Never blocks, never panics.
    fn feed(&self, engine: &Engine) -> Fed;

    /// Whether there are published records that are not planned: the last check before a worker parks.
    fn has_work(&self) -> bool;
}

/// What a waiter waits for.
pub trait WaitTarget: Sync {
    /// Whether the wait is over. Other threads call it too while the waiter is parked: it must only read, without locks
    /// or waits.
    fn done(&self) -> bool;

    /// The waiter runs no task younger than this while it helps, because a wait for an intermediate result must not run
    /// the rest of the program. `u64::MAX` for no limit, 0 while the target's task is not planned. Other threads call
    /// it too.
    fn age_limit(&self) -> u64;

    /// Plans, or runs inline, records that lead to the target and are not planned yet.
    fn feed(&self, engine: &Engine) -> Fed;
}

/// Options of a wait.
#[derive(Clone, Copy, Default)]
pub struct WaitOptions<'a> {
    /// Called now and then, and right after a signal; true ends the wait with `ErrorKind::Interrupted`.
    pub interrupt: Option<&'a dyn Fn() -> bool>,
    /// The source line that waits.
    pub loc: Loc,
}

/// Statistics of one wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// Time spent running tasks and pieces.
    pub helped: Duration,
    /// Time spent idle.
    pub parked: Duration,
}
