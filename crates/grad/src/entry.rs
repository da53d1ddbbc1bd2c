//! Entries of the tape: one a recorded op, holding what its rule declared and nothing else.

use forerun_array::{Array, Attachment, Meta, Signature, Verdict, Write};
use forerun_base::{DType, Error, ErrorKind, Loc, Result};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// What backward does with the gradient of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GradReq {
    /// Replaces what was there.
    Write,
    /// Adds to what was there.
    Add,
    /// Nothing: none is kept.
    Null,
}

/// A place on the tape: where a gradient can flow to.
pub(crate) struct Entry {
    /// Later entries have larger numbers, and only read earlier ones.
    pub(crate) order: u64,
    pub(crate) outputs: usize,
    pub(crate) loc: Loc,
    pub(crate) body: Body,
}

/// What an entry is.
pub(crate) enum Body {
    /// A variable: the end of the walk.
    Leaf(Mutex<Leaf>),
    /// A recorded op; `None` once it was walked.
    Op(Mutex<Option<Recorded>>),
    /// A function with a gradient of the user's own; `None` once it was walked.
    Custom(Mutex<Option<CustomRecorded>>),
}

/// A variable's gradient.
pub(crate) struct Leaf {
    pub(crate) grad: Array,
    pub(crate) req: GradReq,
    /// Whether backward wrote it and nobody said that it was used since.
    pub(crate) fresh: bool,
}

/// What an op left on the tape.
#[derive(Clone)]
pub(crate) struct Recorded {
    pub(crate) signature: Arc<Signature>,
    pub(crate) immediates: [u64; 2],
    /// For each array input, where its gradient flows to.
    pub(crate) edges: Vec<Option<Edge>>,
    /// The array inputs that the rule wants to see.
    pub(crate) inputs: Vec<Option<Array>>,
    /// The result, if the rule wants to see it.
    pub(crate) output: Option<Array>,
}

/// Computes what flows back to the inputs from what flows back to the outputs.
pub type Callback = dyn Fn(Vec<Array>) -> Result<Vec<Option<Array>>> + Send + Sync;

/// What a function of the user's own left on the tape.
#[derive(Clone)]
pub(crate) struct CustomRecorded {
    pub(crate) callback: Arc<Callback>,
    pub(crate) edges: Vec<Option<Edge>>,
    /// Shapes and dtypes of the outputs, for those that nothing flows back to.
    pub(crate) outputs: Vec<Arc<Meta>>,
}

/// A view of something: how it looks, and the place of its first element.
pub(crate) type View = (Arc<Meta>, u64);

/// From an input of an entry to the entry that made it.
#[derive(Clone)]
pub(crate) struct Edge {
    pub(crate) entry: Arc<Entry>,
    pub(crate) output: usize,
    /// How the input is seen, if not as it was made, and from where on.
    pub(crate) view: Option<View>,
    /// What was made.
    pub(crate) base: Arc<Meta>,
    /// The dtype of the input.
    pub(crate) dtype: DType,
    /// What was made has been written since, unrecorded.
    pub(crate) stale: bool,
}

static ORDER: AtomicU64 = AtomicU64::new(0);

impl Entry {
    pub(crate) fn new(body: Body, outputs: usize, loc: Loc) -> Arc<Entry> {
        Arc::new(Entry { order: ORDER.fetch_add(1, Relaxed), outputs, loc, body })
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
    /// A long chain is let go link by link, not link within link.
    fn drop(&mut self) {
        let mut rest: Vec<Option<Edge>> = self.take_edges();
        while let Some(edge) = rest.pop() {
            if let Some(mut entry) = edge.and_then(|e| Arc::into_inner(e.entry)) {
                rest.extend(entry.take_edges());
            }
        }
    }
}

/// What is kept about a cell whose value is on the tape.
pub(crate) struct Variable {
    pub(crate) entry: Arc<Entry>,
    pub(crate) output: usize,
    /// Written since, unrecorded: the entry says nothing about what the cell holds now.
    pub(crate) stale: AtomicBool,
}

impl Variable {
    pub(crate) fn new(entry: Arc<Entry>, output: usize) -> Arc<Variable> {
        Arc::new(Variable { entry, output, stale: AtomicBool::new(false) })
    }

    /// What is kept about the array's cell, if it is on the tape.
    pub(crate) fn of(array: &Array) -> Option<Arc<Variable>> {
        let any: Arc<dyn std::any::Any + Send + Sync> = array.attachment()?;
        any.downcast().ok()
    }

    pub(crate) fn is_leaf(&self) -> bool {
        matches!(self.entry.body, Body::Leaf(_))
    }

    /// An edge to what the array shows of this variable.
    pub(crate) fn edge(&self, array: &Array) -> Edge {
        let (base, seen) = (array.base_meta(), array.meta());
        // What is equal is mostly one: they are interned.
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
            // The variable is what backward is asked about, whatever it holds; recorded writes say themselves what follows.
            (true, false) | (false, true) => Ok(Verdict::Keep),
            (false, false) if write.whole => Ok(Verdict::Forget),
            (false, false) => {
                self.stale.store(true, Relaxed);
                Ok(Verdict::Keep)
            }
        }
    }
}
