//! Activation checkpoints: a function whose intermediate results are not kept for backward but computed again there.
//!
//! The forward call is not recorded; an observer notes which arrays from outside it reads and writes. Backward calls
//! the function again with recording on, with the same random numbers, and walks back through what it recorded. The
//! gradients flow on to the inputs and to the arrays from outside.

use crate::custom::record_function;
use crate::entry::{Body, Entry, GradReq, Leaf, Variable};
use crate::state::{self, is_recording, is_training};
use crate::tape::{edge_to, is_on_tape};
use crate::walk::flows;
use forerun_array::{
    Array, Attachment, ObservedOp, Observer, add_observer, ops, remove_observer, stream_position, swap_stream,
};
use forerun_base::Mutex;
use forerun_base::{Error, ErrorKind, Loc, Result, Scalar};
use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

/// A function of arrays that can be called again.
pub type Recomputed = dyn Fn(Vec<Array>) -> Result<Vec<Array>> + Send + Sync;

/// Calls a function and, while recording, keeps only its inputs for backward, which calls it again. It must submit the
/// same ops each time. Random numbers are the same both times; writes to arrays from outside, such as running
/// statistics, take effect once.
///
/// # Errors
/// Those of the function. Backward fails if it is itself recorded: a checkpoint has no second derivative.
pub fn checkpoint(inputs: &[&Array], function: Arc<Recomputed>, loc: Loc) -> Result<Vec<Array>> {
    if !is_recording() {
        return function(inputs.iter().map(|x| (*x).clone()).collect());
    }
    let (stream, training) = (stream_position(), is_training());
    let seen = Rc::new(Outside::default());
    let outputs = state::with(false, training, || {
        let observer: Rc<dyn Observer> = seen.clone();
        add_observer(observer.clone());
        let outputs = function(inputs.iter().map(|x| x.detach()).collect());
        remove_observer(&observer);
        outputs
    })?;
    let Seen { read, written, .. } = seen.0.take();
    let saved = inputs.iter().map(|x| Ok((saved(x, loc)?, is_on_tape(x)))).collect::<Result<Vec<_>>>()?;
    let given: Vec<&Array> = inputs.iter().copied().chain(&read).collect();
    let held = Mutex::new(Held { saved, read: read.clone(), written });
    let callback = move |grads: Vec<Array>| {
        if is_recording() {
            let text = "a checkpoint has no second derivative: call the function without one";
            return Err(Error::new(ErrorKind::Value, text).in_op("checkpoint").submitted_at(loc));
        }
        let Held { saved, read, written } = held.lock().clone();
        let again = |inputs| with_stream(stream, || state::with(true, training, || function(inputs)));
        restoring(&written, || back(&saved, &read, &grads, again, loc))
    };
    Ok(record_function(&given, &outputs.iter().collect::<Vec<_>>(), Arc::new(callback), loc))
}

/// What backward needs: each input with whether a gradient flows to it, and the arrays from outside.
#[derive(Clone)]
struct Held {
    saved: Vec<(Array, bool)>,
    read: Vec<Array>,
    written: Vec<Array>,
}

/// The values of an input, under a cell of its own that can be a variable.
fn saved(x: &Array, loc: Loc) -> Result<Array> {
    if x.layout() == x.base().layout() { Ok(x.freeze()) } else { state::with(false, false, || ops::copy(x, loc)) }
}

/// Computes the outputs again and the gradients of inputs and arrays from outside.
fn back(
    saved: &[(Array, bool)],
    read: &[Array],
    grads: &[Array],
    again: impl FnOnce(Vec<Array>) -> Result<Vec<Array>>,
    loc: Loc,
) -> Result<Vec<Option<Array>>> {
    let nothing = ops::full(&[], Scalar::Int(0), forerun_base::DType::F32, loc)?;
    let leaf = || {
        let leaf = Leaf { grad: nothing.clone(), req: GradReq::Null, fresh: false };
        Variable::new(Entry::new(Body::Leaf(Mutex::new(leaf)), 1, loc), 0)
    };
    // Each call has inputs of its own: the function may keep them.
    let inputs: Vec<Array> = saved.iter().map(|(x, _)| x.freeze()).collect();
    for (x, _) in inputs.iter().zip(saved).filter(|(_, (_, wanted))| *wanted) {
        x.attach(Some(leaf()));
    }
    // Arrays from outside become leaves for a moment, so that the walk ends there.
    let former: Vec<Option<Arc<dyn Attachment>>> = read.iter().map(|x| x.attachment()).collect();
    read.iter().for_each(|x| x.attach(Some(leaf())));
    let computed = again(inputs.clone()).and_then(|outputs| {
        if outputs.len() != grads.len() {
            let text = format!("the function returned {} arrays, and {} before", outputs.len(), grads.len());
            return Err(Error::new(ErrorKind::Value, text).in_op("checkpoint").submitted_at(loc));
        }
        let heads = outputs.iter().zip(grads).filter(|(output, _)| edge_to(output).is_some());
        let (heads, given): (Vec<&Array>, Vec<Option<&Array>>) = heads.map(|(y, grad)| (y, Some(grad))).unzip();
        let wanted: Vec<&Array> = inputs.iter().chain(read).filter(|x| is_on_tape(x)).collect();
        let mut found = flows(&heads, &wanted, &given, false, false, loc)?.into_iter();
        Ok(inputs.iter().chain(read).map(|x| if is_on_tape(x) { found.next().flatten() } else { None }).collect())
    });
    read.iter().zip(former).for_each(|(x, former)| x.attach(former));
    computed
}

/// Runs `f` with the thread's random numbers starting at a position, and continues where they were.
fn with_stream<R>(position: [u64; 2], f: impl FnOnce() -> R) -> R {
    let former = swap_stream(Some(position));
    let result = f();
    swap_stream(former);
    result
}

/// Runs `f` and restores the values of arrays that it writes.
fn restoring<R>(written: &[Array], f: impl FnOnce() -> Result<R>) -> Result<R> {
    let former: Vec<_> = written.iter().map(|x| (x.freeze(), x.attachment())).collect();
    let result = f();
    for (x, (value, attachment)) in written.iter().zip(former) {
        x.attach(None);
        ops::adopt(x, value, Loc::UNKNOWN)?;
        x.attach(attachment);
    }
    result
}

#[derive(Default)]
struct Seen {
    /// Cells that the function made.
    made: HashSet<usize>,
    /// Whole arrays from outside that are on the tape and were read.
    read: Vec<Array>,
    /// Whole arrays from outside that were written.
    written: Vec<Array>,
}

/// Notes the arrays from outside that a function reads and writes. Nothing else is on the tape while it runs.
#[derive(Default)]
struct Outside(RefCell<Seen>);

impl Observer for Outside {
    fn submitted(&self, note: &ObservedOp<'_>) {
        let mut seen = self.0.borrow_mut();
        for input in note.inputs {
            if edge_to(input).is_some() && !seen.read.iter().any(|known| known.shares_cell(input)) {
                seen.read.push(input.base());
            }
        }
        let target = note.target;
        if !note.in_place {
            seen.made.insert(target.cell_id());
        } else if !seen.made.contains(&target.cell_id()) && !seen.written.iter().any(|known| known.shares_cell(target))
        {
            seen.written.push(target.base());
        }
    }
}
