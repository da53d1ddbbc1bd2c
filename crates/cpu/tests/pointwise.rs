//! Compares pointwise kernels with the reference: every op, dtype, instruction set, length and layout.

mod common;

use common::*;
use forerun_base::{DType, Kind, Layout, Scalar, Shape};
use forerun_cpu::Isa;
use forerun_ops::symbol::{Verb, script};
use forerun_ops::{Class, Point};
use forerun_plan::{Instr, Kernel, Program, ProgramInput, Reg};

/// Whether the instruction set rounds twice where the reference rounds once.
fn is_close(isa: Isa, op: Point, dtype: DType) -> bool {
    isa == Isa::Baseline
        && script(op, dtype).is_some_and(|script| script.steps.iter().any(|step| step.verb == Verb::MulAdd))
}

fn check(isa: Isa, op: Point, got: &Data, want: &Data) {
    if is_close(isa, op, want.dtype) {
        let places = 3.0 + op.row().ulp as f64;
        for (g, w) in got.f64().into_iter().zip(want.f64()) {
            let ulp = if got.dtype == DType::F32 { f32::EPSILON as f64 } else { f64::EPSILON };
            let tiny = if got.dtype == DType::F32 { 1e-44 } else { 5e-324 };
            // Near their zeros, functions that are sums have an error relative to their terms.
            let size = if op.row().ulp < 8 { w.abs() } else { w.abs().max(1.0) };
            assert!(
                g == w || g.is_nan() && w.is_nan() || (g - w).abs() <= (size * places * ulp).max(tiny),
                "{op}: {g:e} {w:e}"
            );
        }
    } else {
        assert!(same(got, want), "{op} on {:?} with {isa:?}: {got:?} is not {want:?}", want.dtype);
    }
}

#[test]
fn every_op_dtype_and_instruction_set() {
    let mut random = Random(1);
    for isa in isas() {
        for &op in Point::ALL {
            for dtype in plain_dtypes() {
                let Ok((compute, out)) = op.row().types(dtype) else { continue };
                if op == Point::Compose {
                    continue;
                }
                let moves = matches!(op.row().class, Class::Select | Class::Cast) || op == Point::Copy;
                if compute != dtype || dtype.carrier() != dtype && !moves {
                    continue;
                }
                let outs = if op.row().class == Class::Cast { plain_dtypes().collect() } else { vec![out] };
                for out in outs {
                    for count in (0..70).chain([511, 512, 513, 600, 1100]) {
                        let program = single(op, dtype, out, &[count]);
                        let inputs: Vec<(Data, usize)> =
                            program.inputs.iter().map(|i| (random.edges(i.dtype, count), 0)).collect();
                        let want = interpret(&program, &inputs, &[]);
                        let got = run(isa, &Kernel::Pointwise(program), &inputs, &[], &[(out, count)], &SOLO);
                        check(isa, op, &got[0], &want[0]);
                    }
                }
            }
        }
    }
}

/// Numbers without special cases: of any magnitude, of both signs or one.
fn plain(random: &mut Random, dtype: DType, count: usize, spread: f64, signed: bool) -> Data {
    let bits = (0..count).map(|_| {
        let size = ((random.unit() - 0.5) * spread).exp();
        Scalar::Float(if signed && random.next() & 1 == 0 { -size } else { size }).to_bits(dtype)
    });
    Data { dtype, bits: bits.collect() }
}

#[test]
fn vectors_without_special_cases_take_a_shorter_way_to_the_same_bits() {
    let mut random = Random(11);
    for isa in isas() {
        for &op in Point::ALL {
            for dtype in [DType::F32, DType::F64] {
                let Ok((compute, out)) = op.row().types(dtype) else { continue };
                if compute != dtype || matches!(op.row().class, Class::Select | Class::Cast | Class::Join) {
                    continue;
                }
                for (spread, signed) in [(1.0, false), (10.0, true), (40.0, false), (90.0, true)] {
                    let count = 70;
                    let program = single(op, dtype, out, &[count]);
                    let mut inputs: Vec<(Data, usize)> =
                        program.inputs.iter().map(|_| (plain(&mut random, dtype, count, spread, signed), 0)).collect();
                    for special in [None, Some(0.0), Some(-0.0), Some(f64::NAN), Some(f64::INFINITY), Some(1e-39)] {
                        if let Some(special) = special {
                            for (data, _) in &mut inputs {
                                data.bits[random.next() as usize % count] = Scalar::Float(special).to_bits(dtype);
                            }
                        }
                        let want = interpret(&program, &inputs, &[]);
                        let kernel = Kernel::Pointwise(program.clone());
                        let got = run(isa, &kernel, &inputs, &[], &[(out, count)], &SOLO);
                        check(isa, op, &got[0], &want[0]);
                    }
                }
            }
        }
    }
}

#[test]
fn remainders_are_exact_near_whole_quotients() {
    let mut random = Random(12);
    for isa in isas() {
        for dtype in [DType::F32, DType::F64] {
            for op in [Point::Remainder, Point::Fmod, Point::FloorDivide] {
                let count = 512;
                let program = single(op, dtype, dtype, &[count]);
                // Dividends that are a multiple of the divisor, or a neighbour of one.
                let divisors = plain(&mut random, dtype, count, 6.0, true);
                let dividends = divisors.f64().into_iter().map(|y| {
                    let times = (random.unit() * 2f64.powf(random.unit() * 30.0)).floor();
                    let bits = Scalar::Float(y * times).to_bits(dtype);
                    bits.wrapping_add(random.next() % 3).wrapping_sub(1)
                });
                let dividends = Data { dtype, bits: dividends.collect() };
                let inputs = [(dividends, 0), (divisors, 0)];
                let want = interpret(&program, &inputs, &[]);
                let got = run(isa, &Kernel::Pointwise(program), &inputs, &[], &[(dtype, count)], &SOLO);
                check(isa, op, &got[0], &want[0]);
            }
        }
    }
}

#[test]
fn a_result_may_lie_where_an_operand_does() {
    let mut random = Random(13);
    for isa in isas() {
        for dtype in [DType::I32, DType::I64, DType::F32, DType::F64] {
            for &op in Point::ALL {
                let Ok((compute, out)) = op.row().types(dtype) else { continue };
                if compute != dtype || op.row().arity > 2 || matches!(op.row().class, Class::Part | Class::Join) {
                    continue;
                }
                let narrower = |to: &DType| to.size() <= dtype.size() && to.kind() != Kind::Complex;
                let outs: Vec<DType> =
                    if op == Point::Cast { DType::ALL.into_iter().filter(narrower).collect() } else { vec![out] };
                for (out, count) in outs.into_iter().flat_map(|out| [(out, 40), (out, 1100)]) {
                    let mut program = single(op, dtype, out, &[count]);
                    let place = Reg::Temp(0);
                    let copy = |dtype, dst, from| Instr { op: Point::Copy, dtype, out: dtype, dst, args: [from; 3] };
                    program.temps = 1;
                    for at in 0..op.row().arity {
                        let mut program = program.clone();
                        program.code[0].dst = place;
                        program.code[0].args[at] = place;
                        program.code.insert(0, copy(dtype, place, Reg::Input(at as u8)));
                        program.code.push(copy(out, Reg::Out(0), place));
                        let inputs: Vec<(Data, usize)> =
                            program.inputs.iter().map(|i| (random.edges(i.dtype, count), 0)).collect();
                        let want = interpret(&program, &inputs, &[]);
                        let got = run(isa, &Kernel::Pointwise(program), &inputs, &[], &[(out, count)], &SOLO);
                        check(isa, op, &got[0], &want[0]);
                    }
                }
            }
        }
    }
}

/// A program with temporaries, scalars, a comparison, a selection, a cast and two outputs.
fn chain(shape: Shape, a: Layout, b: Layout) -> Program {
    let f = DType::F32;
    let instr = |op, dtype, out, dst, args| Instr { op, dtype, out, dst, args };
    let (a_in, b_in) = (Reg::Input(0), Reg::Input(1));
    let (t0, t1, t2) = (Reg::Temp(0), Reg::Temp(1), Reg::Temp(2));
    Program {
        shape,
        inputs: vec![ProgramInput { dtype: f, layout: a }, ProgramInput { dtype: DType::I64, layout: b }],
        scalars: vec![f, f],
        code: vec![
            instr(Point::Cast, DType::I64, f, t0, [b_in; 3]),
            instr(Point::Multiply, f, f, t1, [a_in, t0, a_in]),
            instr(Point::Less, f, DType::Bool, t2, [a_in, Reg::Scalar(0), a_in]),
            instr(Point::Where, f, f, t0, [t2, t1, a_in]),
            instr(Point::Tanh, f, f, t1, [a_in; 3]),
            instr(Point::Add, f, f, Reg::Out(0), [t0, t1, t0]),
            instr(Point::Subtract, f, f, t0, [Reg::Out(0), Reg::Scalar(1), t0]),
            instr(Point::Copy, f, f, Reg::Out(1), [t0; 3]),
        ],
        outputs: vec![f, f],
        temps: 3,
    }
}

#[test]
fn programs_over_any_layout() {
    let mut random = Random(2);
    let shapes: [&[usize]; 9] =
        [&[], &[1], &[3, 5], &[4, 1, 7], &[33, 40], &[2, 600], &[700, 3], &[5, 6, 7, 8], &[0, 4]];
    for dims in shapes {
        let shape = Shape::of(dims);
        let dense = Layout::dense(shape);
        let rank = shape.rank();
        let turned = {
            let axes: Vec<usize> = (0..rank).rev().collect();
            let back = Layout::dense(Shape::of(&dims.iter().rev().copied().collect::<Vec<_>>()));
            back.permute(&axes)
        };
        let gaps = Layout::strided(shape, &dense.strides().iter().map(|s| s * 3).collect::<Vec<_>>());
        let backwards = Layout::strided(shape, &dense.strides().iter().map(|s| -s).collect::<Vec<_>>());
        let row = rank
            .checked_sub(1)
            .map_or(dense, |last| Layout::dense(Shape::of(&[dims[last]])).broadcast_to(shape).unwrap());
        let column = {
            let mut some = dims.to_vec();
            if let Some(last) = some.last_mut() {
                *last = 1;
            }
            Layout::dense(Shape::of(&some)).broadcast_to(shape).unwrap()
        };
        let constant = Layout::dense(Shape::SCALAR).broadcast_to(shape).unwrap();
        let layouts = [dense, turned, gaps, backwards, row, column, constant];
        for a in &layouts {
            for b in &layouts {
                let program = chain(shape, *a, *b);
                let make = |layout: &Layout, dtype, random: &mut Random| {
                    let (low, high) = layout.extent().unwrap_or((0, 0));
                    (random.data(dtype, (high - low + 1) as usize), (-low) as usize)
                };
                let inputs = [make(a, DType::F32, &mut random), make(b, DType::I64, &mut random)];
                let scalars = [Scalar::Float(0.5).to_bits(DType::F32), Scalar::Float(0.25).to_bits(DType::F32)];
                let want = interpret(&program, &inputs, &scalars);
                let kernel = Kernel::Pointwise(program);
                let outputs = [(DType::F32, shape.size()), (DType::F32, shape.size())];
                for isa in isas().into_iter().filter(|&isa| isa != Isa::Baseline) {
                    let got = run(isa, &kernel, &inputs, &scalars, &outputs, &SOLO);
                    assert!(same(&got[0], &want[0]) && same(&got[1], &want[1]), "{dims:?} {a:?} {b:?} {isa:?}");
                }
            }
        }
    }
}

#[test]
fn the_team_does_not_show() {
    let mut random = Random(3);
    for dims in [&[700, 1001][..], &[3, 100_001], &[300_000]] {
        let shape = Shape::of(dims);
        let dense = Layout::dense(shape);
        let row = Layout::dense(Shape::of(&[dims[dims.len() - 1]])).broadcast_to(shape).unwrap();
        let program = chain(shape, dense, row);
        let inputs = [(random.data(DType::F32, shape.size()), 0), (random.data(DType::I64, dims[dims.len() - 1]), 0)];
        let scalars = [0x3f000000, 0x3e800000];
        let outputs = [(DType::F32, shape.size()), (DType::F32, shape.size())];
        for isa in isas() {
            let kernel = Kernel::Pointwise(program.clone());
            let alone = run(isa, &kernel, &inputs, &scalars, &outputs, &SOLO);
            let three = run(isa, &kernel, &inputs, &scalars, &outputs, &Threads(3));
            assert_eq!(alone, three);
        }
    }
}

#[test]
fn an_output_may_take_the_place_of_an_input() {
    use forerun_cpu::CpuBackend;
    use forerun_plan::{Backend, Io};
    let mut random = Random(4);
    for isa in isas() {
        for count in [1, 5, 16, 100, 513, 5000] {
            let program = single(Point::Subtract, DType::F32, DType::F32, &[count]);
            let inputs = [(random.data(DType::F32, count), 0), (random.data(DType::F32, count), 0)];
            let want = interpret(&program, &inputs, &[]);
            let exe = CpuBackend::with_isa(isa).compile(&Kernel::Pointwise(program));
            let (mut a, b) = (inputs[0].0.bytes(), inputs[1].0.bytes());
            let to = a.as_mut_ptr();
            // SAFETY: both buffers have `count` elements, and the first is donated.
            unsafe { exe.run(Io { inputs: &[to.cast_const(), b.as_ptr()], outputs: &[to], scalars: &[] }, &SOLO) };
            assert_eq!(Data::from_bytes(DType::F32, &a), want[0]);
        }
    }
}

#[test]
fn transposed_copies() {
    let mut random = Random(5);
    for dims in [[3, 5], [33, 64], [100, 130], [1000, 700], [1, 90], [64, 64]] {
        let turned = Layout::dense(Shape::of(&[dims[1], dims[0]])).permute(&[1, 0]);
        for dtype in [DType::Bool, DType::F16, DType::U8, DType::F32, DType::I64] {
            let mut program = single(Point::Copy, dtype, dtype, &dims);
            program.inputs[0].layout = turned;
            let inputs = [(random.data(dtype, dims[0] * dims[1]), 0)];
            let want = interpret(&program, &inputs, &[]);
            let kernel = Kernel::Pointwise(program);
            let outputs = [(dtype, dims[0] * dims[1])];
            for team in [&SOLO as &dyn forerun_base::Team, &Threads(3)] {
                assert_eq!(run(Isa::detect(), &kernel, &inputs, &[], &outputs, team), want, "{dims:?} {dtype}");
            }
        }
    }
}
