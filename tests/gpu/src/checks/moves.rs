//! Copies, concatenations, updates.

use super::pointwise::{fit, looks};
use crate::case::Case;
use crate::data::Random;
use crate::ledger::Ledger;
use forerun_base::{DType, Layout, Scalar, Shape};
use forerun_cuda::Gpu;
use forerun_ops::Point;
use forerun_plan::{Concat, Instr, Kernel, Program, ProgramInput, Reg, Update};
use std::sync::Arc;

pub(super) fn check(gpu: &Arc<Gpu>, ledger: &mut Ledger) {
    let mut random = Random(3);
    copies(gpu, ledger, &mut random);
    concatenations(gpu, ledger, &mut random);
    updates(gpu, ledger, &mut random);
}

fn copies(gpu: &Arc<Gpu>, ledger: &mut Ledger, random: &mut Random) {
    let shapes: [&[usize]; 5] = [&[3, 5], &[100, 130], &[1000, 70], &[7, 64, 64], &[4, 33, 5, 50]];
    for dims in shapes {
        let shape = Shape::of(dims);
        for layout in looks(shape) {
            for dtype in [DType::Bool, DType::F16, DType::F32, DType::I64] {
                let code =
                    vec![Instr { op: Point::Copy, dtype, out: dtype, dst: Reg::Out(0), args: [Reg::Input(0); 3] }];
                let inputs = vec![ProgramInput { dtype, layout }];
                let program = Program { shape, inputs, scalars: vec![], code, outputs: vec![dtype], temps: 0 };
                let name = format!("{dtype} {shape} {:?}", layout.strides());
                let (kernel, outputs) = (Kernel::Pointwise(program), vec![(dtype, shape.size())]);
                let inputs = vec![fit(random, dtype, &layout)];
                Case { group: "copies", name, kernel, inputs, scalars: vec![], outputs, off: 0.0 }.check(gpu, ledger);
            }
        }
    }
}

fn concatenations(gpu: &Arc<Gpu>, ledger: &mut Ledger, random: &mut Random) {
    for dtype in [DType::Bool, DType::BF16, DType::F32, DType::F64] {
        for axis in 0..3 {
            let mut parts = Vec::new();
            let mut whole = [6, 8, 10];
            whole[axis] = 0;
            for (n, extent) in [4, 0, 8, 3].into_iter().enumerate() {
                let mut dims = [6, 8, 10];
                dims[axis] = extent;
                whole[axis] += extent;
                parts.push(looks(Shape::of(&dims))[n]);
            }
            let inputs = parts.iter().map(|layout| fit(random, dtype, layout)).collect();
            let shape = Shape::of(&whole);
            let kernel = Kernel::Concat(Concat { dtype, axis, inputs: parts, shape });
            let (name, outputs) = (format!("{dtype} along {axis}"), vec![(dtype, shape.size())]);
            Case { group: "concatenate", name, kernel, inputs, scalars: vec![], outputs, off: 0.0 }.check(gpu, ledger);
        }
    }
}

fn updates(gpu: &Arc<Gpu>, ledger: &mut Ledger, random: &mut Random) {
    // Rows 1 to 4, and every second column from 2 on in reverse, of a 10 x 40 base.
    let shape = Shape::of(&[4, 16]);
    let regions = [(Layout::strided(shape, &[40, 1]), 40), (Layout::strided(shape, &[40, -2]), 40 + 32)];
    for dtype in DType::ALL {
        for (region, first) in regions {
            let base = random.bytes(dtype, 400);
            let mut values: Vec<Option<ProgramInput>> = vec![None];
            for from in [DType::Bool, DType::I32, DType::U8, DType::F16, DType::F64] {
                values.extend(looks(shape).into_iter().map(|layout| Some(ProgramInput { dtype: from, layout })));
            }
            for value in values {
                let mut inputs = vec![(base.clone(), 0)];
                let mut scalars = vec![first];
                match value {
                    Some(value) => inputs.push(fit(random, value.dtype, &value.layout)),
                    None => scalars.push(Scalar::Float(1.0).to_bits(dtype)),
                }
                let name = format!("{dtype} {:?} from {value:?}", region.strides());
                let kernel = Kernel::Update(Update { dtype, size: 400, region, value });
                Case { group: "update", name, kernel, inputs, scalars, outputs: vec![(dtype, 400)], off: 0.0 }
                    .check(gpu, ledger);
            }
        }
    }
}
