//! Submission: takes a node for the result, writes a record into the window, and checks whether a worker is awake.

use crate::array::Array;
use crate::array::wait;
use crate::observe::observers;
use crate::observe::submissions;
use crate::observe::trace;
use crate::runtime::node::Node;
use crate::runtime::recipe::Recipe;
use crate::runtime::record::{InputWord, Record};
use crate::runtime::runtime;
use crate::runtime::window::{Owner, Window, window};
use forerun_base::Loc;
use forerun_ops::Op;
use forerun_plan::{Attrs, Signature};

/// An array input of a submission.
#[derive(Clone, Copy)]
pub(crate) enum SubmitInput<'a> {
    /// An array or a view.
    Array(&'a Array),
    /// The whole value of the array's cell, whatever view of it the array is.
    Cell(&'a Array),
}

/// Submits a record and returns the array of its result.
#[inline]
pub(crate) fn submit(recipe: &'static Recipe, inputs: &[SubmitInput<'_>], immediates: [u64; 2], loc: Loc) -> Array {
    Array::own(submit_node(window(), recipe, inputs, immediates, loc))
}

/// The same for callers that have their window at hand and create the array, which owns the first handle of the node's
/// cell.
#[inline]
pub(crate) fn submit_node(
    window: &'static Window,
    recipe: &'static Recipe,
    inputs: &[SubmitInput<'_>],
    immediates: [u64; 2],
    loc: Loc,
) -> &'static Node {
    let node = submit_value_in(window, recipe, inputs, immediates, loc, None);
    // SAFETY: the calling thread owns this window, and no other reference to the owner's part is alive.
    if unsafe { window.owner() }.observed {
        // Lent to the observers. If one panics the array is dropped; otherwise the caller owns it.
        let array = Array::own(node);
        observers::notify(recipe, inputs, immediates, (&array, false), node, loc);
        std::mem::forget(array);
    }
    if runtime().sync {
        wait::run_now(node);
    }
    node
}

/// Submits a record for the new value of `x`'s cell; the caller points the cell at it.
#[inline]
pub(crate) fn submit_write(
    recipe: &'static Recipe,
    inputs: &[SubmitInput<'_>],
    immediates: [u64; 2],
    loc: Loc,
    x: &Array,
) -> &'static Node {
    let window = window();
    let node = submit_value_in(window, recipe, inputs, immediates, loc, Some(x));
    // SAFETY: the calling thread owns this window, and no other reference to the owner's part is alive.
    if unsafe { window.owner() }.observed {
        observers::notify(recipe, inputs, immediates, (x, true), node, loc);
    }
    node
}

/// Submits a record; its result gets a cell of its own, or belongs to the cell of the array that is written.
#[inline]
fn submit_value_in(
    window: &'static Window,
    recipe: &'static Recipe,
    inputs: &[SubmitInput<'_>],
    immediates: [u64; 2],
    loc: Loc,
    written: Option<&Array>,
) -> &'static Node {
    let views = inputs.iter().filter(|i| matches!(i, SubmitInput::Array(a) if a.is_view())).count() as u64;
    // SAFETY: the calling thread owns this window, and no other reference to the owner's part is alive.
    let index = unsafe { window.owner() }.next + views;
    // SAFETY: the calling thread owns this window.
    let node = unsafe { window.take_node() };
    let mut back = views;
    let mut operand = |input: &SubmitInput<'_>| operand(window, *input, index, &mut back, loc);
    let none = InputWord::NONE;
    let words = match inputs {
        [] => [none, none, none],
        [a] => [operand(a), none, none],
        [a, b] => [operand(a), operand(b), none],
        [a, b, c] => [operand(a), operand(b), operand(c)],
        more => [InputWord::list(more.iter().map(operand).collect()), none, none],
    };
    let generation = node.open(&recipe.signature.out, written.is_none() as u32, index + 1);
    if let (Some(x), Some(SubmitInput::Array(first) | SubmitInput::Cell(first))) =
        (written, inputs.get(recipe.rewritten()))
        && first.shares_cell(x)
    {
        node.mark_rewrite();
    }
    if submissions::is_on() {
        submissions::note(recipe, inputs, node, loc);
    }
    let record = || Record { recipe, out: node, inputs: words, immediates, generation, loc: loc.id() };
    if trace::is_on() {
        // Before any thread can run it.
        trace::submitted(&record(), inputs);
    }
    push(window, record());
    runtime().engine.submitted();
    node
}

/// Announces a use of the input by the record at `index`, and pushes a view record before it if needed.
#[inline]
fn operand(window: &'static Window, input: SubmitInput<'_>, index: u64, back: &mut u64, loc: Loc) -> InputWord {
    let announce = |value: &Node| {
        let foreign = !std::ptr::eq(value.window(), window);
        if foreign {
            value.use_by_other();
        } else {
            value.use_by_owner(index + 1);
        }
        InputWord::node(value, foreign)
    };
    match input {
        SubmitInput::Cell(array) => array.cell().with_current(announce),
        SubmitInput::Array(array) if !array.is_view() => array.cell().with_current(announce),
        SubmitInput::Array(array) => {
            let base = array.cell().with_current(announce);
            let (from, to) = (array.cell().meta(), array.meta());
            // SAFETY: the calling thread owns this window, and no other reference to the owner's part is alive.
            let owner: &mut Owner = unsafe { window.owner() };
            let key = (Op::View.code(), [from.id, to.id, 0]);
            let made: Result<_, std::convert::Infallible> =
                owner.recipe(key, || Ok((Recipe::of(Signature::of(Op::View, &[from], Attrs::None, to)), to.dtype)));
            let Ok((recipe, _)) = made;
            let record = Record {
                recipe,
                out: std::ptr::null(),
                inputs: [base, InputWord::NONE, InputWord::NONE],
                immediates: [array.offset(), 0],
                generation: 0,
                loc: loc.id(),
            };
            push(window, record);
            let word = InputWord::view(*back);
            *back -= 1;
            word
        }
    }
}

/// Publishes a record. It is built in place: a record that is built elsewhere and then copied is read before its parts
/// have left the store buffer, which stalls everything behind it.
#[inline(always)]
fn push(window: &'static Window, record: Record) {
    // SAFETY: this is our own window, so we are its only producer.
    while !unsafe { window.ring.has_room(1) } {
        wait::make_room(window);
    }
    // SAFETY: this is our own window, so we are its only producer.
    let pushed = unsafe { window.ring.push(record) };
    debug_assert!(pushed.is_ok(), "a ring that has room is full");
    // SAFETY: the calling thread owns this window, and no other reference to the owner's part is alive.
    unsafe { window.owner() }.next += 1;
}
