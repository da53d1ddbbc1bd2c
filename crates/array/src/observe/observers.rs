//! Observers of a thread's submissions: a tape records them for gradients, a capture for replay. A thread without
//! observers pays one test of a flag of its own.

use crate::array::Array;
use crate::observe::read_hooks;
use crate::runtime::node::Node;
use crate::runtime::recipe::Recipe;
use crate::runtime::submit::SubmitInput;
use crate::runtime::window::window;
use forerun_base::{Loc, fail_point};
use forerun_plan::Signature;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Sees the submissions of its thread.
pub trait Observer {
    /// Called when an op was submitted. Cells that it writes still point at their previous values.
    fn submitted(&self, note: &ObservedOp<'_>);

    /// Called when the thread did something that a replay would not repeat: it read a value, or changed an attachment.
    fn unrepeatable(&self) {}
}

/// A submission, as observers see it.
pub struct ObservedOp<'a> {
    /// Op, metas and attributes.
    pub signature: &'a Arc<Signature>,
    pub(crate) recipe: &'a Recipe,
    /// The inputs; a view stands for the elements that it selects.
    pub inputs: &'a [Array],
    /// Scalars in the computation dtype, offsets, random keys.
    pub immediates: [u64; 2],
    /// The array of the result: a new one, or the one that is written.
    pub target: &'a Array,
    /// Whether the target existed before.
    pub in_place: bool,
    /// The user's line.
    pub loc: Loc,
    pub(crate) value: &'a Node,
}

impl ObservedOp<'_> {
    /// A snapshot of the result, independent of later writes to the target.
    pub fn freeze_result(&self) -> Array {
        let shown = self.target.base();
        shown.on_value(self.value)
    }
}

thread_local! {
    static OBSERVERS: RefCell<Vec<Rc<dyn Observer>>> = const { RefCell::new(Vec::new()) };
}

/// Sets the flag in the window, for submissions, and in the read hooks, for reads. Returns the previous setting.
fn set_observed(on: bool) -> bool {
    read_hooks::set(read_hooks::OBSERVED, if on { read_hooks::OBSERVED } else { 0 });
    // SAFETY: the calling thread owns this window; no other reference to the owner's part is alive, and none is kept.
    std::mem::replace(&mut unsafe { window().owner() }.observed, on)
}

/// Adds an observer of the calling thread's submissions.
pub fn add_observer(observer: Rc<dyn Observer>) {
    OBSERVERS.with_borrow_mut(|all| all.push(observer));
    set_observed(true);
}

/// Removes an observer of the calling thread's submissions. Returns whether it was present.
pub fn remove_observer(observer: &Rc<dyn Observer>) -> bool {
    let (removed, left) = OBSERVERS.with_borrow_mut(|all| {
        let found = all.iter().rposition(|o| Rc::ptr_eq(o, observer));
        (found.map(|i| all.remove(i)), !all.is_empty())
    });
    set_observed(left);
    removed.is_some()
}

fn each(f: impl Fn(&dyn Observer)) {
    // An observer may submit, and add or remove observers, so the list is not borrowed meanwhile.
    let all = OBSERVERS.with_borrow(Vec::clone);
    all.iter().for_each(|o| {
        fail_point!("observer.call");
        f(&**o);
    });
}

/// Runs `f` without observers.
pub(crate) fn unobserved<R>(f: impl FnOnce() -> R) -> R {
    let former = set_observed(false);
    let result = f();
    set_observed(former);
    result
}

/// Notifies the observers of a submission.
#[cold]
pub(crate) fn notify(
    recipe: &Recipe,
    inputs: &[SubmitInput<'_>],
    immediates: [u64; 2],
    target: (&Array, bool),
    value: &Node,
    loc: Loc,
) {
    let inputs: Vec<Array> = inputs
        .iter()
        .map(|input| match input {
            SubmitInput::Array(array) => (*array).clone(),
            SubmitInput::Cell(array) => array.plain_base(),
        })
        .collect();
    let (target, in_place) = target;
    let note =
        ObservedOp { signature: &recipe.signature, recipe, inputs: &inputs, immediates, target, in_place, loc, value };
    each(|o| o.submitted(&note));
}

/// Notes that the thread does something that a replay would not repeat.
#[inline]
pub fn note_unrepeatable() {
    if read_hooks::bits(read_hooks::OBSERVED) != 0 {
        each(|o| o.unrepeatable());
    }
}
