//! Whether the calling thread records, and whether it trains. Both are per-thread settings.

use crate::tape::Tape;
use forerun_array::{Observer, add_observer, remove_observer};
use std::cell::{Cell, OnceCell};
use std::rc::Rc;

thread_local! {
    static RECORDING: Cell<bool> = const { Cell::new(false) };
    static TRAINING: Cell<bool> = const { Cell::new(false) };
    static TAPE: OnceCell<Rc<dyn Observer>> = const { OnceCell::new() };
}

/// Whether ops submitted by this thread go on the tape.
pub fn is_recording() -> bool {
    RECORDING.get()
}

/// Turns recording on or off; returns the previous setting.
pub fn set_recording(on: bool) -> bool {
    let former = RECORDING.replace(on);
    if former != on {
        let tape = TAPE.with(|t| t.get_or_init(|| Rc::new(Tape)).clone());
        if on {
            add_observer(tape);
        } else {
            remove_observer(&tape);
        }
    }
    former
}

/// Whether layers with a special training behaviour use it.
pub fn is_training() -> bool {
    TRAINING.get()
}

/// Turns training on or off; returns the previous setting.
pub fn set_training(on: bool) -> bool {
    TRAINING.replace(on)
}

/// Restores the thread's settings when dropped, also after a panic.
struct Restore {
    recording: bool,
    training: bool,
}

impl Drop for Restore {
    fn drop(&mut self) {
        set_recording(self.recording);
        set_training(self.training);
    }
}

pub(crate) fn with<R>(recording: bool, training: bool, f: impl FnOnce() -> R) -> R {
    let _restore = Restore { recording: set_recording(recording), training: set_training(training) };
    f()
}

/// Runs `f` with its ops on the tape, in training mode.
pub fn record<R>(f: impl FnOnce() -> R) -> R {
    with(true, true, f)
}

/// Runs `f` with its ops off the tape, not in training mode.
pub fn pause<R>(f: impl FnOnce() -> R) -> R {
    with(false, false, f)
}
