//! Direct writes of elements to values at rest: they are observable only where a submitted write would be.

use forerun::profile::note_submissions;
use forerun::runtime::{set_tiny_limit, stats};
use forerun::{Array, Beyond, DType, ErrorKind, Index, Loc, arange, full, ones, ops, wait_all};
use std::sync::{Mutex, MutexGuard};
use std::thread;

/// Records are counted process-wide, so one test runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let guard = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let _ = wait_all();
    set_tiny_limit(4096);
    guard
}

/// Sizes that are stored in the node, that run inline, and that become tasks.
const SIZES: [usize; 3] = [3, 300, 100_000];

#[track_caller]
fn write(x: &Array, position: usize, value: f64) {
    x.slice([Index::At(position as isize)]).assign(value);
}

fn first(x: &Array) -> f64 {
    x.slice([Index::At(0)]).item::<f64>().unwrap()
}

/// How many records `f` submits.
fn records(f: impl FnOnce()) -> u64 {
    let before = stats().records;
    f();
    stats().records - before
}

/// The numbers from 0, computed, with no pending readers.
fn at_rest(n: usize) -> Array {
    let x = arange(0.0, n as f64, 1.0);
    // A value is published as ready before its uses are settled.
    while records(|| write(&x, 0, 0.0)) > 0 {
        wait_all().unwrap();
    }
    x
}

#[test]
fn a_value_at_rest_is_written_without_a_record() {
    let _alone = alone();
    for n in SIZES {
        let x = at_rest(n);
        let view = x.slice([Index::Slice { start: None, stop: None, step: -1 }]);
        let scalar = full([], 9.0, DType::F32);
        scalar.wait_to_read().unwrap();
        let submitted = records(|| {
            write(&x, 0, 5.0);
            write(&view, 0, 6.0);
            x.slice([Index::At(1)]).assign(&scalar);
            let mut element = x.slice([Index::At(1)]);
            element += 2.0;
            element *= &x.slice([Index::At(0)]);
        });
        let all = x.to_vec::<f64>().unwrap();
        assert_eq!((all[0], all[1], all[n - 1]), (5.0, 55.0, 6.0));
        assert_eq!(submitted, 0, "{n}");
    }
}

#[test]
fn other_holders_keep_the_old_value() {
    let _alone = alone();
    for n in SIZES {
        let x = at_rest(n);
        let (snapshot, frozen) = (x.snapshot().unwrap(), x.freeze());
        write(&x, 0, 5.0);
        assert_eq!((snapshot.to_f64()[0], first(&frozen), first(&x)), (0.0, 0.0, 5.0));
        write(&frozen, 0, 6.0);
        assert_eq!((snapshot.to_f64()[0], first(&frozen), first(&x)), (0.0, 6.0, 5.0));
        drop(snapshot);
        write(&x, 0, 7.0);
        assert_eq!((first(&frozen), first(&x)), (6.0, 7.0));
    }
}

#[test]
fn earlier_submissions_read_the_old_value() {
    let _alone = alone();
    for n in SIZES {
        let x = at_rest(n);
        let mut made = Vec::new();
        for turn in 0..200 {
            write(&x, 0, turn as f64);
            write(&x, n - 1, turn as f64);
            made.push(if turn % 2 == 0 { &x + 1.0 } else { ops::copy(&x, Loc::caller()).unwrap() + 1.0 });
            if turn % 7 == 0 {
                x.wait_to_read().unwrap();
            }
        }
        for (turn, y) in made.iter().enumerate() {
            let all = y.to_vec::<f64>().unwrap();
            assert_eq!((all[0], all[n - 1]), (turn as f64 + 1.0, turn as f64 + 1.0));
        }
    }
}

/// Each iteration writes the first element and then the last, so a reader sees them at most one apart.
#[test]
fn other_threads_see_whole_writes_in_order() {
    let _alone = alone();
    const TURNS: usize = 3000;
    for n in SIZES {
        let x = at_rest(n);
        write(&x, n - 1, 0.0);
        let check = |all: &[f64]| {
            let apart = all[0] - all[n - 1];
            assert!(apart == 0.0 || apart == 1.0, "{n}: {} and {}", all[0], all[n - 1]);
        };
        thread::scope(|scope| {
            for reader in 0..3 {
                let x = x.clone();
                scope.spawn(move || {
                    while first(&x) < TURNS as f64 {
                        match reader {
                            0 => {
                                let snapshot = x.snapshot().unwrap();
                                let seen = snapshot.to_f64();
                                check(&seen);
                                thread::yield_now();
                                assert_eq!(snapshot.to_f64(), seen, "a snapshot changed");
                            }
                            1 => check(&(&x * 1.0).to_vec::<f64>().unwrap()),
                            _ => check(&ops::copy(&x, Loc::caller()).unwrap().to_vec::<f64>().unwrap()),
                        }
                    }
                });
            }
            for turn in 1..=TURNS {
                write(&x, 0, turn as f64);
                write(&x, n - 1, turn as f64);
                if n > 1000 && turn % 10 == 0 {
                    // Otherwise every write copies, and the readers never find a value at rest.
                    x.wait_to_read().unwrap();
                }
            }
        });
        assert_eq!((first(&x), x.to_vec::<f64>().unwrap()[n - 1]), (TURNS as f64, TURNS as f64));
    }
}

#[test]
fn writes_to_frozen_arrays_are_private() {
    let _alone = alone();
    for n in SIZES {
        let x = at_rest(n);
        thread::scope(|scope| {
            for thread in 0..2 {
                let frozen = x.clone();
                scope.spawn(move || {
                    let own = frozen.freeze();
                    for turn in 0..500 {
                        write(&own, 0, (thread * 1000 + turn) as f64);
                        assert_eq!(first(&own), (thread * 1000 + turn) as f64);
                    }
                });
            }
        });
        assert_eq!(first(&x), 0.0);
    }
}

#[test]
fn a_failed_array_stays_failed_and_names_both_lines() {
    let _alone = alone();
    for n in SIZES {
        let x = at_rest(n);
        let beyond = arange(0, n as i64, 1) + 1;
        let bad = ops::take(&x, &beyond, 0, Beyond::Raise, Loc::caller()).unwrap();
        assert_eq!(bad.wait_to_read().unwrap_err().kind(), ErrorKind::Index);
        write(&bad, 0, 1.0);
        let mut element = bad.slice([Index::At(0)]);
        element += 1.0;
        let text = bad.to_vec::<f64>().unwrap_err().to_string();
        assert!(text.contains("submitted at") && text.contains("read at"), "{text}");
        // One bad element fails the array it is written to, and that can be undone.
        x.slice([Index::At(0)]).assign(bad.slice([Index::At(0)]));
        assert_eq!(x.wait_to_read().unwrap_err().kind(), ErrorKind::Index);
        assert_eq!(x.restore().unwrap(), 1);
        write(&x, 1, 8.0);
        assert_eq!((first(&x), x.to_vec::<f64>().unwrap()[1]), (0.0, 8.0));
    }
    let _ = wait_all();
}

#[test]
fn observers_see_all_submissions() {
    let _alone = alone();
    let x = at_rest(300);
    note_submissions(true);
    write(&x, 0, 1.0);
    let ops: Vec<_> = note_submissions(false).iter().map(|s| s.op).collect();
    assert_eq!(ops, ["update"]);
    let former = set_tiny_limit(0);
    let submitted = records(|| write(&x, 0, 2.0));
    set_tiny_limit(former);
    assert_eq!((submitted, first(&x)), (1, 2.0));
}

#[test]
fn assigning_an_array_to_itself_does_nothing() {
    let _alone = alone();
    let x = ones([300]) * 2.0;
    let part = || x.slice([Index::Slice { start: Some(3), stop: Some(9), step: 1 }]);
    let shifted = x.slice([Index::Slice { start: Some(2), stop: Some(8), step: 1 }]);
    write(&x, 2, 7.0);
    assert_eq!(records(|| part().assign(part())), 0);
    part().assign(&shifted);
    assert_eq!(x.to_vec::<f64>().unwrap()[2..5], [7.0, 7.0, 2.0]);
}
