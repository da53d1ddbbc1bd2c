//! Collecting a segment: records out of a window, in the form the plan wants them.

use crate::runtime::inline::{Attempt, run_inline};
use crate::runtime::node::Node;
use crate::runtime::planner::{ResolvedInput, operands, resolve};
use crate::runtime::record::Record;
use crate::runtime::window::Window;
use crate::runtime::{count, runtime};
use forerun_plan::{Fate, Operand, SegmentRecord, Source};
use smallvec::SmallVec;
use std::sync::Arc;

/// Values of fewer bytes are never too large for the machine.
const ALWAYS_FITS: usize = 1 << 30;

/// The lists of a draft that nobody needs once its tasks are made: the next one uses them again.
#[derive(Default)]
pub(crate) struct Lists {
    records: Vec<SegmentRecord>,
    externals: Vec<&'static Node>,
    offsets: Vec<u64>,
}

/// Records on their way to a plan.
pub(crate) struct SegmentBuilder {
    /// As the plan sees them.
    pub(crate) records: Vec<SegmentRecord>,
    /// As they were submitted, with their operands resolved.
    pub(crate) submitted: Arc<Vec<Submitted>>,
    /// Values from before the segment, by number.
    pub(crate) externals: Vec<&'static Node>,
    /// Offsets of the views, by number.
    pub(crate) offsets: Vec<u64>,
    /// Index of the first record.
    pub(crate) start: u64,
    /// One past the last record taken.
    pub(crate) end: u64,
    /// The record at `end` reads this value of another window, which must be taken first.
    pub(crate) unplanned: Option<&'static Node>,
}

/// The operands of a record.
pub(crate) type ResolvedInputs = SmallVec<[ResolvedInput; 3]>;

/// A record and its operands.
pub(crate) struct Submitted {
    pub(crate) record: Record,
    pub(crate) operands: ResolvedInputs,
}

impl Submitted {
    /// Takes a record that leaves the window, once: its result is planned from here on.
    pub(crate) fn take(record: Record, operands: ResolvedInputs) -> Submitted {
        if record.recipe.signature.inputs.len() > 3 {
            // SAFETY: the list is taken here and only here: the record leaves the window with this call.
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
    /// Collects the records from `start` to `end`. Tiny ones whose inputs are there run on the spot, out of turn: values
    /// are written once, so nothing collected before can change what they read.
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
            // SAFETY: as above.
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

    /// Adds a record, unless it reads a value of another window that was not taken yet.
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
        // Nobody shares the list before the segment is complete.
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

    /// A result is internal if it is closed and every use ever announced is in this segment.
    fn decide_fates(&mut self) {
        for i in 0..self.records.len() {
            let me = Source::Record(i as u16);
            let Some(uses) = self.submitted[i].out().closed_uses() else { continue };
            // What could not be stored must fail as if it had to be, not be computed for ever without being stored.
            let bytes = self.records[i].signature.out.bytes;
            if bytes > ALWAYS_FITS && bytes > runtime().engine.budget().limit {
                continue;
            }
            let inside = self.records.iter().flat_map(|r| &r.inputs).filter(|o| o.source == me).count();
            // One use is its making.
            if uses as usize == inside + 1 {
                self.records[i].fate = Fate::Internal;
            }
        }
    }
}
