//! Every row of the catalogue in every dtype; programs over every layout.

use crate::case::Case;
use crate::data::Random;
use crate::ledger::Ledger;
use forerun_base::{DType, Layout, Scalar, Shape};
use forerun_cuda::Gpu;
use forerun_ops::symbol::{Script, Verb, script};
use forerun_ops::{Class, Point};
use forerun_plan::{Instr, Kernel, Program, ProgramInput, Reg};
use std::sync::Arc;

/// A program of one instruction over dense inputs.
fn single(op: Point, dtype: DType, out: DType, shape: Shape) -> Program {
    let row = op.row();
    let dtype_of = |n: usize| if row.class == Class::Select && n == 0 { DType::Bool } else { dtype };
    let inputs = (0..row.arity).map(|n| ProgramInput { dtype: dtype_of(n), layout: Layout::dense(shape) }).collect();
    let arg = |n: usize| Reg::Input(if n < row.arity { n as u8 } else { 0 });
    let code = vec![Instr { op, dtype, out, dst: Reg::Out(0), args: [arg(0), arg(1), arg(2)] }];
    Program { shape, inputs, scalars: vec![], code, outputs: vec![out], temps: 0 }
}

/// `where(x < s0, x * float(n), x) + tanh(x)`, and that minus `s1`: two inputs of two dtypes, two outputs.
pub(super) fn chain(shape: Shape, a: Layout, b: Layout) -> Program {
    let (f, n) = (DType::F32, DType::I64);
    let [x, y, t0, t1, t2] = [Reg::Input(0), Reg::Input(1), Reg::Temp(0), Reg::Temp(1), Reg::Temp(2)];
    let instr = |op, dtype, out, dst, args| Instr { op, dtype, out, dst, args };
    Program {
        shape,
        inputs: vec![ProgramInput { dtype: f, layout: a }, ProgramInput { dtype: n, layout: b }],
        scalars: vec![f, f],
        code: vec![
            instr(Point::Cast, n, f, t0, [y; 3]),
            instr(Point::Multiply, f, f, t1, [x, t0, x]),
            instr(Point::Less, f, DType::Bool, t2, [x, Reg::Scalar(0), x]),
            instr(Point::Where, f, f, t0, [t2, t1, x]),
            instr(Point::Tanh, f, f, t1, [x; 3]),
            instr(Point::Add, f, f, Reg::Out(0), [t0, t1, t0]),
            instr(Point::Subtract, f, f, t0, [Reg::Out(0), Reg::Scalar(1), t0]),
            instr(Point::Copy, f, f, Reg::Out(1), [t0; 3]),
        ],
        outputs: vec![f, f],
        temps: 3,
    }
}

/// Every operand layout for a shape.
pub(super) fn looks(shape: Shape) -> Vec<Layout> {
    let dims = shape.to_vec();
    let dense = Layout::dense(shape);
    let axes: Vec<usize> = (0..dims.len()).rev().collect();
    let turned = Layout::dense(Shape::of(&dims.iter().rev().copied().collect::<Vec<_>>())).permute(&axes);
    let times = |factor: isize| Layout::strided(shape, &dense.strides().iter().map(|s| s * factor).collect::<Vec<_>>());
    let mut column = dims.clone();
    if let Some(last) = column.last_mut() {
        *last = 1;
    }
    let row = Shape::of(&dims[dims.len().saturating_sub(1)..]);
    let broadcast = [row, Shape::of(&column), Shape::SCALAR].map(|s| Layout::dense(s).broadcast_to(shape));
    [dense, turned, times(3), times(-1)].into_iter().chain(broadcast.into_iter().flatten()).collect()
}

/// Bytes for a layout, and the offset of its first element.
pub(super) fn fit(random: &mut Random, dtype: DType, layout: &Layout) -> (Vec<u8>, usize) {
    let (low, high) = layout.extent().unwrap_or((0, 0));
    (random.bytes(dtype, (high - low + 1) as usize), low.unsigned_abs() * dtype.size())
}

pub(super) fn check(gpu: &Arc<Gpu>, ledger: &mut Ledger) {
    let mut random = Random(1);
    let count = 30_011;
    let shape = Shape::of(&[count]);
    for &op in Point::ALL {
        for dtype in DType::ALL {
            let outs = match op.row().types(dtype) {
                _ if op == Point::Cast => DType::ALL.to_vec(),
                // The planner casts the rest to carriers.
                _ if dtype.carrier() != dtype && !matches!(op, Point::Copy | Point::Where | Point::Imag) => continue,
                Ok((compute, out)) if compute == dtype => vec![out],
                _ => continue,
            };
            for out in outs {
                let program = single(op, dtype, out, shape);
                let inputs = program.inputs.iter().map(|input| (random.edges(input.dtype, count), 0)).collect();
                // The device's math library computes powers, so a body with a power has the tolerance of its accuracy.
                let is_power = |script: Script| script.steps.iter().any(|s| s.verb == Verb::Power && s.dtype == dtype);
                let (group, off) = match dtype {
                    DType::F32 | DType::F64 if !script(op, dtype).is_some_and(is_power) => ("pointwise", 0.0),
                    DType::F32 => ("power", 1f64.max(op.row().ulp as f64 - 2.0)),
                    DType::F64 => ("power", 2f64.max(op.row().ulp as f64)),
                    _ => ("pointwise", 0.0),
                };
                let name = format!("{op} {dtype} {out}");
                let kernel = Kernel::Pointwise(program);
                Case { group, name, kernel, inputs, scalars: vec![], outputs: vec![(out, count)], off }
                    .check(gpu, ledger);
            }
        }
    }
}

pub(super) fn programs(gpu: &Arc<Gpu>, ledger: &mut Ledger) {
    let mut random = Random(7);
    let scalars = vec![Scalar::Float(0.5).to_bits(DType::F32), Scalar::Float(0.25).to_bits(DType::F32)];
    let shapes: [&[usize]; 9] =
        [&[], &[1], &[3, 5], &[4, 1, 7], &[33, 40], &[2, 600], &[700, 3], &[5, 6, 7, 8], &[0, 4]];
    for dims in shapes {
        let shape = Shape::of(dims);
        for a in &looks(shape) {
            for b in &looks(shape) {
                let inputs = vec![fit(&mut random, DType::F32, a), fit(&mut random, DType::I64, b)];
                let outputs = vec![(DType::F32, shape.size()), (DType::F32, shape.size())];
                let name = format!("{shape} {:?} {:?}", a.strides(), b.strides());
                let kernel = Kernel::Pointwise(chain(shape, *a, *b));
                let scalars = scalars.clone();
                Case { group: "programs", name, kernel, inputs, scalars, outputs, off: 0.0 }.check(gpu, ledger);
            }
        }
    }
}
