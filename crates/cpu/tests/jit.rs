//! Compares machine code with the interpreter: equal bits for any program, operands and alignment.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod common;

use common::*;
use forerun_base::{DType, Layout, Scalar, Shape};
use forerun_cpu::{CodeStats, CpuBackend, Isa};
use forerun_ops::symbol::{Verb, script};
use forerun_ops::{Class, Point, ReduceKind};
use forerun_plan::{Backend, Executable, Instr, Io, Kernel, Program, ProgramInput, Reduce, Reg};
use std::sync::{Arc, Mutex, MutexGuard};

/// Serialises tests that count programs or memory.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|held| held.into_inner())
}

/// The instruction sets with machine code.
fn emitting() -> Vec<Isa> {
    isas().into_iter().filter(|&isa| isa != Isa::Baseline).collect()
}

/// Compiles a kernel to machine code; also returns whether it was compiled.
fn emit(isa: Isa, kernel: &Kernel) -> (Arc<dyn Executable>, bool) {
    let before = CodeStats::now();
    let exe = CpuBackend::with_isa(isa).emit_from(0).compile(kernel);
    (exe, CodeStats::now().emitted > before.emitted)
}

fn interpreter(isa: Isa, kernel: &Kernel) -> Arc<dyn Executable> {
    CpuBackend::with_isa(isa).emit_from(usize::MAX).compile(kernel)
}

/// Every op with every dtype that has machine code, and every cast.
fn rows() -> Vec<(Point, DType, DType)> {
    let mut rows = Vec::new();
    for &op in Point::ALL {
        for dtype in FAST {
            let Ok((compute, out)) = op.row().types(dtype) else { continue };
            if compute == dtype && op != Point::Compose {
                let outs = if op.row().class == Class::Cast { FAST.to_vec() } else { vec![out] };
                rows.extend(outs.into_iter().map(|out| (op, dtype, out)));
            }
        }
    }
    rows
}

/// Runs a kernel on buffers `shift` bytes off alignment, with guards around the outputs.
fn run_at(
    exe: &Arc<dyn Executable>,
    inputs: &[(Data, usize)],
    scalars: &[u64],
    outputs: &[(DType, usize)],
    shift: usize,
) -> Vec<Data> {
    const GUARD: usize = 128;
    let held: Vec<Vec<u8>> = inputs.iter().map(|(data, _)| [vec![0; shift], data.bytes()].concat()).collect();
    let addresses: Vec<*const u8> = held
        .iter()
        .zip(inputs)
        .map(|(b, (data, first))| b.as_ptr().wrapping_add(shift + first * data.dtype.size()))
        .collect();
    let mut made: Vec<Vec<u8>> = outputs.iter().map(|&(d, n)| vec![0xa5; n * d.size() + 2 * GUARD + 64]).collect();
    let places: Vec<*mut u8> = made
        .iter_mut()
        .map(|b| {
            let skip = GUARD + b.as_ptr().align_offset(64) + shift;
            b.as_mut_ptr().wrapping_add(skip - if skip > GUARD + 64 { 64 } else { 0 })
        })
        .collect();
    // SAFETY: the buffers match the kernel's layouts.
    unsafe { exe.run(Io { inputs: &addresses, outputs: &places, scalars }, &SOLO) };
    made.iter()
        .zip(outputs)
        .zip(places)
        .map(|((b, &(dtype, n)), place)| {
            let (from, size) = (place as usize - b.as_ptr() as usize, n * dtype.size());
            let outside = b[..from].iter().chain(&b[from + size..]);
            assert!(outside.into_iter().all(|&x| x == 0xa5), "wrote beyond its output");
            Data::from_bytes(dtype, &b[from..from + size])
        })
        .collect()
}

/// Checks that machine code and interpreter agree; the program must have been compiled.
fn compare(isa: Isa, program: &Program, inputs: &[(Data, usize)], scalars: &[u64], what: &str) {
    let kernel = Kernel::Pointwise(program.clone());
    let (exe, emitted) = emit(isa, &kernel);
    assert!(emitted, "{what} with {isa:?} is interpreted");
    let outputs: Vec<(DType, usize)> = program.outputs.iter().map(|&d| (d, program.shape.size())).collect();
    let want = run_at(&interpreter(isa, &kernel), inputs, scalars, &outputs, 0);
    for shift in [0, 8, 40] {
        let got = run_at(&exe, inputs, scalars, &outputs, shift);
        for (got, want) in got.iter().zip(&want) {
            assert!(same(got, want), "{what} with {isa:?} at {shift}: {got:x?} is not {want:x?}");
        }
    }
}

/// Whether an op has no machine code: it uses the reference element by element, or the set lacks a conversion.
fn has_no_code(isa: Isa, op: Point, dtype: DType, out: DType) -> bool {
    let long = |d: DType| d == DType::I64;
    let float = |d: DType| matches!(d, DType::F32 | DType::F64);
    let single = |verb: Verb| {
        use Verb::*;
        matches!(verb, FloorDiv | Remainder | Fmod | Power | Quadrant | Rest | RestLow | NextAfter)
            || matches!(verb, Gcd | Lcm | ShiftLeft | ShiftRight)
    };
    script(op, dtype).is_some_and(|script| script.steps.iter().any(|step| single(step.verb)))
        || op == Point::Cast && matches!(isa, Isa::Avx2(_)) && (long(dtype) && float(out) || float(dtype) && long(out))
}

/// Whether a program of this op alone is interpreted: there is no machine code, or it only handles bytes.
fn is_interpreted(isa: Isa, op: Point, dtype: DType, out: DType) -> bool {
    has_no_code(isa, op, dtype, out) || dtype == DType::Bool && out == DType::Bool
}

#[test]
fn every_row_that_can_be_is_emitted() {
    let _alone = alone();
    for isa in emitting() {
        for (op, dtype, out) in rows() {
            // Plain copies have their own kernel.
            let mut program = single(op, dtype, out, &[8]);
            program.scalars.push(DType::F32);
            if op == Point::Copy {
                continue;
            }
            let (_, emitted) = emit(isa, &Kernel::Pointwise(program));
            assert_eq!(emitted, !is_interpreted(isa, op, dtype, out), "{op} {dtype} {out} {isa:?}");
        }
    }
}

#[test]
fn what_has_no_code_stays_with_the_interpreter() {
    let _alone = alone();
    for isa in emitting() {
        for dtype in plain_dtypes().filter(|dtype| !FAST.contains(dtype)) {
            for (from, to) in [(dtype, dtype.carrier()), (DType::F32, dtype)] {
                let mut program = single(Point::Cast, from, to, &[8]);
                program.scalars.push(DType::F32);
                assert!(!emit(isa, &Kernel::Pointwise(program)).1 || from == to, "{from} {to}");
            }
        }
    }
}

#[test]
fn every_row_has_the_interpreters_bits() {
    let _alone = alone();
    let mut random = Random(11);
    for isa in emitting() {
        for (op, dtype, out) in rows() {
            if is_interpreted(isa, op, dtype, out) || op == Point::Copy {
                continue;
            }
            for count in (0..100).chain([511, 512, 513, 2000]) {
                let program = single(op, dtype, out, &[count]);
                let inputs: Vec<(Data, usize)> =
                    program.inputs.iter().map(|i| (random.edges(i.dtype, count), 0)).collect();
                compare(isa, &program, &inputs, &[], &format!("{op} {dtype} {out} over {count}"));
            }
        }
    }
}

/// A random program over dense inputs, rows, columns, single elements and scalars.
fn random_program(random: &mut Random, isa: Isa, dims: &[usize], length: usize) -> Program {
    let shape = Shape::of(dims);
    let mut pick = |n: usize| random.next() as usize % n;
    let rows: Vec<_> = rows().into_iter().filter(|&(op, d, o)| !has_no_code(isa, op, d, o)).collect();
    // The first instruction takes or gives numbers, so that the program is compiled.
    let firsts: Vec<_> = rows.iter().copied().filter(|&(op, d, o)| !is_interpreted(isa, op, d, o)).collect();
    let layouts = |n: usize| match n {
        0 => Layout::dense(Shape::SCALAR).broadcast_to(shape).unwrap(),
        1 => Layout::dense(Shape::of(&dims[dims.len() - 1..])).broadcast_to(shape).unwrap(),
        2 => {
            let mut some = dims.to_vec();
            some[dims.len() - 1] = 1;
            Layout::dense(Shape::of(&some)).broadcast_to(shape).unwrap()
        }
        _ => Layout::dense(shape),
    };
    // Every dtype needs an initial value.
    let inputs: Vec<ProgramInput> =
        (0..5 + pick(4)).map(|i| ProgramInput { dtype: FAST[i % 5], layout: layouts(pick(6)) }).collect();
    let scalars: Vec<DType> = (0..pick(4)).map(|_| FAST[pick(5)]).collect();
    let mut values: Vec<(Reg, DType)> = Vec::new();
    values.extend(inputs.iter().enumerate().map(|(i, input)| (Reg::Input(i as u8), input.dtype)));
    values.extend(scalars.iter().enumerate().map(|(i, &dtype)| (Reg::Scalar(i as u8), dtype)));
    let (mut code, mut temps) = (Vec::new(), 0u8);
    while code.len() < length {
        let rows = if code.is_empty() { &firsts } else { &rows };
        let (op, dtype, out) = rows[pick(rows.len())];
        let mut arg = |dtype: DType| {
            let fitting: Vec<Reg> = values.iter().filter(|(_, d)| *d == dtype).map(|(reg, _)| *reg).collect();
            fitting[pick(fitting.len())]
        };
        let chooser = if op == Point::Where { DType::Bool } else { dtype };
        let args = [arg(chooser), arg(dtype), arg(dtype)];
        // Sometimes the result overwrites an earlier one.
        let is_mine = |reg: Reg| matches!(reg, Reg::Temp(_)) && !args.contains(&reg);
        let mine: Vec<usize> = (0..values.len()).filter(|&i| is_mine(values[i].0)).collect();
        let dst = if temps < 80 && (mine.is_empty() || pick(4) > 0) {
            temps += 1;
            Reg::Temp(temps - 1)
        } else {
            values.remove(mine[pick(mine.len())]).0
        };
        values.push((dst, out));
        code.push(Instr { op, dtype, out, dst, args });
    }
    let made: Vec<(Reg, DType)> = values.into_iter().filter(|(reg, _)| matches!(reg, Reg::Temp(_))).collect();
    let mut outputs = Vec::new();
    for _ in 0..1 + pick(4) {
        let (from, dtype) = made[pick(made.len())];
        let dst = Reg::Out(outputs.len() as u8);
        code.push(Instr { op: Point::Copy, dtype, out: dtype, dst, args: [from; 3] });
        outputs.push(dtype);
    }
    Program { shape, inputs, scalars, code, outputs, temps }
}

fn data_for(random: &mut Random, program: &Program) -> (Vec<(Data, usize)>, Vec<u64>) {
    let inputs = program
        .inputs
        .iter()
        .map(|input| {
            let (low, high) = input.layout.extent().unwrap_or((0, 0));
            (random.edges(input.dtype, (high - low + 1) as usize), (-low) as usize)
        })
        .collect();
    (inputs, program.scalars.iter().map(|&dtype| random.edges(dtype, 1).bits[0]).collect())
}

#[test]
fn random_programs_have_the_interpreters_bits() {
    let _alone = alone();
    let mut random = Random(12);
    let shapes: [&[usize]; 7] = [&[1], &[37], &[5, 7], &[3, 64], &[2, 700], &[9, 33], &[1100]];
    for isa in emitting() {
        for round in 0..300 {
            let length = 1 + random.next() as usize % 60;
            let program = random_program(&mut random, isa, shapes[round % shapes.len()], length);
            let (inputs, scalars) = data_for(&mut random, &program);
            compare(isa, &program, &inputs, &scalars, &format!("random program {round}: {program:?}"));
        }
    }
}

/// A program with `values` values of a dtype that are all live until the end, and as many truth values.
fn crowded(dtype: DType, values: u8, count: usize) -> Program {
    let shape = Shape::of(&[count]);
    let inputs = vec![ProgramInput { dtype, layout: Layout::dense(shape) }; 2];
    let (x, y) = (Reg::Input(0), Reg::Input(1));
    let instr = |op, out, dst, args| Instr { op, dtype, out, dst, args };
    let mut code = Vec::new();
    for t in 0..values {
        let before = if t == 0 { y } else { Reg::Temp(2 * t - 2) };
        code.push(instr(Point::Add, dtype, Reg::Temp(2 * t), [x, before, x]));
        code.push(instr(Point::Less, DType::Bool, Reg::Temp(2 * t + 1), [Reg::Temp(2 * t), y, x]));
    }
    let sum = Reg::Temp(2 * values);
    code.push(instr(Point::Copy, dtype, sum, [y; 3]));
    for t in 0..values {
        let (value, truth) = (Reg::Temp(2 * t), Reg::Temp(2 * t + 1));
        code.push(instr(Point::Where, dtype, value, [truth, value, sum]));
        code.push(instr(Point::Multiply, dtype, sum, [sum, value, sum]));
        code.push(instr(Point::Subtract, dtype, sum, [value, sum, sum]));
    }
    code.push(instr(Point::Copy, dtype, Reg::Out(0), [sum; 3]));
    Program { shape, inputs, scalars: vec![], code, outputs: vec![dtype], temps: 2 * values + 1 }
}

#[test]
fn what_does_not_fit_into_registers_is_kept_elsewhere() {
    let _alone = alone();
    let mut random = Random(13);
    for isa in emitting() {
        for dtype in [DType::F32, DType::F64, DType::I32, DType::I64] {
            for values in [3, 7, 12, 20, 45] {
                let program = crowded(dtype, values, 531);
                let (inputs, scalars) = data_for(&mut random, &program);
                compare(isa, &program, &inputs, &scalars, &format!("{values} values of {dtype}"));
            }
        }
    }
}

#[test]
fn an_output_may_lie_where_an_input_does() {
    let _alone = alone();
    let mut random = Random(14);
    for isa in emitting() {
        for round in 0..100 {
            let count = 1 + random.next() as usize % 200;
            let mut program = random_program(&mut random, isa, &[count], 12);
            for input in &mut program.inputs {
                input.layout = Layout::dense(program.shape);
            }
            let (inputs, scalars) = data_for(&mut random, &program);
            let kernel = Kernel::Pointwise(program.clone());
            let outputs: Vec<(DType, usize)> = program.outputs.iter().map(|&d| (d, count)).collect();
            let want = run_at(&interpreter(isa, &kernel), &inputs, &scalars, &outputs, 0);
            let (exe, emitted) = emit(isa, &kernel);
            assert!(emitted);
            // Each output takes the first input of its size that is still available.
            let mut held: Vec<Vec<u8>> = inputs.iter().map(|(data, _)| data.bytes()).collect();
            let mut own: Vec<Vec<u8>> = outputs.iter().map(|(d, n)| vec![0; d.size() * n]).collect();
            let mut taken = Vec::new();
            let places: Vec<*mut u8> = outputs
                .iter()
                .zip(&mut own)
                .map(|((dtype, _), own)| {
                    let fits = |i: &usize| !taken.contains(i) && inputs[*i].0.dtype.size() == dtype.size();
                    match (0..inputs.len()).find(fits) {
                        Some(i) => {
                            taken.push(i);
                            held[i].as_mut_ptr()
                        }
                        None => own.as_mut_ptr(),
                    }
                })
                .collect();
            let addresses: Vec<*const u8> = held.iter().map(|b| b.as_ptr()).collect();
            // SAFETY: the buffers are as large as the program requires, and buffers shared with outputs are donated.
            unsafe { exe.run(Io { inputs: &addresses, outputs: &places, scalars: &scalars }, &SOLO) };
            for ((&place, &(dtype, n)), want) in places.iter().zip(&outputs).zip(&want) {
                // SAFETY: an output of that size, which the run has written.
                let bytes = unsafe { std::slice::from_raw_parts(place, n * dtype.size()) };
                let got = Data::from_bytes(dtype, bytes);
                assert!(same(&got, want), "round {round} with {isa:?}: {program:?}");
            }
        }
    }
}

/// tanh(x) * y + x * s - y, and whether it is positive.
fn chain(dims: &[usize], row: bool) -> Program {
    let shape = Shape::of(dims);
    let f = DType::F32;
    let (x, y, t, u) = (Reg::Input(0), Reg::Input(1), Reg::Temp(0), Reg::Temp(1));
    let second =
        if row { Layout::dense(Shape::of(&dims[1..])).broadcast_to(shape).unwrap() } else { Layout::dense(shape) };
    let instr = |op, dst, args| Instr { op, dtype: f, out: f, dst, args };
    let code = vec![
        instr(Point::Tanh, t, [x; 3]),
        instr(Point::Multiply, t, [t, y, t]),
        instr(Point::Multiply, u, [x, Reg::Scalar(0), x]),
        instr(Point::Add, t, [t, u, t]),
        instr(Point::Subtract, Reg::Out(0), [t, y, t]),
        Instr { op: Point::Less, dtype: f, out: DType::Bool, dst: Reg::Out(1), args: [u, Reg::Out(0), u] },
    ];
    let inputs = [Layout::dense(shape), second].map(|layout| ProgramInput { dtype: f, layout }).to_vec();
    Program { shape, inputs, scalars: vec![f], code, outputs: vec![f, DType::Bool], temps: 2 }
}

#[test]
fn large_outputs_pass_by_the_cache() {
    let _alone = alone();
    let mut random = Random(15);
    for isa in emitting() {
        for (dims, row) in [([1, 4 * 1024 * 1024 + 77], false), ([1031, 4099], true)] {
            let program = chain(&dims, row);
            let (inputs, scalars) = data_for(&mut random, &program);
            let kernel = Kernel::Pointwise(program.clone());
            let outputs = [(DType::F32, dims[0] * dims[1]), (DType::Bool, dims[0] * dims[1])];
            let want = run_at(&interpreter(isa, &kernel), &inputs, &scalars, &outputs, 0);
            let (exe, emitted) = emit(isa, &kernel);
            assert!(emitted);
            for shift in [0, 8] {
                let got = run_at(&exe, &inputs, &scalars, &outputs, shift);
                assert!(got.iter().zip(&want).all(|(got, want)| same(got, want)), "{dims:?} {isa:?} at {shift}");
            }
            let three = run(isa, &kernel, &inputs, &scalars, &outputs, &Threads(3));
            assert!(three.iter().zip(&want).all(|(got, want)| same(got, want)), "{dims:?} {isa:?} in pieces");
        }
    }
}

#[test]
fn reductions_are_fed_the_same_bits() {
    let _alone = alone();
    let mut random = Random(16);
    for isa in emitting() {
        for (outer, reduced, inner) in [(1, 5000, 1), (7, 33, 1), (3, 200, 17), (20, 700, 1)] {
            for (watched, dtype) in [(Reg::Temp(0), DType::F32), (Reg::Out(0), DType::F32), (Reg::Input(0), DType::F32)]
            {
                let program = chain(&[outer, reduced * inner], true);
                let outputs = [
                    (DType::F32, program.shape.size()),
                    (DType::Bool, program.shape.size()),
                    (DType::F32, outer * inner),
                ];
                let inputs =
                    [(random.data(DType::F32, program.shape.size()), 0), (random.data(DType::F32, reduced * inner), 0)];
                let scalars = [Scalar::Float(0.5).to_bits(DType::F32)];
                let kind = ReduceKind::Sum;
                let kernel = Kernel::Reduce(Reduce { program, arg: watched, dtype, kind, outer, reduced, inner });
                let (exe, emitted) = emit(isa, &kernel);
                assert!(emitted);
                let want = run_at(&interpreter(isa, &kernel), &inputs, &scalars, &outputs, 0);
                let got = run_at(&exe, &inputs, &scalars, &outputs, 0);
                assert_eq!(got, want, "{outer} {reduced} {inner} {watched:?} {isa:?}");
            }
        }
    }
}

#[test]
fn a_short_program_becomes_machine_code_when_it_runs_often() {
    let _alone = alone();
    const COUNT: usize = 4096;
    let input = || ProgramInput { dtype: DType::F32, layout: Layout::dense(Shape::of(&[COUNT])) };
    let instr = |op, dst, args| Instr { op, dtype: DType::F32, out: DType::F32, dst, args };
    let (x, y, product) = (Reg::Input(0), Reg::Input(1), Reg::Temp(0));
    let program = Program {
        shape: Shape::of(&[COUNT]),
        inputs: vec![input(), input()],
        scalars: vec![],
        code: vec![instr(Point::Multiply, product, [x, y, x]), instr(Point::Tanh, Reg::Out(0), [product; 3])],
        outputs: vec![DType::F32],
        temps: 1,
    };
    let from: Vec<f32> = (0..COUNT).map(|i| i as f32 * 1e-3 - 2.0).collect();
    for isa in emitting() {
        let exe = CpuBackend::with_isa(isa).compile(&Kernel::Pointwise(program.clone()));
        let before = CodeStats::now().emitted;
        let mut made = vec![0f32; COUNT];
        let mut run = || {
            let inputs = [from.as_ptr().cast(), from.as_ptr().cast()];
            let io = Io { inputs: &inputs, outputs: &[made.as_mut_ptr().cast()], scalars: &[] };
            // SAFETY: the buffers have the elements of the kernel.
            unsafe { exe.run(io, &SOLO) };
            made.iter().map(|value| value.to_bits()).collect::<Vec<u32>>()
        };
        let first = run();
        assert_eq!(CodeStats::now().emitted, before, "one run of {COUNT} elements is not worth the code");
        assert!((0..200).all(|_| run() == first), "{isa:?}");
        assert_eq!(CodeStats::now().emitted, before + 1, "{isa:?}");
    }
}
