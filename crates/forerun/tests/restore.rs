//! Restoring: after a failed write only that write is lost.

use forerun::memory::memory_stats;
use forerun::nn::rules::{Preparation, SgdRule, WeightUpdate};
use forerun::runtime::{Mode, cancel_pending, engine};
use forerun::{Array, Beyond, DType, ErrorKind, Index, Loc, arange, full, ones, ops, wait_all};
use std::sync::{Mutex, MutexGuard};

/// Live bytes are process-wide, so one test runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let guard = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let _ = wait_all();
    guard
}

/// Sizes that are stored in the node, that run inline, and that become tasks.
const SIZES: [usize; 3] = [3, 300, 100_000];

/// An array of `n` numbers that fails when it is computed.
#[track_caller]
fn bad(n: usize) -> Array {
    let beyond = arange(0, n as i64, 1) + 1;
    ops::take(&arange(0.0, n as f64, 1.0), &beyond, 0, Beyond::Raise, Loc::caller()).unwrap()
}

fn values(x: &Array) -> Vec<f64> {
    x.to_vec::<f64>().unwrap()
}

fn count(n: usize) -> Vec<f64> {
    (0..n).map(|i| i as f64).collect()
}

#[test]
fn a_failed_write_is_undone() {
    let _alone = alone();
    for n in SIZES {
        for pending in [false, true] {
            let mut x = arange(0.0, n as f64, 1.0);
            if !pending {
                x.wait_to_read().unwrap();
            }
            x += &bad(n);
            assert_eq!(x.wait_to_read().unwrap_err().kind(), ErrorKind::Index);
            assert_eq!(x.restore().unwrap(), 1);
            assert_eq!(values(&x), count(n));
            assert_eq!(x.restore().unwrap(), 0);
            x += 1.0;
            assert_eq!(values(&x)[n - 1], n as f64);
        }
    }
    wait_all().unwrap();
}

#[test]
fn writes_after_a_failed_one_are_undone_and_earlier_ones_stay() {
    let _alone = alone();
    for fuse in [true, false] {
        let former = forerun::runtime::set_fuse(fuse);
        for n in SIZES {
            let mut x = arange(0.0, n as f64, 1.0);
            // One segment: the multiplication is fused into the kernel that fails, and must not be lost with it.
            x *= 2.0;
            x += &bad(n);
            x -= 1.0;
            x *= 3.0;
            assert_eq!(x.restore().unwrap(), 3);
            assert_eq!(values(&x), count(n).iter().map(|v| 2.0 * v).collect::<Vec<_>>(), "{n}, fuse: {fuse}");
        }
        forerun::runtime::set_fuse(former);
    }
    wait_all().unwrap();
}

#[test]
fn failed_writes_to_parts_are_undone() {
    let _alone = alone();
    for n in SIZES {
        let x = arange(0.0, n as f64, 1.0);
        let part = x.slice([Index::Slice { start: Some(0), stop: Some(2), step: 1 }]);
        part.assign(bad(2));
        assert!(x.wait_to_read().is_err() && part.wait_to_read().is_err());
        assert_eq!(part.restore().unwrap(), 1);
        assert_eq!(values(&x), count(n));
        assert_eq!(values(&part), count(2));
    }
    wait_all().unwrap();
}

#[test]
fn a_value_without_a_predecessor_cannot_be_restored() {
    let _alone = alone();
    for n in SIZES {
        let line = line!() + 1;
        let x = bad(n);
        let error = x.restore().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Index);
        let text = error.to_string();
        assert!(
            text.starts_with("restore: no value from before the failed write is available")
                && text.contains("take: index")
        );
        assert!(text.contains(&format!("{}:{line}", file!())), "{text}");
        let y = ones([n]);
        y.assign(&x);
        assert!(y.restore().is_err());
        // Assigning the whole array clears the failure.
        y.assign(2.0);
        assert_eq!((y.restore().unwrap(), values(&y)[0]), (0, 2.0));
    }
    wait_all().unwrap();
}

#[test]
fn cancelled_writes_are_undone() {
    let _alone = alone();
    let mut x = arange(0.0, 360_000.0, 1.0);
    x.wait_to_read().unwrap();
    let factor = full([600, 600], 1e-3, DType::F32);
    let product = (0..20).fold(factor.clone(), |y, _| y.matmul(&factor)).reshape([-1]);
    x += &product;
    x += 1.0;
    cancel_pending();
    let failed = x.wait_to_read().is_err();
    assert!(failed || *engine().mode() == Mode::Sync, "the products take longer than submitting them");
    assert_eq!(x.restore().unwrap(), if failed { 2 } else { 0 });
    assert!(!failed || values(&x) == count(360_000));
    wait_all().unwrap();
}

#[test]
fn only_failures_cost_memory() {
    let _alone = alone();
    let n = 1 << 20;
    let bytes = 4 * n;
    let empty = memory_stats().live;
    let mut x = ones([n]);
    live_becomes(empty + bytes);
    x += 1.0;
    x.wait_to_read().unwrap();
    live_becomes(empty + bytes);
    x += &bad(n);
    let _ = x.wait_to_read();
    // Only the previous value is kept.
    live_becomes(empty + bytes);
    x.restore().unwrap();
    live_becomes(empty + bytes);
    drop(x);
    live_becomes(empty);
}

/// Waits for the live bytes: buffers are freed right after the values computed from them are ready.
#[track_caller]
fn live_becomes(expected: usize) {
    wait_all().unwrap();
    for _ in 0..10_000 {
        if memory_stats().live == expected {
            return;
        }
        std::thread::yield_now();
    }
    panic!("{} bytes are live, not {expected}", memory_stats().live);
}

#[test]
fn a_failed_update_leaves_weights_and_states() {
    let _alone = alone();
    for n in SIZES {
        let (weight, momentum) = (arange(0.0, n as f64, 1.0), ones([n]));
        let preparation = Preparation { rescale: 1.0, clip: None };
        let step = |grad: &Array| {
            let (weights, gradients): (&[&Array], &[&Array]) = (&[&weight], &[grad]);
            let update = WeightUpdate {
                weights,
                gradients,
                states: &[vec![&momentum]],
                rates: &[0.5],
                decays: &[0.1],
                counts: &[1],
                adapts: None,
                preparation,
            };
            update.apply(&SgdRule { momentum: 0.9, velocity: false }, Loc::caller()).unwrap();
        };
        step(&ones([n]));
        let good = (values(&weight), values(&momentum));
        step(&bad(n));
        step(&ones([n]));
        assert_eq!((weight.restore().unwrap(), momentum.restore().unwrap()), (2, 2));
        assert_eq!((values(&weight), values(&momentum)), good);
    }
    wait_all().unwrap();
}
