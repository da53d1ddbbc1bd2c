//! Running one task: its work, panics and bytes, and the tasks that become ready after it.

use crate::engine::Engine;
use crate::sync::Ordering;
use crate::task::{Task, TaskRef};
use forerun_base::{Error, fail_point};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The role of the calling thread in the engine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A thread of the user's program.
    Outside,
    /// A worker, which searches for work.
    Searches,
    /// A thread in the wait function, which searches for work that leads to its target.
    Waits,
    /// A thread that runs a task.
    Runs,
}

thread_local! {
    static ROLE: Cell<Role> = const { Cell::new(Role::Outside) };
}

impl Role {
    /// The calling thread's role.
    pub(crate) fn current() -> Role {
        ROLE.get()
    }

    /// Gives the calling thread this role until the guard is dropped.
    pub(crate) fn assume(self) -> Assumed {
        Assumed(ROLE.replace(self))
    }
}

/// Restores the thread's previous role when dropped.
pub(crate) struct Assumed(Role);

impl Drop for Assumed {
    fn drop(&mut self) {
        ROLE.set(self.0);
    }
}

impl Engine {
    /// Runs a started task on this thread. With `inline`, starts one task that became ready and returns it to be run
    /// next.
    pub(crate) fn run(&self, task: &TaskRef, inline: bool) -> Option<TaskRef> {
        {
            let _role = Role::Runs.assume();
            let _draw = self.state.ledger.draw(task.bytes);
            // The work stays in the task while it runs, so that a child forked meanwhile can fail it. SAFETY: this
            // thread started the task and is the only one that runs it.
            if let Some(work) = unsafe { task.work() }
                && let Err(panic) = catch_unwind(AssertUnwindSafe(|| {
                    fail_point!("task.start");
                    work.run(self)
                }))
            {
                let error = Error::panicked("kernel", &*panic);
                // A second panic must not end the thread; the values of work that panics in `fail` stay pending.
                let _ = catch_unwind(AssertUnwindSafe(|| work.fail(error)));
            }
            // SAFETY: as above; the reference is not used any more.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(unsafe { task.take_work() })));
        }
        self.state.tasks.add(1);
        self.finish(task, inline && !self.state.pool.is_stopped())
    }

    fn finish(&self, task: &Task, inline: bool) -> Option<TaskRef> {
        let state = &*self.state;
        let mut next: Option<TaskRef> = None;
        let mut became_ready = |successor: TaskRef| {
            if successor.on_device.is_some() {
                return self.push(successor);
            }
            // The oldest task continues on this thread; the others are queued.
            let other = match next.take() {
                None => return next = Some(successor),
                Some(known) if known.age() < successor.age() => {
                    next = Some(known);
                    successor
                }
                Some(known) => {
                    next = Some(successor);
                    known
                }
            };
            state.ready.push(other);
        };
        let visit = |successor: *const Task, _late: bool| {
            // SAFETY: a successor is enrolled, hence alive, until it has run, and it cannot run before this arrival.
            if unsafe { (*successor).join.arrive(1) } {
                // SAFETY: only the thread that completes the arrivals can start the successor, and it has not started
                // it yet.
                became_ready(unsafe { TaskRef::again(successor) });
            }
        };
        // SAFETY: this thread ran the task and finishes it once.
        unsafe { task.successors.close(visit) };
        // Release: a thread that reads the count sees what the task wrote.
        state.in_flight.fetch_sub(1, Ordering::Release);
        if let Some(candidate) = next.take() {
            if inline && state.ready.start_directly(&candidate, &state.ledger) {
                next = Some(candidate);
            } else {
                state.ready.push(candidate);
            }
        }
        state.signals.notify_waiters();
        if next.is_some() {
            // More tasks may be ready, or may start now that this one is finished: share them with other threads.
            self.share_work();
        }
        next
    }
}
