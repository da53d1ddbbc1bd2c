//! Writes one element of a value at rest on the user's thread, without submitting a record.
//!
//! A value is at rest when it is ready, only one cell points at it, every record that writes or reads it is done, and
//! nothing else shares its bytes (`Node::is_at_rest`): the conditions of donation, checked for an open value. If
//! another handle could read the cell, the cell is locked during the write. Any other write is submitted like an
//! ordinary op, and so is every write that an observer wants to see. This module never waits or fails.
//!
//! If records in the window still name the value and they are small, they run inline first. Otherwise a loop of element
//! writes would never catch up with itself: each write would submit a record that the next one finds unfinished.

use crate::array::{Arg, Array};
use crate::observe::read_hooks;
use crate::observe::submissions;
use crate::observe::trace;
use crate::runtime::node::INLINE;
use crate::runtime::planner::Until;
use crate::runtime::recipe::Recipe;
use crate::runtime::runtime;
use crate::runtime::window::Window;
use forerun_base::Solo;
use forerun_engine::Status;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Storage for one element.
type Element = [u64; INLINE / 8];

/// Whether the array is one host element that can be written directly if its value is at rest, and no observer wants to
/// see the submission.
#[inline]
pub(crate) fn may_write(x: &Array) -> bool {
    is_element(x)
        && read_hooks::bits(read_hooks::OBSERVED) == 0
        && !submissions::is_on()
        && !trace::is_on()
        // Off when tests want every record to be planned.
        && runtime().tiny_limit_here() > 0
}

/// Writes such an element, from `value` or from the bits. Returns false if the write must be submitted.
#[inline(never)]
pub(crate) fn write(x: &Array, value: Option<&Array>, bits: u64) -> bool {
    let element = match value {
        None => Some([bits.to_le(), 0, 0, 0]),
        Some(value) if value.dtype() == x.dtype() => load(value),
        Some(_) => None,
    };
    element.is_some_and(|element| store(x, &element) || catch_up(x) && caught_up(store(x, &element)))
}

thread_local! {
    /// Number of writes to submit before the next attempt to catch up, and the previous such number.
    static BACKOFF: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
}

/// Maximum number of writes between two attempts, so that a slow value is not polled for every element.
const MOST_BACKOFF: u32 = 64;

/// Runs small records that name the value, without blocking. Returns false if it is too early to try again.
#[cold]
fn catch_up(x: &Array) -> bool {
    let (left, pause) = BACKOFF.get();
    if left > 0 {
        BACKOFF.set((left - 1, pause));
        return false;
    }
    let Some(mut planner) = runtime().planner.try_lock() else { return false };
    let (window, last) = x.cell().with_current(|value| (value.window(), value.last_use()));
    // SAFETY: windows are never freed.
    let window: &'static Window = unsafe { &*window };
    planner.advance(window, Until::Inline(last), &runtime().engine);
    true
}

/// Notes whether the value was at rest; if not, the next attempt comes later.
fn caught_up(at_rest: bool) -> bool {
    let (_, pause) = BACKOFF.get();
    let pause = if at_rest { 0 } else { (2 * pause + 1).min(MOST_BACKOFF) };
    BACKOFF.set((pause, pause));
    at_rest
}

/// Writes `x op= values` for such an element, as the recipe states. Returns false if the write must be submitted.
#[inline(never)]
pub(crate) fn compute(recipe: &Recipe, x: &Array, values: &[Arg<'_>], words: [u64; 2]) -> bool {
    let operands = values.iter().filter_map(|value| match value {
        Arg::Array(array) => Some(*array),
        Arg::Scalar(_) => None,
    });
    let mut elements = [Element::default(); 3];
    for (to, array) in elements.iter_mut().zip(std::iter::once(x).chain(operands)) {
        match load(array).or_else(|| catch_up(array).then(|| load(array)).flatten()) {
            Some(element) => *to = element,
            None => return false,
        }
    }
    let single = recipe.single();
    let mut made = Element::default();
    let target = made.as_mut_ptr().cast();
    // SAFETY: all operands and the result have one element, and there is room for it.
    let ran = catch_unwind(AssertUnwindSafe(|| unsafe {
        single.run(|k| elements[k].as_ptr().cast(), &words, target, &Solo)
    }));
    // An op that fails here is submitted as usual, and fails again as a record with its line.
    matches!(ran, Ok(Ok(()))) && (store(x, &made) || catch_up(x) && caught_up(store(x, &made)))
}

#[inline]
fn is_element(x: &Array) -> bool {
    x.size() == 1 && x.device().is_host()
}

/// The only element of an array, if it is ready.
fn load(x: &Array) -> Option<Element> {
    if !is_element(x) {
        return None;
    }
    let size = x.dtype().size();
    x.cell().with_current(|value| {
        (value.status() == Status::Ready).then(|| {
            let mut element = Element::default();
            // SAFETY: the value is ready and kept open; the view's element is inside it and fits.
            unsafe {
                let from = value.data().add(x.offset() as usize * size);
                std::ptr::copy_nonoverlapping(from, element.as_mut_ptr().cast::<u8>(), size);
            }
            element
        })
    })
}

/// Writes the only element of an array, if its value is at rest.
fn store(x: &Array, element: &Element) -> bool {
    let size = x.dtype().size();
    x.cell().with_current(|value| {
        if !value.is_at_rest() {
            return false;
        }
        // SAFETY: the view's element is inside the value, which no other thread can read: it is at rest, and a thread
        // with another handle to the cell waits for its lock.
        unsafe {
            let to = value.data().add(x.offset() as usize * size);
            std::ptr::copy_nonoverlapping(element.as_ptr().cast::<u8>(), to, size);
        }
        true
    })
}
