//! Compares reductions, products, fills and copies with plain loops. The width of the team must not affect the result.

mod common;

use common::*;
use forerun_base::{DType, Kind, Layout, Scalar, Shape, Team};
use forerun_cpu::{Isa, blocks_for};
use forerun_ops::Point;
use forerun_plan::{
    Concat, Fill, FillKind, Instr, Kernel, Product, Program, ProgramInput, Reduce, ReduceKind, Reg, Update,
};

fn plain_reduce(dtype: DType, kind: ReduceKind, [outer, reduced, inner]: [usize; 3]) -> Reduce {
    let shape = Shape::of(&[outer, reduced, inner]);
    let input = ProgramInput { dtype, layout: Layout::dense(shape) };
    let program = Program { shape, inputs: vec![input], scalars: vec![], code: vec![], outputs: vec![], temps: 0 };
    Reduce { program, arg: Reg::Input(0), dtype, kind, outer, reduced, inner }
}

/// The expected result of a reduction, in double precision.
fn reference(kind: ReduceKind, x: &[f64], [outer, reduced, inner]: [usize; 3]) -> Vec<f64> {
    let mut out = Vec::new();
    for o in 0..outer {
        for i in 0..inner {
            let column = (0..reduced).map(|r| x[(o * reduced + r) * inner + i]);
            let better = |new: f64, old: f64, sign: f64| new * sign > old * sign || (new.is_nan() && !old.is_nan());
            let first = |sign: f64| {
                column.clone().enumerate().fold((0, f64::NAN, true), |(at, old, fresh), (r, new)| {
                    if fresh || better(new, old, sign) { (r, new, false) } else { (at, old, false) }
                })
            };
            out.push(match kind {
                ReduceKind::Sum => column.sum(),
                ReduceKind::Prod => column.product(),
                ReduceKind::Max => first(1.0).1,
                ReduceKind::Min => first(-1.0).1,
                ReduceKind::ArgMax => first(1.0).0 as f64,
                ReduceKind::ArgMin => first(-1.0).0 as f64,
                ReduceKind::NanMax => column.fold(f64::NAN, f64::max),
                ReduceKind::NanMin => column.fold(f64::NAN, f64::min),
            });
        }
    }
    out
}

const KINDS: [ReduceKind; 8] = [
    ReduceKind::Sum,
    ReduceKind::Prod,
    ReduceKind::Max,
    ReduceKind::Min,
    ReduceKind::ArgMax,
    ReduceKind::ArgMin,
    ReduceKind::NanMax,
    ReduceKind::NanMin,
];

#[test]
fn reductions_of_every_kind() {
    let mut random = Random(1);
    let extents = [
        [1, 1, 1],
        [3, 7, 1],
        [2, 64, 1],
        [5, 513, 1],
        [1, 5000, 1],
        [40, 30, 1],
        [2, 9, 3],
        [1, 100, 20],
        [3, 17, 600],
        [1, 70, 1030],
        [2, 3, 0],
        [2, 0, 3],
        [2, 0, 1],
        [0, 4, 4],
        [1, 3, 512],
    ];
    for isa in isas() {
        for dtype in plain_dtypes().filter(|dtype| dtype.carrier() == *dtype) {
            for kind in KINDS {
                if dtype == DType::Bool && matches!(kind, ReduceKind::Sum | ReduceKind::Prod) {
                    continue;
                }
                for extent in extents {
                    let [outer, reduced, inner] = extent;
                    if reduced == 0 && !matches!(kind, ReduceKind::Sum | ReduceKind::Prod) {
                        continue;
                    }
                    let mut data = random.data(dtype, outer * reduced * inner);
                    if kind == ReduceKind::Prod {
                        let one = |x: f64| if x < 0.0 { -1.0 } else { 1.0 };
                        data.bits = data.f64().iter().map(|&x| Scalar::Float(one(x)).to_bits(dtype)).collect();
                    }
                    let want = reference(kind, &data.f64(), extent);
                    let index = matches!(kind, ReduceKind::ArgMax | ReduceKind::ArgMin);
                    let out = if index { DType::I64 } else { dtype };
                    let kernel = Kernel::Reduce(plain_reduce(dtype, kind, extent));
                    let got = run(isa, &kernel, &[(data, 0)], &[], &[(out, outer * inner)], &SOLO);
                    for (g, w) in got[0].f64().into_iter().zip(want) {
                        let close = if kind == ReduceKind::Sum { 1e-5 * (reduced as f64).sqrt() * 4.0 } else { 0.0 };
                        assert!((g - w).abs() <= close, "{kind:?} {dtype} {extent:?} {isa:?}: {g} is not {w}");
                    }
                }
            }
        }
    }
}

#[test]
fn not_a_number_wins_and_comes_first() {
    for isa in isas() {
        for extent in [[1, 700, 1], [1, 700, 5], [3, 40, 1]] {
            let [outer, reduced, inner] = extent;
            for kind in &KINDS[2..] {
                let kind = *kind;
                let mut x = vec![1.0f64; outer * reduced * inner];
                x[17 * inner] = f64::NAN;
                x[20 * inner] = f64::NAN;
                let want = reference(kind, &x, extent);
                let data = Data { dtype: DType::F32, bits: x.iter().map(|v| (*v as f32).to_bits() as u64).collect() };
                let index = matches!(kind, ReduceKind::ArgMax | ReduceKind::ArgMin);
                let out = if index { DType::I64 } else { DType::F32 };
                let kernel = Kernel::Reduce(plain_reduce(DType::F32, kind, extent));
                let got = run(isa, &kernel, &[(data, 0)], &[], &[(out, outer * inner)], &SOLO);
                for (g, w) in got[0].f64().into_iter().zip(want) {
                    assert!(g == w || g.is_nan() && w.is_nan(), "{kind:?} {extent:?}: {g} is not {w}");
                }
            }
        }
    }
}

/// Reduces `x * s`; with `keep`, also stores the product.
fn fed_reduce(extent: [usize; 3], kind: ReduceKind, keep: bool) -> Reduce {
    let mut reduce = plain_reduce(DType::F32, kind, extent);
    let dst = if keep { Reg::Out(0) } else { Reg::Temp(0) };
    let (op, dtype) = (Point::Multiply, DType::F32);
    reduce.program.scalars = vec![dtype];
    reduce.program.code =
        vec![Instr { op, dtype, out: dtype, dst, args: [Reg::Input(0), Reg::Scalar(0), Reg::Input(0)] }];
    reduce.program.temps = !keep as u8;
    reduce.program.outputs = if keep { vec![dtype] } else { vec![] };
    reduce.arg = dst;
    reduce
}

#[test]
fn order_depends_on_the_extents_alone() {
    let mut random = Random(2);
    // Row lengths at, above and below full groups of blocks.
    let of_rows = [[1, 400_003, 1], [3, 200_001, 1], [300, 1000, 1], [80, 2048, 1], [90, 4096, 1], [70, 4607, 1]];
    let of_columns = [[1, 1000, 300], [1, 30_000, 10], [2, 200, 1025]];
    for extent in of_rows.into_iter().chain(of_columns) {
        let [outer, reduced, inner] = extent;
        let size = outer * reduced * inner;
        let data = random.data(DType::F32, size);
        // Scaling by a power of two is exact, so a fused reduction must give the bits of the plain one, scaled.
        let half = Scalar::Float(0.5).to_bits(DType::F32);
        for kind in [ReduceKind::Sum, ReduceKind::Max] {
            let result = [(DType::F32, outer * inner)];
            let kernel = Kernel::Reduce(plain_reduce(DType::F32, kind, extent));
            let first = run(isas()[0], &kernel, &[(data.clone(), 0)], &[], &result, &SOLO);
            for isa in isas() {
                let kernel = Kernel::Reduce(plain_reduce(DType::F32, kind, extent));
                let alone = run(isa, &kernel, &[(data.clone(), 0)], &[], &result, &SOLO);
                assert_eq!(alone, first, "{extent:?} {isa:?}");
                let three = run(isa, &kernel, &[(data.clone(), 0)], &[], &result, &Threads(3));
                assert_eq!(alone, three, "{extent:?} {isa:?}");
                let scaled: Vec<f64> = alone[0].f64().iter().map(|x| x * 0.5).collect();
                for team in [&SOLO as &dyn Team, &Threads(2)] {
                    let kernel = Kernel::Reduce(fed_reduce(extent, kind, false));
                    let fed = run(isa, &kernel, &[(data.clone(), 0)], &[half], &result, team);
                    assert_eq!(fed[0].f64(), scaled, "{extent:?} {isa:?}");
                    let kernel = Kernel::Reduce(fed_reduce(extent, kind, true));
                    let both = [(DType::F32, size), result[0]];
                    let kept = run(isa, &kernel, &[(data.clone(), 0)], &[half], &both, team);
                    assert_eq!(kept[1].f64(), scaled);
                    assert_eq!(kept[0].f64()[size - 1], data.f64()[size - 1] * 0.5);
                }
                if kind == ReduceKind::Sum {
                    let want = reference(kind, &data.f64(), extent);
                    for (g, w) in alone[0].f64().into_iter().zip(want) {
                        assert!((g - w).abs() < 1e-6 * (reduced as f64).sqrt() * 4.0, "{extent:?}: {g} is not {w}");
                    }
                }
            }
        }
    }
}

#[test]
fn reductions_of_strided_and_constant_inputs() {
    let mut random = Random(3);
    let (n, m) = (37, 90);
    let turned = Layout::dense(Shape::of(&[m, n])).permute(&[1, 0]);
    let constant = Layout::dense(Shape::SCALAR).broadcast_to(Shape::of(&[n, m])).unwrap();
    for layout in [turned, constant] {
        let mut reduce = plain_reduce(DType::F64, ReduceKind::Sum, [n, m, 1]);
        reduce.program.shape = Shape::of(&[n, m]);
        reduce.program.inputs[0].layout = layout;
        let data = random.data(DType::F64, n * m);
        let all: Vec<f64> = (0..n * m).map(|i| data.f64()[offset(&layout, i) as usize]).collect();
        let want = reference(ReduceKind::Sum, &all, [n, m, 1]);
        let got = run(Isa::detect(), &Kernel::Reduce(reduce), &[(data, 0)], &[], &[(DType::F64, n)], &SOLO);
        for (g, w) in got[0].f64().into_iter().zip(want) {
            assert!((g - w).abs() < 1e-9, "{g} is not {w}");
        }
    }
}

fn multiply(a: &[f64], b: &[f64], [m, n, k]: [usize; 3]) -> Vec<f64> {
    let mut c = vec![0.0; m * n];
    for i in 0..m {
        for l in 0..k {
            for j in 0..n {
                c[i * n + j] += a[i * k + l] * b[l * n + j];
            }
        }
    }
    c
}

/// The elements in the order of a layout.
fn laid(data: &Data, layout: &Layout) -> Vec<f64> {
    let all = data.f64();
    (0..layout.shape.size()).map(|i| all[offset(layout, i) as usize]).collect()
}

fn matrix(rows: usize, columns: usize, turned: bool) -> Layout {
    if turned {
        Layout::dense(Shape::of(&[columns, rows])).permute(&[1, 0])
    } else {
        Layout::dense(Shape::of(&[rows, columns]))
    }
}

#[test]
fn products_of_every_shape() {
    let mut random = Random(4);
    let shapes = [
        [1, 1, 1],
        [2, 3, 4],
        [5, 1, 7],
        [1, 5, 7],
        [1, 1, 2000],
        [600, 1, 70],
        [1, 700, 530],
        [17, 33, 65],
        [130, 140, 150],
        [64, 10, 300],
        [300, 257, 129],
        [3, 4, 0],
        [0, 4, 3],
    ];
    for isa in isas() {
        for dtype in plain_dtypes().filter(|dtype| *dtype != DType::Bool) {
            for [m, n, k] in shapes {
                for (ta, tb) in [(false, false), (true, false), (false, true), (true, true)] {
                    let (a, b) = (matrix(m, k, ta), matrix(k, n, tb));
                    let product = Product { dtype, batch: Shape::SCALAR, m, n, k, a, b, tail: None };
                    let inputs = [(random.data(dtype, m * k), 0), (random.data(dtype, k * n), 0)];
                    let want = multiply(&laid(&inputs[0].0, &a), &laid(&inputs[1].0, &b), [m, n, k]);
                    let kernel = Kernel::Product(product);
                    let alone = run(isa, &kernel, &inputs, &[], &[(dtype, m * n)], &SOLO);
                    for (g, w) in alone[0].f64().into_iter().zip(want) {
                        let close = match dtype {
                            DType::F32 => 2e-5 * (k as f64 + 1.0).sqrt(),
                            // Rounded once: half an ulp, plus the error of single precision.
                            DType::F16 => w.abs() / 2048.0 + 2e-5 * (k as f64 + 1.0).sqrt(),
                            DType::BF16 => w.abs() / 256.0 + 2e-5 * (k as f64 + 1.0).sqrt(),
                            _ => 1e-9,
                        };
                        // Integers wrap.
                        let w = match dtype.kind() {
                            Kind::Int => Scalar::from_bits(Scalar::Int(w as i64).to_bits(dtype), dtype).as_f64(),
                            _ => w,
                        };
                        assert!((g - w).abs() <= close, "{dtype} {m}x{n}x{k} {ta} {tb}: {g} is not {w}");
                    }
                    let three = run(isa, &kernel, &inputs, &[], &[(dtype, m * n)], &Threads(3));
                    assert_eq!(alone, three);
                }
            }
        }
    }
}

#[test]
fn products_with_a_tail_and_in_stacks() {
    let mut random = Random(5);
    for ([m, n, k], batch) in
        [([20, 30, 10], vec![2, 3]), ([300, 600, 100], vec![]), ([5, 1, 9], vec![4]), ([8, 9, 0], vec![2])]
    {
        let batch = Shape::of(&batch);
        let mut shape = batch;
        shape.push(m);
        shape.push(n);
        let mut a_shape = batch;
        a_shape.push(m);
        a_shape.push(k);
        let mut b_shape = batch;
        b_shape.push(k);
        b_shape.push(n);
        // B is one matrix for the whole batch.
        let (a, b) = (Layout::dense(a_shape), Layout::dense(Shape::of(&[k, n])).broadcast_to(b_shape).unwrap());
        let f = DType::F32;
        let bias = Layout::dense(Shape::of(&[n])).broadcast_to(shape).unwrap();
        let tail = Program {
            shape,
            inputs: vec![
                ProgramInput { dtype: f, layout: Layout::dense(shape) },
                ProgramInput { dtype: f, layout: bias },
            ],
            scalars: vec![f],
            code: vec![
                Instr {
                    op: Point::Add,
                    dtype: f,
                    out: f,
                    dst: Reg::Temp(0),
                    args: [Reg::Input(0), Reg::Input(1), Reg::Input(0)],
                },
                Instr {
                    op: Point::Maximum,
                    dtype: f,
                    out: f,
                    dst: Reg::Out(0),
                    args: [Reg::Temp(0), Reg::Scalar(0), Reg::Temp(0)],
                },
            ],
            outputs: vec![f],
            temps: 1,
        };
        let product = Product { dtype: f, batch, m, n, k, a, b, tail: Some(tail) };
        let size = shape.size();
        let inputs = [(random.data(f, batch.size() * m * k), 0), (random.data(f, k * n), 0), (random.data(f, n), 0)];
        let (x, y, z) = (inputs[0].0.f64(), inputs[1].0.f64(), inputs[2].0.f64());
        let scalars = [Scalar::Float(0.25).to_bits(f)];
        let kernel = Kernel::Product(product);
        for isa in isas() {
            let alone = run(isa, &kernel, &inputs, &scalars, &[(f, size)], &SOLO);
            for s in 0..batch.size() {
                let c = multiply(&x[s * m * k..(s + 1) * m * k], &y, [m, n, k]);
                for i in 0..m * n {
                    let (g, w) = (alone[0].f64()[s * m * n + i], (c[i] + z[i % n]).max(0.25));
                    assert!((g - w).abs() < 1e-3, "{g} is not {w}");
                    if m * n > 1000 && i > 2000 {
                        break;
                    }
                }
            }
            assert_eq!(alone, run(isa, &kernel, &inputs, &scalars, &[(f, size)], &Threads(3)));
        }
    }
}

#[test]
fn fills() {
    for isa in isas() {
        for dtype in plain_dtypes() {
            let shape = Shape::of(&[3, 50, 40]);
            let size = shape.size();
            let fill = |kind| Kernel::Fill(Fill { dtype, shape, kind });
            let one = Scalar::Int(1).to_bits(dtype);
            let full = run(isa, &fill(FillKind::Full), &[], &[one], &[(dtype, size)], &SOLO);
            assert!(full[0].bits.iter().all(|&b| b == one));
            let eye = run(isa, &fill(FillKind::Eye), &[], &[-3i64 as u64], &[(dtype, size)], &SOLO);
            for (i, &bits) in eye[0].bits.iter().enumerate() {
                let (row, column) = (i / 40 % 50, i % 40);
                assert_eq!(bits, if row == column + 3 { one } else { 0 });
            }
            let float = dtype.kind() == Kind::Float;
            let bits = |x: i64| if float { (x as f64).to_bits() } else { x as u64 };
            let range = run(isa, &fill(FillKind::Arange), &[], &[bits(7), bits(-2)], &[(dtype, size)], &SOLO);
            for (i, &got) in range[0].bits.iter().enumerate() {
                assert_eq!(got, Scalar::Int(7 - 2 * i as i64).to_bits(dtype));
            }
        }
    }
}

#[test]
fn random_numbers_do_not_depend_on_the_cut() {
    for isa in isas() {
        for dtype in [DType::F32, DType::F64] {
            for kind in [FillKind::Uniform, FillKind::Normal] {
                let draw = |size: usize, first: u64, team: &dyn Team| {
                    let kernel = Kernel::Fill(Fill { dtype, shape: Shape::of(&[size]), kind });
                    run(isa, &kernel, &[], &[0x0123_4567_89ab_cdef, first], &[(dtype, size)], team).remove(0)
                };
                let whole = draw(200_003, 5, &SOLO);
                if kind == FillKind::Uniform {
                    let kernel = Kernel::Fill(Fill { dtype, shape: Shape::of(&[200_003]), kind });
                    let key = [0x0123_4567_89ab_cdef, 5];
                    let plain = run(Isa::Baseline, &kernel, &[], &key, &[(dtype, 200_003)], &SOLO);
                    assert_eq!(plain[0], whole, "every instruction set draws the same");
                }
                assert_eq!(whole, draw(200_003, 5, &Threads(3)));
                // A later first block continues the same stream.
                let skipped = 1000;
                let later = draw(500, 5 + blocks_for(kind, dtype, skipped), &SOLO);
                assert_eq!(later.bits[..], whole.bits[skipped..skipped + 500]);
                let x = whole.f64();
                let count = x.len() as f64;
                let mean = x.iter().sum::<f64>() / count;
                let variance = x.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / count;
                if kind == FillKind::Uniform {
                    assert!(x.iter().all(|&v| (0.0..1.0).contains(&v)));
                    assert!((mean - 0.5).abs() < 0.005 && (variance - 1.0 / 12.0).abs() < 0.002);
                } else {
                    let fourth = x.iter().map(|v| v.powi(4)).sum::<f64>() / count;
                    assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.02 && (fourth - 3.0).abs() < 0.15);
                    let together = x.chunks_exact(2).map(|p| p[0] * p[1]).sum::<f64>() / (count / 2.0);
                    assert!(together.abs() < 0.02, "the two of a pair are independent");
                }
            }
        }
    }
}

#[test]
fn joins_along_any_axis() {
    let mut random = Random(6);
    for axis in 0..3 {
        let mut dims = [[4, 5, 6]; 3];
        dims[1][axis] = 2;
        dims[2][axis] = 0;
        let mut whole = [4, 5, 6];
        whole[axis] += 2;
        let shapes = dims.map(|d| Shape::of(&d));
        // The first part is transposed in memory.
        let turned = Layout::dense(Shape::of(&[6, 5, 4])).permute(&[2, 1, 0]);
        let layouts = vec![turned, Layout::dense(shapes[1]), Layout::dense(shapes[2])];
        let inputs: Vec<(Data, usize)> = shapes.iter().map(|s| (random.data(DType::I32, s.size()), 0)).collect();
        let concat = Concat { dtype: DType::I32, axis, inputs: layouts.clone(), shape: Shape::of(&whole) };
        let size = whole.iter().product();
        let got = run(Isa::detect(), &Kernel::Concat(concat), &inputs, &[], &[(DType::I32, size)], &SOLO);
        for i in 0..size {
            let mut at = [i / (whole[1] * whole[2]), i / whole[2] % whole[1], i % whole[2]];
            let part = (at[axis] >= dims[0][axis]) as usize;
            if part == 1 {
                at[axis] -= dims[0][axis];
            }
            let d = dims[part];
            let from = offset(&layouts[part], (at[0] * d[1] + at[1]) * d[2] + at[2]) as usize;
            assert_eq!(got[0].bits[i], inputs[part].0.bits[from]);
        }
    }
}

#[test]
fn updates_touch_the_region_alone() {
    let mut random = Random(7);
    let base = random.data(DType::F32, 60);
    // Every other column of rows 1 to 3 of a 6 x 10 base.
    let region = Layout::strided(Shape::of(&[3, 5]), &[10, 2]);
    let first = 11u64;
    let row = Layout::dense(Shape::of(&[5])).broadcast_to(Shape::of(&[3, 5])).unwrap();
    for value in [None, Some(DType::F32), Some(DType::I64), Some(DType::F16), Some(DType::U8)] {
        let update = Update {
            dtype: DType::F32,
            size: 60,
            region,
            value: value.map(|dtype| ProgramInput { dtype, layout: row }),
        };
        let mut inputs = vec![(base.clone(), 0)];
        if let Some(dtype) = value {
            inputs.push((random.data(dtype, 5), 0));
        }
        let seven = Scalar::Float(7.0).to_bits(DType::F32);
        let mut want = base.clone();
        for i in 0..15 {
            let bits = match value {
                None => seven,
                Some(dtype) => cast(inputs[1].0.bits[offset(&row, i) as usize], dtype, DType::F32),
            };
            want.bits[first as usize + offset(&region, i) as usize] = bits;
        }
        let got = run(Isa::detect(), &Kernel::Update(update), &inputs, &[first, seven], &[(DType::F32, 60)], &SOLO);
        assert_eq!(got[0], want);
    }
}
