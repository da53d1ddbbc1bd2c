//! An end-to-end test from Rust: submit, fuse, write through views, wait, fail.

use forerun::{Arg, Array, DType, ErrorKind, Index, Loc, Point, Scalar, arange, array, normal, ones, ops};

fn values(x: &Array) -> Vec<f64> {
    x.to_vec::<f64>().unwrap()
}

#[test]
fn the_first_example() {
    let x = ones([1, 2]);
    let y = ones([1, 2]);
    let z = &x * &y + 2.0;
    assert_eq!(z.to_string(), "[[3. 3.]]");
}

#[test]
fn large_chains_are_right() {
    let n = 100_000;
    let x = arange(0.0, n as f64, 1.0);
    let y = ones([n]) * 3.0;
    let z = (&x * 0.001).tanh() * &y + &x * 2.0 - &y / 3.0;
    let got = values(&z);
    for i in (0..n).step_by(997) {
        let x = i as f64;
        let want = (x * 0.001).tanh() * 3.0 + x * 2.0 - 1.0;
        assert!((got[i] - want).abs() <= 1e-5 * want.abs().max(1.0), "{i}: {} {want}", got[i]);
    }
}

#[test]
fn products_and_reductions() {
    let a = normal([300, 200]);
    let b = normal([200, 150]);
    let c = a.matmul(&b) + 1.0;
    let (av, bv, cv) = (values(&a), values(&b), values(&c));
    for &(i, j) in &[(0, 0), (299, 149), (17, 33)] {
        let want: f64 = (0..200).map(|k| av[i * 200 + k] * bv[k * 150 + j]).sum::<f64>() + 1.0;
        assert!((cv[i * 150 + j] - want).abs() < 1e-3);
    }
    let s = c.sum().item::<f64>().unwrap();
    let want: f64 = cv.iter().sum();
    assert!((s - want).abs() < 1e-2 * want.abs().max(1.0));
    let rows = values(&c.sum_axis(1));
    let want: f64 = cv[..150].iter().sum();
    assert!((rows[0] - want).abs() < 1e-3 * want.abs().max(1.0));
}

#[test]
fn views_alias() {
    for n in [6usize, 6000] {
        let x = arange(0, n as i64, 1);
        let v = x.slice([Index::Slice { start: Some(2), stop: Some(5), step: 1 }]);
        v.assign(&(&v * 10));
        assert_eq!(&values(&x)[..6], [0., 1., 20., 30., 40., 5.]);
        let mut w = x.clone();
        w += 1;
        assert_eq!(&values(&x)[..6], [1., 2., 21., 31., 41., 6.]);
        assert_eq!(values(&v), [21., 31., 41.]);
        // Overlapping: the old values are read.
        let all = |start, stop| Index::Slice { start, stop, step: 1 };
        x.slice([all(Some(1), None)]).assign(x.slice([all(None, Some(-1))]));
        assert_eq!(&values(&x)[..6], [1., 1., 2., 21., 31., 41.]);
        let t = x.reshape([2, -1]).t();
        t.slice([Index::At(0)]).assign(7);
        assert_eq!(values(&x)[0], 7.0);
        assert_eq!(values(&x)[n / 2], 7.0);
    }
}

#[test]
fn snapshots_do_not_change() {
    for n in [4usize, 4000, 400_000] {
        let mut x = ones([n]);
        let before = x.snapshot().unwrap();
        x += 1.0;
        x.slice([Index::At(0)]).assign(9.0);
        assert_eq!(values(&x)[..2], [9.0, 2.0]);
        assert!(before.to_f64().iter().all(|v| *v == 1.0));
    }
}

#[test]
fn shape_errors_are_immediate() {
    let (a, b) = (ones([2, 3]), ones([4]));
    let error = ops::pointwise(Point::Add, &[Arg::Array(&a), Arg::Array(&b)], Loc::UNKNOWN).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Value);
    assert!(error.to_string().contains("(2, 3) (4,)"));
}

#[test]
fn failures_poison_and_name_lines() {
    let line = line!() + 1;
    let x = ops::full(&[1 << 50], Scalar::Float(1.0), DType::F32, here()).unwrap();
    let y = &x + 1.0;
    for bad in [&x, &y, &y.sum()] {
        let error = bad.wait_to_read().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Memory);
        let text = error.to_string();
        assert!(text.contains("full") && text.contains(&format!("slice.rs:{line}")), "{text}");
        assert!(text.contains("read at"), "{text}");
    }
    assert_eq!(values(&(ones([3]) + 1.0)), [2.0; 3]);
}

#[track_caller]
fn here() -> Loc {
    Loc::caller()
}

#[test]
fn tiny_loops_run_ahead() {
    let x = array(&[1.0, 2.0], [1, 2]);
    let mut y = x.clone() * 1.0;
    for _ in 0..20_000 {
        y = &y + 1.0;
    }
    assert_eq!(values(&y), [20_001.0, 20_002.0]);
    for _ in 0..20_000 {
        let y = &x + 1.0;
        y.wait_to_read().unwrap();
    }
}

#[test]
fn thousands_of_arrays_are_concatenated() {
    let parts: Vec<Array> = (0..3000).map(|i| arange(i, i + 2, 1)).collect();
    let all = ops::concatenate(&parts.iter().collect::<Vec<_>>(), 0, Loc::UNKNOWN).unwrap();
    let got = values(&all);
    assert_eq!(got.len(), 6000);
    assert!(got.iter().enumerate().all(|(i, v)| *v == (i / 2 + i % 2) as f64));
}

#[test]
fn only_dependents_of_a_failure_fail() {
    let x = ones([100_000]);
    let big = ops::full(&[1 << 50], Scalar::Float(1.0), DType::F32, here()).unwrap();
    let bad = big.slice([Index::At(0)]) * 1.0;
    // The next three have one shape and may share a kernel.
    let z = &x * &bad;
    let w = &x + 1.0;
    let v = &w * 2.0;
    assert!(z.wait_to_read().is_err());
    assert_eq!(values(&w)[99_999], 2.0);
    assert_eq!(values(&v)[0], 4.0);
    let _ = forerun::wait_all();
}

#[test]
fn impossible_sizes_are_refused() {
    let wide = ops::broadcast_to(&ones([1, 1]), &[1 << 32, 1]).unwrap();
    let tall = ops::broadcast_to(&ones([1, 1]), &[1, 1 << 32]).unwrap();
    let sum = ops::pointwise(Point::Add, &[Arg::Array(&wide), Arg::Array(&tall)], Loc::UNKNOWN);
    assert_eq!(sum.err().unwrap().kind(), ErrorKind::Value);
    assert!(ops::reshape(&ones([0]), &[1 << 32, 1 << 32], Loc::UNKNOWN).is_err());
    assert!(ops::matmul(&wide, &tall, Loc::UNKNOWN).is_err());
}

#[test]
fn thousands_of_views_are_stacked() {
    let x = arange(0, 2, 1);
    let rows = vec![&x; 9000];
    let all = ops::stack(&rows, 0, Loc::UNKNOWN).unwrap();
    assert_eq!((all.shape()[0], values(&all)[17_999]), (9000, 1.0));
}

#[test]
fn running_far_ahead_is_bounded() {
    let x = normal([64, 64]);
    let mut y = normal([64, 64]);
    for _ in 0..30_000 {
        y = x.matmul(&y) * 0.1;
    }
    assert!(forerun::runtime::engine().in_flight() < 1000);
    y.wait_to_read().unwrap();
}
