//! Compares index kernels with plain loops: every mode, dtype and layout. The width of the team must not affect the
//! result.

mod common;

use common::*;
use forerun_base::{DType, ErrorKind, Layout, Scalar, Shape, Team};
use forerun_cpu::{CpuBackend, Isa};
use forerun_ops::Point;
use forerun_plan::{Backend, Beyond, Io, Kernel, ProgramInput, Rows};

fn indices(dtype: DType, values: &[i64]) -> Data {
    Data { dtype, bits: values.iter().map(|&v| Scalar::Int(v).to_bits(dtype)).collect() }
}

fn rows(dtype: DType, base: Layout, axis: usize, index: (DType, Layout), beyond: Beyond) -> Rows {
    Rows { dtype, base, axis, indices: ProgramInput { dtype: index.0, layout: index.1 }, beyond }
}

/// Extents before and after the axis.
fn around(shape: &Shape, axis: usize) -> (usize, usize) {
    (shape[..axis].iter().product(), shape[axis + 1..].iter().product())
}

/// The expected result: the index of each output element in a dense base.
fn plain(rows: &Rows, values: &[i64]) -> Vec<usize> {
    let (outer, inner) = around(&rows.base.shape, rows.axis);
    let extent = rows.base.shape[rows.axis];
    let mut out = Vec::new();
    for o in 0..outer {
        for &value in values {
            let position = rows.beyond.position(value, extent).unwrap();
            out.extend((0..inner).map(|i| (o * extent + position) * inner + i));
        }
    }
    out
}

const SHAPES: [(&[usize], usize); 6] =
    [(&[7], 0), (&[5, 3], 0), (&[3, 5], 1), (&[2, 4, 3], 1), (&[2, 3, 4, 2], 2), (&[4, 0], 0)];

#[test]
fn taken_from_any_layout() {
    let mut random = Random(1);
    let values = [0, 2, 2, 1, -1, 0];
    for dtype in plain_dtypes() {
        for index in [DType::I32, DType::I64] {
            for (shape, axis) in SHAPES {
                let dense = Layout::dense(Shape::of(shape));
                let order: Vec<usize> = (0..shape.len()).rev().collect();
                // The same shape with reversed axes in memory.
                let turned = Layout::dense(Shape::of(&order.iter().map(|&d| shape[d]).collect::<Vec<_>>()));
                let turned = turned.permute(&order);
                for base in [dense, turned] {
                    let data = random.data(dtype, base.shape.size());
                    // Every second index, backwards.
                    let spread: Vec<i64> = values.iter().rev().flat_map(|&v| [v, 99]).collect();
                    let layout = Layout::strided(Shape::of(&[2, 3]), &[-6, -2]);
                    let take = rows(dtype, base, axis, (index, layout), Beyond::Raise);
                    let want: Vec<u64> =
                        plain(&take, &values).iter().map(|&i| data.bits[offset(&base, i) as usize]).collect();
                    let inputs = [(data, 0), (indices(index, &spread), 10)];
                    let got = run(Isa::Baseline, &Kernel::Take(take), &inputs, &[], &[(dtype, want.len())], &SOLO);
                    assert_eq!(got[0].bits, want, "{dtype} {shape:?} {axis} {base:?}");
                }
            }
        }
    }
}

#[test]
fn indices_beyond_the_ends() {
    let values = [-100, -4, -1, 0, 2, 3, 100, i64::MIN, i64::MAX];
    let base = Layout::dense(Shape::of(&[3]));
    let data = indices(DType::I64, &[10, 11, 12]);
    let index = (DType::I64, Layout::dense(Shape::of(&[values.len()])));
    for (beyond, want) in
        [(Beyond::Clip, [10, 10, 10, 10, 12, 12, 12, 10, 12]), (Beyond::Wrap, [12, 12, 12, 10, 12, 10, 11, 11, 11])]
    {
        let take = rows(DType::I64, base, 0, index, beyond);
        let inputs = [(data.clone(), 0), (indices(DType::I64, &values), 0)];
        let got = run(Isa::Baseline, &Kernel::Take(take), &inputs, &[], &[(DType::I64, values.len())], &SOLO);
        assert_eq!(got[0], indices(DType::I64, &want), "{beyond:?}");
    }
}

#[test]
fn the_first_bad_index_is_named() {
    for kernel in [Kernel::Take, Kernel::ScatterAdd] {
        for (values, bad) in [(vec![0, 4, -5], None), (vec![0, 7, -9], Some(7)), (vec![-6, 7], Some(-6))] {
            let index = (DType::I32, Layout::dense(Shape::of(&[values.len()])));
            let made = kernel(rows(DType::F32, Layout::dense(Shape::of(&[2, 5])), 1, index, Beyond::Raise));
            let exe = CpuBackend::new().compile(&made);
            let data = indices(DType::I32, &values).bytes();
            let inputs = [std::ptr::null(), data.as_ptr(), std::ptr::null()];
            // SAFETY: a check only reads the indices.
            let checked = unsafe { exe.check(Io { inputs: &inputs, outputs: &[std::ptr::null_mut()], scalars: &[] }) };
            match bad {
                None => assert!(checked.is_ok()),
                Some(bad) => {
                    let error = checked.unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::Index);
                    assert_eq!(error.to_string(), format!("index {bad} is out of bounds for axis 1 with size 5"));
                }
            }
        }
    }
}

#[test]
fn added_in_the_order_of_the_indices() {
    let mut random = Random(3);
    for dtype in plain_dtypes() {
        for (shape, axis) in SHAPES {
            for team in [&SOLO as &dyn Team, &Threads(3)] {
                let base = Layout::dense(Shape::of(shape));
                let extent = shape[axis] as u64;
                let values: Vec<i64> = (0..9).map(|_| (random.next() % extent) as i64).collect();
                let index = (DType::I64, Layout::dense(Shape::of(&[values.len()])));
                let add = rows(dtype, base, axis, index, Beyond::Raise);
                let places = plain(&add, &values);
                let (data, updates) = (random.data(dtype, base.shape.size()), random.data(dtype, places.len()));
                let mut want = data.bits.clone();
                for (&place, &update) in places.iter().zip(&updates.bits) {
                    want[place] = carried(Point::Add, dtype, &[want[place], update]);
                }
                let inputs = [(data, 0), (indices(DType::I64, &values), 0), (updates, 0)];
                let got = run(Isa::Baseline, &Kernel::ScatterAdd(add), &inputs, &[], &[(dtype, want.len())], team);
                assert_eq!(got[0].bits, want, "{dtype} {shape:?} {axis}");
            }
        }
    }
}

#[test]
fn large_ones_have_the_same_bits_for_every_team() {
    let mut random = Random(5);
    for (shape, axis, named) in [(&[50, 64][..], 0, 9000), (&[40_000], 0, 400_000), (&[20, 30, 5], 1, 5000)] {
        let base = Layout::dense(Shape::of(shape));
        let values: Vec<i64> = (0..named).map(|_| (random.next() % shape[axis] as u64) as i64).collect();
        let index = (DType::I64, Layout::dense(Shape::of(&[named])));
        let kernel = rows(DType::F32, base, axis, index, Beyond::Raise);
        let places = plain(&kernel, &values);
        let (data, updates) = (random.data(DType::F32, base.shape.size()), random.data(DType::F32, places.len()));
        let taken: Vec<u64> = places.iter().map(|&i| data.bits[i]).collect();
        let mut added = data.bits.clone();
        for (&place, &update) in places.iter().zip(&updates.bits) {
            added[place] = apply(Point::Add, DType::F32, &[added[place], update]);
        }
        let inputs = [(data, 0), (indices(DType::I64, &values), 0), (updates, 0)];
        for width in [1, 2, 5] {
            let team = Threads(width);
            let out = [(DType::F32, taken.len())];
            let got = run(Isa::Baseline, &Kernel::Take(kernel.clone()), &inputs[..2], &[], &out, &team);
            assert_eq!(got[0].bits, taken);
            let out = [(DType::F32, added.len())];
            let got = run(Isa::Baseline, &Kernel::ScatterAdd(kernel.clone()), &inputs, &[], &out, &team);
            assert_eq!(got[0].bits, added);
        }
    }
}
