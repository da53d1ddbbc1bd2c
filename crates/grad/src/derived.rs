//! Values that backward computes again: an op may save what pointwise ops computed, element by element, from one other value.
//! If some op saves that other value, the *root*, it is enough: the pass that reads the saved value computes it too. For example,
//! the gradient of `x * sigmoid(x)` reads `x` and its sigmoid, and only `x` is kept.
//!
//! Invariant: a value has the same bits when it is computed again, because the same ops read the same root. Only values that nothing but
//! pointwise gradients keep are computed again, so no further array is stored for it, in backward either.

use crate::entry::{Body, Edge, Entry, Recorded};
use crate::pointwise::{arguments, scalar};
use crate::state::{is_training, with};
use forerun_array::{Arg, Array, Attrs, Meta, ObservedOp, Signature, ops};
use forerun_base::Mutex;
use forerun_base::{Kind, Loc, Result};
use forerun_ops::Op;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Weak};

/// Smaller values are kept: what they need does not matter.
const LEAST: usize = 64 << 10;
/// Ops that compute a value again at most.
const MOST_OPS: usize = 8;

/// A value as root of others.
#[derive(Default)]
pub(crate) struct Root(Mutex<Rooted>);

#[derive(Default)]
struct Rooted {
    /// The value, while an op saves it.
    kept: Weak<Kept>,
    /// Saved values that can be computed again once the root is kept.
    waiting: Vec<Waiting>,
}

/// A root that is kept.
pub(crate) struct Kept(Mutex<Array>);

/// A value that an entry saved. It refers weakly to what refers to its root.
struct Waiting {
    entry: Weak<Entry>,
    place: Place,
    value: Weak<Derived>,
}

/// A saved value of an entry: an input, or the result.
#[derive(Clone, Copy)]
enum Place {
    Input(usize),
    Output,
}

/// How a value follows from a root.
pub(crate) struct Derived {
    root: Arc<Root>,
    step: Arc<Step>,
    /// Whether another kind of op saved the value, so that computing it again would save nothing.
    stored: AtomicBool,
}

/// A pointwise op.
struct Step {
    signature: Arc<Signature>,
    immediates: [u64; 2],
    /// The steps that compute the inputs; `None` for the root.
    inputs: Vec<Option<Arc<Step>>>,
    ops: usize,
}

/// A saved value that is not kept.
#[derive(Clone)]
pub(crate) struct Again {
    place: Place,
    root: Arc<Kept>,
    step: Arc<Step>,
}

fn matters(value: &Meta) -> bool {
    value.bytes >= LEAST && value.dtype.kind() == Kind::Float
}

/// Whether an input is all of a value, perhaps in another shape.
fn shows_all(edge: &Edge) -> bool {
    let all = |seen: &Meta, offset| seen.dense && offset == 0 && seen.size == edge.base.size;
    !edge.stale && edge.view.as_ref().is_none_or(|(seen, offset)| all(seen, *offset))
}

/// How the result of an op follows from a root, if it does.
pub(crate) fn derive(note: &ObservedOp<'_>, edges: &[Option<Edge>]) -> Option<Arc<Derived>> {
    let signature = note.signature;
    let (Op::Point(_), &Attrs::Point { compute, .. }) = (signature.op, &signature.attrs) else { return None };
    if note.in_place || !matters(&signature.out) || compute != signature.out.dtype {
        return None;
    }
    let (mut root, mut inputs, mut ops): (Option<Arc<Root>>, _, _) = (None, Vec::with_capacity(edges.len()), 1);
    for (edge, meta) in edges.iter().zip(&signature.inputs) {
        let edge = edge.as_ref().filter(|edge| shows_all(edge))?;
        if (meta.dtype, &meta.layout) != (signature.out.dtype, &signature.out.layout) {
            return None;
        }
        let (of, step) = match &edge.entry.derived {
            Some(derived) => (&derived.root, Some(derived.step.clone())),
            None => (edge.entry.root()?, None),
        };
        if !Arc::ptr_eq(root.get_or_insert_with(|| of.clone()), of) {
            return None;
        }
        ops += step.as_ref().map_or(0, |step| step.ops);
        inputs.push(step);
    }
    let step = Step { signature: signature.clone(), immediates: note.immediates, inputs, ops };
    let root = root.filter(|_| ops <= MOST_OPS)?;
    Some(Arc::new(Derived { root, step: Arc::new(step), stored: AtomicBool::new(false) }))
}

/// Notes what a new entry saved: roots, and values that can be computed again.
pub(crate) fn note_saved(entry: &Arc<Entry>) {
    let Body::Op(body) = &entry.body else { return };
    let mut waiting: Vec<Waiting> = Vec::new();
    let mut roots: Vec<(Arc<Root>, Array)> = Vec::new();
    {
        let mut recorded = body.lock();
        let Some(recorded) = recorded.as_mut() else { return };
        let pointwise = matches!(recorded.signature.op, Op::Point(_));
        let mut note = |of: &Arc<Entry>, place: Place, value: &Array| match &of.derived {
            Some(derived) if pointwise => {
                waiting.push(Waiting { entry: Arc::downgrade(entry), place, value: Arc::downgrade(derived) });
            }
            Some(derived) => derived.stored.store(true, Relaxed),
            None => roots.extend(of.root().map(|root| (root.clone(), value.clone()))),
        };
        for (k, (saved, edge)) in recorded.inputs.iter().zip(&recorded.edges).enumerate() {
            if let (Some(value), Some(edge)) = (saved, edge)
                && shows_all(edge)
                && matters(value.meta())
            {
                note(&edge.entry, Place::Input(k), value);
            }
        }
        if let Some(value) = recorded.output.as_ref().filter(|value| matters(value.meta())) {
            note(entry, Place::Output, value);
        }
        for (root, value) in roots {
            let (kept, ready) = root.keep(value);
            recorded.kept.push(kept);
            waiting.extend(ready);
        }
    }
    for saved in waiting {
        saved.settle();
    }
}

impl Root {
    /// Keeps the root's value, and returns what can be computed again from now on.
    fn keep(&self, value: Array) -> (Arc<Kept>, Vec<Waiting>) {
        let mut rooted = self.0.lock();
        let kept = rooted.kept.upgrade().unwrap_or_else(|| {
            let kept = Arc::new(Kept(Mutex::new(value)));
            rooted.kept = Arc::downgrade(&kept);
            kept
        });
        (kept, std::mem::take(&mut rooted.waiting))
    }
}

impl Waiting {
    /// Has its entry compute the value again if the root is kept; otherwise waits for that.
    fn settle(self) {
        let (Some(entry), Some(value)) = (self.entry.upgrade(), self.value.upgrade()) else { return };
        if value.stored.load(Relaxed) {
            return;
        }
        let kept = {
            let mut rooted = value.root.0.lock();
            let Some(kept) = rooted.kept.upgrade() else { return rooted.waiting.push(self) };
            kept
        };
        let Body::Op(body) = &entry.body else { return };
        if let Some(recorded) = body.lock().as_mut() {
            match self.place {
                Place::Input(k) => recorded.inputs[k] = None,
                Place::Output => recorded.output = None,
            }
            recorded.again.push(Again { place: self.place, root: kept, step: value.step.clone() });
        }
    }
}

/// Computes the saved values that were not kept.
pub(crate) fn compute(recorded: &mut Recorded, loc: Loc) -> Result<()> {
    for Again { place, root, step } in std::mem::take(&mut recorded.again) {
        let root = root.0.lock().clone();
        let value = with(false, is_training(), || step.run(&root, loc))?;
        match place {
            Place::Input(k) => recorded.inputs[k] = Some(shaped(&value, &recorded.signature.inputs[k], loc)?),
            Place::Output => recorded.output = Some(value),
        }
    }
    Ok(())
}

/// The elements in the shape of an input.
fn shaped(value: &Array, meta: &Meta, loc: Loc) -> Result<Array> {
    let dims: Vec<isize> = meta.shape().iter().map(|extent| *extent as isize).collect();
    if value.shape() == meta.shape() { Ok(value.clone()) } else { ops::reshape(value, &dims, loc) }
}

impl Step {
    fn run(&self, root: &Array, loc: Loc) -> Result<Array> {
        let Op::Point(point) = self.signature.op else { unreachable!("steps are pointwise") };
        let input = |(step, meta): (&Option<Arc<Step>>, &Arc<Meta>)| match step {
            Some(step) => shaped(&step.run(root, loc)?, meta, loc),
            None => shaped(root, meta, loc),
        };
        let inputs: Result<Vec<Array>> = self.inputs.iter().zip(&self.signature.inputs).map(input).collect();
        let inputs = inputs?;
        let argument = |(i, input): (usize, Option<usize>)| match input {
            Some(k) => Arg::Array(&inputs[k]),
            None => Arg::Scalar(scalar(&self.signature, self.immediates, i).0),
        };
        let args: Vec<Arg<'_>> = arguments(&self.signature).enumerate().map(argument).collect();
        ops::pointwise(point, &args, loc)
    }
}
