//! The backward walk over the tape: from the heads to the variables, latest entry first. It submits ordinary ops only,
//! and releases the saved values of an entry as soon as it was visited.

use crate::derived;
use crate::entry::{Body, Edge, Entry, GradReq, Recorded, Variable};
use crate::rules;
use crate::state::{self, is_training};
use crate::sum::Sum;
use crate::tape::{drop_grad, edge_to};
use forerun_array::{Arg, Array, note_unrepeatable, on_device, ops};
use forerun_base::Mutex;
use forerun_base::{Error, ErrorKind, Kind, Loc, Result, Scalar, WordHash, fail_point};
use forerun_ops::Point;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

struct Stop {
    entry: Arc<Entry>,
    sums: Vec<Sum>,
}

struct Walk {
    heap: BinaryHeap<(u64, usize)>,
    stops: HashMap<usize, Stop, WordHash>,
    retain: bool,
    /// Whether the walk itself is recorded.
    recording: bool,
    loc: Loc,
}

fn fail<T>(text: impl Into<String>) -> Result<T> {
    Err(Error::new(ErrorKind::Value, text).in_op("backward"))
}

/// Computes the gradients of all variables that the heads were computed from, and stores them as each variable
/// requests.
pub fn backward(heads: &[&Array], grads: &[Option<&Array>], retain: bool, loc: Loc) -> Result<()> {
    state::with(false, is_training(), || {
        let mut walk = Walk::from(heads, grads, retain, false, loc)?;
        walk.run(|walk, entry, sums| match &entry.body {
            Body::Leaf(leaf) => {
                let (grad, req) = {
                    let mut leaf = leaf.lock();
                    leaf.fresh = true;
                    (leaf.grad.clone(), leaf.req)
                };
                walk.keep(&grad, req, sums)
            }
            Body::Op(_) | Body::Custom(_) => Ok(()),
        })
    })
}

/// Computes the gradients of `variables`; their stored gradients do not change. With `create_graph` the computation is
/// recorded too, so that it can be differentiated again.
pub fn gradients(
    heads: &[&Array],
    variables: &[&Array],
    grads: &[Option<&Array>],
    retain: bool,
    create_graph: bool,
    loc: Loc,
) -> Result<Vec<Array>> {
    let found = flows(heads, variables, grads, retain, create_graph, loc)?;
    let missing = found.iter().position(Option::is_none);
    match missing {
        Some(i) => fail(format!("the heads were not computed from variable {i}")),
        None => Ok(found.into_iter().flatten().collect()),
    }
}

/// The same; `None` for a variable that the heads were not computed from.
pub(crate) fn flows(
    heads: &[&Array],
    variables: &[&Array],
    grads: &[Option<&Array>],
    retain: bool,
    create_graph: bool,
    loc: Loc,
) -> Result<Vec<Option<Array>>> {
    let mut found: Vec<Option<Array>> = vec![None; variables.len()];
    let mut asked = Vec::with_capacity(variables.len());
    for (i, variable) in variables.iter().enumerate() {
        match edge_to(variable) {
            Some(edge) => asked.push(edge),
            None => return fail(format!("variable {i} is not on the tape: it needs attach_grad")),
        }
    }
    state::with(create_graph, is_training(), || {
        let mut walk = Walk::from(heads, grads, retain, create_graph, loc)?;
        walk.run(|walk, entry, sums| {
            for (slot, edge) in found.iter_mut().zip(&asked) {
                if Arc::ptr_eq(&edge.entry, entry) {
                    let grad = match sums[edge.output].whole(walk.loc)? {
                        Some(grad) => grad,
                        None => on_device(edge.base.device, || {
                            ops::full(&edge.base.shape(), Scalar::Int(0), edge.dtype, walk.loc)
                        })?,
                    };
                    *slot = Some(grad);
                }
            }
            Ok(())
        })
    })?;
    let one = |(grad, edge): (Option<Array>, &Edge)| {
        let own = |grad: Array| state::with(create_graph, is_training(), || handed_out(&grad, edge, loc));
        grad.map(own).transpose()
    };
    found.into_iter().zip(&asked).map(one).collect()
}

/// The gradient returned to the user: an array of its own, whatever else shares the value; for a view, that part of it.
fn handed_out(grad: &Array, edge: &Edge, loc: Loc) -> Result<Array> {
    let whole = dense(grad.clone(), loc)?;
    match &edge.view {
        Some((seen, offset)) => ops::copy(&ops::view_as(&whole, seen.layout, *offset)?, loc),
        None => Ok(own(&whole)),
    }
}

/// The same value under a cell of its own, at the same place on the tape.
pub(crate) fn own(grad: &Array) -> Array {
    let own = grad.freeze();
    own.attach(grad.attachment());
    own
}

/// A dense array, not a view of an intermediate result.
pub(crate) fn dense(grad: Array, loc: Loc) -> Result<Array> {
    if grad.base().layout() == grad.layout() { Ok(grad) } else { ops::copy(&grad, loc) }
}

impl Walk {
    fn from(heads: &[&Array], grads: &[Option<&Array>], retain: bool, recording: bool, loc: Loc) -> Result<Walk> {
        note_unrepeatable();
        let mut walk = Walk { heap: BinaryHeap::new(), stops: HashMap::default(), retain, recording, loc };
        for (i, head) in heads.iter().enumerate() {
            let Some(edge) = edge_to(head) else {
                return fail(
                    "the array is not on the tape: it must be computed while recording, from an array with attach_grad",
                );
            };
            let grad = match grads.get(i).copied().flatten() {
                Some(grad) if grad.shape() != head.shape() => {
                    let text =
                        format!("a head of shape {} cannot have a gradient of shape {}", head.shape(), grad.shape());
                    return fail(text);
                }
                Some(grad) if grad.dtype() != head.dtype() => ops::cast(grad, head.dtype(), loc)?,
                Some(grad) => grad.clone(),
                None if head.dtype().kind() == Kind::Complex => {
                    return fail(format!("a {} head needs an explicit gradient", head.dtype()));
                }
                None => on_device(head.device(), || ops::full(&head.shape(), Scalar::Int(1), head.dtype(), loc))?,
            };
            walk.flow(&edge, Some(grad))?;
        }
        Ok(walk)
    }

    /// Adds a gradient, `None` for zero, along an edge.
    fn flow(&mut self, edge: &Edge, grad: Option<Array>) -> Result<()> {
        if edge.stale {
            let text = "an array on the tape was written in place while not recording; it was computed";
            return Err(Error::new(ErrorKind::Value, text).in_op("backward").submitted_at(edge.entry.loc));
        }
        let key = Arc::as_ptr(&edge.entry) as usize;
        let heap = &mut self.heap;
        let stop = self.stops.entry(key).or_insert_with(|| {
            heap.push((edge.entry.order, key));
            let sums = (0..edge.entry.outputs).map(|_| Sum::default()).collect();
            Stop { entry: edge.entry.clone(), sums }
        });
        let sum = &mut stop.sums[edge.output];
        let Some(mut grad) = grad else { return Ok(()) };
        let loc = self.loc;
        if grad.dtype().kind() == Kind::Complex && edge.dtype.kind() != Kind::Complex {
            grad = ops::pointwise(Point::Real, &[Arg::Array(&grad)], loc)?;
        }
        if grad.dtype() != edge.dtype {
            grad = ops::cast(&grad, edge.dtype, loc)?;
        }
        sum.add(grad, edge.view.as_ref(), &edge.base.layout.shape, loc)
    }

    /// Visits every entry that a gradient flows to, latest first.
    fn run(&mut self, mut visit: impl FnMut(&Walk, &Arc<Entry>, &mut [Sum]) -> Result<()>) -> Result<()> {
        while let Some((_, key)) = self.heap.pop() {
            let Stop { entry, mut sums } = self.stops.remove(&key).expect("every entry on the heap has its sums");
            visit(self, &entry, &mut sums)?;
            match &entry.body {
                Body::Leaf(_) => {}
                Body::Op(recorded) => {
                    let mut recorded = self.take(recorded, entry.loc)?;
                    derived::compute(&mut recorded, self.loc)?;
                    let back = match self.recording {
                        true => rules::flow_back(&connected(recorded.clone(), &entry), &mut sums[0], self.loc)?,
                        false => rules::flow_back(&recorded, &mut sums[0], self.loc)?,
                    };
                    self.flow_all(&recorded.edges, back)?;
                }
                Body::Custom(recorded) => {
                    let recorded = self.take(recorded, entry.loc)?;
                    let grads: Result<Vec<Array>> = sums
                        .iter_mut()
                        .zip(&recorded.outputs)
                        .map(|(sum, meta)| match sum.whole(self.loc)? {
                            Some(grad) => dense(grad, self.loc).map(|grad| own(&grad)),
                            None => on_device(meta.device, || {
                                ops::full(&meta.shape(), Scalar::Int(0), meta.dtype, self.loc)
                            }),
                        })
                        .collect();
                    fail_point!("gradient.call", error => return Err(error.in_op("backward").submitted_at(entry.loc)));
                    let back = (recorded.callback)(grads?)?;
                    let back: Vec<Option<Array>> = back.iter().map(|b| b.as_ref().map(own)).collect();
                    self.check(&recorded.edges, &back)?;
                    self.flow_all(&recorded.edges, back)?;
                }
            }
        }
        Ok(())
    }

    /// The saved values of an entry; the entry keeps them only if the walk is to be repeated.
    fn take<T: Clone>(&self, kept: &Mutex<Option<T>>, loc: Loc) -> Result<T> {
        let mut kept = kept.lock();
        let taken = if self.retain { kept.clone() } else { kept.take() };
        taken.ok_or_else(|| {
            let text = "the saved values were freed by an earlier backward: call that one with retain_graph";
            Error::new(ErrorKind::Value, text).in_op("backward").submitted_at(loc)
        })
    }

    fn flow_all(&mut self, edges: &[Option<Edge>], back: Vec<Option<Array>>) -> Result<()> {
        for (edge, grad) in edges.iter().zip(back) {
            if let Some(edge) = edge {
                self.flow(edge, grad)?;
            }
        }
        Ok(())
    }

    /// Checks what the user-defined gradient function returned.
    fn check(&self, edges: &[Option<Edge>], back: &[Option<Array>]) -> Result<()> {
        if back.len() != edges.len() {
            return fail(format!("a function of {} inputs returned {} gradients", edges.len(), back.len()));
        }
        for (edge, grad) in edges.iter().zip(back) {
            if let (Some(edge), Some(grad)) = (edge, grad) {
                let shape = edge.view.as_ref().map_or(&edge.base, |(seen, _)| seen).shape();
                if grad.shape() != shape {
                    return fail(format!("a gradient of shape {} for an input of shape {shape}", grad.shape()));
                }
            }
        }
        Ok(())
    }

    /// Stores the gradient of a variable as it requests.
    fn keep(&self, target: &Array, req: GradReq, sums: &mut [Sum]) -> Result<()> {
        let grad = sums[0].whole(self.loc)?;
        // Its previous value may be on the tape; the new one is not.
        drop_grad(target);
        match (req, grad) {
            (GradReq::Null, _) | (GradReq::Add, None) => Ok(()),
            (GradReq::Write, Some(grad)) => ops::adopt(target, grad, self.loc),
            (GradReq::Write, None) => ops::assign(target, Arg::Scalar(Scalar::Int(0)), self.loc),
            (GradReq::Add, Some(grad)) => ops::in_place(Point::Add, target, Arg::Array(&grad), self.loc),
        }
    }
}

/// The recorded op as the rule sees it if the walk itself is recorded: saved values are connected to the tape as they
/// were when they were saved.
fn connected(mut recorded: Recorded, entry: &Arc<Entry>) -> Recorded {
    for (saved, edge) in recorded.inputs.iter_mut().zip(&recorded.edges) {
        if let (Some(array), Some(edge)) = (saved, edge) {
            let connected = array.freeze();
            connected.attach(Some(Variable::new(edge.entry.clone(), edge.output)));
            *array = connected;
        }
    }
    if let Some(output) = &mut recorded.output {
        let connected = output.freeze();
        connected.attach(Some(Variable::new(entry.clone(), 0)));
        *output = connected;
    }
    recorded
}
