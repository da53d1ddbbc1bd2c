//! Groups the records of a segment into kernels.
//!
//! Invariant: a group depends only on earlier groups. A pointwise record may therefore join only the latest group that
//! holds one of its producers, or a later one. Of these it joins the last that iterates over its shape and accepts it;
//! if there is none, it begins a group. For example, where `x @ w` and `y` have one shape and the program keeps `c`:
//!
//! | record | producers | group |
//! |---|---|---|
//! | `a = x @ w` | - | 0, a product |
//! | `b = a + 1` | `a` in group 0 | 0: an epilogue of the product |
//! | `c = y * 2` | - | 1, new: an epilogue takes only records that read something of its group |
//! | `d = b * c` | `b` in 0, `c` in 1 | 1: the latest producer is there. Group 0 stores `b`, group 1 reads it |
//! | `s = d.sum()` | `d` in group 1 | 1: it becomes a reduction. It stores `c`, and `d` only if the program keeps it |
//!
//! A chain of pointwise ops is thus one pass over memory. It ends in the reduction that reads it, and it follows the
//! product that feeds it as an epilogue.

use crate::kernel::{Concat, Fill, Kernel, Product, ProgramInput, Reduce, RoutineCall, Rows, Update};
use crate::program::{Builder, Ssa};
use crate::segment::{Fate, Operand, PlanOptions, SegmentRecord, Source};
use crate::signature::Attrs;
use forerun_base::{DType, Device, Layout, Shape};
use forerun_ops::{Class, FillKind, Op};

/// The plan of a segment.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The kernels, in dependency order.
    pub groups: Vec<Group>,
    /// Number of records dropped because no reader of their results can exist.
    pub dropped: usize,
}

/// One kernel of a plan and how to bind it.
#[derive(Clone, Debug)]
pub struct Group {
    /// The kernel.
    pub kernel: Kernel,
    /// The kernel's inputs.
    pub inputs: Vec<Operand>,
    /// For each output, the record whose result it is.
    pub outputs: Vec<u16>,
    /// For each scalar, the record and the index of its immediate.
    pub scalars: Vec<(u16, u8)>,
    /// All records computed here, stored or not.
    pub records: Vec<u16>,
    /// The device it runs on.
    pub device: Device,
}

enum Body {
    Pointwise,
    Reduce {
        record: u16,
        arg: Ssa,
        extents: (usize, usize, usize),
    },
    Product {
        record: u16,
    },
    /// Concat, update, take, scatter_add, fill, transfer: nothing fuses into them.
    Closed {
        record: u16,
    },
}

struct OpenGroup {
    body: Body,
    device: Device,
    builder: Builder,
    /// Results computed by the program, by record.
    values: Vec<(u16, Ssa)>,
    records: Vec<u16>,
}

impl OpenGroup {
    fn value(&self, record: u16) -> Option<Ssa> {
        self.values.iter().find(|(r, _)| *r == record).map(|(_, v)| *v)
    }
}

/// Computes the plan of a segment.
pub fn plan(records: &[SegmentRecord], options: PlanOptions) -> Plan {
    let live = live_records(records, options);
    let scalars: Vec<bool> =
        (0..records.len()).map(|i| options.fuse && live[i] && is_scalar(records, &live, i)).collect();
    let with_reader: Vec<bool> = (0..records.len())
        .map(|i| options.fuse && live[i] && !scalars[i] && goes_with_reader(records, &live, i))
        .collect();
    let mut groups: Vec<OpenGroup> = Vec::new();
    let mut group_of = vec![NOWHERE; records.len()];
    for (i, record) in records.iter().enumerate() {
        if !live[i] || scalars[i] || with_reader[i] {
            continue;
        }
        let place = match record.signature.op {
            op if op.is_pointwise() => {
                let g = place_pointwise(&groups, &group_of, records, record, options);
                let g = g.unwrap_or_else(|| {
                    groups.push(new_group(Body::Pointwise, record));
                    groups.len() - 1
                });
                for operand in &record.inputs {
                    if let Source::Record(j) = operand.source
                        && with_reader[j as usize]
                    {
                        add_pointwise(&mut groups[g], records, &scalars, j as usize);
                        groups[g].records.push(j);
                        group_of[j as usize] = g;
                    }
                }
                add_pointwise(&mut groups[g], records, &scalars, i);
                // A record that is only a scalar is dead after its first reader.
                for operand in &record.inputs {
                    if let Source::Record(j) = operand.source
                        && scalars[j as usize]
                        && !groups.iter().any(|g| g.records.contains(&j))
                    {
                        groups[g].records.push(j);
                    }
                }
                g
            }
            Op::Reduce(_) => place_reduce(&mut groups, &group_of, records, i, options),
            Op::Matmul => {
                let mut group = new_group(Body::Product { record: i as u16 }, record);
                let own = Operand { source: Source::Record(i as u16), view: None };
                let meta = &record.signature.out;
                let c = group.builder.input(own, ProgramInput { dtype: meta.dtype, layout: meta.layout });
                group.values.push((i as u16, c));
                groups.push(group);
                groups.len() - 1
            }
            _ => {
                groups.push(new_group(Body::Closed { record: i as u16 }, record));
                groups.len() - 1
            }
        };
        groups[place].records.push(i as u16);
        group_of[i] = place;
    }
    let stored: Vec<bool> =
        (0..records.len()).map(|i| group_of[i] != NOWHERE && must_store(records, &live, &group_of, i)).collect();
    let dropped = live.iter().filter(|l| !**l).count();
    Plan { groups: groups.into_iter().map(|g| finish(g, records, &stored)).collect(), dropped }
}

/// Marks a record without a group: it is not computed, or is only a scalar for its readers.
const NOWHERE: usize = usize::MAX;

/// Whether a record fills an array with one value, is [`Fate::Internal`], and is read only by pointwise records: it
/// becomes a scalar for them, which saves a pass over memory.
fn is_scalar(records: &[SegmentRecord], live: &[bool], i: usize) -> bool {
    if records[i].signature.op != Op::Fill(FillKind::Full) || records[i].fate == Fate::Seen {
        return false;
    }
    let me = Source::Record(i as u16);
    let readers = || records.iter().enumerate().filter(|(j, _)| live[*j]).map(|(_, r)| r);
    let mut reads = readers().flat_map(|r| r.inputs.iter().filter(|o| o.source == me).map(move |o| (r, o))).peekable();
    reads.peek().is_some() && reads.all(|(r, o)| o.view.is_none() && r.signature.op.is_pointwise())
}

/// Whether a record is placed together with the record that reads it, instead of on its own. This holds if its result is
/// [`Fate::Internal`], all its inputs come from outside the segment, and its only reader is a pointwise record over the
/// same shape. It can then join an epilogue of a product, which takes no record without a producer in its group. An
/// example is the mask `x > 0` in the gradient of a rectifier.
fn goes_with_reader(records: &[SegmentRecord], live: &[bool], i: usize) -> bool {
    let record = &records[i];
    let outside = !record.inputs.is_empty() && record.inputs.iter().all(|o| matches!(o.source, Source::External(_)));
    if !outside || record.fate == Fate::Seen || !record.signature.op.is_pointwise() {
        return false;
    }
    let me = Source::Record(i as u16);
    let readers = records.iter().enumerate().filter(|(j, _)| live[*j]).map(|(_, r)| r);
    let mut reads = readers.flat_map(|r| r.inputs.iter().filter(|o| o.source == me).map(move |o| (r, o)));
    let (Some((reader, operand)), None) = (reads.next(), reads.next()) else { return false };
    operand.view.is_none()
        && reader.signature.op.is_pointwise()
        && reader.signature.out.shape() == record.signature.out.shape()
}

fn new_group(body: Body, record: &SegmentRecord) -> OpenGroup {
    let (device, builder) = (record.signature.runs_on(), Builder::new(record.signature.out.shape()));
    OpenGroup { body, device, builder, values: Vec::new(), records: Vec::new() }
}

/// A record is live if its result can be read from outside, or a live record reads it.
fn live_records(records: &[SegmentRecord], options: PlanOptions) -> Vec<bool> {
    let mut live: Vec<bool> =
        records.iter().map(|r| r.fate == Fate::Seen || !options.drop_dead || !r.signature.op.infallible()).collect();
    for i in (0..records.len()).rev() {
        if live[i] {
            for operand in &records[i].inputs {
                if let Source::Record(j) = operand.source {
                    live[j as usize] = true;
                }
            }
        }
    }
    live
}

/// A result is stored if it is seen, read by another kernel, read through a view, or read by no record at all.
fn must_store(records: &[SegmentRecord], live: &[bool], group_of: &[usize], i: usize) -> bool {
    if records[i].fate == Fate::Seen {
        return true;
    }
    let me = Source::Record(i as u16);
    let mut read = false;
    for (j, reader) in records.iter().enumerate().filter(|(j, _)| live[*j]) {
        for operand in &reader.inputs {
            if operand.source == me {
                read = true;
                if group_of[j] != group_of[i] || operand.view.is_some() {
                    return true;
                }
            }
        }
    }
    !read
}

fn producers<'a>(record: &'a SegmentRecord, group_of: &'a [usize]) -> impl Iterator<Item = (&'a Operand, u16, usize)> {
    record.inputs.iter().filter_map(|o| match o.source {
        Source::Record(j) => Some((o, j, group_of[j as usize])).filter(|(_, _, g)| *g != NOWHERE),
        Source::External(_) => None,
    })
}

fn place_pointwise(
    groups: &[OpenGroup],
    group_of: &[usize],
    records: &[SegmentRecord],
    record: &SegmentRecord,
    options: PlanOptions,
) -> Option<usize> {
    if !options.fuse {
        return None;
    }
    let shape = record.signature.out.shape();
    let first = producers(record, group_of).map(|(_, _, g)| g).max();
    let accepts = |g: usize| {
        let group = &groups[g];
        let open = match group.body {
            Body::Pointwise | Body::Reduce { .. } => true,
            Body::Product { .. } => first == Some(g),
            Body::Closed { .. } => false,
        };
        open && group.device == record.signature.out.device
            && group.builder.shape == shape
            && group.builder.has_room()
            && producers(record, group_of).all(|(o, j, from)| {
                let whole = || o.view.is_none() && records[j as usize].signature.out.shape() == shape;
                from != g || (whole() && group.value(j).is_some())
            })
    };
    // A record without inputs gains nothing from fusion, and should not fail with another record.
    if record.inputs.is_empty() {
        return None;
    }
    (first.unwrap_or(0)..groups.len()).rev().find(|&g| accepts(g))
}

/// The operand as a value of the group's program: computed there, or read.
fn operand_value(group: &mut OpenGroup, records: &[SegmentRecord], scalars: &[bool], i: usize, k: usize) -> Ssa {
    let operand = records[i].inputs[k];
    if let (Source::Record(j), None) = (operand.source, operand.view)
        && let Some(value) = group.value(j)
    {
        return value;
    }
    if let Source::Record(j) = operand.source
        && scalars[j as usize]
    {
        return group.builder.scalar(j, 0, records[j as usize].signature.out.dtype);
    }
    let meta = &records[i].signature.inputs[k];
    let layout = meta.layout.broadcast_to(group.builder.shape).expect("inference broadcast it");
    group.builder.input(operand, ProgramInput { dtype: meta.dtype, layout })
}

/// Adds a record to the group's program. `scalar_records`: as computed by [`is_scalar`].
fn add_pointwise(group: &mut OpenGroup, records: &[SegmentRecord], scalar_records: &[bool], i: usize) {
    let signature = records[i].signature;
    let value = match (signature.op, &signature.attrs) {
        (Op::Point(point), &Attrs::Point { compute, scalars, arity }) => {
            let class = point.row().class;
            let (mut array, mut word) = (0, 0);
            let mut args = Vec::with_capacity(3);
            for a in 0..arity as usize {
                let condition = class == Class::Select && a == 0;
                let dtype = if condition { DType::Bool } else { compute };
                if scalars >> a & 1 == 1 {
                    args.push(group.builder.scalar(i as u16, word, dtype));
                    word += 1;
                } else {
                    let value = operand_value(group, records, scalar_records, i, array);
                    args.push(group.builder.cast(value, dtype));
                    array += 1;
                }
            }
            if class == Class::Cast {
                group.builder.cast(args[0], signature.out.dtype)
            } else {
                // The op's own result dtype first, then the dtype that the record requests (in-place ops keep the
                // target's).
                let result = point.row().types(compute).map_or(compute, |(_, result)| result);
                let value = group.builder.apply(point, compute, result, &args);
                group.builder.cast(value, signature.out.dtype)
            }
        }
        (Op::Fill(FillKind::Full), _) => group.builder.scalar(i as u16, 0, signature.out.dtype),
        (op, attrs) => unreachable!("{op:?} with {attrs:?} is not pointwise"),
    };
    group.values.push((i as u16, value));
}

/// The three collapsed extents of a reduction, if the reduced axes are adjacent.
fn extents(shape: &Shape, mask: u32) -> Option<(usize, usize, usize)> {
    let (mut outer, mut reduced, mut inner) = (1, 1, 1);
    let mut stage = 0;
    for (i, &d) in shape.iter().enumerate().filter(|(_, d)| **d != 1) {
        match (mask >> i & 1 == 1, stage) {
            (false, 0) => outer *= d,
            (true, 0 | 1) => {
                stage = 1;
                reduced *= d;
            }
            (false, _) => {
                stage = 2;
                inner *= d;
            }
            (true, _) => return None,
        }
    }
    Some((outer, reduced, inner))
}

fn place_reduce(
    groups: &mut Vec<OpenGroup>,
    group_of: &[usize],
    records: &[SegmentRecord],
    i: usize,
    options: PlanOptions,
) -> usize {
    let signature = records[i].signature;
    let Attrs::Reduce { mask, compute } = signature.attrs else { unreachable!("a reduction has its attributes") };
    let operand = records[i].inputs[0];
    let meta = &signature.inputs[0];
    let together = extents(&meta.shape(), mask);
    if options.fuse
        && let (Source::Record(j), None, Some(extents)) = (operand.source, operand.view, together)
    {
        let g = group_of[j as usize];
        let group = &mut groups[g];
        if matches!(group.body, Body::Pointwise)
            && group.builder.shape == meta.shape()
            && let Some(value) = group.value(j)
        {
            let arg = group.builder.cast(value, compute);
            group.body = Body::Reduce { record: i as u16, arg, extents };
            return g;
        }
    }
    // If the reduced axes are not adjacent, they are moved last; the order of additions is still a function of shape
    // and axes.
    let rank = meta.shape().rank();
    let kept = (0..rank).filter(|d| mask >> d & 1 == 0);
    let axes: Vec<usize> = match together {
        Some(_) => (0..rank).collect(),
        None => kept.chain((0..rank).filter(|d| mask >> d & 1 == 1)).collect(),
    };
    let layout = meta.layout.permute(&axes);
    let moved = axes.iter().enumerate().fold(0, |m, (to, from)| m | (mask >> from & 1) << to);
    let extents = extents(&layout.shape, moved).expect("the reduced axes are adjacent now");
    let mut builder = Builder::new(layout.shape);
    let value = builder.input(operand, ProgramInput { dtype: meta.dtype, layout });
    let arg = builder.cast(value, compute);
    let body = Body::Reduce { record: i as u16, arg, extents };
    // Nothing may join a program with moved axes: its shape is not the records' shape.
    let values = Vec::new();
    groups.push(OpenGroup { body, device: signature.runs_on(), builder, values, records: Vec::new() });
    groups.len() - 1
}

fn finish(group: OpenGroup, records: &[SegmentRecord], stored: &[bool]) -> Group {
    let OpenGroup { body, device, builder, values, records: members } = group;
    let mut kept: Vec<(u16, Ssa)> = values.iter().copied().filter(|(r, _)| stored[*r as usize]).collect();
    match body {
        Body::Pointwise => {
            let (inputs, scalars) = (builder.operands.clone(), builder.scalar_sources.clone());
            let (program, _) = builder.finish(&ssa(&kept), None);
            Group { kernel: Kernel::Pointwise(program), inputs, outputs: rec(&kept), scalars, records: members, device }
        }
        Body::Reduce { record, arg, extents: (outer, reduced, inner) } => {
            let (inputs, scalars) = (builder.operands.clone(), builder.scalar_sources.clone());
            let dtype = builder.dtype(arg);
            let (program, arg) = builder.finish(&ssa(&kept), Some(arg));
            let Op::Reduce(kind) = records[record as usize].signature.op else { unreachable!("a reduction") };
            let arg = arg.expect("the argument was kept");
            let mut outputs = rec(&kept);
            outputs.push(record);
            let kernel = Kernel::Reduce(Reduce { program, arg, dtype, kind, outer, reduced, inner });
            Group { kernel, inputs, outputs, scalars, records: members, device }
        }
        Body::Product { record } => {
            let signature = records[record as usize].signature;
            let Attrs::Matmul { ref batch, m, n, k } = signature.attrs else { unreachable!("a product") };
            let (a, b) = (&signature.inputs[0], &signature.inputs[1]);
            let mut inputs = records[record as usize].inputs.to_vec();
            let dtype = signature.out.dtype;
            let (mut tail, mut scalars) = (None, Vec::new());
            let alone = values.len() == 1;
            if !alone {
                // The product is computed in the first output, which must have its dtype.
                match kept.iter().position(|&(r, v)| r == record || builder.dtype(v) == dtype) {
                    Some(p) => kept.swap(0, p),
                    None => kept.insert(0, (record, values[0].1)),
                }
                if let Some(p) = kept.iter().position(|&(r, _)| r == record) {
                    kept.swap(0, p);
                }
                inputs.extend_from_slice(&builder.operands[1..]);
                scalars = builder.scalar_sources.clone();
                tail = Some(builder.finish(&ssa(&kept), None).0);
            }
            let outputs = if alone { vec![record] } else { rec(&kept) };
            let (a, b) = (matrix(&a.layout, batch, m, k, true), matrix(&b.layout, batch, k, n, false));
            let kernel = Kernel::Product(Product { dtype, batch: **batch, m, n, k, a, b, tail });
            Group { kernel, inputs, outputs, scalars, records: members, device }
        }
        Body::Closed { record } => closed(record, records, members, device),
    }
}

fn ssa(kept: &[(u16, Ssa)]) -> Vec<Ssa> {
    kept.iter().map(|(_, v)| *v).collect()
}

fn rec(kept: &[(u16, Ssa)]) -> Vec<u16> {
    kept.iter().map(|(r, _)| *r).collect()
}

/// A vector or a batch of matrices as a layout over `batch + (rows, cols)`.
fn matrix(layout: &Layout, batch: &Shape, rows: usize, cols: usize, left: bool) -> Layout {
    let full = |lead: &Shape| {
        let mut s = *lead;
        s.push(rows);
        s.push(cols);
        s
    };
    if layout.shape.rank() == 1 {
        let stride = layout.strides()[0];
        let strides = if left { [0, stride] } else { [stride, 0] };
        let plain = Layout::strided(Shape::of(&[rows, cols]), &strides);
        return plain.broadcast_to(full(batch)).expect("a matrix broadcasts over the stack");
    }
    layout.broadcast_to(full(batch)).expect("inference broadcast it")
}

fn closed(record: u16, records: &[SegmentRecord], members: Vec<u16>, device: Device) -> Group {
    let r = &records[record as usize];
    let signature = r.signature;
    let kernel = match (signature.op, &signature.attrs) {
        (Op::Concat, &Attrs::Concat(axis)) => Kernel::Concat(Concat {
            dtype: signature.out.dtype,
            axis,
            inputs: signature.inputs.iter().map(|m| m.layout).collect(),
            shape: signature.out.shape(),
        }),
        (Op::Update, Attrs::Update(region)) => Kernel::Update(Update {
            dtype: signature.out.dtype,
            size: signature.out.size,
            region: **region,
            value: signature.inputs.get(1).map(|m| ProgramInput {
                dtype: m.dtype,
                layout: m.layout.broadcast_to(region.shape).expect("inference broadcast it"),
            }),
        }),
        (Op::Take | Op::ScatterAdd, &Attrs::Rows { axis, beyond }) => {
            let (base, indices) = (&signature.inputs[0], &signature.inputs[1]);
            let rows = Rows {
                dtype: signature.out.dtype,
                base: base.layout,
                axis,
                indices: ProgramInput { dtype: indices.dtype, layout: indices.layout },
                beyond,
            };
            if signature.op == Op::Take { Kernel::Take(rows) } else { Kernel::ScatterAdd(rows) }
        }
        (Op::Fill(kind), _) => Kernel::Fill(Fill { dtype: signature.out.dtype, shape: signature.out.shape(), kind }),
        (Op::Transfer, _) => Kernel::Transfer(signature.out.bytes),
        (Op::Routine(routine), Attrs::Routine(encoded)) => Kernel::Routine(RoutineCall {
            routine,
            inputs: signature.inputs.iter().map(|m| (m.dtype, m.shape())).collect(),
            out: (signature.out.dtype, signature.out.shape()),
            encoded: encoded.clone(),
        }),
        (op, attrs) => unreachable!("{op:?} with {attrs:?} has no kernel of its own"),
    };
    let scalars = (0..signature.scalars() as u8).map(|w| (record, w)).collect();
    Group { kernel, inputs: r.inputs.to_vec(), outputs: vec![record], scalars, records: members, device }
}
