//! What others hand to the engine: work to run, feeders that plan more of it, targets to wait for.
//!
//! These traits are all the engine knows of its users; it never sees what a task computes.

use crate::Engine;
use forerun_base::{Error, ErrorKind, Loc, Team};
use std::time::Duration;

/// What a task does.
pub trait Work: Send + Sync {
    /// Bytes it will allocate when it starts, charged to the ledger on the thread that runs it.
    fn bytes(&self) -> usize;

    /// Does it. Called once, on any thread. Publishes its values, ready or failed, before it returns.
    fn run(&self, team: &dyn Team);

    /// Called instead of `run`, or after a panic in it: publishes its values as failed.
    fn fail(&self, error: Error);

    /// In the place of `run` for a task of a device: tells the device what to do and publishes the values as enqueued.
    /// One task of a device is enqueued at a time. Never waits; called again only after it found no memory.
    fn enqueue(&self) -> Enqueued {
        self.fail(Error::new(ErrorKind::Runtime, "this task has no device"));
        Enqueued::Nothing
    }

    /// The device has no memory for it, and nothing is left that might give some back: publishes its values as failed, or
    /// enqueues those that fit one by one.
    fn fail_for_memory(&self) -> Enqueued {
        self.fail(Error::new(ErrorKind::Memory, "out of memory"));
        Enqueued::Nothing
    }

    /// After `enqueue`, once the lane has passed the ticket and everything the task followed has settled: publishes the
    /// values as ready, or as failed if they or what they come from went wrong. Called once, on any thread.
    fn settle(&self) {}

    /// Which line of the program a source stands at, if known (not 0): tasks of one line are turns of one loop.
    fn line(&self) -> u32 {
        0
    }

    /// Whether it may run for longer than about 10 ms. A waiter that can be interrupted leaves such tasks to
    /// the workers and only takes pieces of them.
    fn is_heavy(&self) -> bool {
        self.bytes() >= 4 << 20
    }
}

/// A place in the order of a lane: the lane has passed it once everything enqueued up to it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneTicket {
    /// The lane, as the device counts them.
    pub lane: usize,
    /// Counted from 1 on each lane.
    pub number: u64,
}

/// What came of enqueuing a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// The device was told.
    Ticket(LaneTicket),
    /// The device has nothing to do with it: the values are published as failed.
    Nothing,
    /// There is no memory for it now; nothing was changed.
    NoMemory,
}

/// What the engine must know of a device: lanes, which do what they are told in order, and pass tickets.
pub trait Driver: Send + Sync {
    /// How many lanes there are.
    fn lanes(&self) -> usize;

    /// The last ticket that a lane has passed. Never waits.
    fn passed(&self, lane: usize) -> u64;

    /// Waits until a lane has passed its ticket of `tickets` (0 for lanes nobody waits for), until somebody nudges, or until
    /// the time is over.
    fn block(&self, tickets: &[u64], at_most: Duration);

    /// Ends the wait of whoever blocks now, or of the next who does.
    fn nudge(&self);

    /// Somebody waits for what was enqueued: whatever the device holds back goes out, unless more is about to come with which it
    /// should go.
    fn flush(&self, _more: bool) {}
}

/// What a task of a device needs of a task before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// That it has settled: its values lie elsewhere.
    Settled,
    /// That it was enqueued: both are of one device, which keeps the order.
    Enqueued,
}

/// A task to be spawned.
pub struct TaskSpec {
    /// What it does.
    pub work: Box<dyn Work>,
    /// It has no task inputs (random numbers, host copies): it starts early only within the prefetch allowance.
    pub source: bool,
}

/// What came of asking for more work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fed {
    /// Something was planned or run: look again.
    Progress,
    /// Something is there, but it is too early to cut it: look again after this time.
    Later(Duration),
    /// Nothing is there.
    Empty,
}

/// Where workers with nothing ready ask for more.
pub trait Feeder: Send + Sync {
    /// Plans more: may spawn tasks or run tiny things on the spot. Never blocks, never panics.
    fn feed(&self, engine: &Engine) -> Fed;

    /// Whether anything is published and not yet planned: the last look before a worker parks.
    fn has_work(&self) -> bool;
}

/// What a waiter waits for.
pub trait WaitTarget: Sync {
    /// Whether the wait is over. Asked by other threads too, while the waiter is parked: a plain look, no lock, no
    /// wait.
    fn done(&self) -> bool;

    /// Tasks younger than this are not run by the waiter while it helps: waiting for an intermediate must not run the
    /// rest of the program. `u64::MAX` for all, 0 while the target's task is not planned. Asked by other threads too.
    fn age_limit(&self) -> u64;

    /// Plans, or runs on the spot, what leads to the target, as far as it is not planned yet.
    fn feed(&self, engine: &Engine) -> Fed;
}

/// How to wait.
#[derive(Clone, Copy, Default)]
pub struct WaitOptions<'a> {
    /// Asked now and then, and at once after a signal; true gives up with `ErrorKind::Interrupted`.
    pub interrupt: Option<&'a dyn Fn() -> bool>,
    /// The line that waits.
    pub loc: Loc,
}

/// What a wait cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// Time spent running tasks and pieces.
    pub helped: Duration,
    /// Time spent doing nothing.
    pub parked: Duration,
}
