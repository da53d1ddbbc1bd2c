//! Products: integers must be exact, floats within the effect of another order of additions.

use super::pointwise::{chain, fit};
use crate::case::Case;
use crate::data::Random;
use crate::ledger::Ledger;
use forerun_base::{DType, Layout, Scalar, Shape};
use forerun_cuda::Gpu;
use forerun_plan::{Kernel, Product};
use std::sync::Arc;

/// Matrix layouts: row-major, column-major, strided in both dimensions, reversed, one repeated row.
fn looks(batch: &[usize], rows: usize, columns: usize) -> Vec<Layout> {
    let dims: Vec<usize> = batch.iter().copied().chain([rows, columns]).collect();
    let turned: Vec<usize> = batch.iter().copied().chain([columns, rows]).collect();
    let (shape, rank) = (Shape::of(&dims), dims.len());
    let dense = Layout::dense(shape);
    let mut axes: Vec<usize> = (0..rank).collect();
    axes.swap(rank - 2, rank - 1);
    let times = |factor: isize| Layout::strided(shape, &dense.strides().iter().map(|s| s * factor).collect::<Vec<_>>());
    let mut all = vec![dense, Layout::dense(Shape::of(&turned)).permute(&axes), times(2), times(-1)];
    all.extend(Layout::dense(Shape::of(&[columns])).broadcast_to(shape));
    all.extend(Layout::dense(Shape::of(&[rows, columns])).broadcast_to(shape));
    all
}

pub(super) fn check(gpu: &Arc<Gpu>, ledger: &mut Ledger) {
    let mut random = Random(5);
    let stacks: [&[usize]; 3] = [&[], &[3], &[2, 3]];
    for [m, n, k] in [[1, 1, 1], [5, 7, 3], [64, 48, 80], [1, 33, 100], [100, 1, 33], [3, 4, 0], [130, 257, 65]] {
        for batch in stacks {
            for a in looks(batch, m, k) {
                for b in looks(batch, k, n) {
                    for dtype in [DType::F32, DType::F64, DType::I32, DType::U8, DType::F16, DType::BF16] {
                        one(gpu, ledger, &mut random, dtype, batch, [m, n, k], a, b);
                    }
                }
            }
        }
    }
    followed(gpu, ledger, &mut random);
}

#[expect(clippy::too_many_arguments, reason = "a product has that many parts")]
fn one(
    gpu: &Arc<Gpu>,
    ledger: &mut Ledger,
    random: &mut Random,
    dtype: DType,
    batch: &[usize],
    [m, n, k]: [usize; 3],
    a: Layout,
    b: Layout,
) {
    let inputs = vec![fit(random, dtype, &a), fit(random, dtype, &b)];
    let name = format!("{dtype} {batch:?} {m} x {k} x {n} {:?} {:?}", a.strides(), b.strides());
    let batch = Shape::of(batch);
    let kernel = Kernel::Product(Product { dtype, batch, m, n, k, a, b, tail: None });
    let (group, off) = match dtype {
        DType::F32 => ("products, float32", -1e-5),
        DType::F64 => ("products, float64", -1e-14),
        // Sums in another order, each rounded once to a half float.
        DType::F16 => ("products, float16", -1e-3),
        DType::BF16 => ("products, bfloat16", -8e-3),
        _ => ("products, integers", 0.0),
    };
    let outputs = vec![(dtype, batch.size() * m * n)];
    Case { group, name, kernel, inputs, scalars: vec![], outputs, off }.check(gpu, ledger);
}

/// A product of small integers is exact, so the program after it must give the host's bits.
fn followed(gpu: &Arc<Gpu>, ledger: &mut Ledger, random: &mut Random) {
    let (f, [m, n, k]) = (DType::F32, [40, 24, 16]);
    let shape = Shape::of(&[m, n]);
    let row = Layout::dense(Shape::of(&[n])).broadcast_to(shape);
    for bias in row.into_iter().chain([Layout::dense(shape)]) {
        let whole = |random: &mut Random, count: usize| -> Vec<u8> {
            (0..count).flat_map(|_| ((random.next() % 5) as f32 - 2.0).to_le_bytes()).collect()
        };
        let inputs = vec![(whole(random, m * k), 0), (whole(random, k * n), 0), fit(random, DType::I64, &bias)];
        let tail = Some(chain(shape, Layout::dense(shape), bias));
        let (a, b) = (Layout::dense(Shape::of(&[m, k])), Layout::dense(Shape::of(&[k, n])));
        let kernel = Kernel::Product(Product { dtype: f, batch: Shape::SCALAR, m, n, k, a, b, tail });
        let scalars = vec![Scalar::Float(0.5).to_bits(f), Scalar::Float(0.25).to_bits(f)];
        let (name, outputs) = (format!("{:?}", bias.strides()), vec![(f, m * n), (f, m * n)]);
        Case { group: "products, followed", name, kernel, inputs, scalars, outputs, off: 0.0 }.check(gpu, ledger);
    }
}
