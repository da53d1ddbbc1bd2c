//! Every kind of error names the line of the program that it is about.

use forerun::grad::{self, Differentiable, record};
use forerun::profile::{SyncRule, no_sync};
use forerun::runtime::Mode;
use forerun::runtime::{cancel_pending, engine};
use forerun::{Array, Beyond, Error, ErrorKind, Loc, ops};
use forerun::{arange, full, nn, ones, wait_all};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard};

/// Cancelling and waiting for everything affect the whole process, so one test runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let guard = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let _ = wait_all();
    guard
}

#[track_caller]
fn names(error: &Error, kind: ErrorKind, submitted: Option<u32>, read: Option<u32>) {
    let text = error.to_string();
    assert_eq!(error.kind(), kind, "{text}");
    for (word, line) in [("submitted", submitted), ("read", read)] {
        if let Some(line) = line {
            assert!(text.contains(&format!("{word} at {}:{line}", file!())), "{text}");
        }
    }
}

#[track_caller]
fn bad(n: usize) -> Array {
    ops::take(&ones([n]), &(arange(0, n as i64, 1) + 1), 0, Beyond::Raise, Loc::caller()).unwrap()
}

#[test]
fn errors_at_the_call_name_their_line() {
    let _alone = alone();
    type Call = (u32, Box<dyn Fn()>);
    let x = || ones([2, 3]);
    let calls: [Call; 5] = [
        (line!(), Box::new(move || drop(x() + ones([5])))),
        (line!(), Box::new(move || drop(x().matmul(&ones([4, 2]))))),
        (line!(), Box::new(move || drop(x().reshape([7])))),
        (line!(), Box::new(move || x().assign(ones([9])))),
        (line!(), Box::new(move || drop(x().sum_axis(4)))),
    ];
    for (line, call) in calls {
        let panic = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
        let text = panic.downcast_ref::<String>().expect("a message");
        assert!(text.contains(&format!("submitted at {}:{line}", file!())), "{text}");
    }
}

#[test]
fn errors_at_run_time_name_both_lines() {
    let _alone = alone();
    for n in [3, 100_000] {
        let (x, submitted) = (bad(n) * 2.0 + 1.0, line!());
        let (error, read) = (x.wait_to_read().unwrap_err(), line!());
        names(&error, ErrorKind::Index, Some(submitted), Some(read));
        let (error, read) = (x.restore().unwrap_err(), line!());
        names(&error, ErrorKind::Index, Some(submitted), Some(read));
    }
    let (_huge, submitted) = (full([1 << 42], 1.0, forerun::DType::F32), line!());
    let (errors, read) = (wait_all().unwrap_err(), line!());
    assert_eq!(errors.len(), 1);
    names(&errors[0], ErrorKind::Memory, Some(submitted), Some(read));
}

#[test]
fn cancelled_records_and_forbidden_waits_name_their_line() {
    let _alone = alone();
    let factor = full([600, 600], 1e-3, forerun::DType::F32);
    let product = (0..12).fold(factor.clone(), |y, _| y.matmul(&factor));
    let (y, submitted) = (&product + 1.0, line!());
    cancel_pending();
    if *engine().mode() != Mode::Sync {
        let (error, read) = (y.wait_to_read().unwrap_err(), line!());
        names(&error, ErrorKind::Runtime, Some(submitted), Some(read));
    }
    let (error, read) = no_sync(SyncRule::Refused, || (factor.to_vec::<f64>().unwrap_err(), line!()));
    names(&error, ErrorKind::Runtime, None, Some(read));
}

#[test]
fn gradient_and_file_errors_name_their_line() {
    let _alone = alone();
    let x = ones([3]);
    grad::attach_grad(&x, grad::GradReq::Write, Loc::caller()).unwrap();
    let (y, submitted) = record(|| (&x * &x, line!()));
    y.backward().unwrap();
    names(&y.backward().unwrap_err(), ErrorKind::Value, Some(submitted), None);
    let missing = std::env::temp_dir().join("forerun-there-is-no-such-file");
    let (error, read) = (nn::load(&[], &missing).unwrap_err(), line!());
    names(&error, ErrorKind::Runtime, None, Some(read));
}
