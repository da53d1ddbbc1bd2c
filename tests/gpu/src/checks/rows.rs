//! Kernels with index arrays, and their errors for invalid indices.

use super::pointwise::{fit, looks};
use crate::case::Case;
use crate::data::Random;
use crate::ledger::Ledger;
use forerun_base::{DType, Layout, Shape};
use forerun_cuda::{Gpu, Raised};
use forerun_ops::Beyond;
use forerun_plan::{Kernel, ProgramInput, Rows};
use std::sync::Arc;

pub(super) fn check(gpu: &Arc<Gpu>, ledger: &mut Ledger) {
    let mut random = Random(4);
    let shapes: [&[usize]; 3] = [&[7, 8, 12], &[300, 64], &[50]];
    for dims in shapes {
        let shape = Shape::of(dims);
        for axis in 0..dims.len() {
            for (n, base) in looks(shape).into_iter().enumerate() {
                for dtype in [DType::Bool, DType::U8, DType::F16, DType::F32, DType::F64] {
                    for (beyond, indices) in
                        [(Beyond::Raise, DType::I64), (Beyond::Clip, DType::I32), (Beyond::Wrap, DType::I64)]
                    {
                        let count = 5 + 90 * (n % 2);
                        let rows = rows(dtype, base, axis, indices, beyond, count);
                        one(gpu, ledger, &mut random, &rows);
                    }
                }
            }
        }
    }
    many_on_one(gpu, ledger, &mut random);
    beyond_the_end(gpu, ledger, &mut random);
}

fn rows(dtype: DType, base: Layout, axis: usize, indices: DType, beyond: Beyond, count: usize) -> Rows {
    let layout = Layout::dense(Shape::of(&[count]));
    Rows { dtype, base, axis, indices: ProgramInput { dtype: indices, layout }, beyond }
}

fn out_size(rows: &Rows) -> usize {
    rows.base.shape.size() / rows.base.shape[rows.axis] * rows.indices.layout.shape.size()
}

fn one(gpu: &Arc<Gpu>, ledger: &mut Ledger, random: &mut Random, rows: &Rows) {
    let extent = rows.base.shape[rows.axis] as i64;
    let count = rows.indices.layout.shape.size();
    let base = fit(random, rows.dtype, &rows.base);
    let named = (random.below(extent, rows.indices.dtype, count), 0);
    let name =
        format!("{} {} {:?} axis {} {:?}", rows.dtype, rows.base.shape, rows.base.strides(), rows.axis, rows.beyond);
    let (kernel, outputs) = (Kernel::Take(rows.clone()), vec![(rows.dtype, out_size(rows))]);
    let inputs = vec![base.clone(), named.clone()];
    Case { group: "take", name: name.clone(), kernel, inputs, scalars: vec![], outputs, off: 0.0 }.check(gpu, ledger);
    let updates = (random.bytes(rows.dtype, out_size(rows)), 0);
    let (kernel, outputs) = (Kernel::ScatterAdd(rows.clone()), vec![(rows.dtype, rows.base.shape.size())]);
    let inputs = vec![base, named, updates];
    Case { group: "scatter_add", name, kernel, inputs, scalars: vec![], outputs, off: 0.0 }.check(gpu, ledger);
}

/// Many updates of few rows: additions happen in the order of the indices, so the bits equal the host's.
fn many_on_one(gpu: &Arc<Gpu>, ledger: &mut Ledger, random: &mut Random) {
    for (extent, row, count) in [(3, 1, 20_000), (5, 100, 3000), (1000, 33, 5000)] {
        let base = Layout::dense(Shape::of(&[extent, row]));
        one(gpu, ledger, random, &rows(DType::F32, base, 0, DType::I64, Beyond::Raise, count));
    }
}

/// The error names the first invalid index, and the next launch works.
fn beyond_the_end(gpu: &Arc<Gpu>, ledger: &mut Ledger, random: &mut Random) {
    let base = Layout::dense(Shape::of(&[10, 6]));
    let rows = rows(DType::F32, base, 0, DType::I64, Beyond::Raise, 4000);
    let mut indices: Vec<i64> = (0..4000).map(|i| i % 10).collect();
    for (place, index) in [(3999, 99), (77, -11), (1500, 10)] {
        indices[place] = index;
    }
    let named: Vec<u8> = indices.iter().flat_map(|i| i.to_le_bytes()).collect();
    let values = random.bytes(DType::F32, 60);
    let updates = random.bytes(DType::F32, out_size(&rows));
    for (name, kernel, size) in
        [("take", Kernel::Take(rows.clone()), 24_000), ("scatter_add", Kernel::ScatterAdd(rows.clone()), 60)]
    {
        let inputs = vec![(values.clone(), 0), (named.clone(), 0), (updates.clone(), 0)];
        let outputs = vec![(DType::F32, size)];
        let case = Case { group: "status", name: name.to_owned(), kernel, inputs, scalars: vec![], outputs, off: 0.0 };
        let outcome = match case.device(gpu, 0).map(|outcome| outcome.raised) {
            Err(error) => Err(error.to_string()),
            Ok(Some(Raised { index: -11, place: 77 })) => Ok(0.0),
            Ok(other) => Err(format!("the status says {other:?}")),
        };
        ledger.note("status", name, outcome);
    }
    one(gpu, ledger, random, &Rows { beyond: Beyond::Clip, ..rows });
}
