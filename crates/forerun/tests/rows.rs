//! Rows by index: an index out of bounds fails when the data is ready, and only its dependents fail.

use forerun::runtime::stats;
use forerun::{Array, Beyond, DType, ErrorKind, Loc, arange, array, ones, ops, wait_all, zeros};

fn values(x: &Array) -> Vec<f64> {
    x.to_vec::<f64>().unwrap()
}

#[track_caller]
fn take(x: &Array, indices: &Array) -> Array {
    ops::take(x, indices, 0, Beyond::Raise, Loc::caller()).unwrap()
}

#[track_caller]
fn add(base: &Array, indices: &Array, updates: &Array) -> Array {
    ops::scatter_add(base, indices, updates, 0, Beyond::Raise, Loc::caller()).unwrap()
}

#[test]
fn only_dependents_of_a_bad_index_fail() {
    for n in [5, 100_000] {
        let x = arange(0.0, n as f64, 1.0);
        let good = arange(0, n, 1);
        let bad = &good + 1;
        // All in one segment; the sums over one shape may share a kernel.
        let y = &x * 2.0;
        let line = line!() + 1;
        let taken = take(&y, &bad);
        let (spoilt, healthy) = (&taken + &x, &y + &x);
        let both = &spoilt + &healthy;
        let other = take(&healthy, &good);
        for failed in [&taken, &spoilt, &both, &both.sum()] {
            let error = failed.wait_to_read().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Index);
            let text = error.to_string();
            assert!(
                text.starts_with(&format!("take: index {n} is out of bounds for axis 0 with size {n}\n")),
                "{text}"
            );
            assert!(text.contains(&format!("submitted at {}:{line}", file!())) && text.contains("read at"), "{text}");
        }
        assert_eq!(values(&healthy)[n as usize - 1], 3.0 * (n - 1) as f64);
        assert_eq!(values(&other), values(&healthy));
    }
}

#[test]
fn an_unread_failure_is_reported() {
    for n in [5, 100_000] {
        let error = {
            drop(take(&ones([n]), &(arange(0, n as i64, 1) - n as i64 * 2)));
            wait_all().unwrap_err()
        };
        assert!(error.iter().any(|e| e.kind() == ErrorKind::Index), "{error:?}");
    }
}

#[test]
fn a_failed_scatter_leaves_the_base_unchanged() {
    for n in [6usize, 60_000] {
        let (base, updates) = (ones([n]), ones([n]) * 2.0);
        let mut places = vec![0.0f32; n];
        places[n - 1] = n as f32;
        let bad = array(&places, [n]).cast(DType::I64);
        let failed = add(&base, &bad, &updates);
        let error = failed.wait_to_read().unwrap_err();
        assert!(error.to_string().starts_with("scatter_add: index"), "{error}");
        // The base was not donated: it is still held, and unchanged.
        assert!(values(&base).iter().all(|v| *v == 1.0));
        // A donated base is lost, and nothing else.
        let failed = add(&(&base + 1.0), &bad, &updates);
        assert!(failed.wait_to_read().is_err() && (&failed + 1.0).wait_to_read().is_err());
        let good = array(&vec![1.0; n], [n]).cast(DType::I32);
        let sum = add(&base, &good, &updates);
        assert_eq!(values(&sum)[..3], [1.0, 1.0 + 2.0 * n as f64, 1.0]);
        assert!(values(&base).iter().all(|v| *v == 1.0));
    }
}

#[test]
fn an_unheld_base_is_written_in_place() {
    let n = 100_000;
    let indices = arange(0, n, 2);
    indices.wait_to_read().unwrap();
    let before = stats().donated;
    let sum = add(&(zeros([n as usize]) + 1.0), &indices, &ones([n as usize / 2]));
    assert_eq!(values(&sum)[..4], [2.0, 1.0, 2.0, 1.0]);
    // If every op runs on its caller, its inputs are always still held.
    assert!(stats().donated > before || *forerun::runtime::engine().mode() == forerun::runtime::Mode::Sync);
    // Updates that are the base itself are read while it is written, so it is copied.
    let x = ones([n as usize]);
    let own = add(&x, &arange(0, n, 1), &x);
    drop(x);
    assert!(values(&own).iter().all(|v| *v == 2.0));
}

#[test]
fn invalid_arguments_raise_immediately() {
    let x = ones([2, 3]);
    let text = |made: forerun::Result<Array>| made.err().unwrap().to_string();
    let at = Loc::UNKNOWN;
    assert_eq!(text(ops::take(&x, &x, 0, Beyond::Raise, at)), "take: indices must be integers, not float32");
    let i = arange(0, 2, 1);
    assert_eq!(text(ops::take(&x, &i, 2, Beyond::Raise, at)), "take: axis 2 is out of bounds for array of dimension 2");
    assert_eq!(
        text(ops::scatter_add(&x, &i, &ones([3, 3]), 0, Beyond::Raise, at)),
        "scatter_add: updates (3, 3) do not broadcast to the rows (2, 3)"
    );
    assert_eq!(
        text(ops::pick(&x, &i, 0, false, Beyond::Clip, at)),
        "pick: index of shape (2,) does not fit (2, 3) without axis 0"
    );
    assert_eq!(
        text(ops::fully_connected(&x, &ones([4, 5]), None, true, at)),
        "fully_connected: weight of shape (4, 5) does not fit an input of shape (2, 3)"
    );
    assert_eq!(text(ops::dropout(&x, 1.5, &[], true, at)), "dropout: p must be between 0 and 1, not 1.5");
}
