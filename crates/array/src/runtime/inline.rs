//! Runs a record inline, on the thread that plans it. A small record needs nothing else: no task, no wake-up.

use crate::observe::trace;
use crate::runtime::buffer::Buffer;
use crate::runtime::last_good::LastGood;
use crate::runtime::memory::no_memory;
use crate::runtime::node::{INLINE, Node};
use crate::runtime::planner::{ResolvedInput, resolve};
use crate::runtime::record::Record;
use crate::runtime::window::Window;
use crate::runtime::{count, runtime};
use forerun_base::{Error, Loc, Solo, fail_point};
use forerun_engine::Status;
use forerun_ops::Op;
use forerun_plan::Attrs;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The outcome of an attempt to run a record inline.
pub(crate) enum Attempt {
    /// It ran, and its value is settled.
    Done,
    /// It is too large, or an input is not ready.
    NotTiny,
    /// It reads a value of another window whose record is not planned.
    Unplanned(&'static Node),
}

/// Runs the record at `index` if it touches at most `tiny` elements and its inputs are ready.
pub(crate) fn run_inline(window: &Window, index: u64, record: &Record, tiny: usize) -> Attempt {
    let recipe = record.recipe;
    let signature = &recipe.signature;
    let arity = signature.inputs.len();
    if arity > 3 || recipe.device.is_some() {
        return Attempt::NotTiny;
    }
    // SAFETY: nodes are never freed, and a record that is not a view has a result.
    let out: &'static Node = unsafe { &*record.out };
    let filler = ResolvedInput { node: out, view: None, foreign: false };
    let mut inputs = [filler; 3];
    let mut failed = None;
    for (input, word) in inputs.iter_mut().zip(&record.inputs[..arity]) {
        *input = resolve(window, index, *word);
        if input.foreign && !input.node.is_planned() {
            return Attempt::Unplanned(input.node);
        }
        match input.node.planned_status() {
            Status::Ready => {}
            Status::Failed => failed = Some(input.node),
            Status::Pending | Status::Enqueued { .. } => return Attempt::NotTiny,
        }
    }
    let mut donated = None;
    if recipe.cost > tiny {
        // A small write into a large value is cheap if it can be done in place.
        match (&signature.attrs, inputs[0].node) {
            (Attrs::Update(region), base)
                if failed.is_none()
                    && region.shape.size() <= tiny
                    && !(arity == 2 && std::ptr::eq(inputs[1].node, base)) =>
            {
                donated = base.donate(1);
                if donated.is_none() {
                    return Attempt::NotTiny;
                }
            }
            _ => return Attempt::NotTiny,
        }
    }
    // A ready value is large if it has a buffer; reading its meta would touch the frontend's cache line.
    let mut input_large = [false; 3];
    for (large, input) in input_large.iter_mut().zip(&inputs[..arity]) {
        *large = match failed {
            Some(_) => input.node.is_large(),
            None => input.node.has_buffer() || donated.is_some() && std::ptr::eq(input.node, inputs[0].node),
        };
    }
    out.begin(record.generation);
    let large = signature.out.bytes > INLINE;
    match failed {
        Some(node) => out.publish_failed(record.generation, node.error(), former(record, out, &inputs)),
        None => run(record, &inputs[..arity], out, large, donated),
    }
    for (input, large) in inputs[..arity].iter().zip(input_large) {
        if large || input.foreign {
            input.node.done(large, 1, input.foreign as u32);
        }
    }
    if large {
        out.done(true, 1, 0);
    }
    Attempt::Done
}

fn run(record: &Record, inputs: &[ResolvedInput], out: &Node, large: bool, donated: Option<*mut Buffer>) {
    let signature = &record.recipe.signature;
    let single = record.recipe.single();
    let (op, loc) = (|| signature.op.name(), Loc::from_id(record.loc));
    let fail = |error: Error| {
        let error = runtime().blame(error, op(), loc);
        out.publish_failed(record.generation, error, former(record, out, inputs));
    };
    let mut buffer = donated;
    if large && buffer.is_none() {
        buffer = in_place(record, inputs);
        if buffer.is_some() {
            count(&runtime().counters.donated, 1);
        }
    }
    let own = buffer;
    if large && buffer.is_none() {
        buffer = Buffer::alloc(None, signature.out.bytes, op(), loc);
        if buffer.is_none() {
            return fail(no_memory(None, signature.out.bytes));
        }
    }
    let address = |k: usize| {
        let input = &inputs[k];
        // A donated input has no buffer of its own any more.
        let base = match own {
            Some(b) if std::ptr::eq(input.node, inputs[0].node) && !input.node.has_buffer() => {
                // SAFETY: we hold the buffer.
                unsafe { &*b }.ptr()
            }
            _ => input.node.data(),
        };
        input.address(base, signature.inputs[k].dtype)
    };
    let target = match buffer {
        // SAFETY: we hold the buffer.
        Some(b) => unsafe { &*b }.ptr(),
        None => out.data(),
    };
    let began = trace::clock();
    // SAFETY: inputs are ready and hold what their metas state. The result has the size that its meta states, and no
    // other thread reads it before it is published.
    let ran = catch_unwind(AssertUnwindSafe(|| unsafe {
        fail_point!("spot.before", error => return Err((error, true)));
        fail_point!("spot.inside");
        // A kernel that rejects its inputs has not written to them.
        single.run(address, &record.immediates, target, &Solo).map_err(|error| (error, true))?;
        fail_point!("spot.after");
        Ok(())
    }));
    let ran = ran.unwrap_or_else(|panic| Err((Error::panicked("kernel", &*panic), false)));
    match ran {
        Ok(()) => {
            if let Some(b) = buffer {
                if own.is_some() {
                    // SAFETY: this thread owns the buffer until the value is published.
                    unsafe { Buffer::book(b, op(), loc) };
                }
                out.set_buffer(b);
            }
            if let Some(began) = began {
                trace::ran_inline(record, began);
            }
            out.publish_ready(record.generation);
        }
        Err((error, untouched)) => {
            match (buffer, own) {
                // The donated buffer is unchanged: it may be the last good value of a cell.
                (_, Some(b)) if untouched => inputs[0].node.set_buffer(b),
                // SAFETY: releases the reference of a value that was not produced.
                (Some(b), _) => unsafe { Buffer::release(b) },
                (None, _) => {}
            }
            fail(error);
        }
    }
}

/// The buffer of the first input, if the op may overwrite it and nothing else needs it.
fn in_place(record: &Record, inputs: &[ResolvedInput]) -> Option<*mut Buffer> {
    let signature = &record.recipe.signature;
    let first = inputs.first()?;
    let fits = match signature.op {
        Op::Point(_) => {
            signature.inputs[0].dense
                && signature.inputs[0].dtype.size() == signature.out.dtype.size()
                && signature.inputs[0].size == signature.out.size
        }
        Op::Update => true,
        Op::ScatterAdd => signature.inputs[0].dense,
        Op::Routine(routine) => routine.in_place(),
        _ => false,
    };
    let read_once = inputs[1..].iter().all(|i| !std::ptr::eq(i.node, first.node));
    let whole = first.view.is_none() || signature.op == Op::Update;
    (fits && read_once && whole && first.node.has_buffer()).then(|| first.node.donate(1)).flatten()
}

/// The remaining good value that the result was to be written over.
fn former(record: &Record, out: &Node, inputs: &[ResolvedInput]) -> Option<LastGood> {
    out.is_rewrite()
        .then(|| inputs[record.recipe.rewritten()].node.last_good())
        .flatten()
        .map(LastGood::after_failed_write)
}
