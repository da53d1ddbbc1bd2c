//! Reductions of every kind and shape, with and without a program that feeds them: bitwise equal to the host.

use super::pointwise::{fit, looks};
use crate::case::Case;
use crate::data::Random;
use crate::ledger::Ledger;
use forerun_base::{DType, Layout, Scalar, Shape};
use forerun_cuda::Gpu;
use forerun_ops::Point;
use forerun_plan::{Instr, Kernel, Program, ProgramInput, Reduce, ReduceKind, Reg};
use std::sync::Arc;

const KINDS: [ReduceKind; 6] =
    [ReduceKind::Sum, ReduceKind::Prod, ReduceKind::Max, ReduceKind::Min, ReduceKind::ArgMax, ReduceKind::ArgMin];

fn bare(dtype: DType, kind: ReduceKind, [outer, reduced, inner]: [usize; 3]) -> Reduce {
    let shape = Shape::of(&[outer, reduced, inner]);
    let inputs = vec![ProgramInput { dtype, layout: Layout::dense(shape) }];
    let program = Program { shape, inputs, scalars: vec![], code: vec![], outputs: vec![], temps: 0 };
    Reduce { program, arg: Reg::Input(0), dtype, kind, outer, reduced, inner }
}

fn result(reduce: &Reduce) -> (DType, usize) {
    let index = matches!(reduce.kind, ReduceKind::ArgMax | ReduceKind::ArgMin);
    (if index { DType::I64 } else { reduce.dtype }, reduce.outer * reduce.inner)
}

pub(super) fn adding(gpu: &Arc<Gpu>, ledger: &mut Ledger) {
    of_kinds(gpu, ledger, &KINDS[..2]);
}

pub(super) fn comparing(gpu: &Arc<Gpu>, ledger: &mut Ledger) {
    of_kinds(gpu, ledger, &KINDS[2..4]);
}

pub(super) fn indexing(gpu: &Arc<Gpu>, ledger: &mut Ledger) {
    of_kinds(gpu, ledger, &KINDS[4..]);
}

fn of_kinds(gpu: &Arc<Gpu>, ledger: &mut Ledger, kinds: &[ReduceKind]) {
    let mut random = Random(2);
    let extents = [
        [1, 1, 1],
        [3, 7, 1],
        [2, 64, 1],
        [5, 513, 1],
        [1, 5000, 1],
        [40, 30, 1],
        [300, 1000, 1],
        [3, 40_004, 1],
        [1, 400_003, 1],
        [1, 3_000_000, 1],
        [2, 9, 3],
        [1, 100, 20],
        [3, 17, 600],
        [1, 70, 1030],
        [1, 30_000, 10],
        [2, 3000, 129],
        [2, 3, 0],
        [2, 0, 3],
        [2, 0, 1],
        [0, 4, 4],
    ];
    for &kind in kinds {
        for dtype in DType::ALL.into_iter().filter(|dtype| dtype.carrier() == *dtype) {
            for extent in extents {
                let adds = matches!(kind, ReduceKind::Sum | ReduceKind::Prod);
                if (extent[1] == 0 && !adds) || (dtype == DType::Bool && adds) {
                    continue;
                }
                let reduce = bare(dtype, kind, extent);
                let count = extent.iter().product();
                let plain = random.bytes(dtype, count);
                let outputs = vec![result(&reduce)];
                let name = format!("{kind:?} {dtype} {extent:?}");
                let kernel = Kernel::Reduce(reduce);
                let inputs = vec![(plain, 0)];
                Case { group: "reductions", name, kernel, inputs, scalars: vec![], outputs, off: 0.0 }
                    .check(gpu, ledger);
            }
        }
    }
    not_a_number(gpu, ledger, &mut random, kinds);
}

/// NaN wins, and the first NaN determines the index.
fn not_a_number(gpu: &Arc<Gpu>, ledger: &mut Ledger, random: &mut Random, kinds: &[ReduceKind]) {
    for &kind in kinds {
        for extent in [[1, 700, 1], [1, 700, 5], [3, 40, 1], [2, 30_000, 1]] {
            let reduce = bare(DType::F32, kind, extent);
            let inputs = vec![(random.edges(DType::F32, extent.iter().product()), 0)];
            let outputs = vec![result(&reduce)];
            let name = format!("{kind:?} {extent:?}");
            let kernel = Kernel::Reduce(reduce);
            Case { group: "reductions, edges", name, kernel, inputs, scalars: vec![], outputs, off: 0.0 }
                .check(gpu, ledger);
        }
    }
}

/// `exp(x) * s` reduced over operands of any layout, with the exponential stored.
pub(super) fn fed(gpu: &Arc<Gpu>, ledger: &mut Ledger) {
    let random = &mut Random(6);
    let f = DType::F32;
    for extent in [[3, 40, 1], [37, 1030, 1], [1, 70_000, 1], [2, 40, 33], [1, 4000, 8]] {
        let shape = Shape::of(&extent);
        for layout in looks(shape) {
            for kind in [ReduceKind::Sum, ReduceKind::ArgMax] {
                let mut reduce = bare(f, kind, extent);
                let (kept, scaled) = (Reg::Out(0), Reg::Temp(0));
                let instr = |op, dst, args| Instr { op, dtype: f, out: f, dst, args };
                reduce.program.inputs[0].layout = layout;
                reduce.program.scalars = vec![f];
                reduce.program.code = vec![
                    instr(Point::Exp, kept, [Reg::Input(0); 3]),
                    instr(Point::Multiply, scaled, [kept, Reg::Scalar(0), kept]),
                ];
                reduce.program.outputs = vec![f];
                reduce.program.temps = 1;
                reduce.arg = scaled;
                let outputs = vec![(f, shape.size()), result(&reduce)];
                let name = format!("{kind:?} {extent:?} {:?}", layout.strides());
                let inputs = vec![fit(random, f, &layout)];
                let scalars = vec![Scalar::Float(0.3).to_bits(f)];
                let kernel = Kernel::Reduce(reduce);
                Case { group: "reductions, fed", name, kernel, inputs, scalars, outputs, off: 0.0 }.check(gpu, ledger);
            }
        }
    }
}
