//! Segments: the input of a plan, and the key under which the plan is cached.

use crate::Signature;
use smallvec::SmallVec;

/// Where an operand comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The result of a record of this segment.
    Record(u16),
    /// A value from before the segment, numbered in order of first use.
    External(u16),
}

/// An operand: a value, read whole or through a view record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operand {
    /// The value.
    pub source: Source,
    /// The index in the segment's list of views, whose offset is a parameter; `None` if read whole.
    pub view: Option<u16>,
}

/// The operands of a record, usually few.
pub type Operands = SmallVec<[Operand; 4]>;

/// Whether a record's result is needed outside the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// A handle or a record outside the segment can read it: it must be stored.
    Seen,
    /// Only records of this segment read it.
    Internal,
}

/// One record of a segment.
#[derive(Clone, Debug)]
pub struct SegmentRecord {
    /// Op, metas and attributes.
    pub signature: &'static Signature,
    /// Its array inputs; the signature has their metas, as seen through views.
    pub inputs: Operands,
    /// Whether its result is needed outside the segment.
    pub fate: Fate,
}

/// Options of the planner; part of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlanOptions {
    /// Fuse pointwise chains.
    pub fuse: bool,
    /// Drop dead records.
    pub drop_dead: bool,
}

/// Writes the key of a segment: equal keys have equal plans. Scalars and offsets are parameters and not part of the
/// key.
pub fn write_key(records: &[SegmentRecord], options: PlanOptions, key: &mut Vec<u32>) {
    key.clear();
    key.push(options.fuse as u32 | (options.drop_dead as u32) << 1);
    for record in records {
        key.extend([record.signature.id as u32, (record.signature.id >> 32) as u32]);
        key.push((record.fate == Fate::Internal) as u32 | (record.inputs.len() as u32) << 1);
        for operand in &record.inputs {
            let source = match operand.source {
                Source::Record(i) => i as u32,
                Source::External(i) => 0x8000 | i as u32,
            };
            key.push(source | operand.view.map_or(0, |v| v as u32 + 1) << 16);
        }
    }
}
