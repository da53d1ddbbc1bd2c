//! Wakes an asynchronous task when an array is settled: a small engine task follows the task that produces the array.

use crate::array::Array;
use crate::array::wait::Wait;
use crate::runtime::planner::Until;
use crate::runtime::runtime;
use crate::runtime::window::Window;
use forerun_base::{Error, Team, fail_point};
use forerun_engine::{Mode, TaskSpec, Work};
use std::sync::Mutex;
use std::task::Waker;

struct Wake(Mutex<Option<Waker>>);

impl Wake {
    fn wake(&self) {
        fail_point!("wake.call");
        if let Some(waker) = self.0.lock().unwrap_or_else(|e| e.into_inner()).take() {
            waker.wake();
        }
    }
}

impl Work for Wake {
    fn bytes(&self) -> usize {
        0
    }

    fn run(&self, _team: &dyn Team) {
        self.wake();
    }

    fn fail(&self, _error: Error) {
        self.wake();
    }
}

impl Array {
    /// Returns true if the array is settled. Otherwise wakes `waker` when it may be, perhaps on a thread of the engine,
    /// which may submit but not wait. In modes without workers the caller computes the array here.
    pub fn settled_or_wake(&self, waker: &Waker) -> bool {
        if self.settled_now() {
            return true;
        }
        let runtime = runtime();
        if *runtime.engine.mode() != Mode::Async {
            // The read that follows raises the failure.
            let _ = self.wait_to_read_with(&Wait { allowed: true, ..Wait::default() });
            return true;
        }
        self.pin(|value| {
            let Some(mut planner) = runtime.planner.try_lock() else {
                waker.wake_by_ref();
                return false;
            };
            // SAFETY: windows are never freed.
            let window: &'static Window = unsafe { &*value.window() };
            planner.advance(window, Until::Index(value.born()), &runtime.engine);
            if value.is_settled() {
                return true;
            }
            if let Some(task) = planner.flights.maker(value) {
                let work = Box::new(Wake(Mutex::new(Some(waker.clone()))));
                runtime.engine.spawn(TaskSpec { work, source: false }, std::slice::from_ref(task));
                return false;
            }
            // It was settled between the two checks. The woken task may need the planner, so its lock is released
            // first.
            drop(planner);
            waker.wake_by_ref();
            false
        })
    }
}
