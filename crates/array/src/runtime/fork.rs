//! Fork and exit of the process.
//!
//! Before a fork the engine is paused, which waits for running pieces only, and every lock that the child will need is
//! taken. So no lock belongs to a thread that the child does not have, and no value is half published. In the child,
//! existing values stay readable, everything pending fails with the line that submitted it, and the next submission or
//! wait starts new workers. The windows of other threads are emptied and never used again, because their owners may
//! have been anywhere. If the engine could not be paused, the child can read existing values, and every wait in it
//! fails.

use crate::array::attachments;
use crate::observe::submissions;
use crate::observe::trace;
use crate::runtime::devices::{accelerators, lose_all};
use crate::runtime::intern_gc;
use crate::runtime::planner::Planner;
use crate::runtime::random_streams;
use crate::runtime::recipe;
use crate::runtime::{Runtime, runtime};
use forerun_base::MutexGuard;
use forerun_base::{Error, ErrorKind, Result, fail_point};
use forerun_engine::{Engine, Paused, at_exit, at_fork};
use std::any::Any;
use std::cell::RefCell;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Guards held between the two hooks of a fork, dropped in this order.
struct Held {
    locks: Vec<Box<dyn Any>>,
    planner: MutexGuard<'static, Planner>,
    paused: Paused,
}

thread_local! {
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

/// Set in a child that was forked while the engine could not be paused.
static UNPREPARED: AtomicBool = AtomicBool::new(false);

/// Fails in a child whose fork could not be prepared: its threads are gone, and one of them may have held a lock.
pub(crate) fn check() -> Result<()> {
    if UNPREPARED.load(Relaxed) {
        let text = "this process was forked while the engine could not be paused: start a new process instead";
        return Err(Error::new(ErrorKind::Runtime, text).in_op("fork"));
    }
    Ok(())
}

/// Registers the hooks for fork and exit. Called once, before the runtime exists.
pub(crate) fn watch() {
    at_fork(before, parent, child);
    random_streams::watch_forks();
    at_exit(last);
}

extern "C" fn before() {
    // A panic must not leave the hook. No locks are held then, and the child learns that it was not prepared.
    let _ = catch_unwind(prepare);
}

fn prepare() {
    fail_point!("fork.prepare", _error => return);
    let runtime = runtime();
    let paused = Engine::pause();
    // After the pause only a frontend that runs a tiny record inline can hold it.
    let planner = runtime.planner.lock();
    let mut locks = attachments::lock_for_fork();
    locks.push(trace::lock_for_fork());
    // None of these is ever taken while another is held, except the list of slots, which comes after the tables, and
    // the engine's locks, which it takes in its own order.
    locks.extend([
        forerun_base::hold_locs(),
        forerun_plan::hold_tables(),
        recipe::lock_for_fork(),
        submissions::lock_for_fork(),
    ]);
    locks.push(intern_gc::lock_for_fork());
    locks.extend([runtime.windows.lock_for_fork(), runtime.holders.lock_for_fork(), runtime.blockers.lock_for_fork()]);
    locks.push(Box::new(runtime.failures.lock()));
    locks.extend(accelerators().map(|device| device.holders.lock_for_fork()));
    locks.push(runtime.pool.hold());
    locks.extend(runtime.engine.hold_locks());
    HELD.set(Some(Held { locks, planner, paused }));
}

extern "C" fn parent() {
    drop(HELD.take());
}

extern "C" fn child() {
    let Some(Held { locks, mut planner, paused }) = HELD.take() else {
        UNPREPARED.store(true, Relaxed);
        return;
    };
    drop(locks);
    let runtime: &'static Runtime = runtime();
    let error = Error::new(ErrorKind::Runtime, "pending at fork: the parent process computes it, this one cannot");
    lose_all();
    runtime.engine.forget_threads(&error, &paused);
    for window in runtime.windows.iter() {
        planner.fail_records(window, &error);
        // A view whose reader was not submitted before the fork never gets one. SAFETY: under the planner's lock;
        // records before the tail are not read any more.
        unsafe { window.ring.advance(window.ring.tail()) };
        planner.note_completed(window);
    }
    // The parent reports the failures that were not read before the fork.
    *runtime.failures.lock() = Default::default();
}

/// Runs at exit: workers finish their current task and exit, within a bound. Nothing is computed in the background any
/// more; a thread that still reads an array runs what it needs itself.
extern "C" fn last() {
    end_background();
    runtime().engine.shutdown();
}

/// Stops background compilation and the workers, and waits for both within bounds, so that they are not inside a device
/// library when the process unloads it; without an open device it does nothing. A frontend that knows about the exit
/// calls it on the thread that exits, before the libraries are unloaded.
///
/// Afterwards any thread can submit, and a thread that reads an array runs what it needs itself, on devices too. A
/// kernel that is not compiled yet is compiled only by the thread that called this; on another thread its launch fails.
pub fn end_background() {
    if accelerators().next().is_some() {
        accelerators().for_each(|device| device.accelerator.stop());
        runtime().engine.shutdown();
    }
}
