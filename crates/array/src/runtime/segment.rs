//! Collects a segment: takes records out of a window and converts them to the form that `plan` expects.

use crate::runtime::inline::{Attempt, run_inline};
use crate::runtime::node::Node;
use crate::runtime::planner::{ResolvedInput, operands, resolve};
use crate::runtime::record::Record;
use crate::runtime::window::Window;
use crate::runtime::{count, runtime};
use forerun_plan::{Fate, Operand, SegmentRecord, Source};
use smallvec::SmallVec;
use std::sync::Arc;

/// Values with fewer bytes than this always fit into memory.
const ALWAYS_FITS: usize = 1 << 30;

/// Lists of a builder that are not needed after its tasks are spawned; the next builder reuses them.
#[derive(Default)]
pub(crate) struct Lists {
    records: Vec<SegmentRecord>,
    externals: Vec<&'static Node>,
    offsets: Vec<u64>,
}

/// Records on their way to a plan.
pub(crate) struct SegmentBuilder {
    /// The records as the plan sees them.
    pub(crate) records: Vec<SegmentRecord>,
    /// The records as they were submitted, with resolved operands.
    pub(crate) submitted: Arc<Vec<Submitted>>,
    /// Values from before the segment, by index.
    pub(crate) externals: Vec<&'static Node>,
    /// Offsets of the views, by index.
    pub(crate) offsets: Vec<u64>,
    /// Index of the first record.
    pub(crate) start: u64,
    /// One past the last record taken.
    pub(crate) end: u64,
    /// A value of another window that the record at `end` reads, and that must be planned first.
    pub(crate) unplanned: Option<&'static Node>,
}

/// The operands of a record.
pub(crate) type ResolvedInputs = SmallVec<[ResolvedInput; 3]>;

/// A record and its resolved operands.
pub(crate) struct Submitted {
    pub(crate) record: Record,
    pub(crate) operands: ResolvedInputs,
}

impl Submitted {
    /// Takes a record that leaves the window, once: its result counts as planned from here on.
    pub(crate) fn take(record: Record, operands: ResolvedInputs) -> Submitted {
        if record.recipe.signature.inputs.len() > 3 {
            // SAFETY: the list is taken only here: the record leaves the window with this call.
            drop(unsafe { record.inputs[0].take_list() });
        }
        let submitted = Submitted { record, operands };
        submitted.out().begin(record.generation);
        submitted
    }

    pub(crate) fn out(&self) -> &'static Node {
        // SAFETY: nodes are never freed, and only records with a result are collected.
        unsafe { &*self.record.out }
    }

    /// The value that the result is written over.
    pub(crate) fn former(&self) -> Option<&'static Node> {
        self.out().is_rewrite().then(|| self.operands[self.record.recipe.rewritten()].node)
    }
}

impl SegmentBuilder {
    /// Collects the records from `start` to `end`. Tiny ones whose inputs are ready run inline, out of order: values
    /// are written once, so no record collected before can change what they read.
    #[inline(never)]
    pub(crate) fn collect(window: &'static Window, start: u64, end: u64, tiny: usize, lists: Lists) -> SegmentBuilder {
        let Lists { records, externals, offsets } = lists;
        let mut draft = SegmentBuilder {
            records,
            submitted: Arc::new(Vec::with_capacity((end - start) as usize)),
            externals,
            offsets,
            start,
            end: start,
            unplanned: None,
        };
        let mut inlined = 0;
        while draft.end < end {
            let mut index = draft.end;
            // SAFETY: between head and tail, under the planner's lock; a view is followed by its reader.
            while unsafe { window.ring.peek(index) }.is_view() {
                index += 1;
            }
            // SAFETY: between head and tail, under the planner's lock.
            let record = unsafe { window.ring.get(index) };
            match run_inline(window, index, &record, tiny) {
                Attempt::Done => inlined += 1,
                Attempt::Unplanned(node) => {
                    draft.unplanned = Some(node);
                    break;
                }
                Attempt::NotTiny => {
                    if let Err(node) = draft.add(window, index, record) {
                        draft.unplanned = Some(node);
                        break;
                    }
                }
            }
            draft.end = index + 1;
        }
        count(&runtime().counters.inlined, inlined);
        draft.decide_fates();
        draft
    }

    pub(crate) fn into_lists(mut self) -> Lists {
        self.records.clear();
        self.externals.clear();
        self.offsets.clear();
        Lists { records: self.records, externals: self.externals, offsets: self.offsets }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Adds a record, unless it reads a value of another window that is not planned.
    fn add(&mut self, window: &'static Window, index: u64, record: Record) -> Result<(), &'static Node> {
        let resolved: ResolvedInputs = operands(&record).iter().map(|w| resolve(window, index, *w)).collect();
        if let Some(missing) = resolved.iter().find(|r| r.foreign && !r.node.is_planned()) {
            return Err(missing.node);
        }
        let inputs = resolved
            .iter()
            .map(|r| Operand {
                source: self.source(r.node),
                view: r.view.map(|offset| {
                    self.offsets.push(offset);
                    self.offsets.len() as u16 - 1
                }),
            })
            .collect();
        self.records.push(SegmentRecord { signature: &record.recipe.signature, inputs, fate: Fate::Seen });
        let taken = Submitted::take(record, resolved);
        // The list is not shared before the segment is complete.
        if let Some(submitted) = Arc::get_mut(&mut self.submitted) {
            submitted.push(taken);
        }
        Ok(())
    }

    fn source(&mut self, node: &'static Node) -> Source {
        let same = |n: &&'static Node| std::ptr::eq(*n, node);
        if let Some(i) = self.submitted.iter().rposition(|s| same(&s.out())) {
            return Source::Record(i as u16);
        }
        let found = self.externals.iter().position(same).unwrap_or_else(|| {
            self.externals.push(node);
            self.externals.len() - 1
        });
        Source::External(found as u16)
    }

    /// Marks results as internal: those that are closed and whose announced uses are all in this segment.
    fn decide_fates(&mut self) {
        for i in 0..self.records.len() {
            let me = Source::Record(i as u16);
            let Some(uses) = self.submitted[i].out().closed_uses() else { continue };
            // A value too large for memory must fail as if it were stored, instead of being computed without being
            // stored.
            let bytes = self.records[i].signature.out.bytes;
            if bytes > ALWAYS_FITS && bytes > runtime().engine.budget().limit {
                continue;
            }
            let inside = self.records.iter().flat_map(|r| &r.inputs).filter(|o| o.source == me).count();
            // One use is the record that produces it.
            if uses as usize == inside + 1 {
                self.records[i].fate = Fate::Internal;
            }
        }
    }
}
