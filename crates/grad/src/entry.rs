//! Entries of the tape: one per recorded op, with the values that its rule declared and nothing else.

use crate::derived::{Again, Derived, Kept, Root};
use forerun_array::{Array, Attachment, Meta, Signature, Verdict, Write};
use forerun_base::Mutex;
use forerun_base::{DType, Error, ErrorKind, Loc, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// What backward does with the gradient of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GradReq {
    /// Overwrites the gradient.
    Write,
    /// Adds to the gradient.
    Add,
    /// Ignores it: no gradient is kept.
    Null,
}

/// A node of the tape, to which gradients flow.
pub(crate) struct Entry {
    /// Later entries have larger numbers and depend only on earlier ones.
    pub(crate) order: u64,
    pub(crate) outputs: usize,
    pub(crate) loc: Loc,
    pub(crate) body: Body,
    /// How the result follows from another value.
    pub(crate) derived: Option<Arc<Derived>>,
    /// The result as a value that others follow from.
    root: OnceLock<Arc<Root>>,
}

/// What an entry is.
pub(crate) enum Body {
    /// A variable, where the walk ends.
    Leaf(Mutex<Leaf>),
    /// A recorded op; `None` after it was visited.
    Op(Mutex<Option<Recorded>>),
    /// A function with a user-defined gradient; `None` after it was visited.
    Custom(Mutex<Option<CustomRecorded>>),
}

/// A variable's gradient.
pub(crate) struct Leaf {
    pub(crate) grad: Array,
    pub(crate) req: GradReq,
    /// Whether backward wrote it and it was not used since.
    pub(crate) fresh: bool,
}

/// The values that an op saved on the tape.
#[derive(Clone)]
pub(crate) struct Recorded {
    pub(crate) signature: Arc<Signature>,
    pub(crate) immediates: [u64; 2],
    /// For each array input, the edge along which its gradient flows.
    pub(crate) edges: Vec<Option<Edge>>,
    /// The array inputs that the rule needs.
    pub(crate) inputs: Vec<Option<Array>>,
    /// The result, if the rule needs it.
    pub(crate) output: Option<Array>,
    /// Those of them that backward computes again.
    pub(crate) again: Vec<Again>,
    /// Those of them that others are computed from.
    pub(crate) kept: Vec<Arc<Kept>>,
}

/// Computes the gradients of the inputs from the gradients of the outputs.
pub type Callback = dyn Fn(Vec<Array>) -> Result<Vec<Option<Array>>> + Send + Sync;

/// The values that a user-defined function saved on the tape.
#[derive(Clone)]
pub(crate) struct CustomRecorded {
    pub(crate) callback: Arc<Callback>,
    pub(crate) edges: Vec<Option<Edge>>,
    /// Metas of the outputs, for those without a gradient.
    pub(crate) outputs: Vec<Arc<Meta>>,
}

/// A view: its meta, and the offset of its first element.
pub(crate) type View = (Arc<Meta>, u64);

/// An edge from an input of an entry to the entry that computed it.
#[derive(Clone)]
pub(crate) struct Edge {
    pub(crate) entry: Arc<Entry>,
    pub(crate) output: usize,
    /// The view through which the input was read, if not whole.
    pub(crate) view: Option<View>,
    /// The meta of the whole value.
    pub(crate) base: Arc<Meta>,
    /// The dtype of the input.
    pub(crate) dtype: DType,
    /// Whether the value was overwritten since, without recording.
    pub(crate) stale: bool,
}

static ORDER: AtomicU64 = AtomicU64::new(0);

impl Entry {
    pub(crate) fn new(body: Body, outputs: usize, loc: Loc) -> Arc<Entry> {
        Entry::of_derived(body, outputs, loc, None)
    }

    /// The same; `derived`: how its result follows from another value.
    pub(crate) fn of_derived(body: Body, outputs: usize, loc: Loc, derived: Option<Arc<Derived>>) -> Arc<Entry> {
        let order = ORDER.fetch_add(1, Relaxed);
        Arc::new(Entry { order, outputs, loc, body, derived, root: OnceLock::new() })
    }

    /// The result as a root, if this is a recorded op. A variable keeps its entry whatever its value is.
    pub(crate) fn root(&self) -> Option<&Arc<Root>> {
        matches!(self.body, Body::Op(_)).then(|| self.root.get_or_init(Arc::default))
    }

    fn take_edges(&mut self) -> Vec<Option<Edge>> {
        match &mut self.body {
            Body::Leaf(_) => Vec::new(),
            Body::Op(recorded) => recorded.get_mut().take().map_or_else(Vec::new, |r| r.edges),
            Body::Custom(recorded) => recorded.get_mut().take().map_or_else(Vec::new, |r| r.edges),
        }
    }
}

impl Drop for Entry {
    /// Drops a long chain iteratively, to avoid deep recursion.
    fn drop(&mut self) {
        let mut rest: Vec<Option<Edge>> = self.take_edges();
        while let Some(edge) = rest.pop() {
            if let Some(mut entry) = edge.and_then(|e| Arc::into_inner(e.entry)) {
                rest.extend(entry.take_edges());
            }
        }
    }
}

/// The attachment of a cell whose value is on the tape.
pub(crate) struct Variable {
    pub(crate) entry: Arc<Entry>,
    pub(crate) output: usize,
    /// Whether the cell was written since, without recording: the entry does not describe its value any more.
    pub(crate) stale: AtomicBool,
}

impl Variable {
    pub(crate) fn new(entry: Arc<Entry>, output: usize) -> Arc<Variable> {
        Arc::new(Variable { entry, output, stale: AtomicBool::new(false) })
    }

    /// The attachment of the array's cell, if it is on the tape.
    pub(crate) fn of(array: &Array) -> Option<Arc<Variable>> {
        let any: Arc<dyn std::any::Any + Send + Sync> = array.attachment()?;
        any.downcast().ok()
    }

    pub(crate) fn is_leaf(&self) -> bool {
        matches!(self.entry.body, Body::Leaf(_))
    }

    /// An edge to the part of this variable that the array shows.
    pub(crate) fn edge(&self, array: &Array) -> Edge {
        let (base, seen) = (array.base_meta(), array.meta());
        // Metas are interned, so equal ones usually have equal addresses.
        let alike = std::ptr::eq(base, seen) || base.layout == seen.layout;
        let whole = alike && array.offset() == 0;
        Edge {
            entry: self.entry.clone(),
            output: self.output,
            view: (!whole).then(|| (seen.share(), array.offset())),
            base: base.share(),
            dtype: array.dtype(),
            stale: self.stale.load(Relaxed),
        }
    }
}

impl Attachment for Variable {
    fn before_write(&self, write: Write) -> Result<Verdict> {
        let refuse = |text: &str| Err(Error::new(ErrorKind::Value, text));
        match (self.is_leaf(), crate::is_recording()) {
            (true, true) => refuse("a variable with a gradient cannot be written in place while recording"),
            (false, true) if write.detached => {
                refuse("an array on the tape cannot be written through a detached one while recording")
            }
            // A variable stays one, whatever its value; recorded writes set a new attachment themselves.
            (true, false) | (false, true) => Ok(Verdict::Keep),
            (false, false) if write.whole => Ok(Verdict::Forget),
            (false, false) => {
                self.stale.store(true, Relaxed);
                Ok(Verdict::Keep)
            }
        }
    }
}
