//! Recording: the observer that puts ops on the tape, and the variables whose gradients are computed.

use crate::derived;
use crate::entry::{Body, Edge, Entry, GradReq, Leaf, Recorded, Variable};
use crate::pointwise::arguments;
use forerun_array::{Array, ObservedOp, Observer, note_unrepeatable, on_device, ops};
use forerun_base::Mutex;
use forerun_base::{DType, Error, ErrorKind, Kind, Loc, Result, Scalar};
use forerun_ops::gradient::{self, Needs};
use std::sync::atomic::{AtomicBool, Ordering};

/// Puts the submissions of its thread on the tape, if a gradient flows to their inputs.
pub(crate) struct Tape;

impl Observer for Tape {
    fn submitted(&self, note: &ObservedOp<'_>) {
        let smooth = is_smooth(note.signature.out.dtype);
        let mut needs = Needs::NOTHING;
        let mut edges: Vec<Option<Edge>> = vec![None; note.inputs.len()];
        let mut any = false;
        for (argument, input) in arguments(note.signature).enumerate() {
            let Some(k) = input else { continue };
            let Some(edge) = edge_to(&note.inputs[k]).filter(|_| smooth) else { continue };
            let Some(wanted) = gradient::needs(note.signature.op, argument) else { continue };
            needs = needs.and(wanted);
            edges[k] = Some(edge);
            any = true;
        }
        if !any {
            if note.in_place {
                note.target.attach(None);
            }
            return;
        }
        let mut inputs: Vec<Option<Array>> = vec![None; note.inputs.len()];
        for (argument, input) in arguments(note.signature).enumerate() {
            if let (Some(k), true) = (input, argument < 8 && needs.inputs >> argument & 1 == 1) {
                inputs[k] = Some(note.inputs[k].freeze());
            }
        }
        let output = needs.output.then(|| note.freeze_result());
        let derived = derived::derive(note, &edges);
        let (signature, immediates) = (note.signature.clone(), note.immediates);
        let recorded = Recorded { signature, immediates, edges, inputs, output, again: Vec::new(), kept: Vec::new() };
        let entry = Entry::of_derived(Body::Op(Mutex::new(Some(recorded))), 1, note.loc, derived);
        derived::note_saved(&entry);
        note.target.attach(Some(Variable::new(entry, 0)));
    }
}

/// Whether integer and boolean arrays may be variables too, as in MXNet.
static INTEGERS: AtomicBool = AtomicBool::new(false);

/// Sets whether integer and boolean arrays have gradients, of their own dtype. Returns the previous setting.
pub fn set_integer_gradients(on: bool) -> bool {
    INTEGERS.swap(on, Ordering::Relaxed)
}

/// Whether gradients exist in a dtype: in the continuous ones, unless the others are allowed.
fn is_smooth(dtype: DType) -> bool {
    matches!(dtype.kind(), Kind::Float | Kind::Complex) || INTEGERS.load(Ordering::Relaxed)
}

/// The edge along which the gradient of an input flows, if any.
pub(crate) fn edge_to(array: &Array) -> Option<Edge> {
    if array.is_detached() || !is_smooth(array.dtype()) {
        return None;
    }
    Variable::of(array).map(|variable| variable.edge(array))
}

/// Whether a gradient can flow to the array: it is a variable, or was computed from one while recording.
pub fn is_on_tape(x: &Array) -> bool {
    edge_to(x).is_some()
}

/// Makes the array a variable, with an initial gradient of zeros.
pub fn attach_grad(x: &Array, req: GradReq, loc: Loc) -> Result<()> {
    let base = may_be_variable(x)?;
    let zeros = on_device(x.device(), || ops::full(&base.shape(), Scalar::Int(0), x.dtype(), loc))?;
    make_variable(x, zeros, req, loc);
    Ok(())
}

/// Makes the array a variable whose gradient is stored in `grad`.
pub fn mark_variable(x: &Array, grad: &Array, req: GradReq, loc: Loc) -> Result<()> {
    let base = may_be_variable(x)?;
    if (grad.shape(), grad.dtype()) != (x.shape(), x.dtype()) {
        let text = format!(
            "the gradient of an array of {} of shape {} cannot be {} of shape {}",
            x.dtype(),
            x.shape(),
            grad.dtype(),
            grad.shape()
        );
        return Err(Error::new(ErrorKind::Value, text).in_op(NAME));
    }
    // The gradient has the layout of the cell.
    let dims: Vec<isize> = base.shape().iter().map(|d| *d as isize).collect();
    let same_order = x.layout().is_dense() && grad.layout().is_dense();
    if !same_order && x.layout() != base.layout() {
        let text = "the gradient of a view must have the layout of the view: copy the view first";
        return Err(Error::new(ErrorKind::Value, text).in_op(NAME));
    }
    let grad = if x.layout() == base.layout() { grad.clone() } else { ops::reshape(grad, &dims, loc)? };
    make_variable(x, grad, req, loc);
    Ok(())
}

const NAME: &str = "attach_grad";

/// The cell's whole value, if the array covers it and can have a gradient.
fn may_be_variable(x: &Array) -> Result<Array> {
    let fail = |kind, text: String| Err(Error::new(kind, text).in_op(NAME));
    if !is_smooth(x.dtype()) {
        return fail(ErrorKind::Type, format!("only float and complex arrays have gradients, not {}", x.dtype()));
    }
    if x.is_detached() {
        let text = "a detached array shares its elements with the one it came from: copy it to make it a variable";
        return fail(ErrorKind::Value, text.to_owned());
    }
    let base = x.base();
    if x.size() != base.size() || x.layout().overlaps_itself() {
        return fail(ErrorKind::Value, "a part of an array cannot be a variable of its own: copy it first".to_owned());
    }
    Ok(base)
}

fn make_variable(x: &Array, grad: Array, req: GradReq, loc: Loc) {
    note_unrepeatable();
    if req == GradReq::Null {
        return drop_grad(x);
    }
    let leaf = Leaf { grad, req, fresh: false };
    let entry = Entry::new(Body::Leaf(Mutex::new(leaf)), 1, loc);
    x.attach(Some(Variable::new(entry, 0)));
}

/// Removes the array from the tape, whether it is a variable or was computed from one.
pub fn drop_grad(x: &Array) {
    if Variable::of(x).is_some() {
        x.attach(None);
    }
}

/// The gradient of a variable, and what backward does with it.
pub fn gradient_of(x: &Array) -> Option<(Array, GradReq)> {
    match &Variable::of(x)?.entry.body {
        Body::Leaf(leaf) => {
            let leaf = leaf.lock();
            // For a view of a variable, the same view of its gradient.
            let whole = x.base().layout() == x.layout();
            let grad = if whole { leaf.grad.clone() } else { ops::view_as(&leaf.grad, x.layout(), x.offset()).ok()? };
            Some((grad, leaf.req))
        }
        Body::Op(_) | Body::Custom(_) => None,
    }
}

/// Whether backward wrote the variable's gradient since [`use_gradient`].
pub fn is_fresh(x: &Array) -> bool {
    match Variable::of(x).as_ref().map(|v| &v.entry.body) {
        Some(Body::Leaf(leaf)) => leaf.lock().fresh,
        _ => false,
    }
}

/// Marks the variable's gradient as used, so that a stale one can be detected.
pub fn use_gradient(x: &Array) {
    if let Some(Body::Leaf(leaf)) = Variable::of(x).as_ref().map(|v| &v.entry.body) {
        leaf.lock().fresh = false;
    }
}
