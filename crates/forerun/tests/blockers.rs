//! Waits by source line, and threads that must not wait.

use forerun::profile::{SyncRule, blockers, last_wait, no_sync, reset_blockers};
use forerun::runtime::Mode;
use forerun::{Array, DType, ErrorKind, full, ones, wait_all};
use std::sync::Mutex;

/// The table of blockers is process-wide.
static ALONE: Mutex<()> = Mutex::new(());

/// The line of the products below.
const PRODUCTS: u32 = line!() + 4;

fn slow() -> Array {
    let w = full([400, 400], 1e-3, DType::F32);
    (0..30).fold(w.clone(), |x, _| x.matmul(&w))
}

#[test]
fn waits_are_recorded_by_line() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    reset_blockers();
    for _ in 0..2 {
        slow().wait_to_read().unwrap();
    }
    let read = line!() - 2;
    let all = blockers();
    if *forerun::runtime::engine().mode() == Mode::Sync {
        assert!(all.is_empty(), "there is nothing to wait for where every op runs at once: {all:?}");
        return;
    }
    assert_eq!(all.len(), 1, "{all:?}");
    let (row, longest) = (&all[0], &all[0].longest);
    assert_eq!((row.count, longest.call, longest.origin.op), (2, "wait_to_read", "matmul"));
    assert_eq!(longest.loc.resolve().unwrap().line, read);
    assert_eq!(longest.origin.loc.resolve().unwrap().line, PRODUCTS);
    assert!(row.parked + row.helped <= row.time && longest.time <= row.time);
    assert_eq!(last_wait().unwrap().loc, longest.loc);
    reset_blockers();
    assert!(blockers().is_empty());
}

#[test]
fn no_sync_rejects_reads_of_ready_values() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let x = ones([2]).sum();
    x.wait_to_read().unwrap();
    no_sync(SyncRule::Refused, || {
        let error = x.item::<f64>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Runtime);
        assert!(error.to_string().starts_with("item: waits inside no_sync, for sum\n  submitted at "), "{error}");
        assert!(wait_all().is_err());
        let y = &x + 1.0;
        assert_eq!(y.ndim(), 0);
        std::thread::scope(|s| s.spawn(|| assert!(ones([1]).item::<f64>().is_ok())).join().unwrap());
    });
    assert_eq!(x.item::<f64>().unwrap(), 2.0);
}
