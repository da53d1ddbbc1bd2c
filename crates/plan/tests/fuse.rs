//! What segments become: chains as one kernel, dead records dropped, keys without scalars. No thread runs.

use forerun_base::{DType, Device, Layout, Shape};
use forerun_ops::{Beyond, FillKind, Op, Point, ReduceKind};
use forerun_plan::{
    Attrs, Fate, Kernel, Meta, Operand, Plan, PlanOptions, Reg, SegmentRecord, Signature, Source, plan, write_key,
};

const FUSE: PlanOptions = PlanOptions { fuse: true, drop_dead: true };
const F: DType = DType::F32;

fn meta(shape: &[usize]) -> &'static Meta {
    on(F, shape, Device::default())
}

fn on(dtype: DType, shape: &[usize], device: Device) -> &'static Meta {
    Box::leak(Box::new(Meta::dense(dtype, Shape::of(shape), device)))
}

fn signature(op: Op, inputs: &[&Meta], attrs: Attrs, out: &Meta) -> &'static Signature {
    Box::leak(Box::new(Signature::of(op, inputs, attrs, out)))
}

fn external(n: u16) -> Operand {
    Operand { source: Source::External(n), view: None }
}

fn result(n: u16) -> Operand {
    Operand { source: Source::Record(n), view: None }
}

fn point(op: Point, shape: &[usize], inputs: &[Operand], scalars: u8, fate: Fate) -> SegmentRecord {
    let arity = inputs.len() as u8 + scalars.count_ones() as u8;
    let metas = vec![meta(shape); inputs.len()];
    let attrs = Attrs::Point { compute: F, scalars, arity };
    let signature = signature(Op::Point(op), &metas, attrs, meta(shape));
    SegmentRecord { signature, inputs: inputs.into(), fate }
}

fn sum(from: &[usize], mask: u32, to: &[usize], input: Operand) -> SegmentRecord {
    let attrs = Attrs::Reduce { mask, compute: F };
    let signature = signature(Op::Reduce(ReduceKind::Sum), &[meta(from)], attrs, meta(to));
    SegmentRecord { signature, inputs: vec![input].into(), fate: Fate::Seen }
}

fn matmul(m: usize, k: usize, n: usize, fate: Fate) -> SegmentRecord {
    let attrs = Attrs::Matmul { batch: Box::new(Shape::SCALAR), m, n, k };
    let signature = signature(Op::Matmul, &[meta(&[m, k]), meta(&[k, n])], attrs, meta(&[m, n]));
    SegmentRecord { signature, inputs: vec![external(0), external(1)].into(), fate }
}

/// tanh(x) * y + x * 2 - y / 3
fn chain(shape: &[usize]) -> Vec<SegmentRecord> {
    let (x, y) = (external(0), external(1));
    vec![
        point(Point::Tanh, shape, &[x], 0, Fate::Internal),
        point(Point::Multiply, shape, &[result(0), y], 0, Fate::Internal),
        point(Point::Multiply, shape, &[x], 0b10, Fate::Internal),
        point(Point::Add, shape, &[result(1), result(2)], 0, Fate::Internal),
        point(Point::Divide, shape, &[y], 0b10, Fate::Internal),
        point(Point::Subtract, shape, &[result(3), result(4)], 0, Fate::Seen),
    ]
}

fn kernels(plan: &Plan) -> Vec<&'static str> {
    plan.groups
        .iter()
        .map(|g| match g.kernel {
            Kernel::Pointwise(_) => "pointwise",
            Kernel::Reduce(_) => "reduce",
            Kernel::Product(_) => "product",
            Kernel::Concat(_) => "concat",
            Kernel::Update(_) => "update",
            Kernel::Take(_) => "take",
            Kernel::ScatterAdd(_) => "scatter_add",
            Kernel::Routine(ref call) => call.routine.name(),
            Kernel::Fill(_) => "fill",
            Kernel::Transfer(_) => "transfer",
        })
        .collect()
}

#[test]
fn a_chain_is_one_pass() {
    let made = plan(&chain(&[64, 64]), FUSE);
    assert_eq!(kernels(&made), ["pointwise"]);
    let Kernel::Pointwise(program) = &made.groups[0].kernel else { unreachable!() };
    assert_eq!((program.inputs.len(), program.code.len(), program.outputs.len()), (2, 6, 1));
    assert_eq!(made.groups[0].scalars, [(2, 0), (4, 0)]);
    let apart = plan(&chain(&[64, 64]), PlanOptions { fuse: false, drop_dead: true });
    assert_eq!(apart.groups.len(), 6);
}

#[test]
fn a_chain_fuses_into_its_sum() {
    let mut records = chain(&[64, 32]);
    records[5].fate = Fate::Internal;
    records.push(sum(&[64, 32], 0b10, &[64], result(5)));
    let made = plan(&records, FUSE);
    assert_eq!(kernels(&made), ["reduce"]);
    let Kernel::Reduce(reduce) = &made.groups[0].kernel else { unreachable!() };
    assert_eq!((reduce.outer, reduce.reduced, reduce.inner), (64, 32, 1));
    assert!(reduce.program.outputs.is_empty());
    // If the chain's result is still needed, it is stored in the same pass.
    records[5].fate = Fate::Seen;
    let made = plan(&records, FUSE);
    assert_eq!(made.groups[0].outputs, [5, 6]);
}

#[test]
fn nonadjacent_axes_are_moved_last() {
    let made = plan(&[sum(&[2, 3, 4], 0b101, &[3], external(0))], FUSE);
    let Kernel::Reduce(reduce) = &made.groups[0].kernel else { unreachable!() };
    assert_eq!((reduce.outer, reduce.reduced, reduce.inner), (3, 8, 1));
    assert_eq!(reduce.program.shape, Shape::of(&[3, 2, 4]));
    assert_eq!(reduce.program.inputs[0].layout.strides(), [4, 12, 1]);
    assert_eq!(reduce.arg, Reg::Input(0));
}

#[test]
fn records_that_may_fail_are_not_dropped() {
    let indices = on(DType::I64, &[3], Device::default());
    let attrs = Attrs::Rows { axis: 0, beyond: Beyond::Raise };
    let signature = signature(Op::Take, &[meta(&[8]), indices], attrs, meta(&[3]));
    let records = vec![
        point(Point::Exp, &[8], &[external(0)], 0, Fate::Internal),
        SegmentRecord { signature, inputs: vec![result(0), external(1)].into(), fate: Fate::Internal },
        point(Point::Log, &[8], &[external(0)], 0, Fate::Internal),
    ];
    let made = plan(&records, FUSE);
    assert_eq!((kernels(&made), made.dropped), (vec!["pointwise", "take"], 1));
}

#[test]
fn an_epilogue_fuses_into_its_product() {
    let records = vec![
        matmul(8, 4, 16, Fate::Internal),
        point(Point::Add, &[8, 16], &[result(0), external(2)], 0, Fate::Internal),
        point(Point::Relu, &[8, 16], &[result(1)], 0, Fate::Seen),
    ];
    let made = plan(&records, FUSE);
    assert_eq!(kernels(&made), ["product"]);
    assert_eq!(made.groups[0].inputs, [external(0), external(1), external(2)]);
    assert_eq!(made.groups[0].outputs, [2]);
    // A product that is still needed is the first output.
    let mut records = records;
    records[0].fate = Fate::Seen;
    assert_eq!(plan(&records, FUSE).groups[0].outputs, [0, 2]);
}

/// The mask of a rectifier's gradient reads nothing of the segment, and still joins the product with what it masks.
#[test]
fn a_side_input_joins_the_group_of_its_reader() {
    let shape = [8, 6];
    let mask = |fate| point(Point::Greater, &shape, &[external(2)], 0b10, fate);
    let masked = point(Point::Multiply, &shape, &[result(1), result(0)], 0, Fate::Seen);
    let made = plan(&[matmul(8, 4, 6, Fate::Internal), mask(Fate::Internal), masked.clone()], FUSE);
    assert_eq!(kernels(&made), ["product"]);
    assert_eq!((made.groups[0].records.as_slice(), made.groups[0].outputs.as_slice()), (&[0, 1, 2][..], &[2][..]));
    let seen = plan(&[matmul(8, 4, 6, Fate::Internal), mask(Fate::Seen), masked], FUSE);
    assert_eq!(kernels(&seen), ["product", "pointwise"]);
}

#[test]
fn dead_records_are_dropped_unless_dropping_is_off() {
    let mut records = chain(&[64, 64]);
    records[5].fate = Fate::Internal;
    assert!(plan(&records, FUSE).groups.is_empty());
    assert_eq!(plan(&records, FUSE).dropped, 6);
    let kept = plan(&records, PlanOptions { fuse: true, drop_dead: false });
    assert_eq!((kept.dropped, kept.groups[0].outputs.clone()), (0, vec![5]));
}

#[test]
fn other_shapes_and_views_do_not_fuse() {
    let wide = SegmentRecord {
        signature: signature(
            Op::Point(Point::Add),
            &[meta(&[8]), meta(&[4, 8])],
            Attrs::Point { compute: F, scalars: 0, arity: 2 },
            meta(&[4, 8]),
        ),
        inputs: vec![result(0), external(1)].into(),
        fate: Fate::Seen,
    };
    let made = plan(&[point(Point::Exp, &[8], &[external(0)], 0, Fate::Internal), wide], FUSE);
    assert_eq!(kernels(&made), ["pointwise", "pointwise"]);

    let turned = Meta::of(F, Layout::dense(Shape::of(&[8, 8])).permute(&[1, 0]), Device::default());
    let through_view = SegmentRecord {
        signature: signature(
            Op::Point(Point::Exp),
            &[&turned],
            Attrs::Point { compute: F, scalars: 0, arity: 1 },
            meta(&[8, 8]),
        ),
        inputs: vec![Operand { source: Source::Record(0), view: Some(0) }].into(),
        fate: Fate::Seen,
    };
    let made = plan(&[point(Point::Exp, &[8, 8], &[external(0)], 0, Fate::Internal), through_view], FUSE);
    assert_eq!(made.groups.len(), 2);
    assert_eq!(made.groups[0].outputs, [0]);
}

#[test]
fn keys_tell_segments_apart() {
    let (mut one, mut two) = (Vec::new(), Vec::new());
    write_key(&chain(&[64, 64]), FUSE, &mut one);
    write_key(&chain(&[64, 64]), FUSE, &mut two);
    assert_eq!(one, two);
    let mut seen = chain(&[64, 64]);
    seen[0].fate = Fate::Seen;
    write_key(&seen, FUSE, &mut two);
    assert_ne!(one, two);
    write_key(&chain(&[64, 65]), FUSE, &mut two);
    assert_ne!(one, two);
    write_key(&chain(&[64, 64]), PlanOptions { fuse: false, ..FUSE }, &mut two);
    assert_ne!(one, two);
}

#[test]
fn constants_become_scalars() {
    let full = |fate| SegmentRecord {
        signature: signature(Op::Fill(FillKind::Full), &[], Attrs::None, meta(&[8])),
        inputs: Default::default(),
        fate,
    };
    let sum = point(Point::Add, &[8], &[external(0), result(0)], 0, Fate::Seen);
    let made = plan(&[full(Fate::Internal), sum.clone()], FUSE);
    assert_eq!(kernels(&made), ["pointwise"]);
    assert_eq!((made.groups[0].inputs.len(), made.groups[0].scalars.clone()), (1, vec![(0, 0)]));
    let mut done = made.groups[0].records.clone();
    done.sort();
    assert_eq!(done, [0, 1]);
    // A constant that is still needed is stored, by the kernel that reads it or by one of its own.
    assert_eq!(plan(&[full(Fate::Seen), sum], FUSE).groups[0].outputs, [0, 1]);
    assert_eq!(plan(&[full(Fate::Seen), full(Fate::Seen)], FUSE).groups.len(), 2);
}

/// Two chains over the same shape on two devices: they share no kernel.
#[test]
fn devices_do_not_share_kernels() {
    let on = |device| on(F, &[8], device);
    let attrs = || Attrs::Point { compute: F, scalars: 0, arity: 1 };
    let exp = |device, source| SegmentRecord {
        signature: signature(Op::Point(Point::Exp), &[on(device)], attrs(), on(device)),
        inputs: vec![Operand { source, view: None }].into(),
        fate: Fate::Seen,
    };
    let (host, gpu) = (Device::Cpu(0), Device::Gpu(0));
    let moved = SegmentRecord {
        signature: signature(Op::Transfer, &[on(host)], Attrs::None, on(gpu)),
        inputs: vec![Operand { source: Source::Record(0), view: None }].into(),
        fate: Fate::Internal,
    };
    let records = [exp(host, Source::External(0)), exp(gpu, Source::External(1)), moved, exp(gpu, Source::Record(2))];
    let made = plan(&records, PlanOptions { fuse: true, drop_dead: true });
    assert_eq!(kernels(&made), ["pointwise", "pointwise", "transfer", "pointwise"]);
    assert_eq!(made.groups.iter().map(|g| g.device).collect::<Vec<_>>(), [host, gpu, gpu, gpu]);
}
