//! Bounds: a program that submits a million ops and never waits needs no more memory than one that submits a thousand.

use forerun::memory::memory_stats;
use forerun::runtime::{engine, slots};
use forerun::{array, normal, ones, wait_all, zeros};

const OPS: usize = 1_000_000;
/// Capacity of a window in records.
const WINDOW: u64 = 16384;
/// Tasks planned ahead, plus those of the segment that exceeded the limit.
const FLIGHTS: usize = 48 + 64;

/// The maxima of unplanned records, unfinished tasks, and live bytes.
#[derive(Debug, Default)]
struct Most {
    records: u64,
    flights: usize,
    live: usize,
}

impl Most {
    fn look(&mut self) {
        let stats = memory_stats();
        self.records = self.records.max(stats.queued_records);
        self.flights = self.flights.max(engine().in_flight());
        self.live = self.live.max(stats.live);
    }

    #[track_caller]
    fn check(&self, bytes: usize) {
        assert!(self.records <= WINDOW, "{self:?}");
        assert!(self.flights <= FLIGHTS, "{self:?}");
        assert!(self.live <= bytes, "{self:?}");
        // Slots of records that are pending or just done, and as many that wait to be reclaimed.
        let made = slots().made;
        assert!(made as u64 <= 3 * WINDOW, "{made} slots");
    }
}

/// One test on one thread, because the counters are process-wide.
#[test]
fn a_million_ops_without_a_wait() {
    let mut most = Most::default();
    // Tiny ones, one after the other.
    let mut x = zeros([1, 2]);
    for i in 0..OPS {
        x = &x + 1.0;
        if i % 1000 == 0 {
            most.look();
        }
    }
    most.check(1 << 20);
    assert_eq!(x.to_vec::<f64>().unwrap(), [1e6; 2]);
    // Larger ones, which become tasks; each reads host data or random numbers.
    let step = array(&[0.5; 8192], [8192]);
    let mut most = Most::default();
    let mut y = ones([8192]);
    for i in 0..OPS {
        y = match i % 100 {
            0 => &y + &normal([8192]) * 0.0,
            _ => &y + &step,
        };
        if i % 1000 == 0 {
            most.look();
        }
    }
    // Unfinished tasks, and draws made ahead within their allowance.
    most.check(FLIGHTS * 2 * 8192 * 4 + memory_stats().prefetch);
    assert_eq!(y.to_vec::<f64>().unwrap(), [495_001.0; 8192]);
    wait_all().unwrap();
    let stats = memory_stats();
    assert!(
        stats.held_by_window.times > 0 || *engine().mode() == forerun::runtime::Mode::Sync,
        "the submitter was held"
    );
}
