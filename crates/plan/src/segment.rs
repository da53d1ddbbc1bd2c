//! A segment: the records a plan is made from, as the planner sees them. Also the key under which its plan is cached.

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

/// An operand: a value, seen as it is or through a view record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operand {
    /// The value.
    pub source: Source,
    /// Seen through a view: its offset is a parameter, found in this segment's view list.
    pub view: Option<u16>,
}

/// The operands of a record: few, as a rule.
pub type Operands = SmallVec<[Operand; 4]>;

/// What becomes of a record's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// Somebody holds it, or a record outside the segment reads it: it must reach memory.
    Seen,
    /// Only records of this segment read it.
    Internal,
}

/// One record of a segment.
#[derive(Clone, Debug)]
pub struct SegmentRecord {
    /// What it says.
    pub signature: &'static Signature,
    /// Its array inputs; their metas (as seen, through views) are the signature's.
    pub inputs: Operands,
    /// What becomes of its result.
    pub fate: Fate,
}

/// How plans are made; part of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlanOptions {
    /// Fuse pointwise chains.
    pub fuse: bool,
    /// Do not compute what nobody can look at.
    pub drop_dead: bool,
}

/// Writes the key of a segment: equal keys have equal plans. Scalars and offsets are parameters and not part of it.
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
