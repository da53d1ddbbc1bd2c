//! Fills: bitwise equal to the host, including random numbers.

use crate::case::Case;
use crate::ledger::Ledger;
use forerun_base::{DType, Kind, Shape};
use forerun_cuda::Gpu;
use forerun_plan::{Fill, FillKind, Kernel};
use std::sync::Arc;

pub(super) fn check(gpu: &Arc<Gpu>, ledger: &mut Ledger) {
    let shapes: [&[usize]; 6] = [&[1], &[5], &[1000, 37], &[3, 4, 5], &[0, 2], &[200_003]];
    for kind in [FillKind::Full, FillKind::Arange, FillKind::Eye, FillKind::Normal, FillKind::Uniform] {
        for dtype in DType::ALL {
            let random = matches!(kind, FillKind::Normal | FillKind::Uniform);
            let float = dtype.kind() == Kind::Float;
            if random && !(float && dtype.carrier() == dtype) {
                continue;
            }
            for dims in shapes {
                let shape = Shape::of(dims);
                let scalars = match kind {
                    FillKind::Full => vec![1],
                    FillKind::Arange if float => vec![(-2.5f64).to_bits(), 0.37f64.to_bits()],
                    FillKind::Arange => vec![(-7i64) as u64, 3],
                    FillKind::Eye => vec![(-1i64) as u64],
                    _ => vec![0x1234_5678_9abc_def0, u64::MAX - 3],
                };
                let (name, group) = (format!("{kind:?} {dtype} {shape}"), if random { "random" } else { "fills" });
                let kernel = Kernel::Fill(Fill { dtype, shape, kind });
                let outputs = vec![(dtype, shape.size())];
                Case { group, name, kernel, inputs: vec![], scalars, outputs, off: 0.0 }.check(gpu, ledger);
            }
        }
    }
}
