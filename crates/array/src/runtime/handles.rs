//! The life of a node: how many cells hold its value, whether a cell lives in it, and which thread retires the slot.
//!
//! A node can be two things at once: a *value* that cells point at, and a *cell* that handles count. One word describes
//! both. Here a *holder* of a value is a cell that points at it. (In `observe/holders.rs` a holder is a line of the
//! program that holds memory.)
//!
//! | bits | meaning |
//! |---|---|
//! | CLOSED | the value has no holder left: no new readers |
//! | FOREIGN | records of other windows read the value |
//! | LOCK | a thread changes the cell's value pointer, or reads it while others might change it |
//! | CELL | a cell lives here |
//! | ATTACHED | the cell has an attachment: see `Array::attach` |
//! | REWRITE | the value was written over its first operand, which the cell held before |
//! | the rest | holders of the value beyond the first |
//!
//! | event | change | then |
//! |---|---|---|
//! | another cell starts to point at the value | +HOLDER | |
//! | a cell that points elsewhere releases the value | -HOLDER, or CLOSED for the last | closed, no CELL: retire |
//! | the cell dies while it points at its own value | both of the above and -CELL | closed: retire |
//! | the cell dies while it points elsewhere | -CELL | CLOSED: retire |
//!
//! The thread that makes the second of "closed" and "no cell" true retires the slot, so it is retired exactly once. A
//! holder is only added by a thread that keeps the value open meanwhile. This module does not know what a value or a
//! slot is.

use super::sync::{AtomicU32, Ordering, Ordering::Relaxed};

const CLOSED: u32 = 1;
const FOREIGN: u32 = 2;
const LOCK: u32 = 4;
const CELL: u32 = 8;
const ATTACHED: u32 = 16;
const REWRITE: u32 = 32;
const HOLDER: u32 = 1 << 8;
/// Limit on the word, so that the count of holders stays well below its overflow.
const MOST_HOLDERS: u32 = 1 << 31;

/// The state word of a node.
#[derive(Debug)]
pub(crate) struct Life(AtomicU32);

/// What the caller must do after a hold or a cell ended.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// The value was closed by this call.
    pub(crate) closed: bool,
    /// The caller must retire the slot.
    pub(crate) retire: bool,
}

impl Life {
    pub(crate) fn new() -> Life {
        Life(AtomicU32::new(0))
    }

    /// Begins a life with one holder of the value; with a cell if that holder is the node's own. Owner only.
    pub(crate) fn begin(&self, cell: bool) {
        self.0.store(if cell { CELL } else { 0 }, Relaxed);
    }

    /// Begins a life as a cell without a value of its own. Owner only.
    pub(crate) fn begin_empty(&self) {
        self.0.store(CELL | CLOSED, Relaxed);
    }

    /// Adds a holder of the value, which the caller keeps open meanwhile.
    pub(crate) fn hold(&self) {
        let word = self.0.fetch_add(HOLDER, Relaxed);
        assert!(word < MOST_HOLDERS, "more than eight million cells point at one value");
    }

    /// Releases the value for a cell that lives elsewhere, or that stays alive here.
    pub(crate) fn let_go(&self) -> Ended {
        let mut word = self.0.load(Ordering::Acquire);
        loop {
            let (next, closed) = if word >= HOLDER { (word - HOLDER, false) } else { (word | CLOSED, true) };
            match self.0.compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Ended { closed, retire: closed && word & CELL == 0 },
                Err(now) => word = now,
            }
        }
    }

    /// Ends the cell, and with it its hold on the value of the same node. The caller had the last handle: without other
    /// holders no other thread can access the word, so no atomic exchange is needed.
    #[inline]
    pub(crate) fn end_cell(&self) -> Ended {
        let mut word = self.0.load(Ordering::Acquire);
        if word < HOLDER {
            self.0.store(word & !CELL | CLOSED, Ordering::Release);
            return Ended { closed: true, retire: true };
        }
        loop {
            let dead = word & !CELL;
            let (next, closed) = if word >= HOLDER { (dead - HOLDER, false) } else { (dead | CLOSED, true) };
            match self.0.compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Ended { closed, retire: closed },
                Err(now) => word = now,
            }
        }
    }

    /// Ends a cell that points at the value of another node.
    pub(crate) fn end_moved_cell(&self) -> Ended {
        let word = self.0.fetch_and(!CELL, Ordering::AcqRel);
        Ended { closed: false, retire: word & CLOSED != 0 }
    }

    /// Marks the value as written over its first operand. Owner only, before any thread can run the record.
    pub(crate) fn mark_rewrite(&self) {
        self.0.store(self.0.load(Relaxed) | REWRITE, Relaxed);
    }

    pub(crate) fn is_rewrite(&self) -> bool {
        self.0.load(Relaxed) & REWRITE != 0
    }

    pub(crate) fn mark_foreign(&self) {
        self.0.fetch_or(FOREIGN, Relaxed);
    }

    pub(crate) fn is_foreign(&self) -> bool {
        self.0.load(Relaxed) & FOREIGN != 0
    }

    /// Whether it is closed and read only by records of its own window.
    pub(crate) fn is_closed_at_home(&self) -> bool {
        self.0.load(Ordering::Acquire) & (CLOSED | FOREIGN) == CLOSED
    }

    /// Whether exactly one cell points at the value.
    pub(crate) fn is_held_once(&self) -> bool {
        let word = self.0.load(Ordering::Acquire);
        word < HOLDER && word & CLOSED == 0
    }

    pub(crate) fn is_attached(&self) -> bool {
        self.0.load(Relaxed) & ATTACHED != 0
    }

    pub(crate) fn set_attached(&self, on: bool) {
        if on {
            self.0.fetch_or(ATTACHED, Relaxed)
        } else {
            self.0.fetch_and(!ATTACHED, Relaxed)
        };
    }

    /// Takes the cell's lock by spinning: it is held for a few instructions.
    pub(crate) fn lock(&self) {
        let mut spins = 0u32;
        while self.0.fetch_or(LOCK, Ordering::Acquire) & LOCK != 0 {
            spins += 1;
            if spins.is_multiple_of(64) { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
    }

    pub(crate) fn unlock(&self) {
        self.0.fetch_and(!LOCK, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn ended(closed: bool, retire: bool) -> Ended {
        Ended { closed, retire }
    }

    #[test]
    fn a_cell_with_its_own_value_retires_immediately() {
        let life = Life::new();
        life.begin(true);
        assert_eq!(life.end_cell(), ended(true, true));
        assert!(life.is_closed_at_home());
    }

    #[test]
    fn a_held_value_outlives_its_cell() {
        let life = Life::new();
        life.begin(true);
        assert!(life.is_held_once());
        life.hold();
        assert!(!life.is_held_once());
        assert_eq!(life.end_cell(), ended(false, false));
        assert!(life.is_held_once());
        assert_eq!(life.let_go(), ended(true, true));
        assert!(!life.is_held_once());
    }

    #[test]
    fn a_cell_outlives_the_value_it_began_with() {
        let life = Life::new();
        life.begin(true);
        life.hold();
        // The cell points at a newer value: the first holder releases.
        assert_eq!(life.let_go(), ended(false, false));
        assert_eq!(life.let_go(), ended(true, false));
        assert_eq!(life.end_moved_cell(), ended(false, true));
    }

    #[test]
    fn an_empty_cell_has_nothing_to_close() {
        let life = Life::new();
        life.begin_empty();
        assert_eq!(life.end_moved_cell(), ended(false, true));
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    struct Slot {
        life: Life,
        /// Written by the thread that closes the value and by the thread that retires the slot.
        closed: UnsafeCell<u32>,
        retired: UnsafeCell<u32>,
        /// Counted by the owner while it holds the value; the thread that closes the value must see the final count.
        uses: UnsafeCell<u32>,
    }

    impl Slot {
        fn new() -> Arc<Slot> {
            Arc::new(Slot {
                life: Life::new(),
                closed: UnsafeCell::new(0),
                retired: UnsafeCell::new(0),
                uses: UnsafeCell::new(0),
            })
        }

        /// What the owner does when it submits a reader.
        fn use_it(&self) {
            // SAFETY: only the owner writes it, and loom checks that no thread reads meanwhile.
            self.uses.with_mut(|u| unsafe { *u += 1 });
        }

        fn follow(&self, ended: Ended) {
            if ended.closed {
                // SAFETY: as for the owner: no thread writes it any more.
                assert_eq!(self.uses.with(|u| unsafe { *u }), 1);
                // SAFETY: loom checks that only one thread gets here, which is what this model tests.
                self.closed.with_mut(|c| unsafe { *c += 1 });
            }
            if ended.retire {
                // SAFETY: loom checks that only one thread gets here.
                self.retired.with_mut(|r| unsafe { *r += 1 });
            }
        }

        fn check(&self) {
            // SAFETY: the threads are joined.
            assert_eq!(unsafe { (self.closed.with(|c| *c), self.retired.with(|r| *r)) }, (1, 1));
        }
    }

    /// The cell dies while two other cells release its value.
    #[test]
    fn closed_and_retired_once() {
        loom::model(|| {
            let slot = Slot::new();
            slot.life.begin(true);
            slot.life.hold();
            slot.life.hold();
            let (a, b) = (slot.clone(), slot.clone());
            let first = thread::spawn(move || a.follow(a.life.let_go()));
            let second = thread::spawn(move || b.follow(b.life.let_go()));
            slot.use_it();
            slot.follow(slot.life.end_cell());
            first.join().unwrap();
            second.join().unwrap();
            slot.check();
        });
    }

    /// The cell points elsewhere and dies while another cell releases its first value.
    #[test]
    fn a_moved_cell_is_retired_once() {
        loom::model(|| {
            let slot = Slot::new();
            slot.life.begin(true);
            slot.life.hold();
            let a = slot.clone();
            let other = thread::spawn(move || a.follow(a.life.let_go()));
            slot.use_it();
            slot.follow(slot.life.let_go());
            slot.follow(slot.life.end_moved_cell());
            other.join().unwrap();
            slot.check();
        });
    }
}
